//! GetObjectLockConfiguration and PutObjectLockConfiguration of a bucket.

use super::change;
use crate::server::bucket::object_lock::ObjectLockConfiguration;
use crate::server::bucket::versioning::Versioning;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the configuration of the bucket.
pub(crate) async fn get_object_lock(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let lock = call.record()?.object_lock;
    let lock = lock.ok_or(FaultCode::ObjectLockConfigurationNotFoundError)?;
    Ok(S3Reply::xml(lock.to_xml()))
}

/// Turns object lock on, or replaces its default. Versions have to be kept.
pub(crate) async fn put_object_lock(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let versioning = call.record()?.versioning;
    let lock = ObjectLockConfiguration::parse(&call.document().await?)?;
    if versioning != Versioning::Enabled {
        let words =
            "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration";
        return Err(S3Fault::new(FaultCode::InvalidBucketState).because(words));
    }
    change(&call, StatusCode::OK, |record| record.object_lock = Some(lock)).await
}
