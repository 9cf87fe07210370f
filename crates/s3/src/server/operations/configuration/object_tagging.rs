//! GetObjectTagging, PutObjectTagging and DeleteObjectTagging.

use crate::server::bucket::tagging::{TagOwner, Tagging};
use crate::server::call::S3Call;
use crate::server::fault::S3Result;
use crate::server::operations::objects::fields::TAGS;
use crate::server::operations::objects::stored_fields::{StoredFields, find_for};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the tags of an object.
pub(crate) async fn get_object_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let found = match find_for(&call).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    let tags = found.info.attributes.get(TAGS).map_or("", String::as_str);
    let mut reply = S3Reply::xml(Tagging::from_header(tags)?.to_xml());
    if call.has_versions() {
        reply.set("x-amz-version-id", found.info.version());
    }
    Ok(reply)
}

/// Replaces the tags of an object.
pub(crate) async fn put_object_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let tags = Tagging::parse(&call.document().await?, TagOwner::Object)?;
    set_tags(&call, &tags, StatusCode::OK).await
}

/// Removes the tags of an object.
pub(crate) async fn delete_object_tagging(call: Rc<S3Call>) -> S3Result<S3Reply> {
    set_tags(&call, &Tagging::default(), StatusCode::NO_CONTENT).await
}

async fn set_tags(call: &S3Call, tags: &Tagging, status: StatusCode) -> S3Result<S3Reply> {
    let mut fields = match StoredFields::lock(call).await? {
        Ok(fields) => fields,
        Err(reply) => return Ok(reply),
    };
    match tags.tags.is_empty() {
        true => drop(fields.attributes.remove(TAGS)),
        false => drop(fields.attributes.insert(TAGS.to_string(), tags.to_header())),
    }
    fields.store(call, status).await
}
