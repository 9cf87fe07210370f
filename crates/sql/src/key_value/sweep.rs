//! Freeing the chunks of objects that no key names.

use crate::key_value::backend::KeyValueBackend;
use crate::key_value::entry::WriteStamp;
use crate::key_value::layout::REPLACED_TIME;
use crate::key_value::open_objects::OpenObjects;
use runnel_store::Answer;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long after a large object was replaced its chunks are looked at.
const DELAY: Duration = REPLACED_TIME.saturating_add(Duration::from_secs(1));

/// Sweeps a store, in transactions of a few chunks, which other writers hardly notice.
pub(crate) struct Sweeper<B> {
    backend: Rc<B>,
    objects: Arc<OpenObjects>,
    /// Whether a sweep is due already.
    due: Cell<bool>,
    /// Whether there will be more to free after it.
    again: Cell<bool>,
    /// Uploads of several chunks that are under way.
    uploads: Cell<usize>,
}

/// An object that is being uploaded. Unless a key names it in the end, dropping it lets the object
/// be swept.
pub(crate) struct UnfinishedObject<B: KeyValueBackend> {
    sweeper: Rc<Sweeper<B>>,
    object: Option<i64>,
}

impl<B: KeyValueBackend> Sweeper<B> {
    pub(crate) fn new(backend: &Rc<B>, objects: &Arc<OpenObjects>) -> Rc<Self> {
        let (backend, objects) = (backend.clone(), objects.clone());
        Rc::new(Sweeper {
            backend,
            objects,
            due: Cell::default(),
            again: Cell::default(),
            uploads: Cell::default(),
        })
    }

    /// Sweeps once everything that was replaced until now may be freed. A store that is closed
    /// before leaves that to its next opening.
    pub(crate) fn later(self: &Rc<Self>) {
        if self.due.replace(true) {
            return self.again.set(true);
        }
        let sweeper = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(DELAY).await;
            if let Some(sweeper) = sweeper.upgrade() {
                sweeper.due.set(false);
                sweeper.sweep().await;
                let is_busy = sweeper.uploads.get() > 0 || !sweeper.objects.in_use().is_empty();
                if sweeper.again.take() || is_busy {
                    sweeper.later();
                }
            }
        });
    }

    /// Registers an object that no key names yet.
    pub(crate) fn unfinished(self: &Rc<Self>, object: i64) -> UnfinishedObject<B> {
        self.uploads.set(self.uploads.get() + 1);
        // Asked now, because nothing can be spawned where an upload is dropped with its event loop.
        self.later();
        UnfinishedObject { sweeper: self.clone(), object: Some(object) }
    }

    /// Sweeps now, beside the caller.
    pub(crate) fn now(self: &Rc<Self>) {
        let sweeper = self.clone();
        tokio::task::spawn_local(async move { sweeper.sweep().await });
    }

    async fn sweep(&self) {
        loop {
            let swept = self.backend.sweep(self.objects.in_use(), WriteStamp::now().now);
            match swept.await {
                Ok(true) => {}
                Ok(false) => return,
                // The next sweep will do it.
                Err(error) => return tracing::debug!(%error, "unused objects were not swept"),
            }
        }
    }
}

/// Runs work without a caller to its end, unless the event loop has ended.
pub(crate) fn detach(work: Answer<()>) {
    if let Answer::Later(work) = work
        && tokio::runtime::Handle::try_current().is_ok()
    {
        tokio::task::spawn_local(work);
    }
}

impl<B: KeyValueBackend> UnfinishedObject<B> {
    /// A key names it now.
    pub(crate) fn finish(mut self) {
        self.object = None;
    }
}

impl<B: KeyValueBackend> Drop for UnfinishedObject<B> {
    fn drop(&mut self) {
        let uploads = &self.sweeper.uploads;
        uploads.set(uploads.get().saturating_sub(1));
        if let Some(object) = self.object {
            self.sweeper.backend.abandon(object);
        }
    }
}
