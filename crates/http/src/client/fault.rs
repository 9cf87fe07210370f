//! What can go wrong on the way to a server and back, in one sentence.

use hyper::{StatusCode, Uri};
use hyper_util::client::legacy;
use runnel_store::{Error, Kind};
use std::error::Error as _;
use std::io;

/// The error of a status that means no success.
pub(super) fn of_status(status: StatusCode) -> Error {
    let kind = match status.as_u16() {
        404 | 410 => Kind::NotFound,
        401 | 402 | 403 | 407 | 451 => Kind::Denied,
        405 | 501 => Kind::NotAllowed,
        406 | 415 => Kind::Unsupported,
        408 | 504 => Kind::Timeout,
        409 | 423 => Kind::Conflict,
        412 | 428 => Kind::Precondition,
        413 | 414 | 431 => Kind::TooLarge,
        425 | 429 | 502 | 503 => Kind::Unavailable,
        400..=499 => Kind::Invalid,
        _ => Kind::Failed,
    };
    let reason = status.canonical_reason().unwrap_or_default();
    let text = format!("the server answered {} {reason}", status.as_u16());
    Error::new(kind, text.trim_end())
}

/// The error of a request that got no answer.
pub(super) fn of_wire(error: legacy::Error, target: &Uri) -> Error {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    let detail = chain(&error);
    let (kind, message, temporary) = match cause(&error) {
        Cause::Io(io::ErrorKind::ConnectionRefused) => {
            (Kind::Unavailable, format!("{host} refused the connection"), true)
        }
        Cause::Io(io::ErrorKind::NotFound) => (
            Kind::Unavailable,
            format!("there is no socket on which {host} is to be reached"),
            true,
        ),
        Cause::Io(io::ErrorKind::PermissionDenied) => {
            (Kind::Denied, format!("the socket of {host} is not for this user"), false)
        }
        Cause::Io(io::ErrorKind::TimedOut) => (Kind::Timeout, too_long(target, "connect"), true),
        Cause::Io(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof,
        )
        | Cause::Closed => {
            (Kind::Unavailable, format!("{host} closed the connection without an answer"), true)
        }
        Cause::Tls(reason) => {
            (Kind::Denied, format!("{host} has no trustworthy secure connection: {reason}"), false)
        }
        Cause::Name => (Kind::Unavailable, format!("the host {host} cannot be found"), true),
        Cause::Malformed => {
            (Kind::Failed, format!("{host} answered something else than HTTP"), false)
        }
        Cause::Io(_) | Cause::Other => {
            let verb = if error.is_connect() { "reached" } else { "used" };
            (Kind::Unavailable, format!("{host} cannot be {verb}"), true)
        }
    };
    Error::new(kind, message).with_temporary(temporary).with_detail(detail)
}

/// The sentence about a server that takes too long.
pub(super) fn too_long(target: &Uri, what: &str) -> String {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    format!("{host} took too long to {what}")
}

/// Whether the connection ended without an answer: the server may have seen the request or not.
pub(super) fn was_closed(error: &legacy::Error) -> bool {
    !error.is_connect()
        && matches!(
            cause(error),
            Cause::Closed
                | Cause::Io(
                    io::ErrorKind::ConnectionReset
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::ConnectionAborted
                )
        )
}

enum Cause {
    Io(io::ErrorKind),
    Tls(String),
    Name,
    Closed,
    Malformed,
    Other,
}

/// The innermost cause that says something.
fn cause(error: &legacy::Error) -> Cause {
    let mut found = Cause::Other;
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(http) = cause.downcast_ref::<hyper::Error>() {
            if http.is_incomplete_message() || http.is_closed() || http.is_canceled() {
                found = Cause::Closed;
            } else if http.is_parse() {
                return Cause::Malformed;
            }
        }
        if cause.to_string() == "dns error" {
            return Cause::Name;
        }
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            if let Some(tls) = tls_cause(io) {
                return Cause::Tls(tls.to_string());
            }
            found = Cause::Io(io.kind());
        }
        next = cause.source();
    }
    found
}

/// TLS's own error, which I/O errors wrap, at times twice. Their `source` does not show it.
fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    match inner.downcast_ref::<io::Error>() {
        Some(nested) => tls_cause(nested),
        None => inner.downcast_ref::<rustls::Error>(),
    }
}

/// Every cause, from the outside in.
fn chain(error: &legacy::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_kinds() {
        for (status, kind, temporary) in [
            (400, Kind::Invalid, false),
            (401, Kind::Denied, false),
            (403, Kind::Denied, false),
            (404, Kind::NotFound, false),
            (409, Kind::Conflict, false),
            (412, Kind::Precondition, false),
            (418, Kind::Invalid, false),
            (429, Kind::Unavailable, true),
            (500, Kind::Failed, false),
            (503, Kind::Unavailable, true),
            (504, Kind::Timeout, true),
            (599, Kind::Failed, false),
        ] {
            let error = of_status(StatusCode::from_u16(status).unwrap_or_default());
            assert_eq!((error.kind, error.temporary), (kind, temporary), "{status}");
        }
        assert_eq!(of_status(StatusCode::FORBIDDEN).message, "the server answered 403 Forbidden");
    }
}
