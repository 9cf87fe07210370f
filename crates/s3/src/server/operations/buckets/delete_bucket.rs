//! DeleteBucket: of a bucket without objects and versions.

use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Deletes a bucket.
pub(crate) async fn delete_bucket(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let catalog = &call.state.catalog;
    let mut walk = catalog.walk(&call.bucket, "", None, true, 1);
    if let Some(listed) = walk.next().await? {
        let mut fault = S3Fault::new(FaultCode::BucketNotEmpty);
        if call.has_versions() || listed.present.is_none() {
            fault = fault.because(
                "The bucket you tried to delete is not empty. You must delete all versions in the \
                 bucket.",
            );
        }
        return Err(fault.with("BucketName", call.bucket.as_str()));
    }
    catalog.remove_bucket(&call.bucket).await?;
    Ok(S3Reply::empty(StatusCode::NO_CONTENT))
}
