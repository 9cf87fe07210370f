//! GetObject and HeadObject: an object, a range of it or one of its parts.

use super::conditions::ReadConditions;
use super::fields::{TAGS, set_checksum, set_object_fields};
use super::ranges::{ByteRange, cut};
use crate::server::bucket::lifecycle::version::{LifecycleVersion, VersionState};
use crate::server::bucket::tagging::Tagging;
use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::ObjectInfo;
use crate::server::catalog::object_lookup::{DeleteMarker, Found, Lookup};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::{ReplyBody, S3Reply, http_time};
use crate::server::xml::url_encode;
use http::StatusCode;
use std::rc::Rc;

/// Most parts of an object.
const PARTS: u32 = 10_000;

/// Parameters that replace fields of the answer.
const OVERRIDES: [(&str, &str); 6] = [
    ("response-cache-control", "cache-control"),
    ("response-content-disposition", "content-disposition"),
    ("response-content-encoding", "content-encoding"),
    ("response-content-language", "content-language"),
    ("response-content-type", "content-type"),
    ("response-expires", "expires"),
];

/// What of an object is sent.
struct Selection {
    range: Option<ByteRange>,
    parts: Option<usize>,
}

/// Sends an object; for HEAD its fields alone.
pub(crate) async fn get_object(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let version = call.version()?;
    let overrides = overrides(&call)?;
    let part = part_number(&call)?;
    let sends_checksum = match call.header("x-amz-checksum-mode") {
        None => false,
        Some(mode) if mode.eq_ignore_ascii_case("ENABLED") => true,
        Some(_) => {
            let words = "Value for x-amz-checksum-mode header is invalid.";
            return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
        }
    };
    let found = match find_object(&call, version).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    let info = &found.info;
    let checked = ReadConditions::of(&call, "").check(&info.etag, info.modified);
    if let Err(fault) = checked {
        let mut reply = S3Reply::fault(fault);
        reply.set("etag", &format!("\"{}\"", info.etag));
        reply.set("last-modified", &http_time(info.modified));
        return Ok(reply);
    }
    let selection = match part {
        Some(number) => part_of(info, number)?,
        None => {
            let range = call.header("range");
            let range = range.map(|text| ByteRange::of_header(text, info.length)).transpose()?;
            Selection { range: range.flatten(), parts: None }
        }
    };
    let mut reply = S3Reply::empty(StatusCode::OK);
    set_object_fields(&mut reply, info, call.has_versions());
    if version.is_none() {
        set_expiration(&mut reply, &call, info)?;
    }
    for (name, value) in overrides {
        reply.set(name, value);
    }
    if let Some(parts) = selection.parts {
        reply.set("x-amz-mp-parts-count", &parts.to_string());
    }
    let whole = ByteRange { from: 0, length: info.length };
    let range = selection.range.unwrap_or(whole);
    if selection.range.is_some() {
        reply.status = StatusCode::PARTIAL_CONTENT;
        reply.set("content-range", &range.content_range(info.length));
    }
    if sends_checksum && range == whole {
        set_checksum(&mut reply, info);
    }
    reply.body = ReplyBody::Content(cut(found.content.body, range));
    Ok(reply)
}

/// Says when the rules of the bucket let the current object expire.
fn set_expiration(reply: &mut S3Reply, call: &S3Call, info: &ObjectInfo) -> S3Result<()> {
    let Some(rules) = &call.record()?.lifecycle else { return Ok(()) };
    let tags = info.attributes.get(TAGS).map(String::as_str).unwrap_or_default();
    let tags = Tagging::from_header(tags).unwrap_or_default();
    let (key, size, modified) = (call.key.as_str(), info.length, info.modified);
    let state = VersionState::Current;
    let current = LifecycleVersion { key, size, tags: &tags, modified, state };
    if let Some((time, rule)) = rules.expiry_of(&current) {
        let (date, rule) = (http_time(time), url_encode(rule));
        reply.set("x-amz-expiration", &format!("expiry-date=\"{date}\", rule-id=\"{rule}\""));
    }
    Ok(())
}

/// The object that a request asks for, or the answer where there is none.
pub(crate) async fn find_object(
    call: &S3Call,
    version: Option<&str>,
) -> S3Result<Result<Box<Found>, S3Reply>> {
    let has_versions = call.has_versions();
    call.record()?;
    let catalog = &call.state.catalog;
    match catalog.lookup(&call.bucket, &call.key, version, has_versions).await? {
        Lookup::Object(found) => Ok(Ok(found)),
        Lookup::Marker(marker) => Ok(Err(of_marker(&marker, version.is_some()))),
        Lookup::Missing => Err(missing(&call.key, version)),
    }
}

/// The fault of a key, or of a version, that does not exist.
pub(crate) fn missing(key: &str, version: Option<&str>) -> S3Fault {
    match version {
        Some(version) => {
            S3Fault::new(FaultCode::NoSuchVersion).with("Key", key).with("VersionId", version)
        }
        None => S3Fault::new(FaultCode::NoSuchKey).with("Key", key),
    }
}

/// The answer for a delete marker: it says that there is nothing, and asked for by its version that
/// it cannot be read.
pub(crate) fn of_marker(marker: &DeleteMarker, is_asked_for: bool) -> S3Reply {
    let code = if is_asked_for { FaultCode::MethodNotAllowed } else { FaultCode::NoSuchKey };
    let mut reply = S3Reply::fault(code.into());
    reply.set("x-amz-delete-marker", "true");
    reply.set("x-amz-version-id", &marker.version);
    reply.set("last-modified", &http_time(marker.modified));
    reply
}

fn overrides(call: &S3Call) -> S3Result<Vec<(&'static str, &str)>> {
    let given = |(parameter, name)| Some((name, call.parameter(parameter)?));
    let given: Vec<_> = OVERRIDES.into_iter().filter_map(given).collect();
    if !given.is_empty() && call.is_anonymous() {
        let words = "Request specific response headers cannot be used for anonymous GET requests.";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    Ok(given)
}

fn part_number(call: &S3Call) -> S3Result<Option<u32>> {
    let Some(text) = call.parameter("partNumber") else { return Ok(None) };
    let Some(number) = text.parse().ok().filter(|number| (1..=PARTS).contains(number)) else {
        let words = "Part number must be an integer between 1 and 10000, inclusive.";
        return Err(invalid_argument(words, "partNumber", text));
    };
    if call.header("range").is_some() {
        let words = "Cannot specify both Range header and partNumber query parameter";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    Ok(Some(number))
}

/// The range of a part. An object that was not uploaded in parts is one.
fn part_of(info: &ObjectInfo, number: u32) -> S3Result<Selection> {
    let parts = info.parts();
    let count = parts.as_ref().map_or(1, Vec::len);
    if number as usize > count {
        return Err(S3Fault::new(FaultCode::InvalidPartNumber)
            .with("ActualPartCount", count.to_string())
            .with("PartNumberRequested", number.to_string()));
    }
    let Some(parts) = parts else {
        let whole = ByteRange { from: 0, length: info.length };
        return Ok(Selection { range: (info.length > 0).then_some(whole), parts: None });
    };
    let before = &parts[..number as usize - 1];
    let from = before.iter().map(|part| part.length).sum();
    let length = parts[number as usize - 1].length;
    Ok(Selection { range: Some(ByteRange { from, length }), parts: Some(count) })
}
