//! DeleteObject and DeleteObjects.

use super::conditions::{DeleteConditions, read_date, unquoted};
use super::fields::protection_of;
use crate::server::bucket::object_event::ObjectEvent;
use crate::server::call::{S3Call, check_version};
use crate::server::catalog::object_commit::Removal;
use crate::server::catalog::object_lookup::Found;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::permit;
use crate::server::reply::S3Reply;
use crate::server::xml::{self, Element, XmlWriter};
use http::StatusCode;
use std::cell::Cell;
use std::rc::Rc;
use std::time::SystemTime;

/// Most objects of one DeleteObjects.
const OBJECTS: usize = 1_000;

/// Deletes the object, or one version of it.
pub(crate) async fn delete_object(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let version = call.version()?;
    let conditions = DeleteConditions::of(&call);
    let removal = remove(&call, &call.key, version, &conditions).await?;
    let mut reply = S3Reply::empty(StatusCode::NO_CONTENT);
    reply.set_some("x-amz-version-id", removal.version.as_deref());
    if removal.is_marker {
        reply.set("x-amz-delete-marker", "true");
    }
    Ok(reply)
}

async fn remove(
    call: &S3Call,
    key: &str,
    version: Option<&str>,
    conditions: &DeleteConditions,
) -> S3Result<Removal> {
    let catalog = &call.state.catalog;
    let (bucket, versioning) = (call.bucket.as_str(), call.versioning());
    let Some(version) = version else {
        let was_there = Cell::new(false);
        let check = |present: Option<&Found>| {
            was_there.set(present.is_some());
            conditions.check(present)
        };
        let owner = call.owner();
        let removal = catalog.remove_current(bucket, key, versioning, owner, &check).await?;
        match removal.is_marker {
            true => catalog.events.publish(bucket, key, ObjectEvent::DeleteMarker),
            false if was_there.get() => catalog.events.publish(bucket, key, ObjectEvent::Delete),
            false => {}
        }
        return Ok(removal);
    };
    let bypass = permit::bypasses_governance(call, key);
    let check = |present: Option<&Found>| {
        conditions.check(present)?;
        let protection = present.map(|found| protection_of(&found.info.attributes));
        protection.map_or(Ok(()), |protection| protection.check_removal(bypass, SystemTime::now()))
    };
    let removed = catalog.remove_version(bucket, key, version, &check).await?;
    if removed.is_some() {
        catalog.events.publish(bucket, key, ObjectEvent::DeleteVersion);
    }
    // A version that is gone is no fault.
    Ok(removed.unwrap_or_else(|| Removal { version: Some(version.to_string()), is_marker: false }))
}

/// Deletes the objects of a document, each for itself.
pub(crate) async fn delete_objects(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let document = call.document().await?;
    let root = xml::read(&document)?;
    let objects: Vec<&Element> = root.all("Object").collect();
    if &*root.name != "Delete" || objects.len() > OBJECTS {
        return Err(FaultCode::MalformedXML.into());
    }
    let is_quiet = root.text_of("Quiet").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let mut results = Vec::with_capacity(objects.len());
    for object in objects {
        let key = object.text_of("Key").unwrap_or_default();
        let version = object.text_of("VersionId").filter(|version| !version.is_empty());
        results.push((key, version, delete_one(&call, object, key, version).await));
    }
    Ok(S3Reply::xml(XmlWriter::document("DeleteResult", |xml| {
        for (key, version, result) in &results {
            match result {
                Ok(_) if is_quiet => {}
                Ok(removal) => xml.element("Deleted", |xml| {
                    write_removal(xml, key, *version, removal);
                }),
                Err(fault) => {
                    fault.log(&call.method, &format!("/{}/{key}", call.bucket), &call.request_id);
                    xml.element("Error", |xml| {
                        xml.text("Key", key);
                        xml.optional("VersionId", *version);
                        xml.text("Code", fault.code.name());
                        xml.text("Message", &fault.message);
                    });
                }
            }
        }
    })))
}

async fn delete_one(
    call: &S3Call,
    object: &Element,
    key: &str,
    version: Option<&str>,
) -> S3Result<Removal> {
    if key.is_empty() {
        return Err(S3Fault::new(FaultCode::MalformedXML));
    }
    let action = match version {
        Some(_) => "s3:DeleteObjectVersion",
        None => "s3:DeleteObject",
    };
    permit::check(call, action, key)?;
    version.map_or(Ok(()), check_version)?;
    let conditions = DeleteConditions {
        matches: object.text_of("ETag").map(|tag| unquoted(tag).to_string()),
        modified: object.text_of("LastModifiedTime").and_then(read_date),
        size: object.text_of("Size").and_then(|size| size.parse().ok()),
    };
    remove(call, key, version, &conditions).await
}

fn write_removal(xml: &mut XmlWriter, key: &str, version: Option<&str>, removal: &Removal) {
    xml.text("Key", key);
    xml.optional("VersionId", version);
    if removal.is_marker {
        xml.text("DeleteMarker", "true");
        xml.optional("DeleteMarkerVersionId", removal.version.as_deref());
    } else if version.is_some() {
        xml.text("DeleteMarker", "false");
    }
}
