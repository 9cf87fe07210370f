//! The registry of open collections: each is opened once per process and shared by all workers.

use super::folder_takeover;
use crate::collection::{Collection, CollectionDefinition};
use runnel_store::{
    Answer, Content, Context, Error, Kind, Reference, Result, Store, Value, Verbs, json,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// An open collection.
pub(crate) struct CollectionHandle {
    collection: RwLock<Arc<Collection>>,
    /// Whether another process has taken over its folder.
    left: AtomicBool,
    /// The definition with an absolute folder, and its text.
    pub(crate) definition: CollectionDefinition,
    text: Vec<u8>,
    /// The lock for a read of a document and its write.
    writing: Mutex<()>,
    /// The followed sources.
    followed: Mutex<BTreeSet<String>>,
}

/// Most sources that one index follows.
const MAX_FOLLOWED: usize = 1_024;

/// The location of a collection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CollectionLocation {
    Folder(PathBuf),
    /// In memory: the name and the definition, so that a changed program in the same process gets
    /// another collection.
    Memory(String, Vec<u8>),
}

static OPEN: Mutex<BTreeMap<CollectionLocation, Weak<CollectionHandle>>> =
    Mutex::new(BTreeMap::new());

impl CollectionHandle {
    /// Returns the open collection of a definition, or opens it.
    pub(crate) fn open(
        definition: CollectionDefinition,
        name: &str,
        text: &Value,
    ) -> Result<Arc<CollectionHandle>> {
        let text = json::text(text);
        let place = match &definition.folder {
            Some(folder) => CollectionLocation::Folder(absolute(folder.clone())?),
            None => CollectionLocation::Memory(name.to_owned(), text.clone()),
        };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, shared| shared.strong_count() > 0);
        if let Some(shared) = open.get(&place).and_then(Weak::upgrade) {
            if shared.text != text {
                let message = format!(
                    "the folder of the index {name} is in use with another definition; \
                     give each index a folder of its own"
                );
                return Err(Error::new(Kind::Conflict, message));
            }
            return Ok(shared);
        }
        let folder = match &place {
            CollectionLocation::Folder(folder) => Some(folder.clone()),
            CollectionLocation::Memory(..) => None,
        };
        let definition = CollectionDefinition { folder, ..definition };
        let collection = RwLock::new(folder_takeover::open(definition.clone())?);
        let (writing, followed, left) = Default::default();
        let shared =
            Arc::new(CollectionHandle { collection, left, definition, text, writing, followed });
        open.insert(place, Arc::downgrade(&shared));
        Ok(shared)
    }

    /// The current collection.
    pub(crate) fn collection(&self) -> Arc<Collection> {
        self.collection.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks that the collection accepts writes. The caller holds the write lock.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] once another process has the folder.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.left.load(Ordering::Acquire) {
            let message = "a new version of the program has the index now; try again";
            return Err(Error::new(Kind::Unavailable, message));
        }
        Ok(())
    }

    /// Releases the folder, with all writes in it. Searches and reads continue in memory.
    pub(super) fn release_folder(&self) -> Result<()> {
        let _writing = self.write_lock();
        if self.left.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let detached = Arc::new(self.collection().detached()?);
        let mut collection = self.collection.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *collection, detached);
        drop(collection);
        // The last owner flushes waiting writes and unlocks the folder.
        drop(before);
        Ok(())
    }

    /// Opens the folder again, with its current content.
    pub(super) fn reopen_folder(&self) -> Result<()> {
        let _writing = self.write_lock();
        if !self.left.load(Ordering::Acquire) {
            return Ok(());
        }
        let again = self.collection().reopen(self.definition.clone())?;
        *self.collection.write().unwrap_or_else(PoisonError::into_inner) = again;
        self.left.store(false, Ordering::Release);
        Ok(())
    }

    /// Locks the writes of all stores of this collection.
    pub(crate) fn write_lock(&self) -> MutexGuard<'_, ()> {
        // Every write is complete in itself, so a panic elsewhere does not matter.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open collections that are in folders.
pub(super) fn collections_in_folders() -> Vec<(PathBuf, Arc<CollectionHandle>)> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let folders = open.iter().filter_map(|(place, shared)| match place {
        CollectionLocation::Folder(folder) => Some((folder.clone(), shared.upgrade()?)),
        CollectionLocation::Memory(..) => None,
    });
    folders.collect()
}

/// A followed source, until it is dropped: of several workers with the same program, one follows
/// the source.
pub(super) struct FollowedSource {
    shared: Arc<CollectionHandle>,
    source: String,
}

impl FollowedSource {
    /// Registers the source, unless another worker has.
    pub(super) fn register(shared: &Arc<CollectionHandle>, source: &str) -> Result<FollowedSource> {
        let mut followed = shared.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() >= MAX_FOLLOWED {
            let message = format!("an index follows at most {MAX_FOLLOWED} sources");
            return Err(Error::new(Kind::TooLarge, message));
        }
        if !followed.insert(source.to_owned()) {
            let message = "another worker follows this source";
            return Err(Error::new(Kind::Conflict, message));
        }
        Ok(FollowedSource { shared: shared.clone(), source: source.to_owned() })
    }
}

impl Drop for FollowedSource {
    fn drop(&mut self) {
        let mut followed = self.shared.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.remove(&self.source);
    }
}

/// Programs hold it as a store without content.
#[deny(clippy::missing_trait_methods)]
impl Store for FollowedSource {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE
    }

    runnel_store::without!(
        put, post, merge, delete, list, keys, attributes, relocate, query, watch, tables,
        conditions, links, as_any, sources
    );

    fn describe(&self) -> String {
        format!("follows {}", self.source)
    }
}

fn absolute(folder: PathBuf) -> Result<PathBuf> {
    std::path::absolute(&folder).map_err(|error| {
        Error::new(Kind::Invalid, format!("{} is no path of a folder", folder.display()))
            .with_detail(error.to_string())
    })
}
