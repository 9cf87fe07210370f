//! A collection: an index with the documents that were put into it, shared by threads.

use crate::answer::Answer;
use crate::document::{Document, Field};
use crate::error::ConfigError;
use crate::id::Id;
use crate::index::{Index, IndexConfig};
use crate::search::{Request, Search, SearchConfig, SharedIndex};
use bytes::Bytes;
use hashbrown::HashMap;
use runnel_store::{Error, Kind, Reference, Value, Watchers};
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

/// What a collection is.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The index.
    pub index: IndexConfig,
    /// How it is searched when it is searched alone.
    pub search: SearchConfig,
    /// Whether documents are kept, and not only what is indexed of them.
    pub stored: bool,
    /// The folder in which it is kept. Without one it is in memory only.
    pub folder: Option<PathBuf>,
}

impl Definition {
    /// A collection in memory that keeps its documents.
    pub fn new(index: IndexConfig) -> Definition {
        Definition { index, search: SearchConfig::new(), stored: true, folder: None }
    }
}

/// An index and its documents. Searches read while others write.
pub struct Collection {
    name: String,
    index: SharedIndex,
    search: Search,
    documents: RwLock<HashMap<Id, Bytes>>,
    stored: bool,
    version: AtomicU64,
    watchers: Watchers,
}

/// A write that is visible already and not yet durable: ready when it is.
#[must_use = "a write is acknowledged when this is ready"]
#[derive(Debug)]
pub struct Pending(());

impl Future for Pending {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

impl Collection {
    /// Opens the collection of a definition, or makes it.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a definition that cannot be.
    pub fn open(definition: Definition) -> Result<Arc<Collection>, Error> {
        let invalid = |error: ConfigError| Error::new(Kind::Invalid, error.to_string());
        let index = Index::new(definition.index).map_err(invalid)?;
        let name = index.name().to_owned();
        let index = Arc::new(RwLock::new(index));
        let search = Search::new(vec![index.clone()], definition.search).map_err(invalid)?;
        Ok(Arc::new(Collection {
            name,
            index,
            search,
            documents: RwLock::default(),
            stored: definition.stored,
            version: AtomicU64::new(0),
            watchers: Watchers::new(),
        }))
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The index, for searches over several.
    pub fn index(&self) -> &SharedIndex {
        &self.index
    }

    /// Puts a document, the text of a JSON object. A new one is shown after the others, one that
    /// takes the place of another before them. It is found as soon as this returns.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for what is no JSON object.
    pub fn put(&self, id: Id, record: &[u8]) -> Result<Pending, Error> {
        let document = document_of(id.clone(), record)?;
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        if index.contains(id.clone()) {
            index.replace(&document);
        } else {
            index.append(&document);
        }
        if self.stored {
            let mut documents = self.documents.write().unwrap_or_else(PoisonError::into_inner);
            documents.insert(id.clone(), Bytes::copy_from_slice(record));
        }
        drop(index);
        self.written();
        self.watchers.changed(&Reference::from_path(id.to_string()));
        Ok(Pending(()))
    }

    /// Removes a document and says whether there was one.
    ///
    /// # Errors
    /// None in memory.
    pub fn remove(&self, id: &Id) -> Result<(bool, Pending), Error> {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let was_there = index.remove(id.clone());
        let mut documents = self.documents.write().unwrap_or_else(PoisonError::into_inner);
        documents.remove(id);
        drop((documents, index));
        if was_there {
            self.written();
            self.watchers.deleted(&Reference::from_path(id.to_string()));
        }
        Ok((was_there, Pending(())))
    }

    /// A document as it was put; `None` for one that is not there or was not kept.
    pub fn document(&self, id: &Id) -> Option<Bytes> {
        let documents = self.documents.read().unwrap_or_else(PoisonError::into_inner);
        documents.get(id).cloned()
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.index.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Searches.
    pub fn search(&self, query: &str, request: &Request<'_>) -> Answer {
        self.search.search(query, request)
    }

    /// Searches, with the memory of an earlier answer.
    pub fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut Answer) {
        self.search.search_into(query, request, answer);
    }

    /// Another number after each write: for entity tags and caches.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Where changes of documents are told, by their identifiers.
    pub fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    fn written(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// What is indexed of a record: its texts as they are, numbers and booleans as JSON writes them,
/// each text of a list.
fn document_of(id: Id, record: &[u8]) -> Result<Document, Error> {
    let Value::Record(members) = runnel_store::json::parse(record)? else {
        let message = "a document has to be a JSON object such as {\"title\": \"Emma\"}";
        return Err(Error::new(Kind::Invalid, message));
    };
    let mut document = Document::new(id);
    for (name, value) in members {
        if let Some(field) = field_of(value) {
            document = document.with(name, field);
        }
    }
    Ok(document)
}

fn field_of(value: Value) -> Option<Field> {
    let written =
        |value: &Value| String::from_utf8(runnel_store::json::text(value)).unwrap_or_default();
    Some(match value {
        Value::Nil => return None,
        Value::Text(text) => Field::Text(text),
        Value::List(values) => {
            let texts = values.into_iter().map(|value| match value {
                Value::Text(text) => text,
                other => written(&other),
            });
            Field::Text(texts.collect::<Vec<_>>().join(" "))
        }
        other => Field::Text(written(&other)),
    })
}

impl fmt::Debug for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Category;

    #[test]
    fn what_is_put_is_found_and_what_is_removed_is_not() {
        let index = IndexConfig::new("books").category(Category::new("title"));
        let books = Collection::open(Definition::new(index)).unwrap();
        let record = br#"{"title": "Emma", "year": 1815, "tags": ["novel", "comedy"]}"#;
        let _ = books.put(Id::from(1), record).unwrap();
        assert_eq!(books.search("emma", &Request::new()).total(), 1);
        assert_eq!(books.document(&Id::from(1)).unwrap(), &record[..]);
        assert!(books.put(Id::from(2), b"[]").is_err());
        let version = books.version();
        assert!(books.remove(&Id::from(1)).unwrap().0 && !books.remove(&Id::from(1)).unwrap().0);
        assert!(books.is_empty() && books.version() > version);
    }
}
