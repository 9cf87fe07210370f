//! GetBucketTagging, PutBucketTagging and DeleteBucketTagging.

use super::change;
use crate::server::bucket::tagging::{TagOwner, Tagging};
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the tags of the bucket.
pub(crate) async fn get_bucket_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let tags = call.record()?.tagging.as_ref().ok_or(FaultCode::NoSuchTagSet)?;
    Ok(S3Reply::xml(tags.to_xml()))
}

/// Replaces the tags.
pub(crate) async fn put_bucket_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let tags = Tagging::parse(&call.document().await?, TagOwner::Bucket)?;
    change(&call, StatusCode::NO_CONTENT, |record| record.tagging = Some(tags.clone())).await
}

/// Removes the tags.
pub(crate) async fn delete_bucket_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    change(&call, StatusCode::NO_CONTENT, |record| record.tagging = None).await
}
