//! PostObject: an upload by the form of a browser, which carries its own signature.

use super::fields::NewFields;
use super::put_object::commit_received;
use crate::server::bucket::acl::check_object_headers;
use crate::server::bucket::tagging::{TagOwner, Tagging};
use crate::server::call::S3Call;
use crate::server::catalog::layout;
use crate::server::catalog::uploads::new_upload_id;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::operations::receive::{receive_payload, within_limit};
use crate::server::payload::body::BodyOptions;
use crate::server::permit;
use crate::server::post_form::{PostAnswer, PostForm};
use crate::server::reply::S3Reply;
use crate::server::target::check_key;
use crate::server::xml::XmlWriter;
use http::{HeaderValue, StatusCode};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::SystemTime;

/// Puts the file of a form.
pub(crate) async fn post_object(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let taken = call.body.borrow_mut().take();
    let Some(body) = taken else { return Err(FaultCode::InternalError.into()) };
    let now = SystemTime::now();
    let users = &call.state.users;
    let form = PostForm::read(&call.headers, body.raw, body.length, users, now).await?;
    call.record()?;
    check_key(&form.key)?;
    let mut headers = form.headers();
    if let Some(document) = form.field("tagging").filter(|text| !text.is_empty()) {
        let tags = Tagging::parse(document.as_bytes(), TagOwner::Object)?.to_header();
        headers.extend(
            HeaderValue::from_str(&tags)
                .ok()
                .map(|tags| (http::HeaderName::from_static("x-amz-tagging"), tags)),
        );
    }
    let put = S3Call {
        state: call.state.clone(),
        method: call.method.clone(),
        bucket: call.bucket.clone(),
        key: form.key.clone(),
        query: Vec::new(),
        headers,
        requester: form.requester.clone(),
        record: call.record.clone(),
        body: RefCell::new(None),
        request_id: call.request_id.clone(),
        is_secure: call.is_secure,
        is_host_style: call.is_host_style,
        peer: call.peer,
        operation: call.operation,
        deadline: call.deadline,
        allowance: call.allowance.clone(),
    };
    permit::check(&put, "s3:PutObject", &put.key)?;
    check_object_headers(&put.headers)?;
    let fields = NewFields::of(&put)?;
    let location = put.location_at(call.header("host").unwrap_or_default());
    finish(&put, form, fields, &location, now).await
}

/// Receives the file and answers as the form asks.
async fn finish(
    put: &S3Call,
    mut form: PostForm,
    fields: NewFields,
    location: &str,
    now: SystemTime,
) -> S3Result<S3Reply> {
    let payload = form.body(&put.bucket, now, BodyOptions::default())?;
    let staged = layout::staging(&new_upload_id());
    let received = receive_payload(&put.state.catalog, within_limit(payload)?, &staged).await?;
    let etag = format!("\"{}\"", received.etag);
    let checksum = received.checksum.clone();
    let version = commit_received(put, fields, received, None).await?;
    let mut reply = match form.answer(&put.bucket, &etag) {
        PostAnswer::Redirect(address) => {
            let mut reply = S3Reply::empty(StatusCode::SEE_OTHER);
            reply.set("location", &address);
            return Ok(reply);
        }
        PostAnswer::Status(201) => {
            let mut reply = S3Reply::xml(XmlWriter::document("PostResponse", |xml| {
                xml.text("Location", location);
                xml.text("Bucket", &put.bucket);
                xml.text("Key", &put.key);
                xml.text("ETag", &etag);
            }));
            reply.status = StatusCode::CREATED;
            reply
        }
        PostAnswer::Status(status) => {
            S3Reply::empty(StatusCode::from_u16(status).unwrap_or(StatusCode::NO_CONTENT))
        }
    };
    reply.set("etag", &etag);
    reply.set("location", location);
    if let Some(checksum) = checksum {
        reply.set(checksum.algorithm.header(), &checksum.value);
        reply.set("x-amz-checksum-type", checksum.kind.name());
    }
    reply.set_some("x-amz-version-id", version.as_deref());
    Ok(reply)
}
