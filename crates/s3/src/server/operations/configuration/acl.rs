//! GetBucketAcl and PutBucketAcl.

use super::change;
use crate::server::bucket::acl::AccessControlList;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the grants of the bucket.
pub(crate) async fn get_bucket_acl(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let record = call.record()?;
    Ok(S3Reply::xml(record.acl.to_xml(&record.owner)))
}

/// Replaces the grants by those of a canned ACL, of header fields or of a document.
pub(crate) async fn put_bucket_acl(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let record = call.record()?;
    let document = call.document().await?;
    if let Some(canned) = call.header("x-amz-acl") {
        AccessControlList::canned(canned)?;
    }
    if !record.has_acls() {
        return Err(FaultCode::AccessControlListNotSupported.into());
    }
    let list = AccessControlList::from_request(&call.headers, &document, &record.owner)?;
    let users = &call.state.users;
    let is_known = |key: &str| users.is_open() || key == record.owner || users.find(key).is_some();
    if !list.users().all(is_known) {
        return Err(S3Fault::new(FaultCode::InvalidArgument).because("Invalid id"));
    }
    let blocks = record.public_access_block.is_some_and(|block| block.block_public_acls);
    if blocks && list.is_public() {
        return Err(FaultCode::AccessDenied.into());
    }
    change(&call, StatusCode::OK, |record| record.acl = list.clone()).await
}
