//! What goes wrong with a request, as a status and a plain sentence.

use crate::body::AnswerBody;
use crate::meter::Meter;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use runnel_store::{Error, Kind, Verbs};
use std::borrow::Cow;
use std::rc::Rc;

/// An answer that is not what was asked for.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// What to tell the client beside the status.
    message: Option<Cow<'static, str>>,
    /// The verbs that would have been allowed, for 405.
    allowed: Option<Verbs>,
    /// The rest of what this connection brings cannot be trusted or is not wanted.
    close: bool,
}

impl Problem {
    /// A status and nothing more.
    pub(crate) fn new(status: StatusCode) -> Self {
        Problem { status, message: None, allowed: None, close: false }
    }

    /// A malformed request.
    pub(crate) fn bad(message: &'static str) -> Self {
        Problem::new(StatusCode::BAD_REQUEST).because(message)
    }

    /// With a sentence for the client.
    pub(crate) fn because(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// And the connection ends with it.
    pub(crate) fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// 405 with the verbs that are allowed.
    pub(crate) fn not_allowed(verbs: Verbs) -> Self {
        Problem { allowed: Some(verbs), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED) }
    }

    /// What a store's error means to a client. The sentence of an error below 500 was written
    /// for people and goes out; of the others only the log learns more than the status.
    pub(crate) fn from_error(error: Error, method: &Method, path: &str, id: Option<&str>) -> Self {
        let status = status_of(error.kind);
        if status.is_server_error() {
            tracing::error!(
                %method,
                path,
                id,
                error = %error,
                detail = error.detail.as_deref().unwrap_or_default(),
                "a request failed"
            );
            return Problem::new(status);
        }
        let problem = Problem::new(status);
        if error.message.is_empty() { problem } else { problem.because(error.message) }
    }

    /// The answer. `headers` is an empty map, perhaps with room.
    pub(crate) fn respond(self, mut headers: HeaderMap, meter: &Rc<Meter>) -> Response<AnswerBody> {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        forbid_guessing(&mut headers, meter);
        if let Some(verbs) = self.allowed {
            headers.insert(header::ALLOW, allow(verbs));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.close {
            meter.linger.set(true);
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let reason = self.status.canonical_reason().unwrap_or("Error");
        let code = self.status.as_u16();
        let text = match self.message {
            Some(message) => format!("{code} {reason}: {message}"),
            None => format!("{code} {reason}"),
        };
        let mut response = Response::new(AnswerBody::whole(text.into(), meter));
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

/// No browser is to guess what an answer is (the Fetch standard, section 3.6). The heads of HTTP/1.1
/// say so by themselves, which costs less than a header.
pub(crate) fn forbid_guessing(headers: &mut HeaderMap, meter: &Meter) {
    if meter.is_of_stream() {
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
}

/// The status of a kind of error.
fn status_of(kind: Kind) -> StatusCode {
    StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The `Allow` header of a set of verbs.
pub(crate) fn allow(verbs: Verbs) -> HeaderValue {
    use runnel_store::Verb;
    let mut text = String::from("OPTIONS");
    for (verb, methods) in [
        (Verb::Get, ", GET, HEAD"),
        (Verb::Put, ", PUT"),
        (Verb::Post, ", POST"),
        (Verb::Merge, ", PATCH"),
        (Verb::Delete, ", DELETE"),
    ] {
        if verbs.has(verb) {
            text.push_str(methods);
        }
    }
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("OPTIONS"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_store::Verb;

    #[test]
    fn allow_names_the_methods_of_the_verbs() {
        assert_eq!(allow(Verbs::NONE), "OPTIONS");
        assert_eq!(allow(Verbs::NONE.with(Verb::Get)), "OPTIONS, GET, HEAD");
        assert_eq!(allow(Verbs::ALL), "OPTIONS, GET, HEAD, PUT, POST, PATCH, DELETE");
    }

    #[test]
    fn only_errors_of_the_client_tell_their_message() {
        let told = |kind| {
            Problem::from_error(Error::new(kind, "a reason"), &Method::GET, "/x", None)
                .message
                .is_some()
        };
        assert!(told(Kind::Invalid) && told(Kind::Conflict) && told(Kind::Denied));
        assert!(!told(Kind::Failed) && !told(Kind::Unavailable) && !told(Kind::Timeout));
    }
}
