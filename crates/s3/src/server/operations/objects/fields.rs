//! Header fields of objects: what a request says of a new object, and what an answer says of one.

use crate::server::bucket::object_lock::ObjectLockConfiguration;
use crate::server::bucket::retention::{ObjectProtection, Retention};
use crate::server::bucket::tagging::Tagging;
use crate::server::call::{S3Call, not_implemented};
use crate::server::catalog::attributes::{
    KEPT_FIELDS, OWNER, ObjectInfo, REDIRECT, UNKNOWN_TYPE, USER_PREFIX,
};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::{S3Reply, http_time};
use http::HeaderMap;
use runnel_store::Metadata;
use std::time::SystemTime;

/// The most that names and values of a client's own attributes have together, in bytes.
const METADATA_LIMIT: usize = 2 << 10;

/// The media type of keys that end in a slash, which clients show as folders.
const DIRECTORY_TYPE: &str = "application/x-directory";

/// The tags of an object, as the header `x-amz-tagging` has them.
pub(crate) const TAGS: &str = "s3-tags";
/// The mode of its retention, and until when.
pub(crate) const LOCK_MODE: &str = "x-amz-object-lock-mode";
pub(crate) const LOCK_UNTIL: &str = "x-amz-object-lock-retain-until-date";
/// Whether it is held: `ON` or `OFF`.
pub(crate) const LEGAL_HOLD: &str = "x-amz-object-lock-legal-hold";

/// What a request says of a new object.
pub(crate) struct NewFields {
    pub(crate) media_type: String,
    pub(crate) attributes: Metadata,
}

impl NewFields {
    /// Everything that is kept with the object: its description, tags and protection.
    pub(crate) fn of(call: &S3Call) -> S3Result<Self> {
        let mut fields = NewFields::described(&call.headers)?;
        if call.key.ends_with('/') && call.header("content-type").is_none() {
            fields.media_type = DIRECTORY_TYPE.to_string();
        }
        fields.attributes.insert(OWNER.to_string(), call.owner().to_string());
        if let Some(tags) = call.header("x-amz-tagging") {
            let tags = Tagging::from_header(tags)?;
            fields.set(TAGS, (!tags.tags.is_empty()).then(|| tags.to_header()));
        }
        fields.protect(call)?;
        Ok(fields)
    }

    /// The media type, the fields that are sent with the object, and the client's own attributes.
    pub(crate) fn described(headers: &HeaderMap) -> S3Result<Self> {
        refuse_unsupported(headers)?;
        let text = |name: &str| {
            let value = std::str::from_utf8(headers.get(name)?.as_bytes()).ok()?;
            Some(value.to_string()).filter(|value| !value.is_empty())
        };
        let media_type = text("content-type").unwrap_or_else(|| UNKNOWN_TYPE.to_string());
        let attributes = user_attributes(headers)?;
        let mut fields = NewFields { media_type, attributes };
        for name in KEPT_FIELDS {
            let value = match name {
                "content-encoding" => text(name).and_then(|value| without_chunks(&value)),
                _ => text(name),
            };
            fields.set(name, value);
        }
        if let Some(redirect) = text(REDIRECT) {
            let is_one =
                ["http://", "https://", "/"].iter().any(|start| redirect.starts_with(start));
            if !is_one {
                return Err(FaultCode::InvalidRedirectLocation.into());
            }
            fields.set(REDIRECT, Some(redirect));
        }
        Ok(fields)
    }

    /// The protection that the request asks for, or the default of the bucket.
    pub(crate) fn protect(&mut self, call: &S3Call) -> S3Result<()> {
        let now = SystemTime::now();
        let mut protection = ObjectProtection::from_headers(&call.headers, now)?;
        let lock: Option<ObjectLockConfiguration> = call.record()?.object_lock;
        match lock {
            None if !protection.is_none() => {
                let words = "Bucket is missing ObjectLockConfiguration";
                return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
            }
            None => {}
            Some(lock) => protection.retention = protection.retention.or(lock.retention_from(now)),
        }
        set_protection(&mut self.attributes, &protection);
        Ok(())
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.attributes.insert(name.to_string(), value);
        }
    }
}

/// Keeps a protection among attributes.
pub(crate) fn set_protection(attributes: &mut Metadata, protection: &ObjectProtection) {
    for name in [LOCK_MODE, LOCK_UNTIL, LEGAL_HOLD] {
        attributes.remove(name);
    }
    if let Some(retention) = protection.retention {
        attributes.insert(LOCK_MODE.to_string(), retention.mode.name().to_string());
        attributes.insert(LOCK_UNTIL.to_string(), retention.date());
    }
    if let Some(is_held) = protection.legal_hold {
        let word = if is_held { "ON" } else { "OFF" };
        attributes.insert(LEGAL_HOLD.to_string(), word.to_string());
    }
}

/// The protection that attributes keep.
pub(crate) fn protection_of(attributes: &Metadata) -> ObjectProtection {
    let text = |name: &str| attributes.get(name).map(String::as_str);
    let retention = match (text(LOCK_MODE), text(LOCK_UNTIL)) {
        (Some(mode), Some(date)) => Retention::from_words(mode, date),
        _ => None,
    };
    ObjectProtection { retention, legal_hold: text(LEGAL_HOLD).map(|word| word == "ON") }
}

/// The attributes that a client chose, within their limit.
fn user_attributes(headers: &HeaderMap) -> S3Result<Metadata> {
    let mut attributes = Metadata::new();
    let mut size = 0;
    for name in headers.keys() {
        let Some(own) = name.as_str().strip_prefix(USER_PREFIX) else { continue };
        let values = headers.get_all(name).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let value = values.join(",");
        size += own.len() + value.len();
        attributes.insert(name.as_str().to_string(), value);
    }
    if size > METADATA_LIMIT {
        return Err(S3Fault::new(FaultCode::MetadataTooLarge)
            .with("Size", size.to_string())
            .with("MaxSizeAllowed", METADATA_LIMIT.to_string()));
    }
    Ok(attributes)
}

/// A content encoding without that of chunks, which ends with the request.
fn without_chunks(value: &str) -> Option<String> {
    let codings = value.split(',').map(str::trim).filter(|coding| *coding != "aws-chunked");
    let codings: Vec<&str> = codings.collect();
    (!codings.is_empty()).then(|| codings.join(","))
}

/// Refuses what would have to change how an object is stored.
fn refuse_unsupported(headers: &HeaderMap) -> S3Result<()> {
    let has = |name: &str| headers.get(name).is_some_and(|value| !value.is_empty());
    if has("x-amz-server-side-encryption-customer-algorithm") {
        let name = "x-amz-server-side-encryption-customer-algorithm";
        return Err(not_implemented(name, "Objects are not encrypted by this server"));
    }
    if headers.get("x-amz-server-side-encryption").is_some_and(|value| value != "AES256") {
        let name = "x-amz-server-side-encryption";
        return Err(not_implemented(name, "Objects are not encrypted by this server"));
    }
    match headers.get("x-amz-storage-class") {
        Some(class) if !class.is_empty() && class != "STANDARD" => {
            Err(FaultCode::InvalidStorageClass.into())
        }
        _ => Ok(()),
    }
}

/// Sets what an answer says of an object.
pub(crate) fn set_object_fields(reply: &mut S3Reply, info: &ObjectInfo, has_versions: bool) {
    reply.set("etag", &format!("\"{}\"", info.etag));
    reply.set("last-modified", &http_time(info.modified));
    reply.set("content-type", &info.media_type);
    reply.set("accept-ranges", "bytes");
    reply.set("x-amz-storage-class", "STANDARD");
    for name in KEPT_FIELDS.into_iter().chain([REDIRECT, LOCK_MODE, LOCK_UNTIL, LEGAL_HOLD]) {
        reply.set_some(name, info.attributes.get(name).map(String::as_str));
    }
    let own = info.attributes.iter().filter(|(name, _)| name.starts_with(USER_PREFIX));
    for (name, value) in own {
        reply.set(name, value);
    }
    if has_versions {
        reply.set("x-amz-version-id", info.version());
    }
    if let Some(tags) = info.attributes.get(TAGS) {
        let count = tags.split('&').filter(|tag| !tag.is_empty()).count();
        reply.set("x-amz-tagging-count", &count.to_string());
    }
}

/// Sets the checksum of an object.
pub(crate) fn set_checksum(reply: &mut S3Reply, info: &ObjectInfo) {
    if let Some(checksum) = info.checksum() {
        reply.set(checksum.algorithm.header(), &checksum.value);
        reply.set("x-amz-checksum-type", checksum.kind.name());
    }
}
