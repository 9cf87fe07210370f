//! GetBucketVersioning and PutBucketVersioning.

use super::change;
use crate::server::bucket::versioning::Versioning;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers whether versions are kept.
pub(crate) async fn get_bucket_versioning(call: Rc<S3Call>) -> S3Result<S3Reply> {
    Ok(S3Reply::xml(call.record()?.versioning.to_xml()))
}

/// Says whether versions are kept. Object lock needs them.
pub(crate) async fn put_bucket_versioning(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let has_lock = call.record()?.object_lock.is_some();
    let state = Versioning::parse(&call.document().await?)?;
    if has_lock && state != Versioning::Enabled {
        let words = "An Object Lock configuration is present on this bucket, so the versioning state \
                     cannot be changed.";
        return Err(S3Fault::new(FaultCode::InvalidBucketState).because(words));
    }
    change(&call, StatusCode::OK, |record| record.versioning = state).await
}
