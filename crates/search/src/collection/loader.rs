//! Many documents at once.

use crate::collection::Collection;
use crate::collection::id::Id;
use runnel_store::Error;
use std::sync::Arc;

/// How many documents come between two calls of the function that is told of progress.
const TOLD_EVERY: u64 = 1_000;

/// Fills a collection: documents are put in their order and are durable together when
/// [`finish`](Loader::finish) has answered. Searches wait for one document at most.
///
/// Loading may be interrupted by other writes, which are not mixed up with it.
pub struct Loader {
    /// Nothing once loading has ended.
    collection: Option<Arc<Collection>>,
    progress: LoadProgress,
    callback: Option<Box<dyn FnMut(LoadProgress) + Send>>,
}

/// How far a loader is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Documents taken.
    pub documents: u64,
    /// Their size, in bytes of JSON.
    pub bytes: u64,
}

impl Collection {
    /// Starts loading many documents.
    pub fn load(self: &Arc<Self>) -> Loader {
        self.set_loading(true);
        Loader { collection: Some(self.clone()), progress: LoadProgress::default(), callback: None }
    }
}

impl Loader {
    /// Calls a function after every thousand documents, and at the end.
    pub fn on_progress(mut self, callback: impl FnMut(LoadProgress) + Send + 'static) -> Loader {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Puts a document, as [`Collection::put`] does.
    ///
    /// # Errors
    /// As [`Collection::put`]; the document is left out then, and loading can go on.
    pub fn put(&mut self, id: Id, record: &[u8]) -> Result<(), Error> {
        if let Some(collection) = &self.collection {
            collection.wait_for_room()?;
            // All of them are waited for at the end.
            drop(collection.put(id, record)?);
        }
        self.progress.documents += 1;
        self.progress.bytes += record.len() as u64;
        if self.progress.documents.is_multiple_of(TOLD_EVERY) {
            self.tell();
        }
        Ok(())
    }

    /// Ends loading: blocks until all documents are durable and, if they are many, there is a
    /// snapshot with them, so that they need not be indexed again at the next opening.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn finish(mut self) -> Result<LoadProgress, Error> {
        if let Some(collection) = self.collection.take() {
            let flushed = collection.flush();
            collection.set_loading(false);
            flushed?;
        }
        self.tell();
        Ok(self.progress)
    }

    fn tell(&mut self) {
        if let Some(callback) = &mut self.callback {
            callback(self.progress);
        }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if let Some(collection) = self.collection.take() {
            collection.stop_loading();
        }
    }
}
