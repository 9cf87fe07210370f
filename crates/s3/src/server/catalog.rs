//! What the server keeps in the store below it: buckets, objects with their attributes, versions and
//! multipart uploads. `layout` says where. Nothing here knows requests.

pub(crate) mod attributes;
pub(crate) mod buckets;
pub(crate) mod contents;
mod errors;
pub(crate) mod key_locks;
pub(crate) mod key_walk;
pub(crate) mod layout;
pub(crate) mod object_commit;
pub(crate) mod object_lookup;
pub(crate) mod uploads;
pub(crate) mod version_id;
pub(crate) mod version_name;

use buckets::BucketCache;
use contents::ContentStore;
use runnel_store::Store;
use std::rc::Rc;

/// Buckets and objects in a store.
pub(crate) struct Catalog {
    pub(crate) contents: ContentStore,
    buckets: BucketCache,
    /// Who owns folders that nobody made a bucket of.
    owner: String,
}

impl Catalog {
    /// A catalog of what is in a store, and below it of everything else.
    pub(crate) fn new(store: Rc<dyn Store>, owner: String) -> Self {
        let contents = ContentStore::new(store);
        Catalog { contents, buckets: BucketCache::default(), owner }
    }
}
