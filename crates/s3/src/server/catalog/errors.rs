//! Failures of the store below, as clients of S3 see them.

use crate::server::fault::{FaultCode, S3Fault};
use runnel_store::{Error, Kind};

impl From<Error> for S3Fault {
    fn from(error: Error) -> Self {
        let code = match error.kind {
            _ if error.is_disk_full() => FaultCode::InsufficientStorage,
            Kind::NotFound | Kind::Gone => FaultCode::NoSuchKey,
            Kind::NotAllowed => FaultCode::MethodNotAllowed,
            Kind::Denied | Kind::Unauthorized | Kind::PaymentRequired | Kind::Legal => {
                FaultCode::AccessDenied
            }
            Kind::Precondition => FaultCode::PreconditionFailed,
            Kind::TooLarge => FaultCode::EntityTooLarge,
            Kind::TooMany => FaultCode::SlowDown,
            Kind::Timeout | Kind::Unavailable | Kind::InDoubt => FaultCode::ServiceUnavailable,
            Kind::Conflict => FaultCode::OperationAborted,
            Kind::Cancelled => FaultCode::RequestTimeout,
            Kind::Invalid | Kind::Unprocessable | Kind::Unsupported | Kind::Failed => {
                FaultCode::InternalError
            }
        };
        let cause = code.status().is_server_error().then(|| match &error.detail {
            Some(detail) => format!("{error}: {detail}"),
            None => error.to_string(),
        });
        S3Fault { cause, ..S3Fault::new(code) }
    }
}

/// The fault of a body that did not arrive whole: its client is too slow, or gone.
pub(crate) fn broken_body(error: Error) -> S3Fault {
    match error.kind {
        Kind::Timeout => FaultCode::RequestTimeout.into(),
        Kind::Invalid => FaultCode::IncompleteBody.into(),
        _ => error.into(),
    }
}
