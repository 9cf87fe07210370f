//! Error responses: a status, and what the client learns beside it.

use crate::protocol::target::InvalidTarget;
use crate::server::connection_state::ConnectionState;
use crate::server::log_rate::LogRate;
use crate::server::request::exchange::{HttpExchange, is_framing};
use crate::server::response::body::ResponseBody;
use crate::server::response::problem_form::{ProblemForm, ProblemText};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use runnel_store::{Error, FieldProblem, Kind, Verbs};
use std::borrow::Cow;
use std::rc::Rc;

/// An error response.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// The message for the client.
    message: Option<Cow<'static, str>>,
    /// Rare parts.
    more: Option<Box<ProblemMore>>,
    /// Close the connection: the rest of its input is untrusted or unwanted.
    close: bool,
}

/// The rare parts of an error response.
#[derive(Debug, Default)]
struct ProblemMore {
    /// The allowed verbs, for 405.
    allowed: Option<Verbs>,
    /// The invalid fields of the request content.
    fields: Vec<FieldProblem>,
    /// Headers that the program set.
    headers: Vec<(HeaderName, HeaderValue)>,
    form: ProblemForm,
    /// The id of the request.
    instance: Option<String>,
    /// The nonce of the content security policy.
    nonce: Option<String>,
    /// The form depends on `Accept`.
    is_negotiated: bool,
    /// The program set the status with the error itself.
    has_own_status: bool,
    /// Whether a write was executed is unknown: the client must not retry.
    is_in_doubt: bool,
}

impl From<InvalidTarget> for Problem {
    fn from(fault: InvalidTarget) -> Self {
        match fault {
            InvalidTarget::TooLong => Problem::new(StatusCode::URI_TOO_LONG).closing(),
            InvalidTarget::Malformed(message) => Problem::bad(message),
        }
    }
}

impl Problem {
    /// A status without a message.
    pub(crate) fn new(status: StatusCode) -> Self {
        Problem { status, message: None, more: None, close: false }
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

    /// Closes the connection afterwards.
    pub(crate) fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    fn more(&mut self) -> &mut ProblemMore {
        self.more.get_or_insert_default()
    }

    /// 405 with the allowed verbs, or 404 without any: the resource does not exist.
    pub(crate) fn not_allowed(verbs: Verbs) -> Self {
        if verbs.is_empty() {
            return Problem::new(StatusCode::NOT_FOUND);
        }
        let mut problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED);
        problem.more().allowed = Some(verbs);
        problem
    }

    /// The response to a store's error. The message of an error below 500 is written for people and
    /// is sent, unless a resource of the program raised it; others go to the log.
    pub(crate) fn from_error(error: Error, method: &Method, path: &str, id: Option<&str>) -> Self {
        let error = if error.internal { error_inside(error) } else { error };
        let own = error.response.as_deref().and_then(|response| response.status);
        let own = own.and_then(|status| StatusCode::from_u16(status).ok());
        let status = own.unwrap_or_else(|| status_of(error.kind));
        let detail = error.detail.as_deref().unwrap_or_default();
        let mut problem = Problem::new(status);
        if own.is_none() && status.is_server_error() {
            if let Some(left_out) = log_permit(status) {
                tracing::error!(%method, path, id, %error, detail, left_out, "a request failed");
            }
        } else if error.internal {
            tracing::debug!(%method, path, id, %error, detail, "a resource of a program refused");
        } else if !error.message.is_empty() {
            problem = problem.because(error.message);
        }
        if error.kind == Kind::InDoubt {
            problem.more().is_in_doubt = true;
        }
        if !error.fields.is_empty() {
            problem.more().fields = error.fields;
        }
        if let Some(response) = error.response {
            let more = problem.more();
            more.has_own_status = own.is_some();
            more.headers = checked_headers(response.headers);
        }
        problem
    }

    /// In the form that the client accepts, with the program's overrides: a status for errors, and
    /// headers that are not about the content.
    pub(crate) fn for_request(mut self, exchange: &HttpExchange) -> Self {
        let wished = exchange.overrides.error_status();
        let is_own = self.more.as_ref().is_some_and(|more| more.has_own_status);
        if let Some(status) = wished
            && !is_own
            && self.status.is_client_error()
        {
            self.status = status;
        }
        let mut headers = exchange.overrides.take_headers();
        headers.retain(|(name, _)| !OF_CONTENT.contains(name));
        let id = exchange.observed.as_ref().and_then(|observed| observed.id());
        let instance = id.map(str::to_string);
        let nonce = exchange.overrides.nonce().map(str::to_string);
        let form = ProblemForm::of(&exchange.headers);
        let more = self.more();
        headers.append(&mut more.headers);
        (more.headers, more.instance, more.nonce) = (headers, instance, nonce);
        (more.form, more.is_negotiated) = (form, true);
        self
    }

    /// The response. `headers` is an empty map, perhaps with capacity.
    pub(crate) fn respond(
        self,
        mut headers: HeaderMap,
        state: &Rc<ConnectionState>,
    ) -> Response<ResponseBody> {
        let more = self.more.map(|more| *more).unwrap_or_default();
        headers.insert(header::CONTENT_TYPE, more.form.media_type());
        set_nosniff(&mut headers, state);
        if let Some(verbs) = more.allowed {
            headers.insert(header::ALLOW, allow(verbs));
        }
        if more.is_negotiated {
            headers.insert(header::VARY, HeaderValue::from_static("accept"));
        }
        for (name, value) in more.headers {
            match name {
                header::VARY if headers.get(header::VARY) == Some(&value) => {}
                header::SET_COOKIE | header::WWW_AUTHENTICATE | header::VARY => {
                    headers.append(name, value);
                }
                name => {
                    headers.insert(name, value);
                }
            }
        }
        add_challenge(self.status, &mut headers);
        if self.status == StatusCode::SERVICE_UNAVAILABLE && !more.is_in_doubt {
            headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        if self.close {
            state.linger.set(true);
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let text = more.form.write(&ProblemText {
            code: self.status.as_u16(),
            title: self.status.canonical_reason().unwrap_or("Error"),
            detail: self.message.as_deref(),
            instance: more.instance.as_deref(),
            fields: &more.fields,
            nonce: more.nonce.as_deref(),
        });
        let mut response = Response::new(ResponseBody::whole(text.into(), state));
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

thread_local! {
    /// Rate limit of log lines about 503 and 504.
    static OVERLOAD: LogRate = const { LogRate::new() };
}

/// Whether a failed request is logged, with the number of suppressed lines. Clients can cause 503,
/// 504 and 507 at will, so one line a second is.
pub fn log_permit(status: StatusCode) -> Option<u64> {
    match status {
        StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT
        | StatusCode::INSUFFICIENT_STORAGE => OVERLOAD.with(LogRate::allow),
        _ => Some(0),
    }
}

/// The error of a resource that a program called, as a client sees it: a missing, busy or
/// conflicting resource concerns the client, too; an invalid call by the program does not.
fn error_inside(mut error: Error) -> Error {
    use Kind::{Cancelled, Timeout, TooMany, Unavailable};
    use Kind::{Conflict, Denied, Gone, InDoubt, NotFound, Precondition};
    match error.kind {
        NotFound | Gone | Conflict | Denied | Precondition => {}
        Kind::Invalid if error.of_reference => {}
        Timeout | Unavailable | Cancelled | InDoubt => {}
        TooMany => error.kind = Unavailable,
        _ => error.kind = Kind::Failed,
    }
    error.fields.clear();
    error.response = None;
    error
}

/// Headers about content that an error response does not have.
const OF_CONTENT: [HeaderName; 11] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_DISPOSITION,
    header::CONTENT_RANGE,
    header::ACCEPT_RANGES,
    header::ETAG,
    header::LAST_MODIFIED,
    header::CACHE_CONTROL,
    header::EXPIRES,
];

/// The headers of an error, without framing headers and malformed ones.
fn checked_headers(headers: Vec<(String, String)>) -> Vec<(HeaderName, HeaderValue)> {
    let pair = |(name, value): (String, String)| {
        let (name, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
        (!is_framing(&name) && !OF_CONTENT.contains(&name)).then_some((name, value))
    };
    headers.into_iter().filter_map(pair).collect()
}

/// Adds the challenge that RFC 9110 section 15.5.2 requires to a 401 without one.
pub(crate) fn add_challenge(status: StatusCode, headers: &mut HeaderMap) {
    if status == StatusCode::UNAUTHORIZED {
        let challenge = headers.entry(header::WWW_AUTHENTICATE);
        challenge.or_insert(HeaderValue::from_static("Bearer"));
    }
}

/// Disables MIME sniffing (Fetch standard, section 3.6). HTTP/1.1 heads contain the line anyway,
/// which costs less than a header.
pub(crate) fn set_nosniff(headers: &mut HeaderMap, state: &ConnectionState) {
    if state.is_of_stream() {
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
