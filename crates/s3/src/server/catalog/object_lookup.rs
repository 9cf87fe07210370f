//! Finds the current object of a key, and its versions.
//!
//! The current object is in the place of the key, plain or odd. Where nothing is there and the bucket
//! has versions, it is the newest version, unless that is a delete marker.

use super::attributes::ObjectInfo;
use super::contents;
use super::key_walk::ListedObject;
use super::layout;
use super::state::Catalog;
use super::version_id::VersionId;
use super::version_name::VersionName;
use crate::server::fault::S3Result;
use runnel_store::{Body, Content, Context, Error, KeyRange, Reference, list_keys};
use std::time::SystemTime;

/// An object with its content, which is read when it is wanted.
pub(crate) struct Found {
    /// Where it is in the store below.
    pub(crate) at: Reference,
    pub(crate) content: Content,
    pub(crate) info: ObjectInfo,
}

/// A version that says that there is nothing.
#[derive(Clone, Debug)]
pub(crate) struct DeleteMarker {
    pub(crate) version: String,
    pub(crate) modified: SystemTime,
}

/// What is at a key.
pub(crate) enum Lookup {
    Object(Box<Found>),
    Marker(DeleteMarker),
    Missing,
}

impl Catalog {
    /// The object of a key, or one version of it. `has_versions` says whether the bucket ever kept
    /// versions.
    pub(crate) async fn lookup(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        has_versions: bool,
    ) -> S3Result<Lookup> {
        let present = self.present(bucket, key).await?;
        let is_wanted =
            |found: &Found| version.is_none_or(|version| found.info.version() == version);
        if let Some(found) = present {
            if is_wanted(&found) {
                return Ok(Lookup::Object(Box::new(found)));
            }
        } else if !has_versions {
            return Ok(Lookup::Missing);
        }
        let name = match version {
            None => self.newest_name(bucket, key).await?,
            Some(version) => self.find_name(bucket, key, version).await?,
        };
        let Some(name) = name else { return Ok(Lookup::Missing) };
        if name.is_marker {
            let (version, modified) = (name.version(), name.id.time());
            return Ok(Lookup::Marker(DeleteMarker { version, modified }));
        }
        let at = layout::versions(bucket, key).join(&name.text());
        let found = self.found_at(&at).await?;
        Ok(found.map_or(Lookup::Missing, |found| Lookup::Object(Box::new(found))))
    }

    /// The object in the place of the key.
    pub(super) async fn present(&self, bucket: &str, key: &str) -> Result<Option<Found>, Error> {
        if layout::is_readable(key)
            && let Some(found) = self.found_at(&layout::plain(bucket, key)).await?
        {
            return Ok(Some(found));
        }
        self.found_at(&layout::odd(bucket, key)).await
    }

    pub(super) async fn found_at(&self, at: &Reference) -> Result<Option<Found>, Error> {
        let Some(content) = self.contents.read(at, None).await? else { return Ok(None) };
        let info = ObjectInfo::of(&content, contents::length(&content.body));
        Ok(Some(Found { at: at.clone(), content, info }))
    }

    /// The name of the newest version that is not in the place of the key.
    pub(super) async fn newest_name(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<Option<VersionName>, Error> {
        let range = KeyRange { limit: 1, ..KeyRange::default() };
        let at = layout::versions(bucket, key);
        let page = list_keys(&self.contents.store, &at, &range, &Context::default()).await?;
        Ok(page.keys.first().and_then(|key| VersionName::read(&key.name)))
    }

    /// The name of a version that is not in the place of the key.
    pub(super) async fn find_name(
        &self,
        bucket: &str,
        key: &str,
        version: &str,
    ) -> Result<Option<VersionName>, Error> {
        // The names of a version begin alike; that of `null` can be any.
        let prefix = VersionId::read(version).map_or(String::new(), VersionId::newest_first);
        let mut range = KeyRange { prefix, ..KeyRange::default() };
        let at = layout::versions(bucket, key);
        loop {
            let page = list_keys(&self.contents.store, &at, &range, &Context::default()).await?;
            let names = page.keys.iter().filter_map(|key| VersionName::read(&key.name));
            if let Some(name) = names.into_iter().find(|name| name.version() == version) {
                return Ok(Some(name));
            }
            match page.keys.last() {
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => return Ok(None),
            }
        }
    }
}

impl Catalog {
    /// What is known of an object of a listing. `None` when it is gone.
    pub(crate) async fn listed_info(&self, object: &ListedObject) -> S3Result<Option<ObjectInfo>> {
        let ListedObject { at, listed } = object;
        if self.contents.store.keeps_metadata(at)
            && let Some(info) = ObjectInfo::of_listed(listed)
        {
            return Ok(Some(info));
        }
        // The validator of the listing saves reading the content.
        let Some(content) = self.contents.read(at, listed.entity_tag.clone()).await? else {
            return Ok(None);
        };
        let is_short = matches!(content.body, Body::Empty) && content.entity_tag.is_some();
        let length = match listed.length {
            Some(length) if is_short && content.entity_tag == listed.entity_tag => length,
            _ => contents::length(&content.body),
        };
        Ok(Some(ObjectInfo::of(&content, length)))
    }
}
