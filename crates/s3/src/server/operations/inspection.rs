//! Buckets and objects as their operator sees them: read-only, without users, and never any content.
//!
//! A page costs at most a page of keys, however much the store holds.

use super::listing::list_objects::{ListedBucket, read_page};
use super::listing::paging::ListParameters;
use crate::server::bucket::record::BucketRecord;
use crate::server::bucket::versioning::Versioning;
use crate::server::call::ServerState;
use crate::server::catalog::attributes::ObjectInfo;
use crate::server::catalog::layout;
use crate::server::catalog::object_lookup::Lookup;
use crate::server::catalog::version_name::VersionName;
use crate::server::fault::{FaultCode, S3Fault};
use crate::server::target::is_bucket_name;
use runnel_store::{Context, Error, KeyRange, Kind, Result, list_keys};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most entries of a page.
pub const INSPECTED: usize = 100;

/// Most keys that are counted for a page of buckets, as many as a listing of S3 has.
pub const COUNTED: usize = 1_000;

/// Most keys that are counted in one bucket.
const COUNTED_IN_BUCKET: usize = 100;

/// Shows what a server keeps.
pub struct S3Inspector {
    state: Rc<ServerState>,
}

/// Entries of a page, and after which name the next page begins.
pub struct InspectedPage<T> {
    /// The entries in order.
    pub entries: Vec<T>,
    /// The last name of this page, where more follow.
    pub next: Option<String>,
}

/// A bucket.
pub struct InspectedBucket {
    /// Its name.
    pub name: String,
    /// When it was made; `None` for a folder that was not made through this server.
    pub created: Option<SystemTime>,
    /// `None` where it never kept versions, otherwise `Enabled` or `Suspended`.
    pub versioning: Option<&'static str>,
    /// Whether a policy or an ACL lets everybody in.
    pub is_public: bool,
    /// What was counted, within the bound of the page.
    pub counted: Option<CountedKeys>,
}

/// Keys that were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedKeys {
    /// How many.
    pub objects: usize,
    /// Their bytes, where the listing of the store tells sizes.
    pub bytes: Option<u64>,
    /// Whether more keys follow.
    pub more: bool,
}

/// An entry of a folder.
pub enum InspectedEntry {
    /// The common prefix of more keys, with its slash.
    Folder(String),
    /// An object with its key.
    Object(String, InspectedObject),
}

/// Attributes of an object. Fields that its writer chose are not among them, because they may be
/// secret.
pub struct InspectedObject {
    /// Bytes of its content.
    pub size: u64,
    /// The media type.
    pub media_type: String,
    /// The entity tag without quotes.
    pub entity_tag: String,
    /// The last change.
    pub modified: SystemTime,
    /// The version, where the bucket kept versions when it was written.
    pub version: Option<String>,
    /// The algorithm, the kind and the value of its checksum.
    pub checksum: Option<[String; 3]>,
    /// The number of its parts, where it was uploaded in parts.
    pub parts: Option<usize>,
}

/// A version that is not in the place of its key.
pub struct InspectedVersion {
    /// The identifier, or `null`.
    pub version: String,
    /// When it was written.
    pub modified: SystemTime,
    /// Bytes of its content, where the listing of the store tells sizes.
    pub size: Option<u64>,
    /// Whether it is a delete marker.
    pub is_marker: bool,
}

impl S3Inspector {
    pub(crate) fn of(state: &Rc<ServerState>) -> Self {
        S3Inspector { state: state.clone() }
    }

    /// Whether everybody who reaches the server may read it.
    pub fn is_open(&self) -> bool {
        self.state.users.is_open()
    }

    /// The buckets whose names follow `after`, with what is counted in them.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn buckets(&self, after: &str) -> Result<InspectedPage<InspectedBucket>> {
        let catalog = &self.state.catalog;
        let names = catalog.bucket_names().await.map_err(store_error)?;
        let mut names =
            names.into_iter().filter(|name| name.as_str() > after && is_bucket_name(name));
        let mut entries = Vec::new();
        let mut left = COUNTED;
        for name in names.by_ref().take(INSPECTED) {
            let Some(record) = catalog.bucket(&name).await.map_err(store_error)? else { continue };
            let counted = match left {
                0 => None,
                left => Some(self.count(&name, left.min(COUNTED_IN_BUCKET)).await?),
            };
            left -= counted.map_or(0, |counted| counted.objects);
            entries.push(bucket(name, &record, counted));
        }
        let last = entries.last().map(|bucket| bucket.name.clone());
        let next = last.filter(|_| names.next().is_some());
        Ok(InspectedPage { entries, next })
    }

    /// Counts keys up to a limit.
    async fn count(&self, bucket: &str, limit: usize) -> Result<CountedKeys> {
        let mut walk = self.state.catalog.walk(bucket, "", None, false, limit + 2);
        let mut counted = CountedKeys { objects: 0, bytes: Some(0), more: false };
        while let Some(listed) = walk.next().await? {
            if counted.objects == limit {
                counted.more = true;
                break;
            }
            counted.objects += 1;
            let length = listed.present.and_then(|present| present.listed.length);
            counted.bytes = counted.bytes.zip(length).map(|(sum, length)| sum + length);
        }
        Ok(counted)
    }

    /// The folders and objects of a bucket whose keys begin with a prefix and follow `after`. `None`
    /// when there is no such bucket.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn folder(
        &self,
        bucket: &str,
        prefix: &str,
        after: &str,
    ) -> Result<Option<InspectedPage<InspectedEntry>>> {
        if self.record(bucket).await?.is_none() {
            return Ok(None);
        }
        let catalog = &self.state.catalog;
        // Versions would make the cost depend on how often keys were written.
        let bucket = ListedBucket { catalog, name: bucket, has_versions: false };
        let parameters = ListParameters {
            prefix: prefix.to_string(),
            delimiter: "/".to_string(),
            limit: INSPECTED,
            is_encoded: false,
        };
        let page = read_page(bucket, &parameters, after).await.map_err(store_error)?;
        let folders = page.prefixes.into_iter().map(InspectedEntry::Folder);
        let objects = page.objects.iter();
        let objects = objects.map(|(key, info)| InspectedEntry::Object(key.clone(), object(info)));
        let entries = folders.chain(objects).collect();
        Ok(Some(InspectedPage { entries, next: page.next }))
    }

    /// The object of a key, where there is one, and its former versions after `after`. `None` when
    /// there is neither.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn object(
        &self,
        bucket: &str,
        key: &str,
        after: &str,
    ) -> Result<Option<(Option<InspectedObject>, InspectedPage<InspectedVersion>)>> {
        let Some(record) = self.record(bucket).await? else { return Ok(None) };
        let catalog = &self.state.catalog;
        let has_versions = record.versioning != Versioning::Off;
        let found = catalog.lookup(bucket, key, None, has_versions).await.map_err(store_error)?;
        let info = match found {
            Lookup::Object(found) => Some(object(&found.info)),
            Lookup::Marker(_) | Lookup::Missing => None,
        };
        let mut versions = InspectedPage { entries: Vec::new(), next: None };
        if has_versions {
            versions = self.versions(bucket, key, after).await?;
        }
        let is_something = info.is_some() || !versions.entries.is_empty();
        Ok(is_something.then_some((info, versions)))
    }

    async fn versions(
        &self,
        bucket: &str,
        key: &str,
        after: &str,
    ) -> Result<InspectedPage<InspectedVersion>> {
        let at = layout::versions(bucket, key);
        let after = Some(after).filter(|after| !after.is_empty()).map(str::to_string);
        let range = KeyRange { after, limit: INSPECTED, ..KeyRange::default() };
        let store = &self.state.catalog.contents.store;
        let page = list_keys(store, &at, &range, &Context::default()).await?;
        let entries = page.keys.iter().filter_map(|key| {
            let name = VersionName::read(&key.name)?;
            Some(InspectedVersion {
                version: name.version(),
                modified: name.id.time(),
                size: key.length.filter(|_| !name.is_marker),
                is_marker: name.is_marker,
            })
        });
        let next = page.keys.last().filter(|_| page.more).map(|key| key.name.clone());
        Ok(InspectedPage { entries: entries.collect(), next })
    }

    async fn record(&self, bucket: &str) -> Result<Option<Rc<BucketRecord>>> {
        if !is_bucket_name(bucket) {
            return Ok(None);
        }
        self.state.catalog.bucket(bucket).await.map_err(store_error)
    }
}

fn bucket(name: String, record: &BucketRecord, counted: Option<CountedKeys>) -> InspectedBucket {
    let block = record.public_access_block.unwrap_or_default();
    let by_policy = record.policy.as_ref().is_some_and(|policy| policy.is_public());
    let by_acl = record.has_acls() && record.acl.is_public();
    InspectedBucket {
        name,
        created: u64::try_from(record.created)
            .ok()
            .filter(|&micros| micros > 0)
            .map(|micros| UNIX_EPOCH + Duration::from_micros(micros)),
        versioning: record.versioning.status(),
        is_public: by_policy && !block.restrict_public_buckets
            || by_acl && !block.ignore_public_acls,
        counted,
    }
}

fn object(info: &ObjectInfo) -> InspectedObject {
    let checksum = info.checksum().map(|checksum| {
        let (algorithm, kind) = (checksum.algorithm.name(), checksum.kind.name());
        [algorithm.to_string(), kind.to_string(), checksum.value]
    });
    InspectedObject {
        size: info.length,
        media_type: info.media_type.to_string(),
        entity_tag: info.etag.clone(),
        modified: info.modified,
        version: Some(info.version()).filter(|version| *version != "null").map(str::to_string),
        checksum,
        parts: info.parts().map(|parts| parts.len()),
    }
}

/// What a fault of the catalog is outside of S3.
fn store_error(fault: S3Fault) -> Error {
    let kind = match fault.code {
        FaultCode::NoSuchBucket | FaultCode::NoSuchKey => Kind::NotFound,
        FaultCode::SlowDown | FaultCode::ServiceUnavailable => Kind::Unavailable,
        _ => Kind::Failed,
    };
    Error::new(kind, fault.message)
}
