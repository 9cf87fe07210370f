//! Errors of the client, each as one sentence.

use crate::client::failure::{FailureCause, RoundTripFailure};
use crate::client::transport::TransportError;
use hyper::{StatusCode, Uri};
use runnel_store::{Error, Kind};
use std::io;

/// The error of a status that is no success.
pub(crate) fn of_status(status: StatusCode) -> Error {
    let kind = Kind::of_status(status.as_u16());
    let reason = status.canonical_reason().unwrap_or_default();
    let text = format!("the server answered {} {reason}", status.as_u16());
    Error::new(kind, text.trim_end())
}

/// The error of a request without a response.
pub(crate) fn no_response(failure: &RoundTripFailure, target: &Uri) -> Error {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    let (kind, message, temporary) = match failure.root() {
        FailureCause::Io(io::ErrorKind::NotFound) => {
            let message = format!("there is no socket for {host}");
            (Kind::Unavailable, message, true)
        }
        FailureCause::Io(io::ErrorKind::PermissionDenied) => {
            (Kind::Denied, format!("the socket of {host} is not for this user"), false)
        }
        FailureCause::Name => (Kind::Unavailable, format!("the host {host} cannot be found"), true),
        FailureCause::NotPublic(class, address) => {
            let message = format!("{host} is {class} ({address}), which `private: false` refuses");
            (Kind::Denied, message, false)
        }
        FailureCause::Proxy(what) => {
            (Kind::Unavailable, format!("the proxy for {host} {what}"), true)
        }
        FailureCause::Content => {
            (Kind::Failed, format!("the content for {host} could not be sent"), false)
        }
        _ => return TransportError::of(failure, host).into(),
    };
    Error::new(kind, message).with_temporary(temporary).with_detail(failure.to_string())
}

/// The message of a timeout.
pub(crate) fn timed_out(target: &Uri, what: &str) -> String {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    format!("{host} took too long to {what}")
}

/// Whether the connection closed without a response: the server may have seen the request.
pub(crate) fn was_closed(failure: &RoundTripFailure) -> bool {
    !failure.is_connect()
        && matches!(
            failure.root(),
            FailureCause::Closed
                | FailureCause::Io(
                    io::ErrorKind::ConnectionReset
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::ConnectionAborted
                )
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_kinds() {
        for (status, kind, temporary) in [
            (400, Kind::Invalid, false),
            (401, Kind::Unauthorized, false),
            (403, Kind::Denied, false),
            (404, Kind::NotFound, false),
            (409, Kind::Conflict, false),
            (412, Kind::Precondition, false),
            (418, Kind::Invalid, false),
            (410, Kind::Gone, false),
            (422, Kind::Unprocessable, false),
            (429, Kind::TooMany, true),
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
