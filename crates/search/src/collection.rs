//! Collections: an index together with the documents in it.
//!
//! The folder holds documents, their identifiers, slots and records, and bulk loading. Indexing is
//! in [`index`](crate::index), files are in [`durable`](crate::durable).

pub(crate) mod document;
pub(crate) mod document_slots;
pub(crate) mod guarded_put;
pub(crate) mod id;
pub(crate) mod json_record;
pub(crate) mod loader;
pub(crate) mod pending_write;
pub(crate) mod record_locations;

use crate::answer::search_answer::SearchAnswer;
use crate::collection::guarded_put::{count_set_aside, put};
use crate::collection::id::{Id, KeyFormat};
use crate::collection::pending_write::PendingWrite;
use crate::durable::{CollectionFolder, CollectionLayout, DiskSteps, WriteLog};
use crate::index::search_index::{IndexConfig, SearchIndex};
use crate::limits::MAX_DOCUMENTS;
use crate::request::Request;
use crate::search::{Search, SearchConfig, SharedIndex};
use bytes::Bytes;
use runnel_store::{Error, Kind, Reference, Watchers};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The definition of a collection.
#[derive(Clone, Debug)]
pub struct CollectionDefinition {
    /// The configuration of the index.
    pub index: IndexConfig,
    /// The configuration of searches.
    pub search: SearchConfig,
    /// Whether to store documents, to read them and to index them again when the definition
    /// changes.
    pub stored: bool,
    /// The folder; `None` for a collection in memory.
    pub folder: Option<PathBuf>,
}

impl CollectionDefinition {
    /// A collection in memory that stores its documents.
    pub fn new(index: IndexConfig) -> CollectionDefinition {
        CollectionDefinition { index, search: SearchConfig::new(), stored: true, folder: None }
    }
}

/// A part of the fingerprint: increase it when the same documents and definition are indexed
/// differently.
const GENERATION: u32 = 1;

/// An index and its documents, shared by all threads.
pub struct Collection {
    name: String,
    search: Search,
    index: SharedIndex,
    key_format: KeyFormat,
    stored: bool,
    /// `None` for a collection in memory.
    log: Option<WriteLog>,
    /// The write lock: it keeps the log and the index in the same order.
    writing: Mutex<()>,
    version: AtomicU64,
    watchers: Watchers,
}

impl Collection {
    /// Opens a collection, or creates an empty one.
    ///
    /// A folder has every acknowledged document, and possibly some that were not acknowledged. If
    /// the definition has changed, all documents are indexed again.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for an invalid definition, [`Kind::Conflict`] for a folder in use and for
    /// a changed definition without stored documents, [`Kind::Unsupported`] for files of another
    /// version, [`Kind::Failed`] for damaged files. Messages name the file.
    pub fn open(definition: CollectionDefinition) -> Result<Arc<Collection>, Error> {
        Collection::open_with(definition, DiskSteps::default(), None)
    }

    /// Opens the collection again after another process had its folder. Existing searches see the
    /// new content, and watchers receive `lost`, since changes may be missing.
    pub(crate) fn reopen(
        &self,
        definition: CollectionDefinition,
    ) -> Result<Arc<Collection>, Error> {
        let again = Collection::open_with(definition, DiskSteps::default(), Some(self))?;
        again.watchers.lost(&Reference::default());
        Ok(again)
    }

    pub(crate) fn open_with(
        definition: CollectionDefinition,
        steps: DiskSteps,
        before: Option<&Collection>,
    ) -> Result<Arc<Collection>, Error> {
        let invalid = |error: crate::ConfigError| Error::new(Kind::Invalid, error.message());
        let CollectionDefinition { index: config, search, stored, folder } = definition;
        let key_format = config.format();
        let (index, log) = match folder {
            None => (Arc::new(RwLock::new(SearchIndex::new(config).map_err(invalid)?)), None),
            Some(path) => {
                // Validate first: an invalid definition leaves no folder behind.
                SearchIndex::new(config.clone()).map_err(invalid)?;
                let folder = Arc::new(CollectionFolder::open(&path, steps)?);
                let fingerprint = fingerprint(&config);
                let shape = CollectionLayout { index: config, stored, fingerprint };
                let place = before.map(|before| before.index.clone());
                let (index, log) = WriteLog::open(folder, shape, place)?;
                (index, Some(log))
            }
        };
        let name = read(&index).name().to_owned();
        let search = Search::new(vec![index.clone()], search).map_err(invalid)?;
        Ok(Arc::new(Collection {
            name,
            search,
            index,
            key_format,
            stored,
            log,
            writing: Mutex::default(),
            // Versions of different openings are distinct.
            version: AtomicU64::new(RandomState::new().hash_one(0) >> 1),
            watchers: before.map_or_else(Watchers::new, |before| before.watchers.clone()),
        }))
    }

    /// The same index and documents without the folder, for the time after a handover. Writes here
    /// are not durable.
    pub(crate) fn detached(&self) -> Result<Collection, Error> {
        let search = Search::new(vec![self.index.clone()], self.search.config.clone())
            .map_err(|error| Error::new(Kind::Invalid, error.message()))?;
        Ok(Collection {
            name: self.name.clone(),
            search,
            index: self.index.clone(),
            key_format: self.key_format,
            stored: self.stored,
            log: None,
            writing: Mutex::default(),
            version: AtomicU64::new(self.version()),
            watchers: self.watchers.clone(),
        })
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts a document, the text of a JSON object. A new document is shown after the others, a
    /// replaced one before them. Searches see it at once; a crash may lose it until the returned
    /// [`PendingWrite`] is ready.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for anything but a JSON object, [`Kind::TooLarge`] for a large document
    /// and a full collection.
    pub fn put(&self, id: Id, record: &[u8]) -> Result<PendingWrite, Error> {
        let id = self.key_format.apply(id);
        let document = json_record::document(id.clone(), record)?;
        // Copied before the lock is held.
        let kept = self.stored.then(|| Bytes::copy_from_slice(record));
        let _writing = self.write_lock();
        self.check_writable()?;
        let mut index = write(&self.index);
        if index.len() >= MAX_DOCUMENTS && !index.contains(id.clone()) {
            let message = format!("the index {} is full: {MAX_DOCUMENTS} documents", self.name);
            return Err(Error::new(Kind::TooLarge, message));
        }
        let number = self.log.as_ref().map_or(0, |log| log.append(&id, Some(record)));
        let is_indexed = put(&mut index, &document);
        if let Some(kept) = kept {
            index.documents_mut().set_record(&id, number, kept);
        }
        drop(index);
        if !is_indexed {
            self.report_set_aside(&id);
        }
        self.written();
        self.watchers.changed(&Reference::from_path(id.to_string()));
        Ok(self.pending(number))
    }

    /// Says once that a document was set aside: a client may send any number of them.
    fn report_set_aside(&self, id: &Id) {
        if count_set_aside(&self.name, 1) {
            tracing::warn!(
                "the index {} keeps the document {id} without words, and no search finds it: the \
                 analysis of its texts failed; further ones are counted only",
                self.name
            );
        }
    }

    /// Removes a document and returns whether it existed.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn remove(&self, id: &Id) -> Result<(bool, PendingWrite), Error> {
        let id = self.key_format.apply(id.clone());
        let _writing = self.write_lock();
        if !read(&self.index).contains(id.clone()) {
            // A removal just before may still be waiting for the disk.
            let last = self.log.as_ref().map_or(0, WriteLog::last);
            return Ok((false, self.pending(last)));
        }
        self.check_writable()?;
        let mut index = write(&self.index);
        let number = self.log.as_ref().map_or(0, |log| log.append(&id, None));
        index.remove(id.clone());
        drop(index);
        self.written();
        self.watchers.deleted(&Reference::from_path(id.to_string()));
        Ok((true, self.pending(number)))
    }

    /// Blocks the thread until all writes so far are durable.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn flush(&self) -> Result<(), Error> {
        match &self.log {
            Some(log) => Ok(log.progress().wait(log.last())?),
            None => Ok(()),
        }
    }

    /// Takes a snapshot now and blocks until it is complete, so that the next opening reads no log.
    /// Does nothing for a collection in memory.
    ///
    /// # Errors
    /// The snapshot could not be written; the log remains, and nothing is lost.
    pub fn snapshot(&self) -> Result<(), Error> {
        let Some(log) = &self.log else { return Ok(()) };
        Ok(log.snapshot()?)
    }

    /// Marks the start or the end of a bulk load. The end speeds up searches by bit sets, and takes
    /// a snapshot if the log has become long; other writers wait while the index is copied for it,
    /// searches do not.
    pub(crate) fn set_loading(&self, loading: bool) {
        if let Some(log) = &self.log {
            log.set_loading(loading);
        }
        let mut category = 0;
        // Release the lock between categories, for searches.
        while !loading && write(&self.index).make_bits(category) {
            category += 1;
        }
        let Some(log) = self.log.as_ref().filter(|log| !loading && log.is_worth_a_snapshot())
        else {
            return;
        };
        let writing = self.write_lock();
        let number = log.snapshot_of(read(&self.index).clone());
        drop(writing);
        // A failure is in the program's log, and all documents are in the write-ahead log.
        let _ = log.progress().wait_for_snapshot(number);
    }

    /// Marks the end of a bulk load that was abandoned.
    pub(crate) fn stop_loading(&self) {
        if let Some(log) = &self.log {
            log.set_loading(false);
        }
    }

    /// Blocks while too many bytes wait for the disk.
    pub(crate) fn wait_for_room(&self) -> Result<(), Error> {
        match &self.log {
            Some(log) if log.is_full() => self.flush(),
            _ => Ok(()),
        }
    }

    fn check_writable(&self) -> Result<(), Error> {
        self.log.as_ref().map_or(Ok(()), |log| Ok(log.check_writable()?))
    }

    fn pending(&self, write: u64) -> PendingWrite {
        match &self.log {
            Some(log) => PendingWrite::awaiting(log.progress().clone(), write),
            None => PendingWrite::ready(),
        }
    }

    /// The stored document of an identifier; `None` if the collection does not store documents.
    pub fn document(&self, id: &Id) -> Option<Bytes> {
        read(&self.index).documents().record(&self.key_format.apply(id.clone()))
    }

    /// Whether the collection has a document of this identifier.
    pub fn contains(&self, id: &Id) -> bool {
        read(&self.index).contains(id.clone())
    }

    /// At most `limit` identifiers in the order of the index, after the first `skip`.
    pub fn ids(&self, skip: usize, limit: usize) -> Vec<Id> {
        read(&self.index).ids(skip, limit)
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        read(&self.index).len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs a query.
    pub fn search(&self, query: &str, request: &Request<'_>) -> SearchAnswer {
        self.search.search(query, request)
    }

    /// Runs a query and reuses the memory of an earlier answer.
    pub fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        self.search.search_into(query, request, answer);
    }

    /// The search over this collection, for facets, filters and orders.
    pub fn searching(&self) -> &Search {
        &self.search
    }

    /// The index, for searches over several.
    pub fn index(&self) -> &SharedIndex {
        &self.index
    }

    /// The version, different after every write and every opening. To cache an answer, read it
    /// before searching.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The watchers of documents, by identifier. They are notified as soon as searches see a
    /// change.
    pub fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    fn write_lock(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The fingerprint of a definition. The configuration of searches is not part of it.
fn fingerprint(index: &IndexConfig) -> u64 {
    let text = format!("{GENERATION} {index:?}");
    // FNV-1a, which is stable across versions and platforms.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Category;

    #[test]
    fn what_is_put_is_found_and_what_is_removed_is_not() {
        let index = IndexConfig::new("books").category(Category::new("title"));
        let books = Collection::open(CollectionDefinition::new(index)).unwrap();
        let record = br#"{"title": "Emma", "year": 1815, "tags": ["novel", "comedy"]}"#;
        drop(books.put(Id::from(1), record).unwrap());
        assert_eq!(books.search("emma", &Request::new()).total(), 1);
        assert_eq!(books.document(&Id::from(1)).unwrap(), &record[..]);
        assert!(books.put(Id::from(2), b"[]").is_err());
        let version = books.version();
        assert!(books.remove(&Id::from(1)).unwrap().0 && !books.remove(&Id::from(1)).unwrap().0);
        assert!(books.is_empty() && books.version() > version);
    }
}
