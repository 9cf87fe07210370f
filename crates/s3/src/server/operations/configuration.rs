//! Operations on how buckets and objects are configured: documents of `bucket` are read from requests,
//! kept in the record of the bucket or in the attributes of the object, and sent back.

pub(crate) mod acl;
pub(crate) mod cors;
pub(crate) mod legal_hold;
pub(crate) mod lifecycle;
pub(crate) mod notification;
pub(crate) mod object_lock;
pub(crate) mod object_tagging;
pub(crate) mod ownership;
pub(crate) mod policy;
pub(crate) mod public_access_block;
pub(crate) mod retention;
pub(crate) mod tagging;
pub(crate) mod unsupported;
pub(crate) mod versioning;

use super::super::call::S3Call;
use crate::server::bucket::record::BucketRecord;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;

/// Changes the record of the bucket, and answers with a status and no body.
async fn change(
    call: &S3Call,
    status: StatusCode,
    change: impl Fn(&mut BucketRecord),
) -> S3Result<S3Reply> {
    call.record()?;
    let change = |record: &mut BucketRecord| {
        change(record);
        // A record that cannot be read again would take the bucket with it.
        match BucketRecord::from_json(record.to_json().as_bytes()) {
            Ok(_) => Ok(()),
            Err(_) => Err(FaultCode::MalformedXML.into()),
        }
    };
    call.state.catalog.change_bucket(&call.bucket, change).await?;
    Ok(S3Reply::empty(status))
}
