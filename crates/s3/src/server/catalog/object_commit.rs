//! Puts new content in the place of a key, in an order in which a kill at any moment leaves the old
//! object or the new one.
//!
//! With versioning the current object is first moved among the versions, then the new one is put.
//! In between the newest version is the current one (`object_lookup`), so readers still see the old.

use super::attributes::{MODIFIED, OWNER, VERSION, milliseconds};
use super::object_lookup::{Found, Lookup};
use super::state::{ATTEMPTS, Catalog};
use super::version_id::VersionId;
use super::version_name::VersionName;
use super::{key_locks, layout};
use crate::server::bucket::versioning::Versioning;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use bytes::Bytes;
use runnel_store::{Attributes, Body, Condition, Content, Error, Kind, Metadata, Reference};
use std::rc::Rc;
use std::time::SystemTime;

/// An object that is complete and not yet in its place.
pub(crate) struct Draft {
    pub(crate) content: DraftContent,
    pub(crate) media_type: String,
    pub(crate) attributes: Metadata,
}

/// The content of a draft.
pub(crate) enum DraftContent {
    /// A small one, in memory.
    Bytes(Bytes),
    /// A large one, below [`layout::staging`].
    Staged(Reference),
}

/// What decides on a commit by the current object, if there is one.
pub(crate) type CommitCheck<'a> = &'a dyn Fn(Option<&Found>) -> S3Result<()>;

/// What a deletion did.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// The version that was removed, or that of the delete marker that was made.
    pub(crate) version: Option<String>,
    /// Whether a delete marker was made or removed.
    pub(crate) is_marker: bool,
}

impl Catalog {
    /// Makes a draft the current object. Answers the version, where the bucket keeps some.
    pub(crate) async fn commit(
        &self,
        bucket: &str,
        key: &str,
        versioning: Versioning,
        mut draft: Draft,
        check: Option<CommitCheck<'_>>,
    ) -> S3Result<Option<String>> {
        let _alone = key_locks::lock(bucket, key).await;
        let version = match versioning {
            Versioning::Enabled => Some(VersionId::new().text()),
            Versioning::Suspended => Some("null".to_string()),
            Versioning::Off => None,
        };
        if versioning == Versioning::Enabled {
            let id = version.clone().unwrap_or_default();
            draft.attributes.insert(VERSION.to_string(), id);
        }
        let attributes = Attributes {
            media_type: Some(std::mem::take(&mut draft.media_type).into()),
            metadata: Some(Rc::new(std::mem::take(&mut draft.attributes))),
        };
        if let DraftContent::Staged(at) = &draft.content {
            self.contents.annotate(at, attributes.clone(), None).await?;
        }
        for _ in 0..ATTEMPTS {
            let only_if = match (check, versioning) {
                (None, Versioning::Off) => None,
                _ => Some(self.make_way(bucket, key, versioning, check).await?),
            };
            match self.put_draft(bucket, key, &draft.content, &attributes, only_if).await {
                // Another process wrote it, or removed the empty collections above it.
                Err(error) if matches!(error.kind, Kind::Precondition | Kind::NotFound) => {}
                put => {
                    put?;
                    if versioning == Versioning::Suspended {
                        self.remove_null_version(bucket, key).await?;
                    }
                    return Ok(version);
                }
            }
        }
        Err(S3Fault::new(FaultCode::OperationAborted))
    }

    /// Checks the current object and moves it among the versions where it has to stay. Answers what
    /// must be so when the new one is put.
    async fn make_way(
        &self,
        bucket: &str,
        key: &str,
        versioning: Versioning,
        check: Option<CommitCheck<'_>>,
    ) -> S3Result<Condition> {
        let present = self.present(bucket, key).await?;
        if let Some(check) = check {
            match (&present, (versioning != Versioning::Off)) {
                (None, true) => match self.lookup(bucket, key, None, true).await? {
                    Lookup::Object(found) => check(Some(&found))?,
                    _ => check(None)?,
                },
                (present, _) => check(present.as_ref())?,
            }
        }
        let Some(found) = present else { return Ok(Condition::Absent) };
        let stays = match versioning {
            Versioning::Off => false,
            Versioning::Enabled => true,
            Versioning::Suspended => found.info.attributes.contains_key(VERSION),
        };
        if stays {
            self.keep_version(bucket, key, &found).await?;
            return Ok(Condition::Absent);
        }
        Ok(found.info.store_tag.map_or(Condition::Present, Condition::Tag))
    }

    /// Moves the current object among the versions.
    async fn keep_version(&self, bucket: &str, key: &str, found: &Found) -> S3Result<()> {
        let name = VersionName::of_object(&found.info);
        let to = layout::versions(bucket, key).join(&name.text());
        self.contents.relocate(&found.at, &to, None).await?;
        Ok(())
    }

    async fn put_draft(
        &self,
        bucket: &str,
        key: &str,
        content: &DraftContent,
        attributes: &Attributes,
        only_if: Option<Condition>,
    ) -> Result<(), Error> {
        let (at, other) = self.place(bucket, key).await?;
        let put = self.put_at(&at, content, attributes, only_if.clone()).await;
        match (put, other) {
            (Err(error), Some(odd)) if error.kind == Kind::Conflict => {
                // A file or a collection of another key is in the way.
                self.put_at(&odd, content, attributes, only_if).await
            }
            (put, _) => put,
        }
    }

    async fn put_at(
        &self,
        at: &Reference,
        content: &DraftContent,
        attributes: &Attributes,
        only_if: Option<Condition>,
    ) -> Result<(), Error> {
        match content {
            DraftContent::Bytes(bytes) => {
                let body = Body::Bytes(bytes.clone());
                self.contents.write(at, body, attributes.clone(), only_if).await
            }
            DraftContent::Staged(staged) => {
                match self.contents.relocate(staged, at, only_if).await? {
                    true => Ok(()),
                    false => Err(Error::new(Kind::Failed, "the received content is gone")),
                }
            }
        }
    }

    /// Where a key is written, and where else if something is in the way. A key that is odd already
    /// stays so.
    async fn place(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<(Reference, Option<Reference>), Error> {
        let odd = layout::odd(bucket, key);
        if !layout::is_plain(key) {
            return Ok((odd, None));
        }
        let plain = layout::plain(bucket, key);
        if self.contents.read(&odd, None).await?.is_none() {
            return Ok((plain, Some(odd)));
        }
        match self.contents.read(&plain, None).await? {
            Some(_) => Ok((plain, None)),
            None => Ok((odd, None)),
        }
    }

    /// Deletes the current object: without versioning it is gone, otherwise a delete marker becomes
    /// the newest version.
    pub(crate) async fn remove_current(
        &self,
        bucket: &str,
        key: &str,
        versioning: Versioning,
        owner: &str,
        check: CommitCheck<'_>,
    ) -> S3Result<Removal> {
        let _alone = key_locks::lock(bucket, key).await;
        let present = self.present(bucket, key).await?;
        check(present.as_ref())?;
        if versioning == Versioning::Off {
            self.remove_present(bucket, key).await?;
            return Ok(Removal::default());
        }
        if let Some(found) = present {
            let is_null = !found.info.attributes.contains_key(VERSION);
            match is_null && versioning == Versioning::Suspended {
                true => self.remove_present(bucket, key).await?,
                false => {
                    self.keep_version(bucket, key, &found).await?;
                    self.contents.prune(&found.at, 1).await;
                }
            }
        }
        let is_null = versioning == Versioning::Suspended;
        if is_null {
            self.remove_null_version(bucket, key).await?;
        }
        let name = VersionName { id: VersionId::new(), is_null, is_marker: true };
        let at = layout::versions(bucket, key).join(&name.text());
        let made = milliseconds(SystemTime::now()).to_string();
        let metadata = [(MODIFIED.to_string(), made), (OWNER.to_string(), owner.to_string())];
        let metadata = Some(Rc::new(Metadata::from(metadata)));
        let attributes = Attributes { media_type: None, metadata };
        let body = Content::bytes(Bytes::new()).body;
        self.contents.write(&at, body, attributes, None).await?;
        Ok(Removal { version: Some(name.version()), is_marker: true })
    }

    /// Removes one version for good. What was the version before it becomes the current one, if it
    /// was that.
    pub(crate) async fn remove_version(
        &self,
        bucket: &str,
        key: &str,
        version: &str,
        check: CommitCheck<'_>,
    ) -> S3Result<Option<Removal>> {
        let _alone = key_locks::lock(bucket, key).await;
        let present = self.present(bucket, key).await?;
        let removal = |is_marker| Removal { version: Some(version.to_string()), is_marker };
        if let Some(found) = present.filter(|found| found.info.version() == version) {
            check(Some(&found))?;
            self.remove_present(bucket, key).await?;
            self.promote(bucket, key).await?;
            return Ok(Some(removal(false)));
        }
        let Some(name) = self.find_name(bucket, key, version).await? else { return Ok(None) };
        let at = layout::versions(bucket, key).join(&name.text());
        if !name.is_marker
            && let Some(found) = self.found_at(&at).await?
        {
            check(Some(&found))?;
        }
        self.contents.remove(&at, None).await?;
        self.promote(bucket, key).await?;
        self.contents.prune(&at, 3).await;
        Ok(Some(removal(name.is_marker)))
    }

    /// Puts the newest version in the place of the current object, where there is none.
    async fn promote(&self, bucket: &str, key: &str) -> S3Result<()> {
        if self.present(bucket, key).await?.is_some() {
            return Ok(());
        }
        let Some(newest) = self.newest_name(bucket, key).await? else { return Ok(()) };
        if newest.is_marker {
            return Ok(());
        }
        let from = layout::versions(bucket, key).join(&newest.text());
        let (at, other) = self.place(bucket, key).await?;
        let moved = self.contents.relocate(&from, &at, Some(Condition::Absent)).await;
        match (moved, other) {
            (Err(error), Some(odd)) if error.kind == Kind::Conflict => {
                self.contents.relocate(&from, &odd, Some(Condition::Absent)).await?;
            }
            (moved, _) => drop(moved?),
        }
        self.contents.prune(&from, 3).await;
        Ok(())
    }

    async fn remove_null_version(&self, bucket: &str, key: &str) -> S3Result<()> {
        if let Some(name) = self.find_name(bucket, key, "null").await? {
            let at = layout::versions(bucket, key).join(&name.text());
            self.contents.remove(&at, None).await?;
        }
        Ok(())
    }

    /// Removes the object wherever it is: the odd one first, so that it does not come back.
    async fn remove_present(&self, bucket: &str, key: &str) -> S3Result<()> {
        let odd = layout::odd(bucket, key);
        if self.contents.remove(&odd, None).await? {
            self.contents.prune(&odd, 3).await;
        }
        if layout::is_readable(key) {
            let plain = layout::plain(bucket, key);
            if self.contents.remove(&plain, None).await? {
                self.contents.prune(&plain, 1).await;
            }
        }
        Ok(())
    }
}
