//! GetObjectRetention and PutObjectRetention.

use crate::server::bucket::retention::Retention;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::operations::objects::fields::{protection_of, set_protection};
use crate::server::operations::objects::stored_fields::{StoredFields, check_lock, find_for};
use crate::server::permit;
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;
use std::time::SystemTime;

/// Answers until when a version is kept.
pub(crate) async fn get_object_retention(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let found = match find_for(&call).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    check_lock(&call)?;
    let retention = protection_of(&found.info.attributes).retention;
    let retention = retention.ok_or(FaultCode::NoSuchObjectLockConfiguration)?;
    Ok(S3Reply::xml(retention.to_xml()))
}

/// Keeps a version until a date, where a retention that it has may be replaced.
pub(crate) async fn put_object_retention(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let now = SystemTime::now();
    let retention = Retention::parse(&call.document().await?, now)?;
    let mut fields = match StoredFields::lock(&call).await? {
        Ok(fields) => fields,
        Err(reply) => return Ok(reply),
    };
    check_lock(&call)?;
    let mut protection = protection_of(&fields.attributes);
    if let Some(present) = protection.retention {
        let bypass = permit::bypasses_governance(&call, &call.key);
        present.check_replacement(&retention, bypass, now)?;
    }
    protection.retention = Some(retention);
    set_protection(&mut fields.attributes, &protection);
    fields.store(&call, StatusCode::OK).await
}
