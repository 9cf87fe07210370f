//! Why a request got no answer from an upstream, and what the client learns of it: a status, and nothing
//! about the upstream.

use crate::client::failure::{FailureCause, RoundTripFailure};
use crate::client::fault::was_closed;
use crate::server::response::problem::log_permit;
use hyper::StatusCode;
use runnel_store::{Error, ErrorResponse, Kind, NoSlot};
use std::io;

/// Why one attempt got no answer.
pub(super) enum AttemptFailure {
    /// All connections are in use.
    Crowded(NoSlot),
    /// The round trip failed, on a connection that another request had used or on a new one.
    RoundTrip { failure: RoundTripFailure, reused: bool },
    /// There was no head in time.
    Late,
}

impl AttemptFailure {
    /// Whether the upstream has seen nothing of the request.
    pub(super) fn is_unsent(&self) -> bool {
        matches!(self, AttemptFailure::RoundTrip { failure, .. } if failure.is_connect())
    }

    /// Whether the connection closed before an answer, so that the request may have been seen.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, AttemptFailure::RoundTrip { failure, .. } if was_closed(failure))
    }

    /// Whether the upstream closed a connection that was idle before, as every server does.
    pub(super) fn is_stale(&self) -> bool {
        self.is_closed() && matches!(self, AttemptFailure::RoundTrip { reused: true, .. })
    }

    /// Whether the upstream took the request, and did not answer in time.
    pub(super) fn is_late(&self) -> bool {
        matches!(self, AttemptFailure::Late)
    }

    /// Whether it is a fault of the upstream.
    pub(super) fn is_of_upstream(&self) -> bool {
        match self {
            AttemptFailure::RoundTrip { failure, .. } => {
                !matches!(failure, RoundTripFailure::Content(_)) && !self.is_stale()
            }
            AttemptFailure::Late => true,
            AttemptFailure::Crowded(_) => false,
        }
    }

    /// The error of the request. The log gets the upstream and the cause.
    pub(super) fn error(self, place: &str, is_idempotent: bool) -> Error {
        let cause = match &self {
            AttemptFailure::Crowded(none) => none.message(&format!("connections to {place}")),
            AttemptFailure::RoundTrip { failure, .. } => failure.to_string(),
            AttemptFailure::Late => "there was no answer in time".to_string(),
        };
        let error = match self {
            AttemptFailure::Crowded(_) => {
                with_status(Kind::Unavailable, StatusCode::SERVICE_UNAVAILABLE, CROWDED)
            }
            AttemptFailure::RoundTrip { failure: RoundTripFailure::Content(_), .. } => {
                // The cycle answers what is wrong with the body.
                return Error::new(Kind::Invalid, "the body of the request ended early");
            }
            AttemptFailure::RoundTrip { failure, .. }
                if failure.is_connect() && is_late(&failure) =>
            {
                with_status(Kind::Timeout, StatusCode::GATEWAY_TIMEOUT, LATE)
            }
            AttemptFailure::Late if is_idempotent => {
                with_status(Kind::Timeout, StatusCode::GATEWAY_TIMEOUT, LATE)
            }
            AttemptFailure::Late => in_doubt(),
            failure if failure.is_closed() && !is_idempotent => in_doubt(),
            _ => with_status(Kind::Unavailable, StatusCode::BAD_GATEWAY, NO_ANSWER),
        };
        let status = error.response.as_ref().and_then(|response| response.status).unwrap_or(502);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        if let Some(left_out) = log_permit(status) {
            tracing::warn!(upstream = place, cause, left_out, "an upstream did not answer");
        }
        error
    }
}

fn is_late(failure: &RoundTripFailure) -> bool {
    failure.root() == FailureCause::Io(io::ErrorKind::TimedOut)
}

const NO_ANSWER: &str = "the server behind this one gave no valid answer";
const LATE: &str = "the server behind this one gave no answer in time";
const CROWDED: &str = "the server behind this one has too many requests";
const ALL_DOWN: &str = "no server behind this one is up";
const IN_DOUBT: &str =
    "the answer of the server behind this one was lost: whether it did the write is not known";

fn with_status(kind: Kind, status: StatusCode, message: &str) -> Error {
    let response = ErrorResponse { status: Some(status.as_u16()), headers: Vec::new() };
    Error { response: Some(Box::new(response)), ..Error::new(kind, message) }
}

fn in_doubt() -> Error {
    with_status(Kind::InDoubt, StatusCode::GATEWAY_TIMEOUT, IN_DOUBT)
}

/// The error while all upstreams fail their checks.
pub(super) fn all_down() -> Error {
    with_status(Kind::Unavailable, StatusCode::SERVICE_UNAVAILABLE, ALL_DOWN)
}
