//! GetBucketOwnershipControls, PutBucketOwnershipControls and DeleteBucketOwnershipControls.

use super::change;
use crate::server::bucket::ownership::ObjectOwnership;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers whether ACLs count.
pub(crate) async fn get_bucket_ownership(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let rule = call.record()?.ownership.ok_or(FaultCode::OwnershipControlsNotFoundError)?;
    Ok(S3Reply::xml(rule.to_xml()))
}

/// Says whether ACLs count. Grants of an ACL have to be removed before ACLs are turned off.
pub(crate) async fn put_bucket_ownership(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let record = call.record()?;
    let rule = ObjectOwnership::parse(&call.document().await?)?;
    if rule == ObjectOwnership::BucketOwnerEnforced && !record.acl.grants.is_empty() {
        return Err(FaultCode::InvalidBucketAclWithObjectOwnership.into());
    }
    change(&call, StatusCode::OK, |record| record.ownership = Some(rule)).await
}

/// Removes the controls: ACLs count then.
pub(crate) async fn delete_bucket_ownership(call: Rc<S3Call>) -> S3Result<S3Reply> {
    change(&call, StatusCode::NO_CONTENT, |record| record.ownership = None).await
}
