//! Operations that this server does not have, after the requester was admitted.

use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use std::rc::Rc;

/// Refuses an operation.
pub(crate) async fn not_implemented(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    Err(FaultCode::NotImplemented.into())
}

/// Answers that no bucket is a web site; the HTTP server serves those.
pub(crate) async fn get_bucket_website(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    Err(FaultCode::NoSuchWebsiteConfiguration.into())
}
