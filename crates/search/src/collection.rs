//! A collection: an index together with the documents that were put into it.

pub(crate) mod document;
pub(crate) mod document_slots;
pub(crate) mod id;
pub(crate) mod json_record;
pub(crate) mod loader;
pub(crate) mod pending_write;
pub(crate) mod record_locations;

use crate::answer::search_answer::SearchAnswer;
use crate::collection::id::{Id, KeyFormat};
use crate::collection::pending_write::PendingWrite;
use crate::durable::{CollectionFolder, CollectionLayout, DiskSteps, WriteLog, put};
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

/// What a collection is.
#[derive(Clone, Debug)]
pub struct CollectionDefinition {
    /// What is indexed, and how.
    pub index: IndexConfig,
    /// How it is searched.
    pub search: SearchConfig,
    /// Whether documents are kept, so that they can be read and, when the definition changes,
    /// indexed anew.
    pub stored: bool,
    /// Where it is kept. Without a folder it is in memory only.
    pub folder: Option<PathBuf>,
}

impl CollectionDefinition {
    /// A collection in memory that keeps its documents.
    pub fn new(index: IndexConfig) -> CollectionDefinition {
        CollectionDefinition { index, search: SearchConfig::new(), stored: true, folder: None }
    }
}

/// What goes into the fingerprint of a definition besides itself: another number whenever the same
/// documents and definition would be indexed differently.
const GENERATION: u32 = 1;

/// An index and its documents, searched by all threads while some write.
pub struct Collection {
    name: String,
    search: Search,
    index: SharedIndex,
    key_format: KeyFormat,
    stored: bool,
    /// Nothing for a collection in memory.
    log: Option<WriteLog>,
    /// Held by whoever writes, so that writes happen in one order.
    writing: Mutex<()>,
    version: AtomicU64,
    watchers: Watchers,
}

impl Collection {
    /// Opens a collection, or makes an empty one.
    ///
    /// One in a folder is as it was left: with every document that was acknowledged, and perhaps
    /// with some that were not. If the definition has changed, its documents are indexed anew.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a definition that cannot be, [`Kind::Conflict`] for a folder in use and
    /// for a changed definition whose documents were not kept, [`Kind::Unsupported`] for files of
    /// another version, [`Kind::Failed`] for damaged files. Messages name the file.
    pub fn open(definition: CollectionDefinition) -> Result<Arc<Collection>, Error> {
        Collection::open_with(definition, DiskSteps::default(), None)
    }

    /// Opens it in a folder again that another process may have had meanwhile. Searches over this
    /// one find what is there now, and those who watch it are told that changes may be lost.
    pub(crate) fn again(&self, definition: CollectionDefinition) -> Result<Arc<Collection>, Error> {
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
                // A definition that cannot be leaves no folder behind.
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
            // Versions of different openings do not meet.
            version: AtomicU64::new(RandomState::new().hash_one(0) >> 1),
            watchers: before.map_or_else(Watchers::new, |before| before.watchers.clone()),
        }))
    }

    /// The same index and documents without the folder, which another process gets. What is written
    /// here is not kept any more.
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

    /// Puts a document, the text of a JSON object. A new one is shown after the others, one that
    /// takes the place of another before them. Searches see it at once; until the answered
    /// [`PendingWrite`] is ready, a crash may take it.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for what is no JSON object, [`Kind::TooLarge`] for large documents and
    /// full collections.
    pub fn put(&self, id: Id, record: &[u8]) -> Result<PendingWrite, Error> {
        let id = self.key_format.apply(id);
        let document = json_record::document(id.clone(), record)?;
        // Made before anybody has to wait for it.
        let kept = self.stored.then(|| Bytes::copy_from_slice(record));
        let _writing = self.write_lock();
        self.check()?;
        let mut index = write(&self.index);
        if index.len() >= MAX_DOCUMENTS && !index.contains(id.clone()) {
            let message = format!("the index {} is full: {MAX_DOCUMENTS} documents", self.name);
            return Err(Error::new(Kind::TooLarge, message));
        }
        let number = self.log.as_ref().map_or(0, |log| log.append(&id, Some(record)));
        put(&mut index, &document);
        if let Some(kept) = kept {
            index.documents_mut().set_record(&id, number, kept);
        }
        drop(index);
        self.written();
        self.watchers.changed(&Reference::from_path(id.to_string()));
        Ok(self.pending(number))
    }

    /// Removes a document and says whether it was there.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn remove(&self, id: &Id) -> Result<(bool, PendingWrite), Error> {
        let id = self.key_format.apply(id.clone());
        let _writing = self.write_lock();
        if !read(&self.index).contains(id.clone()) {
            // It may have been removed just now, which is then still to become durable.
            let last = self.log.as_ref().map_or(0, WriteLog::last);
            return Ok((false, self.pending(last)));
        }
        self.check()?;
        let mut index = write(&self.index);
        let number = self.log.as_ref().map_or(0, |log| log.append(&id, None));
        index.remove(id.clone());
        drop(index);
        self.written();
        self.watchers.deleted(&Reference::from_path(id.to_string()));
        Ok((true, self.pending(number)))
    }

    /// Waits until all writes so far are durable, blocking the thread.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn flush(&self) -> Result<(), Error> {
        match &self.log {
            Some(log) => Ok(log.progress().wait(log.last())?),
            None => Ok(()),
        }
    }

    /// Makes a snapshot now, so that the next opening has no log to read; blocks until it is done.
    /// Nothing happens to a collection in memory.
    ///
    /// # Errors
    /// It could not be written; the log is kept then, and nothing is lost.
    pub fn snapshot(&self) -> Result<(), Error> {
        let Some(log) = &self.log else { return Ok(()) };
        Ok(log.snapshot()?)
    }

    /// Tells that many documents will come, or that they have come. Searches are made fast then, and
    /// a snapshot is made if the log is so long that the next opening would take its time; other
    /// writers wait while the index is copied for it, searches do not.
    pub(crate) fn set_loading(&self, loading: bool) {
        if let Some(log) = &self.log {
            log.set_loading(loading);
        }
        let mut category = 0;
        // Searches come in between.
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
        // If it failed, that was written down, and all documents are in the log.
        let _ = log.progress().wait_for_snapshot(number);
    }

    /// Tells that no more documents come, for whatever reason.
    pub(crate) fn stop_loading(&self) {
        if let Some(log) = &self.log {
            log.set_loading(false);
        }
    }

    /// Waits while too much waits for the disk.
    pub(crate) fn wait_for_room(&self) -> Result<(), Error> {
        match &self.log {
            Some(log) if log.is_full() => self.flush(),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.log.as_ref().map_or(Ok(()), |log| Ok(log.check()?))
    }

    fn pending(&self, write: u64) -> PendingWrite {
        match &self.log {
            Some(log) => PendingWrite::of(log.progress().clone(), write),
            None => PendingWrite::ready(),
        }
    }

    /// The document of an identifier, as it was put. Nothing if documents are not kept.
    pub fn document(&self, id: &Id) -> Option<Bytes> {
        read(&self.index).documents().record(&self.key_format.apply(id.clone()))
    }

    /// Whether there is a document of this identifier.
    pub fn contains(&self, id: &Id) -> bool {
        read(&self.index).contains(id.clone())
    }

    /// Identifiers in the order of the index, at most `limit` of them, without the first `skip`.
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

    /// Searches.
    pub fn search(&self, query: &str, request: &Request<'_>) -> SearchAnswer {
        self.search.search(query, request)
    }

    /// Searches, with the memory of an earlier answer.
    pub fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        self.search.search_into(query, request, answer);
    }

    /// The search over this collection alone, for facets, filters and orders.
    pub fn searching(&self) -> &Search {
        &self.search
    }

    /// The index, for searches over several.
    pub fn index(&self) -> &SharedIndex {
        &self.index
    }

    /// A number that is another one after every write, and after every opening. Whoever keeps an
    /// answer under it reads it before searching.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Where changes of documents are told, by their identifiers, as soon as searches see them.
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

/// What tells definitions apart: that of an index changes it, that of a search does not.
fn fingerprint(index: &IndexConfig) -> u64 {
    let text = format!("{GENERATION} {index:?}");
    // FNV-1a, which is the same everywhere and always.
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
