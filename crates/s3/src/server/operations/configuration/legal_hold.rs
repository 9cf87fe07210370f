//! GetObjectLegalHold and PutObjectLegalHold.

use crate::server::bucket::retention::{legal_hold_to_xml, parse_legal_hold};
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::operations::objects::fields::{protection_of, set_protection};
use crate::server::operations::objects::stored_fields::{StoredFields, check_lock, find_for};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers whether a version is held.
pub(crate) async fn get_object_legal_hold(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let found = match find_for(&call).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    check_lock(&call)?;
    let hold = protection_of(&found.info.attributes).legal_hold;
    Ok(S3Reply::xml(legal_hold_to_xml(hold.ok_or(FaultCode::NoSuchObjectLockConfiguration)?)))
}

/// Holds a version, or releases it.
pub(crate) async fn put_object_legal_hold(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let is_held = parse_legal_hold(&call.document().await?)?;
    let mut fields = match StoredFields::lock(&call).await? {
        Ok(fields) => fields,
        Err(reply) => return Ok(reply),
    };
    check_lock(&call)?;
    let mut protection = protection_of(&fields.attributes);
    protection.legal_hold = Some(is_held);
    set_protection(&mut fields.attributes, &protection);
    fields.store(&call, StatusCode::OK).await
}
