//! CopyObject: an object becomes another one, or gets other attributes.

use super::copy_source::CopySource;
use super::fields::{LEGAL_HOLD, LOCK_MODE, LOCK_UNTIL, NewFields, TAGS};
use super::put_object::commit_received;
use crate::server::bucket::acl::check_object_headers;
use crate::server::bucket::tagging::Tagging;
use crate::server::bucket::versioning::Versioning;
use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::{
    CHECKSUM, ETAG, MODIFIED, OWNER, ObjectInfo, PARTS, REDIRECT, SIZE, StoredChecksum, UPLOAD,
    VERSION, milliseconds,
};
use crate::server::catalog::object_lookup::Lookup;
use crate::server::catalog::uploads::new_upload_id;
use crate::server::catalog::{key_locks, layout};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::operations::receive::{PUT_LIMIT, receive_payload};
use crate::server::payload::asked::unknown_algorithm;
use crate::server::payload::body::{BodyOptions, body};
use crate::server::payload::checksum::ChecksumAlgorithm;
use crate::server::payload::plan::PayloadPlan;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::xml::XmlWriter;
use futures_util::stream;
use http::HeaderMap;
use runnel_store::{Attributes, Body, ByteStream, Condition, Kind, Metadata};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whether something is copied from the source or said by the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Copy,
    Replace,
}

/// Copies the object that a header names.
pub(crate) async fn copy_object(call: Rc<S3Call>) -> S3Result<S3Reply> {
    check_object_headers(&call.headers)?;
    let metadata = directive(&call, "x-amz-metadata-directive", "Unknown metadata directive.")?;
    let tagging = directive(&call, "x-amz-tagging-directive", "Unknown tagging directive.")?;
    let algorithm = checksum_algorithm(&call)?;
    if call.body_length().is_none_or(|length| length > 0) {
        let words = "The request included a body. Requests of this type must not include a \
                     non-empty body.";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let source = CopySource::find(&call).await?;
    let info = source.found.info.clone();
    if info.length > PUT_LIMIT {
        let words = format!(
            "The specified copy source is larger than the maximum allowable size for a copy \
             source: {PUT_LIMIT}"
        );
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let changes = metadata == Directive::Replace
        || call.header("x-amz-website-redirect-location").is_some()
        || call.header("x-amz-storage-class").is_some()
        || algorithm.is_some_and(|wanted| {
            info.checksum().is_none_or(|present| present.algorithm != wanted)
        });
    let is_same = source.bucket == call.bucket && source.key == call.key;
    if is_same
        && !changes
        && call.header("x-amz-copy-source").is_none_or(|s| !s.contains("versionId"))
    {
        let words = "This copy request is illegal because it is trying to copy an object to itself \
                     without changing the object's metadata, storage class, website redirect \
                     location or encryption attributes.";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let fields = new_fields(&call, &info, metadata, tagging)?;
    let source_version = source.version().map(String::from);
    let kept = info.checksum();
    if is_same
        && call.versioning() == Versioning::Off
        && algorithm.is_none_or(|wanted| kept.as_ref().is_some_and(|sum| sum.algorithm == wanted))
        && describe_again(&call, &info, &fields).await?
    {
        let document = result("CopyObjectResult", &info.etag, kept.as_ref());
        return Ok(S3Reply::xml(document));
    }
    let usual = algorithm.or(kept.as_ref().map(|checksum| checksum.algorithm));
    let options = BodyOptions {
        usual_checksum: Some(usual.unwrap_or(ChecksumAlgorithm::Crc64Nvme)),
        is_sent: false,
        ..BodyOptions::default()
    };
    let stream = as_stream(source.found.content.body);
    let headers = HeaderMap::new();
    let payload = body(PayloadPlan::Unsigned, stream, Some(info.length), &headers, options)?;
    let staged = layout::staging(&new_upload_id());
    let received = receive_payload(&call.state.catalog, payload, &staged).await?;
    let (etag, checksum) = (received.etag.clone(), received.checksum.clone());
    let version = commit_received(&call, fields, received, None).await?;
    let mut reply = S3Reply::xml(result("CopyObjectResult", &etag, checksum.as_ref()));
    reply.set_some("x-amz-version-id", version.as_deref());
    reply.set_some("x-amz-copy-source-version-id", source_version.as_deref());
    Ok(reply)
}

/// Gives the object other attributes in its place, without a copy of its content. Answers whether
/// that was possible: the object is still as it was found, and its entity tag is known.
async fn describe_again(call: &S3Call, found: &ObjectInfo, fields: &NewFields) -> S3Result<bool> {
    let catalog = &call.state.catalog;
    let _alone = key_locks::lock(&call.bucket, &call.key).await;
    let Lookup::Object(present) = catalog.lookup(&call.bucket, &call.key, None, false).await?
    else {
        return Ok(false);
    };
    let is_known = found.attributes.contains_key(ETAG);
    if !is_known || present.info.attributes != found.attributes {
        return Ok(false);
    }
    let mut attributes = fields.attributes.clone();
    for name in [ETAG, SIZE, CHECKSUM, PARTS, UPLOAD] {
        let kept = found.attributes.get(name);
        attributes.extend(kept.map(|value| (name.to_string(), value.clone())));
    }
    attributes.insert(MODIFIED.to_string(), milliseconds(SystemTime::now()).to_string());
    let new = Attributes {
        media_type: Some(fields.media_type.clone().into()),
        metadata: Some(Rc::new(attributes)),
    };
    let unchanged = present.info.store_tag.map(Condition::Tag);
    match catalog.contents.annotate(&present.at, new, unchanged).await {
        // Another process replaced it.
        Err(error) if matches!(error.kind, Kind::Precondition | Kind::NotFound) => Ok(false),
        annotated => Ok(annotated.map(|()| true)?),
    }
}

/// The document of a copy that was made now.
pub(crate) fn result(root: &str, etag: &str, checksum: Option<&StoredChecksum>) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let modified = UNIX_EPOCH + Duration::from_secs(seconds);
    XmlWriter::document(root, |xml| {
        xml.text("LastModified", &iso_time(modified));
        xml.text("ETag", &format!("\"{etag}\""));
        if let Some(checksum) = checksum {
            xml.text(checksum.algorithm.element(), &checksum.value);
            xml.text("ChecksumType", checksum.kind.name());
        }
    })
}

/// A body as a stream.
pub(crate) fn as_stream(body: Body) -> ByteStream {
    match body {
        Body::Bytes(bytes) => Box::pin(stream::iter([Ok(bytes)])),
        Body::Text(text) => Box::pin(stream::iter([Ok(text.into_bytes())])),
        Body::Stream(stream, _) => stream,
        _ => Box::pin(stream::empty()),
    }
}

/// The checksum that the copy is to have.
fn checksum_algorithm(call: &S3Call) -> S3Result<Option<ChecksumAlgorithm>> {
    let Some(name) = call.header("x-amz-checksum-algorithm") else { return Ok(None) };
    ChecksumAlgorithm::of_name(name).map(Some).ok_or_else(unknown_algorithm)
}

fn directive(call: &S3Call, name: &'static str, words: &'static str) -> S3Result<Directive> {
    match call.header(name) {
        None | Some("COPY") => Ok(Directive::Copy),
        Some("REPLACE") => Ok(Directive::Replace),
        Some(other) => Err(invalid_argument(words, name, other)),
    }
}

/// The attributes of the copy.
fn new_fields(
    call: &S3Call,
    source: &ObjectInfo,
    metadata: Directive,
    tagging: Directive,
) -> S3Result<NewFields> {
    let mut fields = NewFields::described(&call.headers)?;
    if metadata == Directive::Copy {
        let redirect = fields.attributes.remove(REDIRECT);
        fields.media_type = source.media_type.clone().into_owned();
        fields.attributes = copied_attributes(source);
        if let Some(redirect) = redirect {
            let name = REDIRECT.to_string();
            fields.attributes.insert(name, redirect);
        }
    }
    fields.attributes.insert(OWNER.to_string(), call.owner().to_string());
    fields.attributes.remove(TAGS);
    let tags = match tagging {
        Directive::Copy => source.attributes.get(TAGS).cloned(),
        Directive::Replace => {
            let given = call.header("x-amz-tagging");
            given.map(|tags| Tagging::from_header(tags).map(|tags| tags.to_header())).transpose()?
        }
    };
    if let Some(tags) = tags.filter(|tags| !tags.is_empty()) {
        fields.attributes.insert(TAGS.to_string(), tags);
    }
    fields.protect(call)?;
    Ok(fields)
}

/// The attributes of an object that its copy has, too.
fn copied_attributes(source: &ObjectInfo) -> Metadata {
    const OWN: [&str; 13] = [
        CHECKSUM, ETAG, MODIFIED, OWNER, PARTS, SIZE, UPLOAD, VERSION, LOCK_MODE, LOCK_UNTIL,
        LEGAL_HOLD, TAGS, REDIRECT,
    ];
    let mut attributes = Metadata::clone(&source.attributes);
    attributes.retain(|name, _| !OWN.contains(&name.as_str()));
    attributes
}
