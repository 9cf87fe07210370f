//! The source of a copy: an object or a version, which the requester may read.

use super::conditions::ReadConditions;
use super::get_object::missing;
use crate::server::bucket::record::BucketRecord;
use crate::server::bucket::versioning::Versioning;
use crate::server::call::{S3Call, check_version, invalid_argument, no_such_bucket};
use crate::server::catalog::object_lookup::{Found, Lookup};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::permit;
use crate::server::target::{check_key, has_broken_escape, is_bucket_name};
use runnel_text::form;
use std::rc::Rc;

const HEADER: &str = "x-amz-copy-source";

/// An object that is copied.
pub(crate) struct CopySource {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) record: Rc<BucketRecord>,
    pub(crate) found: Box<Found>,
}

impl CopySource {
    /// Finds the source that the headers name, and checks their conditions on it.
    pub(crate) async fn find(call: &S3Call) -> S3Result<Self> {
        let given = call.header(HEADER).unwrap_or_default();
        let (bucket, key, version) = read_source(given)?;
        let catalog = &call.state.catalog;
        let record = catalog.bucket(&bucket).await?.ok_or_else(|| no_such_bucket(&bucket))?;
        let expected = call.header("x-amz-source-expected-bucket-owner");
        if expected.is_some_and(|owner| owner != record.owner) {
            return Err(FaultCode::AccessDenied.into());
        }
        let action = match version {
            Some(_) => "s3:GetObjectVersion",
            None => "s3:GetObject",
        };
        permit::check_in(call, &bucket, &record, action, &key)?;
        let version = version.as_deref();
        version.map_or(Ok(()), check_version)?;
        let has_versions = record.versioning != Versioning::Off;
        let found = match catalog.lookup(&bucket, &key, version, has_versions).await? {
            Lookup::Object(found) => found,
            Lookup::Marker(_) if version.is_some() => {
                let words = "The source of a copy request may not specifically refer to a delete \
                             marker by version id.";
                return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
            }
            Lookup::Marker(_) | Lookup::Missing => return Err(missing(&key, version)),
        };
        let checked = ReadConditions::of(call, "x-amz-copy-source-");
        checked.check(&found.info.etag, found.info.modified)?;
        Ok(CopySource { bucket, key, record, found })
    }

    /// The version that was copied, where the bucket keeps versions.
    pub(crate) fn version(&self) -> Option<&str> {
        let has_versions = self.record.versioning != Versioning::Off;
        has_versions.then(|| self.found.info.version())
    }
}

/// `bucket/key?versionId=…`, in URL encoding, with or without a slash in front.
fn read_source(given: &str) -> S3Result<(String, String, Option<String>)> {
    let invalid = |words: &'static str| invalid_argument(words, HEADER, given);
    let text = given.strip_prefix('/').unwrap_or(given);
    if has_broken_escape(text) {
        return Err(invalid("Invalid copy source encoding"));
    }
    let decoded = form::decode(text).map_err(|_| invalid("Invalid copy source encoding"))?;
    let (path, version) = match decoded.split_once("?versionId=") {
        Some((path, version)) => (path, Some(version.to_string())),
        None => (&*decoded, None),
    };
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    if !is_bucket_name(bucket) {
        return Err(invalid("Invalid copy source bucket name"));
    }
    if key.is_empty() || check_key(key).is_err() {
        return Err(invalid_argument("Invalid copy source object key", HEADER, key));
    }
    Ok((bucket.to_string(), key.to_string(), version))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read() {
        let check = |given: &str, bucket: &str, key: &str, version: Option<&str>| {
            let read = read_source(given).unwrap();
            assert_eq!(read, (bucket.into(), key.into(), version.map(String::from)), "{given}");
        };
        check("/bucket/a/b", "bucket", "a/b", None);
        check("bucket%2Fa%20b+c", "bucket", "a b c", None);
        check("bucket/a?versionId=null", "bucket", "a", Some("null"));
        check("bucket/a%3FversionId%3Dx", "bucket", "a", Some("x"));
        for given in ["", "bucket", "bucket/", "x/y", "bucket/%", "bucket/%zz", "bucket/%ff"] {
            assert!(read_source(given).is_err(), "{given}");
        }
    }
}
