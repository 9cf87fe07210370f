//! GetBucketPolicy, PutBucketPolicy, DeleteBucketPolicy and GetBucketPolicyStatus.

use super::change;
use crate::server::bucket::policy::BucketPolicy;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::{ReplyBody, S3Reply};
use http::StatusCode;
use runnel_store::{Body, Text};
use std::rc::Rc;

/// Answers the policy as it was sent.
pub(crate) async fn get_bucket_policy(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let policy = call.record()?.policy.as_ref().ok_or(FaultCode::NoSuchBucketPolicy)?;
    let mut reply = S3Reply::empty(StatusCode::OK);
    reply.set("content-type", "application/json");
    reply.body = ReplyBody::Content(Body::Text(Text::from(policy.text().to_string())));
    Ok(reply)
}

/// Replaces the policy.
pub(crate) async fn put_bucket_policy(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let record = call.record()?;
    let document = call.document().await?;
    let users = &call.state.users;
    let is_user = |key: &str| users.is_open() || users.find(key).is_some();
    let policy = BucketPolicy::parse(&document, &call.bucket, &is_user)?;
    let blocks = record.public_access_block.is_some_and(|block| block.block_public_policy);
    if blocks && policy.is_public() {
        return Err(FaultCode::AccessDenied.into());
    }
    change(&call, StatusCode::NO_CONTENT, |record| record.policy = Some(policy.clone())).await
}

/// Removes the policy.
pub(crate) async fn delete_bucket_policy(call: Rc<S3Call>) -> S3Result<S3Reply> {
    change(&call, StatusCode::NO_CONTENT, |record| record.policy = None).await
}

/// Answers whether the policy allows something to everybody.
pub(crate) async fn get_bucket_policy_status(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let policy = call.record()?.policy.as_ref().ok_or(FaultCode::NoSuchBucketPolicy)?;
    Ok(S3Reply::xml(policy.status_to_xml()))
}
