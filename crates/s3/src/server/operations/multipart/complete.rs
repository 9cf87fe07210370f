//! CompleteMultipartUpload: the parts become an object.
//!
//! The object is written beside its place and moved there in one step, then the upload is removed. A
//! kill in between leaves an object and an upload, and completing that again makes the same object.

use super::completed_parts::{CompletedParts, NamedPart, etag_of, join_parts, read_parts};
use super::create::{find_upload, no_such_upload, read_checksum_type};
use crate::server::bucket::object_event::ObjectEvent;
use crate::server::call::S3Call;
use crate::server::catalog::attributes::{
    CHECKSUM, ETAG, MODIFIED, PARTS, SIZE, UPLOAD, milliseconds, write_parts,
};
use crate::server::catalog::contents;
use crate::server::catalog::key_locks;
use crate::server::catalog::layout;
use crate::server::catalog::object_commit::{CommitCheck, Draft, DraftContent};
use crate::server::catalog::object_lookup::Found;
use crate::server::catalog::state::Catalog;
use crate::server::catalog::uploads::{PartRecord, UploadRecord, new_upload_id};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::operations::objects::conditions::WriteConditions;
use crate::server::operations::objects::copy_object::as_stream;
use crate::server::payload::asked::invalid_header;
use crate::server::payload::body::wrong_checksum;
use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm, ChecksumType};
use crate::server::reply::S3Reply;
use crate::server::xml::XmlWriter;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_store::{Attributes, Body, ByteStream, Error, Kind, Reference};
use std::rc::Rc;
use std::time::SystemTime;

/// Most parts of an upload.
const ALL_PARTS: usize = 10_000;

/// The largest object, in bytes: 50 TB.
const LARGEST: u64 = 50 << 40;

/// Completes an upload.
pub(crate) async fn complete_upload(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let named = read_parts(&call.document_about_object().await?)?;
    let conditions = WriteConditions::of(&call)?;
    let size = wanted_size(&call)?;
    let given = given_checksum(&call)?;
    let kind = call.header("x-amz-checksum-type").map(read_checksum_type).transpose()?;
    call.record()?;
    let id = call.parameter("uploadId").unwrap_or_default().to_string();
    // Completions of an upload are serialized: the second one finds the object of the first.
    let _alone = key_locks::lock_upload(&call.bucket, &id).await;
    let upload = match find_upload(&call).await {
        Err(fault) if fault.code == FaultCode::NoSuchUpload => {
            return completed_before(&call, &id, &named).await;
        }
        upload => upload?,
    };
    if kind.is_some_and(|kind| upload.checksum().map(|(_, own)| own) != Some(kind)) {
        let own = upload.checksum().map_or("null", |(_, own)| own.name());
        let words = format!(
            "The upload was created using the {own} checksum mode. The complete request must use \
             the same checksum mode."
        );
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let catalog = &call.state.catalog;
    let uploaded = catalog.parts(&call.bucket, &id, 0, ALL_PARTS).await?;
    let joined = join_parts(&id, upload.checksum(), &named, uploaded)?;
    check_whole(&call, &joined, size, given)?;
    let version = commit(&call, &upload, &joined, conditions.as_ref()).await?;
    catalog.remove_upload(&call.bucket, &call.key, &id).await?;
    let mut reply = S3Reply::xml(XmlWriter::document("CompleteMultipartUploadResult", |xml| {
        xml.text("Location", &call.location());
        xml.text("Bucket", &call.bucket);
        xml.text("Key", &call.key);
        xml.text("ETag", &format!("\"{}\"", joined.etag));
        if let Some(checksum) = &joined.checksum {
            xml.text(checksum.algorithm.element(), &checksum.value);
            xml.text("ChecksumType", checksum.kind.name());
        }
    }));
    reply.set_some("x-amz-version-id", version.as_deref());
    Ok(reply)
}

/// The answer for an upload that was completed before: the same again, as long as its object is there.
async fn completed_before(call: &S3Call, id: &str, named: &[NamedPart]) -> S3Result<S3Reply> {
    let has_versions = call.has_versions();
    let catalog = &call.state.catalog;
    let found = catalog.lookup(&call.bucket, &call.key, None, has_versions).await?;
    let crate::server::catalog::object_lookup::Lookup::Object(found) = found else {
        return Err(no_such_upload(id));
    };
    let etag = etag_of(named);
    if found.info.attributes.get(UPLOAD).is_none_or(|own| own != id) || found.info.etag != etag {
        return Err(no_such_upload(id));
    }
    Ok(S3Reply::xml(XmlWriter::document("CompleteMultipartUploadResult", |xml| {
        xml.text("Location", &call.location());
        xml.text("Bucket", &call.bucket);
        xml.text("Key", &call.key);
        xml.text("ETag", &format!("\"{etag}\""));
    })))
}

/// The length of the object that the client expects.
fn wanted_size(call: &S3Call) -> S3Result<Option<u64>> {
    let Some(text) = call.header("x-amz-mp-object-size") else { return Ok(None) };
    let invalid = |words: String| S3Fault::new(FaultCode::InvalidRequest).because(words);
    match text.parse::<i64>() {
        Err(_) => {
            Err(invalid(format!("Value for x-amz-mp-object-size header is invalid: '{text}'")))
        }
        Ok(size) => u64::try_from(size).map(Some).map_err(|_| {
            invalid(format!("Value for x-amz-mp-object-size header is less than zero: '{size}'"))
        }),
    }
}

/// The checksum of the object that the client expects; one of checksums may have their number behind.
fn given_checksum(call: &S3Call) -> S3Result<Option<(ChecksumAlgorithm, String)>> {
    let mut given = None;
    for algorithm in ChecksumAlgorithm::all() {
        let Some(text) = call.header(algorithm.header()) else { continue };
        if given.is_some() {
            return Err(crate::server::payload::asked::several());
        }
        let value = match text.split_once('-') {
            Some((value, count)) if count.parse::<u32>().is_ok() => value,
            _ => text,
        };
        Checksum::parse(algorithm, value).ok_or_else(|| invalid_header(algorithm.header()))?;
        given = Some((algorithm, text.to_string()));
    }
    Ok(given)
}

fn check_whole(
    call: &S3Call,
    joined: &CompletedParts,
    size: Option<u64>,
    given: Option<(ChecksumAlgorithm, String)>,
) -> S3Result<()> {
    let _ = call;
    if joined.length > LARGEST {
        return Err(FaultCode::EntityTooLarge.into());
    }
    if let Some(size) = size.filter(|size| *size != joined.length) {
        let words = format!(
            "The provided 'x-amz-mp-object-size' header value {} does not match what was computed: \
             {size}",
            joined.length
        );
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let (Some((algorithm, mut text)), Some(own)) = (given, &joined.checksum) else {
        return Ok(());
    };
    // A checksum of another algorithm than that of the upload does not count.
    if !joined.is_own || algorithm != own.algorithm {
        return Ok(());
    }
    if own.kind == ChecksumType::Composite && !text.contains('-') {
        text = format!("{text}-{}", joined.parts.len());
    }
    if text == own.value { Ok(()) } else { Err(wrong_checksum(algorithm)) }
}

/// Makes the object of the parts.
async fn commit(
    call: &S3Call,
    upload: &UploadRecord,
    joined: &CompletedParts,
    conditions: Option<&WriteConditions>,
) -> S3Result<Option<String>> {
    let catalog = &call.state.catalog;
    let mut fields = upload.object_fields();
    let mut set = |name: &str, value: String| fields.attributes.insert(name.to_string(), value);
    set(ETAG, joined.etag.clone());
    set(SIZE, joined.length.to_string());
    set(MODIFIED, milliseconds(SystemTime::now()).to_string());
    set(UPLOAD, upload.id.clone());
    if let Some(parts) = write_parts(&joined.object_parts()) {
        set(PARTS, parts);
    }
    if let Some(checksum) = &joined.checksum {
        set(CHECKSUM, checksum.text());
    }
    if let Some(conditions) = conditions {
        // Before the content is written; the commit checks once more.
        let has_versions = call.has_versions();
        match catalog.lookup(&call.bucket, &call.key, None, has_versions).await? {
            crate::server::catalog::object_lookup::Lookup::Object(found) => {
                conditions.check(Some(&found))?;
            }
            _ => conditions.check(None)?,
        }
    }
    let staged = layout::staging(&new_upload_id());
    let stream = joined_content(call.state.clone(), &call.bucket, &upload.id, joined);
    let content = Body::Stream(stream, Some(joined.length));
    catalog.contents.write(&staged, content, Attributes::default(), None).await?;
    let draft = Draft {
        content: DraftContent::Staged(staged.clone()),
        media_type: fields.media_type,
        attributes: fields.attributes,
    };
    let check = |present: Option<&Found>| conditions.map_or(Ok(()), |all| all.check(present));
    let check: Option<CommitCheck<'_>> = if conditions.is_some() { Some(&check) } else { None };
    let committed = catalog.commit(&call.bucket, &call.key, call.versioning(), draft, check).await;
    if committed.is_err() {
        let _ = catalog.contents.remove(&staged, None).await;
    }
    let version = committed?;
    catalog.events.publish(&call.bucket, &call.key, ObjectEvent::CompleteUpload);
    Ok(version.filter(|version| version != "null"))
}

/// The contents of the parts one after the other, each opened when its turn comes.
fn joined_content(
    state: Rc<crate::server::call::ServerState>,
    bucket: &str,
    id: &str,
    joined: &CompletedParts,
) -> ByteStream {
    let room = layout::part_data(bucket, id);
    let place = |part: &PartRecord| (room.join(&part.data), part.length);
    let parts: Vec<(Reference, u64)> = joined.parts.iter().map(place).collect();
    let opened = stream::iter(parts).then(move |(at, length)| {
        let state = state.clone();
        async move { open_part(&state.catalog, &at, length).await }
    });
    Box::pin(opened.flat_map(|opened| match opened {
        Ok(content) => content,
        Err(error) => Box::pin(stream::iter([Err::<Bytes, Error>(error)])),
    }))
}

async fn open_part(
    catalog: &Catalog,
    at: &Reference,
    length: u64,
) -> runnel_store::Result<ByteStream> {
    match catalog.contents.read(at, None).await? {
        Some(content) if contents::length(&content.body) == length => Ok(as_stream(content.body)),
        Some(_) => Err(Error::new(Kind::Failed, "the content of a part was changed")),
        None => Err(Error::new(Kind::Failed, "the content of a part is gone")),
    }
}
