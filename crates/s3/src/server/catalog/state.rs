//! What a worker has of the store below.

use super::contents::ContentStore;
use crate::server::bucket::object_event::EventFeed;
use crate::server::bucket::record::BucketRecord;
use runnel_store::{EntityTag, Store};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a change begins again because another process made one meanwhile.
pub(super) const ATTEMPTS: usize = 16;

/// Records that were read, by bucket.
#[derive(Default)]
pub(super) struct BucketCache(RefCell<HashMap<String, CachedBucket>>);

/// Records that a worker remembers; beyond that all are forgotten.
const REMEMBERED: usize = 1_024;

/// How long a record counts without a look at the store, which costs as much as the object itself.
/// Changes by this process are seen at once, those by other programs after this time.
const TRUSTED: Duration = Duration::from_millis(2);

/// Changes of records by this process, in all stores.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// What a worker remembers of a bucket.
#[derive(Clone)]
pub(super) struct CachedBucket {
    /// The validator of the record; none for a folder without one.
    pub(super) tag: Option<EntityTag>,
    pub(super) record: Rc<BucketRecord>,
    read: ReadMoment,
}

/// When a record was looked at, to be taken before.
#[derive(Clone, Copy)]
pub(super) struct ReadMoment {
    time: Instant,
    changes: u64,
}

impl ReadMoment {
    pub(super) fn now() -> Self {
        ReadMoment { time: Instant::now(), changes: CHANGES.load(Ordering::Acquire) }
    }
}

impl BucketCache {
    /// What is remembered, which may have changed since.
    pub(super) fn get(&self, name: &str) -> Option<CachedBucket> {
        self.0.borrow().get(name).cloned()
    }

    /// The record that was looked at a moment ago.
    pub(super) fn trusted(&self, name: &str, now: ReadMoment) -> Option<Rc<BucketRecord>> {
        let buckets = self.0.borrow();
        let CachedBucket { read, record, .. } = buckets.get(name)?;
        let is_fresh =
            read.changes == now.changes && now.time.saturating_duration_since(read.time) < TRUSTED;
        is_fresh.then(|| record.clone())
    }

    pub(super) fn put(
        &self,
        name: &str,
        tag: Option<EntityTag>,
        record: &Rc<BucketRecord>,
        read: ReadMoment,
    ) {
        let mut buckets = self.0.borrow_mut();
        if buckets.len() >= REMEMBERED && !buckets.contains_key(name) {
            buckets.clear();
        }
        buckets.insert(name.to_string(), CachedBucket { tag, record: record.clone(), read });
    }

    pub(super) fn forget(&self, name: &str) {
        self.0.borrow_mut().remove(name);
    }

    /// Says that this process has changed a record: no worker trusts what it has read before.
    pub(super) fn changed(&self) {
        CHANGES.fetch_add(1, Ordering::Release);
    }
}

/// Buckets and objects in a store.
pub(crate) struct Catalog {
    pub(crate) contents: ContentStore,
    pub(super) buckets: BucketCache,
    /// Publishes what happens to objects.
    pub(crate) events: EventFeed,
    /// The owner of folders without a record.
    pub(super) owner: String,
}

impl Catalog {
    /// A catalog of what is in a store, and below it of everything else.
    pub(crate) fn new(store: Rc<dyn Store>, owner: String) -> Self {
        let contents = ContentStore::new(store);
        let (buckets, events) = (BucketCache::default(), EventFeed::default());
        Catalog { contents, buckets, events, owner }
    }
}
