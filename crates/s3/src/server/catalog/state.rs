//! What a worker has of the store below.

use super::contents::ContentStore;
use crate::server::bucket::record::BucketRecord;
use runnel_store::{EntityTag, Store};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// How often a change begins again because another process made one meanwhile.
pub(super) const ATTEMPTS: usize = 16;

/// Records that were read, by bucket, with the validators that they had then.
#[derive(Default)]
pub(super) struct BucketCache(pub(super) RefCell<HashMap<String, (EntityTag, Rc<BucketRecord>)>>);

/// Buckets and objects in a store.
pub(crate) struct Catalog {
    pub(crate) contents: ContentStore,
    pub(super) buckets: BucketCache,
    /// The owner of folders without a record.
    pub(super) owner: String,
}

impl Catalog {
    /// A catalog of what is in a store, and below it of everything else.
    pub(crate) fn new(store: Rc<dyn Store>, owner: String) -> Self {
        let contents = ContentStore::new(store);
        Catalog { contents, buckets: BucketCache::default(), owner }
    }
}
