//! Buckets: a record for each that was made, and a bucket for each folder that is there.

use super::layout;
use super::state::{ATTEMPTS, CachedBucket, Catalog, ReadMoment};
use crate::server::bucket::record::BucketRecord;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use runnel_store::{
    COLLECT_LIMIT, Condition, Content, Context, Entry, Error, KeyRange, Kind, Reference, Result,
    list_keys,
};
use std::rc::Rc;

/// Collections in collections that are removed with a bucket.
const DEPTH: usize = 512;

impl Catalog {
    /// The record of a bucket, if there is one.
    pub(crate) async fn bucket(&self, name: &str) -> S3Result<Option<Rc<BucketRecord>>> {
        let now = ReadMoment::now();
        match self.buckets.trusted(name, now) {
            Some(record) => Ok(Some(record)),
            None => self.read_bucket(name, now).await,
        }
    }

    async fn read_bucket(&self, name: &str, now: ReadMoment) -> S3Result<Option<Rc<BucketRecord>>> {
        if let Some(record) = self.read_record(name, now).await? {
            return Ok(Some(record));
        }
        let entries = self.top_collections().await?;
        if !entries.iter().any(|entry| entry.name == name) {
            return Ok(None);
        }
        let record = self.folder_record();
        self.buckets.put(name, None, &record, now);
        Ok(Some(record))
    }

    /// The names of all buckets in order.
    pub(crate) async fn bucket_names(&self) -> S3Result<Vec<String>> {
        let mut names: Vec<String> =
            self.top_collections().await?.into_iter().map(|entry| entry.name).collect();
        let mut range = KeyRange::default();
        loop {
            let store = &self.contents.store;
            let page = list_keys(store, &layout::buckets(), &range, &Context::default()).await?;
            names.extend(page.keys.iter().map(|key| key.name.clone()));
            match names.last() {
                Some(last) if page.more => range.after = Some(last.clone()),
                _ => break,
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Makes a bucket. Answers whether there was none of that name.
    pub(crate) async fn create_bucket(&self, name: &str, record: &BucketRecord) -> S3Result<bool> {
        match self.write_record(name, record, Some(Condition::Absent)).await {
            Err(error) if error.kind == Kind::Precondition => return Ok(false),
            written => written?,
        }
        Ok(true)
    }

    /// Replaces the record of a bucket by what `change` makes of it.
    pub(crate) async fn change_bucket(
        &self,
        name: &str,
        change: impl Fn(&mut BucketRecord) -> S3Result<()>,
    ) -> S3Result<()> {
        for _ in 0..ATTEMPTS {
            let _alone = super::key_locks::lock("", name).await;
            let Some(present) = self.read_bucket(name, ReadMoment::now()).await? else {
                return Err(S3Fault::new(FaultCode::NoSuchBucket).with("BucketName", name));
            };
            let tag = self.buckets.get(name).and_then(|cached| cached.tag);
            let mut record = (*present).clone();
            change(&mut record)?;
            let only_if = tag.map(Condition::Tag);
            match self.write_record(name, &record, only_if).await {
                Err(error) if error.kind == Kind::Precondition => {}
                written => return Ok(written?),
            }
        }
        Err(S3Fault::new(FaultCode::OperationAborted))
    }

    /// Removes a bucket without objects, with the uploads that were not completed. The record goes
    /// last: a kill before that leaves an empty bucket without uploads.
    pub(crate) async fn remove_bucket(&self, name: &str) -> S3Result<()> {
        for belonging in layout::belongings(name) {
            self.remove_tree(&belonging).await?;
        }
        self.remove_collections(&layout::plain_keys(name)).await?;
        self.contents.store.delete(&layout::bucket(name), &Context::default()).await?;
        self.buckets.changed();
        Ok(())
    }

    async fn read_record(&self, name: &str, now: ReadMoment) -> Result<Option<Rc<BucketRecord>>> {
        let cached = self.buckets.get(name);
        let known = cached.as_ref().and_then(|cached| cached.tag.clone());
        let context = Context { known, ..Context::default() };
        // What cannot be read is not trusted, either.
        self.buckets.forget(name);
        let found = self.contents.store.get(&layout::bucket(name), &context).await?;
        let Some(content) = found else { return Ok(None) };
        let tag = content.entity_tag.clone();
        let record = match cached {
            Some(CachedBucket { tag: known, record, .. }) if known.is_some() && known == tag => {
                record
            }
            _ => {
                let bytes = content.read(COLLECT_LIMIT).await?;
                Rc::new(BucketRecord::from_json(&bytes).map_err(|_| {
                    let message = format!("the record of the bucket {name} cannot be read");
                    Error::new(Kind::Failed, message)
                })?)
            }
        };
        self.buckets.put(name, tag, &record, now);
        Ok(Some(record))
    }

    async fn write_record(
        &self,
        name: &str,
        record: &BucketRecord,
        only_if: Option<Condition>,
    ) -> Result<()> {
        let at = layout::bucket(name);
        let only_if = self.contents.admitted(&at, only_if);
        let context = Context { only_if, ..Context::default() };
        let content = Content::bytes(record.to_json());
        let put = self.contents.store.put(&at, content, &context).await.map(drop);
        self.buckets.changed();
        put
    }

    /// The record of a folder without one.
    fn folder_record(&self) -> Rc<BucketRecord> {
        Rc::new(BucketRecord::new(self.owner.clone(), 0))
    }

    async fn top_collections(&self) -> Result<Vec<Entry>> {
        let root = Reference::from_path("");
        let entries = match self.contents.store.list(&root, &Context::default()).await {
            Err(error) if error.kind == Kind::NotAllowed => None,
            entries => entries?,
        };
        let is_bucket = |entry: &Entry| entry.collection && !entry.name.starts_with('.');
        Ok(entries.unwrap_or_default().into_iter().filter(is_bucket).collect())
    }

    /// Removes everything below a reference, with its attributes.
    pub(super) async fn remove_tree(&self, at: &Reference) -> Result<()> {
        self.remove_all(at).await?;
        match self.contents.store.keeps_metadata(at) {
            true => Ok(()),
            false => self.remove_all(&layout::attributes(at)).await,
        }
    }

    async fn remove_all(&self, at: &Reference) -> Result<()> {
        loop {
            let context = Context::default();
            let range = KeyRange::default();
            let page = list_keys(&self.contents.store, at, &range, &context).await?;
            for key in &page.keys {
                self.contents.store.delete(&at.join(&key.name), &context).await?;
            }
            if !page.more || page.keys.is_empty() {
                break;
            }
        }
        self.remove_collections(at).await
    }

    /// Removes the empty collections below a reference, and itself.
    async fn remove_collections(&self, at: &Reference) -> Result<()> {
        let context = Context::default();
        let mut left = vec![(at.clone(), false)];
        while let Some((collection, is_empty)) = left.pop() {
            if is_empty || left.len() > DEPTH {
                // A collection that got an object meanwhile stays.
                let _ = self.contents.store.delete(&collection, &context).await;
                continue;
            }
            let entries = match self.contents.store.list(&collection, &context).await {
                Err(error) if error.kind == Kind::NotAllowed => return Ok(()),
                entries => entries?.unwrap_or_default(),
            };
            left.push((collection.clone(), true));
            let inner = entries.into_iter().filter(|entry| entry.collection);
            left.extend(inner.map(|entry| (collection.join(&entry.name), false)));
        }
        Ok(())
    }
}
