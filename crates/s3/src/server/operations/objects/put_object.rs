//! PutObject: a new object replaces the present one.

use super::conditions::WriteConditions;
use super::fields::NewFields;
use crate::server::bucket::acl::check_object_headers;
use crate::server::bucket::object_event::ObjectEvent;
use crate::server::call::S3Call;
use crate::server::catalog::layout;
use crate::server::catalog::object_commit::{CommitCheck, Draft, DraftContent};
use crate::server::catalog::object_lookup::Found;
use crate::server::catalog::uploads::new_upload_id;
use crate::server::fault::S3Result;
use crate::server::operations::receive::{ReceivedContent, receive};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;
use std::time::SystemTime;

/// Puts the body of the request.
pub(crate) async fn put_object(call: Rc<S3Call>) -> S3Result<S3Reply> {
    check_object_headers(&call.headers)?;
    let conditions = WriteConditions::of(&call)?;
    let fields = NewFields::of(&call)?;
    let staged = layout::staging(&new_upload_id());
    let received = receive(&call, &staged).await?;
    let mut reply = S3Reply::empty(StatusCode::OK);
    reply.set("etag", &format!("\"{}\"", received.etag));
    reply.set("x-amz-object-size", &received.length.to_string());
    if let Some(checksum) = &received.checksum {
        reply.set(checksum.algorithm.header(), &checksum.value);
        reply.set("x-amz-checksum-type", checksum.kind.name());
    }
    let version = commit_received(&call, fields, received, conditions.as_ref()).await?;
    reply.set_some("x-amz-version-id", version.as_deref());
    Ok(reply)
}

/// Commits content that was received as the object of the request; content that is not committed is
/// removed.
pub(crate) async fn commit_received(
    call: &S3Call,
    mut fields: NewFields,
    received: ReceivedContent,
    conditions: Option<&WriteConditions>,
) -> S3Result<Option<String>> {
    received.describe(&mut fields.attributes, SystemTime::now());
    let staged = match &received.content {
        DraftContent::Staged(at) => Some(at.clone()),
        DraftContent::Bytes(_) => None,
    };
    let draft = Draft {
        content: received.content,
        media_type: fields.media_type,
        attributes: fields.attributes,
    };
    let catalog = &call.state.catalog;
    let check = |present: Option<&Found>| conditions.map_or(Ok(()), |all| all.check(present));
    let check: Option<CommitCheck<'_>> = if conditions.is_some() { Some(&check) } else { None };
    let committed = catalog.commit(&call.bucket, &call.key, call.versioning(), draft, check).await;
    if let (Err(_), Some(staged)) = (&committed, staged) {
        // What remains is removed later.
        let _ = catalog.contents.remove(&staged, None).await;
    }
    let version = committed?;
    let event = ObjectEvent::of_write(call.operation);
    catalog.events.publish(&call.bucket, &call.key, event);
    Ok(version.filter(|version| version != "null"))
}
