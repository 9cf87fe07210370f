//! Requests to the authority, over the project's own HTTP client.

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use runnel_http::{Transport, TransportError};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest response, in bytes: a chain of certificates has a few KiB.
const MAX_RESPONSE_SIZE: usize = 1024 * 1024;
/// The longest pause that an authority may demand.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The client of an authority.
#[derive(Clone)]
pub(crate) struct AuthorityClient {
    transport: Transport,
    /// The pause that the authority demanded in its last refusal.
    pause: Arc<Mutex<Option<Duration>>>,
}

impl AuthorityClient {
    pub(crate) fn new(transport: Transport) -> AuthorityClient {
        AuthorityClient { transport, pause: Arc::default() }
    }

    /// The pause that the authority demanded (`Retry-After` of a refusal), once.
    pub(crate) fn take_pause(&self) -> Option<Duration> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note_pause(&self, response: &Response<()>) {
        let status = response.status();
        if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::SERVICE_UNAVAILABLE {
            return;
        }
        let field = response.headers().get(http::header::RETRY_AFTER);
        let seconds = field.and_then(|field| field.to_str().ok()?.trim().parse().ok());
        let pause = seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = pause;
    }

    async fn send(self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Error> {
        let until = Instant::now() + REQUEST_TIMEOUT;
        let (parts, mut received) =
            self.transport.send(request, until).await.map_err(failed)?.into_parts();
        let mut body = BytesMut::new();
        let collecting = async {
            while let Some(piece) = received.next().await {
                body.extend_from_slice(&piece?);
                if body.len() > MAX_RESPONSE_SIZE {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let late = || Error::Str("the response took too long");
        match tokio::time::timeout_at(until.into(), collecting).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Err(Error::Str("the response is too large")),
            Ok(Err(error)) => return Err(failed(error)),
            Err(_) => return Err(late()),
        }
        let head = Response::from_parts(parts.clone(), ());
        self.note_pause(&head);
        Ok(BytesResponse { parts, body: Box::new(body.freeze()) })
    }
}

impl HttpClient for AuthorityClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        Box::pin(self.clone().send(request))
    }
}

/// The problem of a nonce that the authority does not accept.
const BAD_NONCE: &str = "urn:ietf:params:acme:error:badNonce";

fn failed(error: TransportError) -> Error {
    Error::Other(Box::new(error))
}

/// Whether the order did not fail, but was not heard: the authority was not reached, or it accepted no
/// nonce of the client, which then begins anew (RFC 8555 section 6.5).
pub(crate) fn is_unreachable(error: &Error) -> bool {
    match error {
        Error::Other(cause) => cause.is::<TransportError>(),
        Error::Api(problem) => problem.r#type.as_deref() == Some(BAD_NONCE),
        _ => false,
    }
}
