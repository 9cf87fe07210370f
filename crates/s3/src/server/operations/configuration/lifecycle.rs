//! GetBucketLifecycleConfiguration, PutBucketLifecycleConfiguration and DeleteBucketLifecycle.

use super::change;
use crate::server::bucket::lifecycle::Lifecycle;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the rules of the bucket.
pub(crate) async fn get_bucket_lifecycle(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let rules = call.record()?.lifecycle.as_ref();
    let rules = rules.ok_or(FaultCode::NoSuchLifecycleConfiguration)?;
    Ok(S3Reply::xml(rules.to_xml()))
}

/// Replaces the rules.
pub(crate) async fn put_bucket_lifecycle(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let rules = Lifecycle::parse(&call.document().await?)?;
    change(&call, StatusCode::OK, |record| record.lifecycle = Some(rules.clone())).await
}

/// Removes the rules.
pub(crate) async fn delete_bucket_lifecycle(call: Rc<S3Call>) -> S3Result<S3Reply> {
    change(&call, StatusCode::NO_CONTENT, |record| record.lifecycle = None).await
}
