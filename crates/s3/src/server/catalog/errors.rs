//! Failures of the store below, as clients of S3 see them.

use crate::server::fault::{FaultCode, S3Fault};
use runnel_store::{Error, Kind};

impl From<Error> for S3Fault {
    fn from(error: Error) -> Self {
        let code = match error.kind {
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
        if matches!(code, FaultCode::InternalError | FaultCode::ServiceUnavailable) {
            let detail = error.detail.as_deref().unwrap_or_default();
            tracing::warn!("S3: {error}: {detail}");
        }
        S3Fault::new(code)
    }
}
