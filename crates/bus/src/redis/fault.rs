//! What can go wrong with a server, in one sentence.

use crate::address::Address;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use runnel_store::{Error, Kind};
use std::error::Error as _;
use std::io;

/// Whether the connection cannot be used any more.
pub(super) fn is_broken(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || matches!(error.kind(), ErrorKind::Parse)
}

/// The error of what the library reports about a server.
pub(super) fn from_library(error: &RedisError, server: &Address) -> Error {
    let (kind, message, temporary) = match error.kind() {
        ErrorKind::AuthenticationFailed => {
            (Kind::Denied, format!("{server} does not accept the user or the password"), false)
        }
        ErrorKind::Io => return from_io(error, server),
        ErrorKind::Parse => {
            (Kind::Unavailable, format!("{server} answered something else than Redis does"), false)
        }
        ErrorKind::Server(kind) => from_server(kind, error, server),
        ErrorKind::Extension => from_code(error.code().unwrap_or_default(), server),
        _ => (Kind::Failed, format!("{server} answered what was not expected"), false),
    };
    Error::new(kind, message).with_temporary(temporary).with_detail(error.to_string())
}

/// The error of a stream that cannot be opened or breaks.
pub(super) fn from_stream(error: &io::Error, server: &Address) -> Error {
    let (kind, message, temporary) = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            (Kind::Unavailable, format!("{server} refused the connection"), true)
        }
        io::ErrorKind::TimedOut => {
            (Kind::Timeout, format!("{server} took too long to connect"), true)
        }
        io::ErrorKind::InvalidData => {
            (Kind::Denied, format!("{server} has no trustworthy secure connection"), false)
        }
        _ if error.to_string().contains("failed to lookup address") => {
            (Kind::Unavailable, format!("the host {} cannot be found", server.host), true)
        }
        _ => (Kind::Unavailable, format!("{server} cannot be reached"), true),
    };
    Error::new(kind, message).with_temporary(temporary).with_detail(error.to_string())
}

fn from_io(error: &RedisError, server: &Address) -> Error {
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(cause) if !error.is_connection_dropped() => from_stream(cause, server),
        _ => Error::new(Kind::Unavailable, format!("{server} closed the connection"))
            .with_detail(error.to_string()),
    }
}

fn from_server(
    kind: ServerErrorKind,
    error: &RedisError,
    server: &Address,
) -> (Kind, String, bool) {
    match kind {
        ServerErrorKind::NoPerm => {
            (Kind::Denied, format!("the user has no right to do this on {server}"), false)
        }
        ServerErrorKind::BusyLoading => {
            (Kind::Unavailable, format!("{server} is still loading its data"), true)
        }
        ServerErrorKind::ReadOnly => {
            (Kind::Unavailable, format!("{server} is a replica that takes no changes"), true)
        }
        ServerErrorKind::MasterDown | ServerErrorKind::ClusterDown | ServerErrorKind::TryAgain => {
            (Kind::Unavailable, format!("{server} cannot answer now"), true)
        }
        ServerErrorKind::Moved | ServerErrorKind::Ask => {
            let message = format!("{server} is part of a cluster, and the key is on another node");
            (Kind::Unavailable, message, false)
        }
        _ if error.detail().is_some_and(|detail| detail.contains("DB index")) => {
            (Kind::NotFound, format!("{server} has no database of this number"), false)
        }
        _ => (Kind::Failed, format!("{server} does not do this"), false),
    }
}

/// Codes that the library has no name for.
fn from_code(code: &str, server: &Address) -> (Kind, String, bool) {
    match code {
        "WRONGTYPE" => {
            (Kind::Conflict, "what is there is of another kind; put replaces it".into(), false)
        }
        "NOAUTH" => (
            Kind::Denied,
            format!(
                "{server} wants a password: write it in REDIS_URL, as in redis://:PASSWORD@host"
            ),
            false,
        ),
        "WRONGPASS" => {
            (Kind::Denied, format!("{server} does not accept the user or the password"), false)
        }
        "OOM" => (Kind::Unavailable, format!("{server} has no memory left"), true),
        "MISCONF" => (Kind::Unavailable, format!("{server} cannot save its data"), true),
        "BUSY" => (Kind::Unavailable, format!("{server} is busy with a script"), true),
        "NOREPLICAS" => (Kind::Unavailable, format!("{server} lacks replicas"), true),
        _ => (Kind::Failed, format!("{server} does not do this"), false),
    }
}
