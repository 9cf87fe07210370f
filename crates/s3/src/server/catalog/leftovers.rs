//! Removes what a killed process has left: content that arrived and never became an object, and parts
//! of uploads that were completed or aborted.

use super::layout;
use super::state::Catalog;
use super::uploads::is_upload_id;
use runnel_store::{Context, KeyRange, Kind, Reference, Result, list_keys};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// The age of content that no request can still be about to put in its place.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

/// Uploads of one bucket that a run looks at: the parts of a bucket with more are left alone.
const UPLOADS: usize = 100_000;

/// Uploads whose parts a run removes; the next run continues.
const REMOVED: usize = 1_000;

impl Catalog {
    /// Removes received content that has waited for a day.
    pub(crate) async fn remove_leftovers(&self, now: SystemTime) -> Result<()> {
        let room = layout::staging_room();
        let mut range = KeyRange::default();
        loop {
            let context = Context::default();
            let page = list_keys(&self.contents.store, &room, &range, &context).await?;
            for listed in &page.keys {
                let age = listed.modified.and_then(|time| now.duration_since(time).ok());
                if age.is_some_and(|age| age > FORGOTTEN) {
                    self.contents.remove(&room.join(&listed.name), None).await?;
                }
            }
            match page.keys.last() {
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => return Ok(()),
            }
        }
    }

    /// Removes the parts of uploads without a record: that goes first where an upload ends.
    pub(crate) async fn remove_orphaned_parts(&self) -> Result<()> {
        let mut left = REMOVED;
        let mut buckets = self.collections(&layout::all_parts()).await?;
        buckets.append(&mut self.collections(&layout::all_part_data()).await?);
        for bucket in buckets {
            // Parts are listed before uploads, as an upload is there before its parts are.
            let mut ids = self.collections(&layout::bucket_parts(&bucket)).await?;
            ids.append(&mut self.collections(&layout::bucket_part_data(&bucket)).await?);
            ids.retain(|id| is_upload_id(id));
            if ids.is_empty() || !self.retain_orphans(&bucket, &mut ids).await? {
                continue;
            }
            for id in ids {
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                self.remove_parts(&bucket, &id).await?;
            }
        }
        Ok(())
    }

    /// Takes the uploads with a record out of a set. Answers whether all were seen.
    async fn retain_orphans(&self, bucket: &str, ids: &mut BTreeSet<String>) -> Result<bool> {
        let at = layout::uploads(bucket);
        let mut range = KeyRange::default();
        let mut seen = 0;
        loop {
            let page = list_keys(&self.contents.store, &at, &range, &Context::default()).await?;
            for listed in &page.keys {
                let id = listed.name.rsplit('/').next().unwrap_or_default();
                ids.remove(id);
            }
            seen += page.keys.len();
            match page.keys.last() {
                Some(_) if page.more && seen >= UPLOADS => return Ok(false),
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => return Ok(true),
            }
        }
    }

    /// The names of the collections in a collection.
    async fn collections(&self, at: &Reference) -> Result<BTreeSet<String>> {
        let entries = match self.contents.store.list(at, &Context::default()).await {
            Err(error) if matches!(error.kind, Kind::NotAllowed | Kind::NotFound) => None,
            entries => entries?,
        };
        let entries = entries.unwrap_or_default().into_iter();
        Ok(entries.filter(|entry| entry.collection).map(|entry| entry.name).collect())
    }
}
