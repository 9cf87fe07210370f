//! The files of an authority's certificate in its store.
//!
//! | file | content |
//! | --- | --- |
//! | `account-….json` | the account at one authority, with its private key |
//! | `HOST.pem` | the certificate chain and its private key, in one file so that a reader never sees a mixture |
//! | `HOST.json` | the authority of the certificate, failed orders and the time of the next one |
//! | `challenges/TOKEN` | the response to a challenge of an order in progress |
//! | `order.lock` | the machine that orders now |

use crate::settings::AcmeSettings;
use instant_acme::AccountCredentials;
use runnel_http::CertificateInfo;
use runnel_store::{Content, Context, Error, KeyRange, Kind, Reference, Result, Store, list_keys};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// The largest file that is read, in bytes.
const MAX_FILE_SIZE: usize = 1024 * 1024;
/// The collection of the responses to challenges.
const CHALLENGES: &str = "challenges";
/// The longest token: authorities send 43 characters.
const MAX_TOKEN_LENGTH: usize = 128;

/// The store of a certificate.
#[derive(Clone)]
pub(crate) struct Storage {
    pub(crate) store: Rc<dyn Store>,
    name: String,
    account: String,
}

/// The certificate that is stored.
pub(crate) struct StoredCertificate {
    pub(crate) about: CertificateInfo,
    /// A number of its own, the same on every machine.
    pub(crate) hash: u64,
}

/// The state of the orders of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OrderState {
    /// The directory of the authority that issued the stored certificate.
    pub(crate) issuer: String,
    /// The directory and the hosts of the failed orders.
    pub(crate) subject: String,
    /// Failed orders since the last success.
    pub(crate) failures: u32,
    /// No order before this time.
    pub(crate) next: Option<SystemTime>,
}

impl Storage {
    pub(crate) fn new(store: Rc<dyn Store>, settings: &AcmeSettings) -> Storage {
        let name = settings.hosts.first().cloned().unwrap_or_default();
        let account = format!("account-{:016x}.json", xxh3_64(settings.directory.as_bytes()));
        Storage { store, name, account }
    }

    /// The certificate, if there is a readable one.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn certificate(&self) -> Result<Option<StoredCertificate>> {
        let file = self.certificate_file();
        let Some(text) = self.get(&file).await? else { return Ok(None) };
        let about = CertificateInfo::from_pem(text.as_bytes(), &file).ok();
        Ok(about.map(|about| StoredCertificate { about, hash: xxh3_64(text.as_bytes()) }))
    }

    /// The file of the certificate.
    pub(crate) fn certificate_file(&self) -> String {
        format!("{}.pem", self.name)
    }

    pub(crate) async fn put_certificate(&self, key: &str, chain: &str) -> Result<()> {
        let text = format!("{}\n{}\n", key.trim_end(), chain.trim_end());
        self.put(&self.certificate_file(), text).await
    }

    pub(crate) async fn account(&self) -> Result<Option<AccountCredentials>> {
        let text = self.get(&self.account).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    pub(crate) async fn put_account(&self, account: &AccountCredentials) -> Result<()> {
        let unwritten =
            |_| Error::new(Kind::Failed, "the account of the authority cannot be written");
        self.put(&self.account, serde_json::to_string(account).map_err(unwritten)?).await
    }

    /// Forgets an account that the authority does not know any more.
    pub(crate) async fn delete_account(&self) -> Result<()> {
        self.delete(&self.account).await
    }

    pub(crate) async fn state(&self) -> Result<OrderState> {
        let text = self.get(&self.state_file()).await?.unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let next = value["nextOrder"].as_u64().map(Duration::from_secs);
        Ok(OrderState {
            issuer: value["issuer"].as_str().unwrap_or_default().to_string(),
            subject: value["subject"].as_str().unwrap_or_default().to_string(),
            failures: value["failures"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
            next: next.and_then(|next| SystemTime::UNIX_EPOCH.checked_add(next)),
        })
    }

    pub(crate) async fn put_state(&self, state: &OrderState) -> Result<()> {
        let since = state.next.and_then(|next| next.duration_since(SystemTime::UNIX_EPOCH).ok());
        let value = serde_json::json!({
            "issuer": state.issuer,
            "subject": state.subject,
            "failures": state.failures,
            "nextOrder": since.map(|since| since.as_secs()),
        });
        self.put(&self.state_file(), value.to_string()).await
    }

    /// The file of the state, whose removal makes the next order due at once.
    pub(crate) fn state_file(&self) -> String {
        format!("{}.json", self.name)
    }

    pub(crate) async fn put_challenge(&self, token: &str, response: &str) -> Result<()> {
        if !is_token(token) {
            let message = "the authority sent a token that is none";
            return Err(Error::new(Kind::Failed, message));
        }
        self.put(&format!("{CHALLENGES}/{token}"), response.to_string()).await
    }

    /// Removes the responses of all orders, also of killed processes.
    pub(crate) async fn clear_challenges(&self) -> Result<()> {
        let (root, context) = (Reference::from_path(CHALLENGES), Context::default());
        let page = match list_keys(&self.store, &root, &KeyRange::default(), &context).await {
            Err(error) if error.kind == Kind::NotFound => return Ok(()),
            page => page?,
        };
        for key in page.keys {
            self.delete(&format!("{CHALLENGES}/{}", key.name)).await?;
        }
        Ok(())
    }

    pub(crate) async fn get(&self, file: &str) -> Result<Option<String>> {
        get(&self.store, file).await
    }

    pub(crate) async fn put(&self, file: &str, text: String) -> Result<()> {
        let reference = Reference::from_path(file.to_string());
        self.store.put(&reference, Content::text(text), &Context::default()).await.map(drop)
    }

    pub(crate) async fn delete(&self, file: &str) -> Result<()> {
        let reference = Reference::from_path(file.to_string());
        self.store.delete(&reference, &Context::default()).await.map(drop)
    }
}

/// The response to a challenge.
///
/// # Errors
/// Those of the store.
pub(crate) async fn challenge(store: &Rc<dyn Store>, token: &str) -> Result<Option<String>> {
    match is_token(token) {
        true => get(store, &format!("{CHALLENGES}/{token}")).await,
        false => Ok(None),
    }
}

async fn get(store: &Rc<dyn Store>, file: &str) -> Result<Option<String>> {
    let reference = Reference::from_path(file.to_string());
    let found = match store.get(&reference, &Context::default()).await {
        Err(error) if error.kind == Kind::NotFound => None,
        found => found?,
    };
    let Some(content) = found else { return Ok(None) };
    let bytes = content.read(MAX_FILE_SIZE).await?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Tokens are base64url (RFC 8555 section 8.3): no dots and no slashes.
fn is_token(token: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !token.is_empty() && token.len() <= MAX_TOKEN_LENGTH && token.bytes().all(is_safe)
}
