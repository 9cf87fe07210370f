//! Buckets: a record for each that was made, and a bucket for each folder that is there.

use super::layout;
use super::state::{ATTEMPTS, Catalog};
use crate::server::bucket::record::BucketRecord;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use runnel_store::{
    COLLECT_LIMIT, Condition, Content, Context, Entry, Error, KeyRange, Kind, Reference, Result,
    list_keys,
};
use std::rc::Rc;

/// Records that a worker remembers with their validators.
const REMEMBERED: usize = 1_024;

/// Collections in collections that are removed with a bucket.
const DEPTH: usize = 512;

impl Catalog {
    /// The record of a bucket, if there is one.
    pub(crate) async fn bucket(&self, name: &str) -> S3Result<Option<Rc<BucketRecord>>> {
        if let Some(record) = self.read_record(name).await? {
            return Ok(Some(record));
        }
        let entries = self.top_collections().await?;
        let is_there = entries.iter().any(|entry| entry.name == name);
        Ok(is_there.then(|| self.folder_record()))
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
            let Some(present) = self.bucket(name).await? else {
                return Err(S3Fault::new(FaultCode::NoSuchBucket).with("BucketName", name));
            };
            let tag = self.buckets.0.borrow().get(name).map(|(tag, _)| tag.clone());
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
    /// last: a kill before that leaves an empty bucket.
    pub(crate) async fn remove_bucket(&self, name: &str) -> S3Result<()> {
        for belonging in layout::belongings(name) {
            self.remove_tree(&belonging).await?;
        }
        self.remove_collections(&layout::plain_keys(name)).await?;
        self.contents.store.delete(&layout::bucket(name), &Context::default()).await?;
        self.buckets.0.borrow_mut().remove(name);
        Ok(())
    }

    async fn read_record(&self, name: &str) -> Result<Option<Rc<BucketRecord>>> {
        let known = self.buckets.0.borrow().get(name).cloned();
        let context =
            Context { known: known.as_ref().map(|(tag, _)| tag.clone()), ..Context::default() };
        let found = self.contents.store.get(&layout::bucket(name), &context).await?;
        let Some(content) = found else {
            self.buckets.0.borrow_mut().remove(name);
            return Ok(None);
        };
        if let Some((tag, record)) = known
            && content.entity_tag.as_ref() == Some(&tag)
        {
            return Ok(Some(record));
        }
        let tag = content.entity_tag.clone();
        let bytes = content.read(COLLECT_LIMIT).await?;
        let record = BucketRecord::from_json(&bytes).map_err(|_| {
            let message = format!("the record of the bucket {name} cannot be read");
            Error::new(Kind::Failed, message)
        })?;
        let record = Rc::new(record);
        if let Some(tag) = tag {
            let mut remembered = self.buckets.0.borrow_mut();
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
            remembered.insert(name.to_string(), (tag, record.clone()));
        }
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
        self.contents.store.put(&at, content, &context).await.map(drop)
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

    /// Removes everything below a reference.
    pub(super) async fn remove_tree(&self, at: &Reference) -> Result<()> {
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
