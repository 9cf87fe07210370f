//! The certificates of a store: `NAME.pem`, with its key inside or beside it.
//!
//! A read lists the store and gets only what has changed since the read before. What cannot be used
//! is logged once, and the certificate that it replaces stays.

use crate::network::certificates::by_name::CertificatesByName;
use crate::network::certificates::pem::{self, MAX_PEM_SIZE, ServerCertificate};
use bytes::Bytes;
use runnel_store::{
    Context, Error, Key, KeyRange, Kind, LISTED_KEYS, Reference, Result, Store, list_keys,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Most certificates of a store.
const MAX_CERTIFICATES: usize = 10_000;
/// The name of the certificate for clients without a known name.
const DEFAULT: &str = "default";
/// The ends of the names of key files, in the order in which they are looked for.
const KEY_ENDS: [&str; 2] = [".key", "-key.pem"];

/// A store of certificates.
#[derive(Clone)]
pub struct CertificateStore {
    /// The store. Certificates lie at its top level.
    pub store: Rc<dyn Store>,
    /// Whether the server starts without a certificate, because the first one arrives later.
    pub may_be_empty: bool,
}

impl fmt::Debug for CertificateStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("CertificateStore").field(&self.store.describe()).finish()
    }
}

/// What was read last.
#[derive(Default)]
pub(crate) struct StoredCertificates(RefCell<BTreeMap<String, StoredCertificate>>);

/// A certificate, and the state of its files.
#[derive(Clone, Default)]
struct StoredCertificate {
    state: String,
    /// A hash of both texts, where the store says nothing of their state.
    hash: u64,
    usable: Option<Arc<ServerCertificate>>,
}

/// A certificate that has changed.
struct ChangedCertificate {
    name: String,
    state: String,
    hash: u64,
    certificate: Bytes,
    key: Bytes,
    key_file: String,
}

impl StoredCertificates {
    /// Reads what has changed, and gives it to the server. Answers how many certificates there are
    /// now, or `None` without a change.
    ///
    /// # Errors
    /// The store cannot be read; then all certificates stay.
    pub(crate) async fn read(
        &self,
        store: &Rc<dyn Store>,
        names: &CertificatesByName,
    ) -> Result<Option<usize>> {
        let files = list(store).await?;
        let before = self.0.borrow().clone();
        let mut now = BTreeMap::new();
        let mut changed = Vec::new();
        for file in files.keys() {
            let Some((name, key_file)) = certificate_of(file, &files) else { continue };
            let state = format!("{:?} {:?}", files.get(file), files.get(&key_file));
            let known = before.get(name);
            if let Some(known) = known
                && known.state == state
                && files.get(file).is_some_and(|state| !state.is_empty())
            {
                now.insert(name.to_string(), known.clone());
                continue;
            }
            let Some(certificate) = get(store, file).await? else { continue };
            let key = match key_file == *file {
                true => certificate.clone(),
                false => get(store, &key_file).await?.unwrap_or_default(),
            };
            let hash = xxh3_64(&certificate) ^ xxh3_64(&key).rotate_left(1);
            now.insert(name.to_string(), known.cloned().unwrap_or_default());
            if known.is_none_or(|known| known.hash != hash) {
                let name = name.to_string();
                changed.push(ChangedCertificate { name, state, hash, certificate, key, key_file });
            } else if let Some(same) = now.get_mut(name) {
                same.state = state;
            }
        }
        let is_changed = !changed.is_empty() || now.len() != before.len();
        for (changed, parsed) in parse(changed).await {
            let entry = now.entry(changed.name).or_default();
            (entry.state, entry.hash) = (changed.state, changed.hash);
            match parsed {
                Ok(usable) => entry.usable = Some(Arc::new(usable)),
                Err(error) => tracing::error!(%error, "a certificate cannot be used"),
            }
        }
        if is_changed {
            let default = now.get(DEFAULT).and_then(|one| one.usable.clone());
            names.replace(now.values().filter_map(|one| one.usable.clone()).collect(), default);
        }
        let count = now.values().filter(|one| one.usable.is_some()).count();
        self.0.replace(now);
        Ok(is_changed.then_some(count))
    }
}

/// The files at the top level of a store, with what the store says of their state.
async fn list(store: &Rc<dyn Store>) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let (root, context) = (Reference::default(), Context::default());
    let mut range = KeyRange::default();
    loop {
        let page = list_keys(store, &root, &range, &context).await?;
        range.after = page.keys.last().map(|key| key.name.clone());
        for key in page.keys.into_iter().filter(|key| !key.name.contains('/')) {
            files.insert(key.name.clone(), state_of(&key));
        }
        if files.len() > 2 * MAX_CERTIFICATES + LISTED_KEYS {
            let message = format!("a server has at most {MAX_CERTIFICATES} certificates");
            return Err(Error::new(Kind::TooLarge, message));
        }
        if !page.more || range.after.is_none() {
            return Ok(files);
        }
    }
}

/// What changes with the content of a key; empty where the store does not say.
fn state_of(key: &Key) -> String {
    match (&key.entity_tag, &key.modified) {
        (None, None) => String::new(),
        (tag, modified) => format!("{tag:?} {modified:?} {:?}", key.length),
    }
}

/// The name of a certificate by its file, and the file of its key, which may be the same one.
fn certificate_of<'a>(
    file: &'a str,
    files: &BTreeMap<String, String>,
) -> Option<(&'a str, String)> {
    let name = file.strip_suffix(".pem").filter(|_| !file.ends_with(KEY_ENDS[1]))?;
    let beside = KEY_ENDS.iter().map(|end| format!("{name}{end}"));
    let key = beside.into_iter().find(|key| files.contains_key(key));
    Some((name, key.unwrap_or_else(|| file.to_string())))
}

async fn get(store: &Rc<dyn Store>, file: &str) -> Result<Option<Bytes>> {
    let reference = Reference::from_path(file.to_string());
    match store.get(&reference, &Context::default()).await? {
        Some(content) => Ok(Some(content.read(MAX_PEM_SIZE).await?)),
        None => Ok(None),
    }
}

/// Parses on the blocking pool: a thousand keys take a fraction of a second.
async fn parse(
    changed: Vec<ChangedCertificate>,
) -> Vec<(ChangedCertificate, std::result::Result<ServerCertificate, String>)> {
    if changed.is_empty() {
        return Vec::new();
    }
    let parsing = tokio::task::spawn_blocking(move || {
        let parse = |changed: ChangedCertificate| {
            let file = format!("{}.pem", changed.name);
            let parsed = pem::parse(&changed.certificate, &file, &changed.key, &changed.key_file);
            (changed, parsed.map_err(|error| error.to_string()))
        };
        changed.into_iter().map(parse).collect()
    });
    // An error would be a panic of a parser.
    parsing.await.unwrap_or_default()
}
