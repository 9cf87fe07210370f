//! Credentials: static keys, or temporary keys from a provider.

use crate::client::options::S3Options;
use crate::client::profile::Profile;
use crate::signature::sign::Signer;
use bytes::BytesMut;
use futures_util::FutureExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, RetryConfig};
use runnel_http::{Transport, TransportError, TransportFault, TransportOptions};
use runnel_store::{Error, Kind, Result};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The connect timeout of a credentials provider: outside of Amazon's machines there is none, and a
/// program should learn that soon.
const CONNECT_TIME: Duration = Duration::from_secs(2);
/// How long it may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// The most that is read of its answer, in bytes.
const ANSWER_SIZE: usize = 256 * 1024;

/// The variables that say who hands out keys.
const PROVIDERS: [&str; 8] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_METADATA_ENDPOINT",
];

/// Who asks.
pub(crate) enum Credentials {
    /// Anonymous: requests are not signed, for public buckets.
    Nobody,
    /// Keys that were given.
    Given(Arc<AwsCredential>),
    /// Keys that are handed out, and asked for again before they expire.
    HandedOut(AwsCredentialProvider),
}

impl Credentials {
    /// Looks into the usual places, in the order of [`crate::S3`].
    pub(crate) fn find(options: &S3Options, profile: &Profile, region: &str) -> Result<Self> {
        let given = (options.key.clone(), options.secret.clone(), options.token.clone());
        if let Some(given) = keys(given, "the options key and secret")? {
            return Ok(given);
        }
        if options.flag("AWS_SKIP_SIGNATURE") == Some(true) {
            return Ok(Credentials::Nobody);
        }
        let variable = |name| options.variable(name);
        let from_environment = (
            variable("AWS_ACCESS_KEY_ID"),
            variable("AWS_SECRET_ACCESS_KEY"),
            variable("AWS_SESSION_TOKEN"),
        );
        let names = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        if let Some(given) = keys(from_environment, names)? {
            return Ok(given);
        }
        if variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_none() {
            let value = |name| profile.value(name);
            let from_profile = (
                value("aws_access_key_id"),
                value("aws_secret_access_key"),
                value("aws_session_token"),
            );
            let names = "aws_access_key_id and aws_secret_access_key of the profile";
            if let Some(given) = keys(from_profile, names)? {
                return Ok(given);
            }
        }
        handed_out(options, region)
    }

    /// The current keys; `None` for anonymous requests.
    pub(crate) async fn now(&self) -> Result<Option<Arc<AwsCredential>>> {
        let provider = match self {
            Credentials::Nobody => return Ok(None),
            Credentials::Given(credential) => return Ok(Some(credential.clone())),
            Credentials::HandedOut(provider) => provider,
        };
        // The library panics where a token that it was handed cannot stand in a header, such as one
        // from a file that ends in a line break.
        let asked = AssertUnwindSafe(provider.get_credential()).catch_unwind().await;
        let asked = asked.map_err(|_| {
            let message = "what hands out the credentials answers nonsense, or its token file \
                           holds more than a token";
            Error::new(Kind::Invalid, message)
        })?;
        let credential = asked.map_err(|error| {
            let message = "there are no credentials; set AWS_ACCESS_KEY_ID and \
                           AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
            Error::new(Kind::Denied, message).with_detail(error.to_string())
        })?;
        check(&credential)?;
        Ok(Some(credential))
    }
}

/// Signs with these keys.
pub(crate) fn signer<'a>(credential: &'a AwsCredential, region: &'a str) -> Signer<'a> {
    Signer {
        access_key: &credential.key_id,
        secret: &credential.secret_key,
        token: credential.token.as_deref(),
        region,
    }
}

type Keys = (Option<String>, Option<String>, Option<String>);

fn keys(keys: Keys, names: &str) -> Result<Option<Credentials>> {
    match keys {
        (Some(key_id), Some(secret_key), token) => {
            let credential = AwsCredential { key_id, secret_key, token };
            check(&credential)?;
            Ok(Some(Credentials::Given(Arc::new(credential))))
        }
        (None, None, _) => Ok(None),
        _ => Err(Error::new(Kind::Invalid, format!("{names} belong together; one is missing"))),
    }
}

/// Keys stand in headers, so they are what a header can hold.
fn check(credential: &AwsCredential) -> Result<()> {
    let token = credential.token.as_deref().unwrap_or_default();
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain(&credential.key_id) && is_plain(token) {
        return Ok(());
    }
    let message = "the access key or the token has characters that no key has, such as spaces";
    Err(Error::new(Kind::Invalid, message))
}

fn handed_out(options: &S3Options, region: &str) -> Result<Credentials> {
    let transport = Transport::new(TransportOptions {
        connect_time: CONNECT_TIME,
        body_idle: ANSWER_TIME,
        idle_connections: 1,
        ..TransportOptions::default()
    });
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name("any")
        .with_region(region)
        .with_http_connector(CredentialsConnector(transport))
        .with_retry(RetryConfig { max_retries: 1, ..RetryConfig::default() });
    let mut is_somebody = false;
    for name in PROVIDERS {
        let Some(value) = options.variable(name) else { continue };
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
            is_somebody = true;
        }
    }
    if !is_somebody && options.flag("AWS_EC2_METADATA_DISABLED") == Some(true) {
        let message = "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        return Err(Error::new(Kind::Denied, message));
    }
    let client = builder.build().map_err(|error| {
        Error::new(Kind::Invalid, "the variables of AWS do not say who hands out credentials")
            .with_detail(error.to_string())
    })?;
    Ok(Credentials::HandedOut(client.credentials().clone()))
}

/// Lets `object_store` ask for keys over our connections.
#[derive(Clone, Debug)]
struct CredentialsConnector(Transport);

impl HttpConnector for CredentialsConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for CredentialsConnector {
    fn call<'service, 'call>(
        &'service self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<HttpResponse, HttpError>> + Send + 'call>>
    where
        'service: 'call,
        Self: 'call,
    {
        Box::pin(async move {
            let until = Instant::now() + ANSWER_TIME;
            let response = self.0.send(request, until).await.map_err(http_error)?;
            let (parts, mut body) = response.into_parts();
            let mut collected = BytesMut::new();
            while let Some(piece) = body.next().await {
                collected.extend_from_slice(&piece.map_err(http_error)?);
                if collected.len() > ANSWER_SIZE {
                    let error = std::io::Error::other("the answer is too large");
                    return Err(HttpError::new(HttpErrorKind::Decode, error));
                }
            }
            Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(collected.freeze())))
        })
    }
}

fn http_error(error: TransportError) -> HttpError {
    let kind = match error.fault {
        TransportFault::Connect | TransportFault::Crowded => HttpErrorKind::Connect,
        TransportFault::Timeout => HttpErrorKind::Timeout,
        TransportFault::Closed => HttpErrorKind::Interrupted,
        TransportFault::Malformed => HttpErrorKind::Decode,
        TransportFault::Untrusted => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
