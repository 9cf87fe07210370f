//! Bulk loading of documents.

use crate::collection::Collection;
use crate::collection::id::Id;
use runnel_store::Error;
use std::sync::Arc;

/// Documents between two calls of the progress callback.
const TOLD_EVERY: u64 = 1_000;

/// A bulk load: documents enter in their order, and all of them are durable once
/// [`finish`](Loader::finish) returns. A search waits for one document at most.
///
/// Other writes may happen during a bulk load; each stays in order with its documents.
pub struct Loader {
    /// `None` once the load has ended.
    collection: Option<Arc<Collection>>,
    progress: LoadProgress,
    callback: Option<Box<dyn FnMut(LoadProgress) + Send>>,
}

/// The progress of a bulk load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Documents loaded.
    pub documents: u64,
    /// Their size, in bytes of JSON.
    pub bytes: u64,
}

impl Collection {
    /// Starts a bulk load.
    pub fn load(self: &Arc<Self>) -> Loader {
        self.set_loading(true);
        Loader { collection: Some(self.clone()), progress: LoadProgress::default(), callback: None }
    }
}

impl Loader {
    /// Sets a callback for every thousand documents and the end.
    pub fn on_progress(mut self, callback: impl FnMut(LoadProgress) + Send + 'static) -> Loader {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Puts a document, as [`Collection::put`] does.
    ///
    /// # Errors
    /// Those of [`Collection::put`]; the load continues without the document.
    pub fn put(&mut self, id: Id, record: &[u8]) -> Result<(), Error> {
        if let Some(collection) = &self.collection {
            collection.wait_for_room()?;
            // `finish` waits for all of them.
            drop(collection.put(id, record)?);
        }
        self.progress.documents += 1;
        self.progress.bytes += record.len() as u64;
        if self.progress.documents.is_multiple_of(TOLD_EVERY) {
            self.report_progress();
        }
        Ok(())
    }

    /// Ends the load: blocks until all documents are durable. After a large load it also takes a
    /// snapshot, so that the next opening need not index the documents again.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn finish(mut self) -> Result<LoadProgress, Error> {
        if let Some(collection) = self.collection.take() {
            let flushed = collection.flush();
            collection.set_loading(false);
            flushed?;
        }
        self.report_progress();
        Ok(self.progress)
    }

    fn report_progress(&mut self) {
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
