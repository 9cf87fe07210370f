//! One request: signed, sent, tried again, and its answer.

pub(crate) mod presign;

use crate::client::credentials::signer;
use crate::client::fault::{self, S3Refusal};
use crate::client::options::S3Options;
use crate::client::settings::S3Settings;
use crate::signature::EMPTY_HASH;
use crate::signature::digest::sha256_hex;
use crate::signature::sign::SignedTarget;
use crate::signature::time::SigningTime;
use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use object_store::aws::AwsCredential;
use object_store::client::{HttpRequest, HttpRequestBody};
use runnel_http::{Received, Transport, TransportFault, TransportOptions};
use runnel_store::{Error, Kind, Result};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long an operation may be kept alive by white space.
const LONGEST_OPERATION: Duration = Duration::from_secs(3600);
/// How often a request is sent when the server is not reached or asks to come back. Nothing that is
/// said twice to S3 does more than said once, but for what [`S3Request::once`] says.
const ATTEMPTS: u32 = 3;
/// How long the first pause between attempts is; each is four times the one before.
const PAUSE: Duration = Duration::from_millis(50);
/// A body that goes out more slowly than this, in bytes per second, counts as standing still.
const PACE: u64 = 64 * 1024;
/// The most that is read of an error, in bytes.
const REFUSAL_SIZE: usize = 64 * 1024;
/// How long reading an error may take: the status is known, only the words are missing.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// A server with the connections to it.
pub(crate) struct S3Server {
    pub(crate) settings: S3Settings,
    transport: Transport,
    answer_time: Duration,
    pub(crate) collect: usize,
}

/// A request.
pub(crate) struct S3Request<'a> {
    pub(crate) method: Method,
    pub(crate) bucket: Option<&'a str>,
    /// The key, or nothing for the bucket itself.
    pub(crate) key: &'a str,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether it is sent once only, because twice would do more.
    pub(crate) once: bool,
}

impl<'a> S3Request<'a> {
    pub(crate) fn new(method: Method, bucket: &'a str, key: &'a str) -> Self {
        S3Request {
            method,
            bucket: Some(bucket),
            key,
            query: &[],
            headers: HeaderMap::new(),
            body: Bytes::new(),
            once: false,
        }
    }

    /// Whether it is a write under a condition, which the write itself makes untrue.
    fn is_conditional_write(&self) -> bool {
        let names = [header::IF_MATCH.as_str(), header::IF_NONE_MATCH.as_str(), COPY_IF_MATCH];
        let is_write = matches!(self.method, Method::PUT | Method::POST | Method::DELETE);
        is_write && names.iter().any(|name| self.headers.contains_key(*name))
    }

    /// The error of a request whose response was lost after it was sent.
    pub(crate) fn lost(&self, error: Error) -> Error {
        if self.is_conditional_write() { error.in_doubt() } else { error }
    }
}

/// The header with the condition of a copy.
pub(crate) const COPY_IF_MATCH: &str = "x-amz-copy-source-if-match";

impl S3Server {
    pub(crate) fn new(options: &S3Options) -> Result<S3Server> {
        let settings = S3Settings::find(options)?;
        let transport = Transport::new(TransportOptions {
            connect_time: options.connect_time,
            body_idle: options.answer_time,
            ..TransportOptions::default()
        });
        let (answer_time, collect) = (options.answer_time, options.collect);
        Ok(S3Server { settings, transport, answer_time, collect })
    }

    /// When a request with a body of this size has to be answered.
    pub(crate) fn until(&self, deadline: Option<Instant>, size: usize) -> Instant {
        let sending = Duration::from_secs(size as u64 / PACE);
        let usual = Instant::now() + self.answer_time + sending;
        deadline.map_or(usual, |deadline| deadline.min(usual))
    }

    /// Sends a request, with retries of temporary failures, and answers the response in time,
    /// success or not.
    pub(crate) async fn send(
        &self,
        ask: &S3Request<'_>,
        deadline: Option<Instant>,
    ) -> Result<Response<Received>> {
        let until = self.until(deadline, ask.body.len());
        let signing = self.settings.credentials.now();
        let credential = match tokio::time::timeout_at(until.into(), signing).await {
            Ok(credential) => credential?,
            Err(_) => {
                let message = "the credentials were not handed out in time";
                return Err(Error::new(Kind::Timeout, message));
            }
        };
        let mut attempt = 1;
        loop {
            let request = self.request(ask, credential.as_deref())?;
            let sent = self.transport.send(request, until).await;
            let is_conditional = ask.is_conditional_write();
            let may_help = match &sent {
                // What failed within the server, or behind a gateway, may have been done.
                Ok(response) if is_conditional => response.status().as_u16() == 503,
                Ok(response) => matches!(response.status().as_u16(), 500 | 502 | 503),
                Err(error) => {
                    matches!(error.fault, TransportFault::Connect)
                        || (error.fault == TransportFault::Closed && !ask.once)
                }
            };
            let pause = PAUSE * 4u32.pow(attempt - 1);
            let is_last = attempt == ATTEMPTS || Instant::now() + pause >= until;
            if !may_help || is_last {
                return sent.map_err(|error| match error.is_sent {
                    true => ask.lost(error.into()),
                    false => error.into(),
                });
            }
            tracing::debug!(attempt, "a request to S3 is sent again");
            drop(sent);
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// As [`S3Server::send`]; what is no success is an error.
    pub(crate) async fn succeed(
        &self,
        ask: &S3Request<'_>,
        deadline: Option<Instant>,
    ) -> Result<Response<Received>> {
        let response = self.send(ask, deadline).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.unsuccessful(ask, response, deadline).await)
    }

    /// The error of an answer that is no success, of a request that may be a conditional write.
    pub(crate) async fn unsuccessful(
        &self,
        ask: &S3Request<'_>,
        response: Response<Received>,
        deadline: Option<Instant>,
    ) -> Error {
        let is_lost = matches!(response.status().as_u16(), 500 | 502 | 504);
        let refused = self.refused(response, ask.bucket, deadline).await;
        if is_lost { ask.lost(refused) } else { refused }
    }

    /// The error of an answer that is no success.
    pub(crate) async fn refused(
        &self,
        mut response: Response<Received>,
        bucket: Option<&str>,
        deadline: Option<Instant>,
    ) -> Error {
        let usual = Instant::now() + REFUSAL_TIME;
        let until = deadline.map_or(usual, |deadline| deadline.min(usual));
        let mut body = BytesMut::new();
        while body.len() < REFUSAL_SIZE {
            let piece = tokio::time::timeout_at(until.into(), response.body_mut().next()).await;
            let Ok(Some(Ok(piece))) = piece else { break };
            body.extend_from_slice(&piece);
        }
        body.truncate(REFUSAL_SIZE);
        let region = response.headers().get("x-amz-bucket-region");
        fault::of_refusal(&S3Refusal {
            status: response.status(),
            body: &String::from_utf8_lossy(&body),
            region: region.and_then(|region| region.to_str().ok()),
            bucket,
        })
    }

    /// The whole body of a short answer as text.
    pub(crate) async fn text(
        &self,
        response: Response<Received>,
        most: usize,
        deadline: Option<Instant>,
    ) -> Result<String> {
        let until = self.until(deadline, 0);
        self.read_text(response, most, || until).await
    }

    /// The same of an operation that may take long: the white space that a server sends meanwhile
    /// prolongs the wait, for an hour at most.
    pub(crate) async fn late_text(
        &self,
        response: Response<Received>,
        most: usize,
        deadline: Option<Instant>,
    ) -> Result<String> {
        let last = Instant::now() + LONGEST_OPERATION;
        self.read_text(response, most, || self.until(deadline, 0).min(last)).await
    }

    async fn read_text(
        &self,
        response: Response<Received>,
        most: usize,
        until: impl Fn() -> Instant,
    ) -> Result<String> {
        let mut body = response.into_body();
        let mut text = BytesMut::new();
        loop {
            match tokio::time::timeout_at(until().into(), body.next()).await {
                Ok(Some(piece)) => text.extend_from_slice(&piece?),
                Ok(None) => break,
                Err(_) => {
                    let message = "the server took too long to send its answer";
                    return Err(Error::new(Kind::Timeout, message));
                }
            }
            if text.len() > most {
                return Err(Error::new(Kind::TooLarge, "the answer of the server is too large"));
            }
        }
        String::from_utf8(text.into()).map_err(|_| fault::garbage("XML", ""))
    }

    /// A request that is signed as of now (AWS Signature Version 4).
    fn request(&self, ask: &S3Request, credential: Option<&AwsCredential>) -> Result<HttpRequest> {
        let address = self.settings.address(ask.bucket, ask.key, ask.query)?;
        let uri: Uri = address.as_str().parse().map_err(|_| {
            Error::new(Kind::Invalid, "the endpoint or the key cannot be part of an address")
        })?;
        let mut headers = ask.headers.clone();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if matches!(ask.method, Method::PUT | Method::POST) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
        }
        if let Some(credential) = credential {
            let hash = match ask.body.is_empty() {
                true => EMPTY_HASH.to_string(),
                false => sha256_hex(&ask.body),
            };
            let target = SignedTarget { method: &ask.method, uri: &uri, payload: &hash };
            let time = SigningTime::of(SystemTime::now());
            let signer = signer(credential, &self.settings.region);
            signer.sign(target, &mut headers, &time).map_err(|error| {
                Error::new(Kind::Failed, "the request could not be signed")
                    .with_detail(error.to_string())
            })?;
        }
        let mut request = Request::new(HttpRequestBody::from(ask.body.clone()));
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Sends a request once without waiting for it: cleans up after a caller that has gone away.
    pub(crate) fn send_aside(
        self: &Arc<Self>,
        ask: &S3Request,
        credential: Option<&AwsCredential>,
    ) {
        // Without an event loop nothing can be sent; the server forgets in its own time.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let Ok(request) = self.request(ask, credential) else { return };
        let (transport, until) = (self.transport.clone(), self.until(None, 0));
        runtime.spawn(async move {
            match transport.send(request, until).await {
                Ok(response) if response.status().is_success() => {}
                Ok(response) => {
                    let status = response.status().as_u16();
                    tracing::warn!(status, "an upload that was given up could not be removed");
                }
                Err(error) => {
                    tracing::warn!(%error, "an upload that was given up could not be removed");
                }
            }
        });
    }
}

const USER_AGENT: &str = concat!("runnel/", env!("CARGO_PKG_VERSION"));

/// Whether an answer says that nothing is there.
pub(crate) fn is_missing(status: StatusCode) -> bool {
    status == StatusCode::NOT_FOUND
}
