//! What can go wrong with a server, in one sentence.

use crate::address::Address;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind, PublishError};
use async_nats::jetstream::stream::{ConsumerError, ConsumerErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{ConnectError, ConnectErrorKind, RequestError, RequestErrorKind};
use runnel_store::{Error, Kind};
use std::error::Error as Cause;
use std::io;

/// The error of what the library reports.
pub(super) fn from_library(error: &(dyn Cause + 'static), server: &Address) -> Error {
    let (kind, message) = describe(error, server);
    Error::new(kind, message).with_detail(error.to_string())
}

/// The code of JetStream's own answer in an error.
pub(super) fn code(error: &(dyn Cause + 'static)) -> Option<ErrorCode> {
    causes(error).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<ConsumerError>()
            && let ConsumerErrorKind::JetStream(error) = error.kind()
        {
            return Some(error.error_code());
        }
        let nested = cause.downcast_ref::<GetStreamError>().map(GetStreamError::kind);
        match nested {
            Some(GetStreamErrorKind::JetStream(error)) => Some(error.error_code()),
            _ => cause.downcast_ref::<jetstream::Error>().map(jetstream::Error::error_code),
        }
    })
}

/// Whether the server refused a write, or it was not sent: what else went wrong may have been done.
pub(super) fn is_refusal(error: &(dyn Cause + 'static)) -> bool {
    const REFUSED: [&str; 3] = ["wrong last", "max payload", "Payload size limit"];
    let says_so = |cause: &(dyn Cause + 'static)| {
        let text = cause.to_string();
        REFUSED.iter().any(|words| text.contains(words))
    };
    code(error).is_some() || is_unanswered(error) || causes(error).any(says_so)
}

/// Whether it is the error of a missing bucket: no responder.
pub(super) fn is_missing(error: &Error) -> bool {
    error.kind == Kind::NotFound || error.message.contains(NO_JETSTREAM)
}

/// The error of a server without JetStream.
const NO_JETSTREAM: &str = "has no JetStream: it has to be started with -js";

/// Whether the subject of a request has no responders.
fn is_unanswered(error: &(dyn Cause + 'static)) -> bool {
    causes(error).any(|cause| {
        let request = cause.downcast_ref::<RequestError>().map(RequestError::kind);
        let publish = cause.downcast_ref::<PublishError>().map(PublishError::kind);
        request == Some(RequestErrorKind::NoResponders)
            || publish == Some(PublishErrorKind::StreamNotFound)
            || cause.to_string().contains("no responders")
    })
}

fn causes<'a>(error: &'a (dyn Cause + 'static)) -> impl Iterator<Item = &'a (dyn Cause + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

fn describe(error: &(dyn Cause + 'static), server: &Address) -> (Kind, String) {
    if let Some(code) = code(error) {
        return of_code(code, server);
    }
    for cause in causes(error) {
        let text = cause.to_string();
        if text.contains("max payload") || text.contains("Payload size limit") {
            return (Kind::TooLarge, format!("it is larger than {server} takes in one message"));
        }
        if text.contains("timed out") {
            return (Kind::Timeout, format!("{server} did not answer in time"));
        }
    }
    if is_unanswered(error) {
        let message = format!("{server} {NO_JETSTREAM}");
        return (Kind::Unavailable, message);
    }
    (Kind::Unavailable, format!("{server} did not do this"))
}

fn of_code(code: ErrorCode, server: &Address) -> (Kind, String) {
    match code {
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
            (Kind::Unavailable, format!("{server} {NO_JETSTREAM}"))
        }
        ErrorCode::STREAM_STORE_FAILED => {
            (Kind::Unavailable, "the stream is full: its followers have not done the oldest".into())
        }
        ErrorCode::STREAM_NOT_FOUND => (Kind::NotFound, "there is no such bucket".to_string()),
        ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::MEMORY_RESOURCES_EXCEEDED => {
            (Kind::Unavailable, format!("{server} has no room for this"))
        }
        _ => (Kind::Failed, format!("{server} does not do this")),
    }
}

/// The error of a connection that could not be made.
pub(super) fn of_connecting(error: &ConnectError, server: &Address) -> Error {
    let (kind, message, temporary) = match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            (Kind::Denied, format!("{server} does not accept who we are"), false)
        }
        ConnectErrorKind::TimedOut => {
            (Kind::Timeout, format!("{server} took too long to connect"), true)
        }
        ConnectErrorKind::Dns => {
            (Kind::Unavailable, format!("the host {} cannot be found", server.host), true)
        }
        ConnectErrorKind::Tls => {
            (Kind::Denied, format!("{server} has no trustworthy secure connection"), false)
        }
        ConnectErrorKind::ServerParse => {
            (Kind::Invalid, format!("{server} cannot be the address of a server"), false)
        }
        ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => return of_io(error, server),
    };
    Error::new(kind, message).with_temporary(temporary).with_detail(error.to_string())
}

fn of_io(error: &ConnectError, server: &Address) -> Error {
    let io = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    let (message, temporary) = match io.map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            (format!("{server} refused the connection"), true)
        }
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other) => {
            (format!("{server} answered something else than NATS does"), false)
        }
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe,
        ) => (format!("{server} closed the connection"), true),
        _ if error.to_string().contains("expected INFO, got nothing") => {
            (format!("{server} closed the connection"), true)
        }
        _ if error.to_string().contains("expected INFO") => {
            (format!("{server} answered something else than NATS does"), false)
        }
        _ => (format!("{server} cannot be reached"), true),
    };
    Error::new(Kind::Unavailable, message).with_temporary(temporary).with_detail(error.to_string())
}
