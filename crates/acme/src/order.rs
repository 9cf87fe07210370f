//! One order: the account, the challenges, the certificate (RFC 8555 section 7).

use crate::authority::{AuthorityClient, is_unreachable};
use crate::settings::AcmeSettings;
use crate::storage::Storage;
use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount, NewOrder, Order,
    OrderStatus, Problem, RetryPolicy,
};
use std::time::Duration;

/// How long an authority may take to check the challenges, and to issue the certificate.
const POLL_TIMEOUT: Duration = Duration::from_secs(120);
/// The first pause between two looks at an order.
const POLL_DELAY: Duration = Duration::from_millis(500);
/// The problem of an account that the authority does not have.
const UNKNOWN_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// A failed order.
#[derive(Debug)]
pub(crate) enum OrderFailure {
    /// The authority was not reached.
    Unreachable(String),
    /// The authority refused.
    Refused(String),
    /// The store failed.
    Store(runnel_store::Error),
}

impl From<runnel_store::Error> for OrderFailure {
    fn from(error: runnel_store::Error) -> Self {
        OrderFailure::Store(error)
    }
}

impl From<Error> for OrderFailure {
    fn from(error: Error) -> Self {
        match is_unreachable(&error) {
            true => OrderFailure::Unreachable(error.to_string()),
            false => OrderFailure::Refused(error.to_string()),
        }
    }
}

/// Orders a certificate and stores it. The caller has the lock.
pub(crate) async fn order(
    settings: &AcmeSettings,
    client: &AuthorityClient,
    storage: &Storage,
) -> Result<(), OrderFailure> {
    storage.clear_challenges().await?;
    let hosts: Vec<Identifier> = settings.hosts.iter().cloned().map(Identifier::Dns).collect();
    let wanted = NewOrder::new(&hosts);
    let mut order = match account(settings, client, storage).await?.new_order(&wanted).await {
        Err(Error::Api(problem)) if problem.r#type.as_deref() == Some(UNKNOWN_ACCOUNT) => {
            tracing::warn!("the authority does not know the account any more; making another one");
            storage.delete_account().await?;
            account(settings, client, storage).await?.new_order(&wanted).await?
        }
        order => order?,
    };
    let answered = answer_challenges(&mut order, storage).await;
    let cleared = storage.clear_challenges().await;
    answered?;
    cleared?;
    let policy = RetryPolicy::new().initial_delay(POLL_DELAY).timeout(POLL_TIMEOUT);
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&policy).await?;
    storage.put_certificate(&key, &chain).await?;
    Ok(())
}

/// The account at the authority, made where there is none. Its existence agrees to the terms of
/// service.
async fn account(
    settings: &AcmeSettings,
    client: &AuthorityClient,
    storage: &Storage,
) -> Result<Account, OrderFailure> {
    let builder = Account::builder_with_http(Box::new(client.clone()));
    if let Some(credentials) = storage.account().await? {
        return Ok(builder.from_credentials(credentials).await?);
    }
    let contact = format!("mailto:{}", settings.contact);
    let new = NewAccount {
        contact: &[&contact],
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let (account, credentials) = builder.create(&new, settings.directory.clone(), None).await?;
    storage.put_account(&credentials).await?;
    Ok(account)
}

/// Shows that this server answers for each host, and waits until the authority has seen it.
async fn answer_challenges(order: &mut Order, storage: &Storage) -> Result<(), OrderFailure> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            status => {
                let message = format!("the authorization of a host is {status:?}");
                return Err(OrderFailure::Refused(message));
            }
        }
        let Some(mut challenge) = authorization.challenge(ChallengeType::Http01) else {
            let message = "the authority offers no challenge over HTTP (http-01)";
            return Err(OrderFailure::Refused(message.to_string()));
        };
        let response = challenge.key_authorization();
        storage.put_challenge(&challenge.token, response.as_str()).await?;
        challenge.set_ready().await?;
    }
    let policy = RetryPolicy::new().initial_delay(POLL_DELAY).timeout(POLL_TIMEOUT);
    match order.poll_ready(&policy).await {
        Ok(OrderStatus::Ready) => Ok(()),
        Err(error) if is_unreachable(&error) || !matches!(error, Error::Api(_)) => {
            Err(error.into())
        }
        Ok(_) | Err(_) => Err(OrderFailure::Refused(failed_challenges(order).await)),
    }
}

/// What the authority says of the challenges that failed.
async fn failed_challenges(order: &mut Order) -> String {
    let mut said = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        let host = authorization.identifier().to_string();
        let failed = authorization.challenges.iter().find_map(|one| one.error.as_ref());
        if let Some(Problem { detail: Some(detail), .. }) = failed {
            said.push(format!("{host}: {detail}"));
        }
    }
    match said.is_empty() {
        true => "the authority refused the order".to_string(),
        false => said.join("; "),
    }
}
