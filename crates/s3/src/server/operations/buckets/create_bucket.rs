//! CreateBucket: a new bucket of the requester, perhaps with an ACL, tags and object lock.

use crate::server::bucket::acl::AccessControlList;
use crate::server::bucket::object_lock::ObjectLockConfiguration;
use crate::server::bucket::ownership::ObjectOwnership;
use crate::server::bucket::record::BucketRecord;
use crate::server::bucket::tagging::{TagOwner, Tagging};
use crate::server::bucket::versioning::Versioning;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::options::DEFAULT_REGION;
use crate::server::reply::S3Reply;
use crate::server::xml;
use http::StatusCode;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes a bucket.
pub(crate) async fn create_bucket(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let named = |code| S3Fault::new(code).with("BucketName", call.bucket.as_str());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let mut record = BucketRecord::new(call.owner(), i64::try_from(now).unwrap_or(i64::MAX));
    set_access(&call, &mut record)?;
    let document = call.document().await?;
    if !document.is_empty() {
        configure(&call, &document, &mut record)?;
    }
    let lock = call.header("x-amz-bucket-object-lock-enabled");
    if lock.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        record.object_lock = Some(ObjectLockConfiguration::default());
        record.versioning = Versioning::Enabled;
    }
    let catalog = &call.state.catalog;
    let present = catalog.bucket(&call.bucket).await?;
    if present.is_none() && catalog.create_bucket(&call.bucket, &record).await? {
        let mut reply = S3Reply::empty(StatusCode::OK);
        reply.set("location", &format!("/{}", call.bucket));
        reply.set("x-amz-bucket-arn", &format!("arn:aws:s3:::{}", call.bucket));
        return Ok(reply);
    }
    let present = match present {
        Some(present) => Some(present),
        None => catalog.bucket(&call.bucket).await?,
    };
    let is_own = present.is_some_and(|present| present.owner == record.owner);
    Err(named(match is_own {
        true => FaultCode::BucketAlreadyOwnedByYou,
        false => FaultCode::BucketAlreadyExists,
    }))
}

/// The ACL and the ownership of objects, which have to fit each other.
fn set_access(call: &S3Call, record: &mut BucketRecord) -> S3Result<()> {
    let list = AccessControlList::from_headers(&call.headers)?;
    if let Some(rule) = call.header("x-amz-object-ownership") {
        record.ownership = Some(ObjectOwnership::from_header(rule)?);
    }
    let Some(list) = list else { return Ok(()) };
    let canned = call.header("x-amz-acl");
    let is_default = canned == Some("private") && list.grants.is_empty();
    if is_default && call.header("x-amz-object-ownership").is_none() {
        // Who names an ACL wants ACLs.
        record.ownership = Some(ObjectOwnership::BucketOwnerPreferred);
    }
    if !(record.has_acls() || is_default) {
        return Err(FaultCode::InvalidBucketAclWithObjectOwnership.into());
    }
    record.acl = list;
    Ok(())
}

/// The region and the tags of the document.
fn configure(call: &S3Call, document: &[u8], record: &mut BucketRecord) -> S3Result<()> {
    let root = xml::read(document)?;
    if &*root.name != "CreateBucketConfiguration" {
        return Err(FaultCode::MalformedXML.into());
    }
    if let Some(region) = root.text_of("LocationConstraint").filter(|text| !text.is_empty())
        && (region != call.state.region || region == DEFAULT_REGION)
    {
        let fault = S3Fault::new(FaultCode::InvalidLocationConstraint);
        return Err(fault.with("LocationConstraint", region));
    }
    if let Some(tags) = root.child("Tags") {
        let tags = Tagging::from_set(tags, TagOwner::Bucket)?;
        record.tagging = Some(tags).filter(|tags| !tags.tags.is_empty());
    }
    Ok(())
}
