//! GetObjectAttributes: what is known of an object, without its content.

use super::get_object::{find_object, missing};
use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::{ObjectInfo, ObjectPart};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::{ReplyBody, S3Reply, http_time};
use crate::server::xml::XmlWriter;
use std::rc::Rc;

const NAMES: [&str; 5] = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"];

/// Most parts of a page.
const PARTS: usize = 1_000;

/// Answers the attributes that a header asks for.
pub(crate) async fn get_object_attributes(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let version = call.version()?;
    let wanted = wanted_attributes(&call)?;
    let found = match find_object(&call, version).await? {
        Ok(found) => found,
        Err(mut reply) => {
            // A delete marker has no attributes, not even by its version.
            let fault = missing(&call.key, None);
            reply.status = fault.code.status();
            reply.body = ReplyBody::Fault(fault);
            return Ok(reply);
        }
    };
    let info = &found.info;
    let wants = |name: &str| wanted.iter().any(|known| known == name);
    let mut reply = S3Reply::xml(XmlWriter::document("GetObjectAttributesResponse", |xml| {
        if wants("ETag") {
            xml.text("ETag", &info.etag);
        }
        if wants("Checksum")
            && let Some(checksum) = info.checksum()
        {
            xml.element("Checksum", |xml| {
                xml.text(checksum.algorithm.element(), &checksum.value);
                xml.text("ChecksumType", checksum.kind.name());
            });
        }
        if wants("ObjectParts")
            && let Some(parts) = info.parts()
        {
            xml.element("ObjectParts", |xml| write_parts(xml, &call, info, &parts));
        }
        if wants("StorageClass") {
            xml.text("StorageClass", "STANDARD");
        }
        if wants("ObjectSize") {
            xml.value("ObjectSize", info.length);
        }
    }));
    reply.set("last-modified", &http_time(info.modified));
    if call.has_versions() {
        reply.set("x-amz-version-id", info.version());
    }
    Ok(reply)
}

fn wanted_attributes(call: &S3Call) -> S3Result<Vec<String>> {
    let mut wanted = Vec::new();
    for field in call.headers.get_all("x-amz-object-attributes") {
        let text = String::from_utf8_lossy(field.as_bytes()).into_owned();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !NAMES.contains(&name) {
                let words = "Invalid attribute name specified.";
                return Err(invalid_argument(words, "x-amz-object-attributes", &text));
            }
            wanted.push(name.to_string());
        }
    }
    if wanted.is_empty() {
        let words = "The x-amz-object-attributes header specifying the attributes to be retrieved \
                     is either missing or empty";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    Ok(wanted)
}

/// A page of the parts; without checksums S3 tells their number alone.
fn write_parts(xml: &mut XmlWriter, call: &S3Call, info: &ObjectInfo, parts: &[ObjectPart]) {
    let number = |name: &str| call.header(name).and_then(|text| text.parse::<usize>().ok());
    let marker = number("x-amz-part-number-marker").unwrap_or(0);
    let limit = number("x-amz-max-parts").unwrap_or(PARTS).min(PARTS);
    let algorithm = info.checksum().map(|checksum| checksum.algorithm);
    let shown = parts.iter().enumerate().skip(marker).take(limit);
    let shown: Vec<_> = shown.collect();
    let next = shown.last().map_or(marker, |(at, _)| at + 1);
    xml.value("TotalPartsCount", parts.len());
    xml.value("PartsCount", parts.len());
    xml.value("PartNumberMarker", marker);
    xml.value("NextPartNumberMarker", next);
    xml.value("MaxParts", limit);
    xml.value("IsTruncated", next < parts.len());
    for (at, part) in shown {
        let (Some(algorithm), Some(checksum)) = (algorithm, &part.checksum) else { continue };
        xml.element("Part", |xml| {
            xml.value("PartNumber", at + 1);
            xml.value("Size", part.length);
            xml.text(algorithm.element(), checksum);
        });
    }
}
