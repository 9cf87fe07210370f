//! The thread that compacts an older snapshot and the log into a new snapshot.
//!
//! It reads files that no longer change and builds an index of its own, so that neither searches
//! nor writes wait for it. After a bulk load this would repeat the work of loading, so it then
//! takes a copy of the index. Either needs as much memory as the index, until it ends.

use crate::durable::disk_error::DiskError;
use crate::durable::folder::CollectionFolder;
use crate::durable::recovery::CollectionLayout;
use crate::durable::snapshot::{self, SnapshotHeader};
use crate::index::search_index::SearchIndex;
use crate::search::SharedIndex;
use bytes::Bytes;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// Records moved to a new snapshot under one write lock, while searches wait.
const MOVED_AT_ONCE: usize = 512;

type SnapshotDone = Arc<dyn Fn(Result<(), DiskError>) + Send + Sync>;

/// The source of a snapshot.
pub(crate) enum SnapshotSource {
    /// The files, up to this write.
    Files(u64),
    /// A copy of the index after this write.
    Copy(Box<SearchIndex>, u64),
}

/// The snapshots of one collection; at most one runs.
pub(crate) struct SnapshotThread {
    work: Arc<SnapshotJob>,
    done: SnapshotDone,
    thread: Option<JoinHandle<bool>>,
    /// The bytes of the log that the running snapshot replaces.
    covered: u64,
}

struct SnapshotJob {
    folder: Arc<CollectionFolder>,
    shape: CollectionLayout,
    index: SharedIndex,
    snapshot_bytes: AtomicU64,
    running: AtomicU64,
}

impl SnapshotThread {
    pub(crate) fn new(
        folder: Arc<CollectionFolder>,
        shape: CollectionLayout,
        index: SharedIndex,
        bytes: u64,
        done: SnapshotDone,
    ) -> SnapshotThread {
        let (snapshot_bytes, running) = (AtomicU64::new(bytes), AtomicU64::new(0));
        let work = Arc::new(SnapshotJob { folder, shape, index, snapshot_bytes, running });
        SnapshotThread { work, done, thread: None, covered: 0 }
    }

    fn is_running(&self) -> bool {
        self.work.running.load(Ordering::Acquire) > 0
    }

    /// The size of the newest snapshot.
    pub(crate) fn snapshot_bytes(&self) -> u64 {
        self.work.snapshot_bytes.load(Ordering::Acquire)
    }

    /// [`join_finished`](Self::join_finished), or `None` while a snapshot runs.
    pub(crate) fn take_result(&mut self) -> Option<(bool, u64)> {
        if self.is_running() { None } else { self.join_finished() }
    }

    /// Whether the snapshot that ended since the last call succeeded, and the bytes of the log that
    /// it replaces.
    fn join_finished(&mut self) -> Option<(bool, u64)> {
        let succeeded = self.thread.take()?.join().unwrap_or(false);
        Some((succeeded, self.covered))
    }

    /// Starts a snapshot that replaces `covered` bytes of the log.
    pub(crate) fn start(&mut self, source: SnapshotSource, covered: u64) {
        self.covered = covered;
        self.work.running.store(1, Ordering::Release);
        let (work, done) = (self.work.clone(), self.done.clone());
        let run = move || {
            // A panic here must leave the collection unchanged.
            let run = catch_unwind(AssertUnwindSafe(|| work.run(source)));
            let fault = || DiskError::new(runnel_store::Kind::Failed, "making a snapshot failed");
            let result = run.unwrap_or_else(|_| Err(fault()));
            if let Err(fault) = &result
                && !work.folder.is_closing()
            {
                let (message, detail) = (fault.message(), fault.detail());
                tracing::warn!(detail, "{message}: the log is kept instead");
            }
            let succeeded = result.is_ok();
            work.running.store(0, Ordering::Release);
            done(result);
            succeeded
        };
        match std::thread::Builder::new().name("search snapshot".into()).spawn(run) {
            Ok(thread) => self.thread = Some(thread),
            Err(_) => {
                self.work.running.store(0, Ordering::Release);
                let message = "there is no thread for a snapshot";
                (self.done)(Err(DiskError::new(runnel_store::Kind::Unavailable, message)));
            }
        }
    }

    /// Joins the thread, which stops early once the folder is closing.
    pub(crate) fn join(&mut self) {
        self.join_finished();
    }
}

impl SnapshotJob {
    fn run(&self, source: SnapshotSource) -> Result<(), DiskError> {
        let (mut index, last) = match source {
            SnapshotSource::Files(last) => (self.shape.load(&self.folder, Some(last))?.index, last),
            SnapshotSource::Copy(index, last) => (*index, last),
        };
        index.compact();
        let about = SnapshotHeader {
            last,
            fingerprint: self.shape.fingerprint,
            stored: self.shape.stored,
            keys: self.shape.index.format(),
        };
        let (file, offsets) = snapshot::write(&self.folder, &index, about)?;
        self.snapshot_bytes.store(file.len() as u64, Ordering::Release);
        if self.shape.stored {
            self.move_records(&index, last, file, &offsets);
        }
        self.folder.clean(last)
    }

    /// Moves the records of the live index to the file.
    fn move_records(&self, index: &SearchIndex, last: u64, file: Bytes, offsets: &[u64]) {
        let living = || self.index.write().unwrap_or_else(PoisonError::into_inner);
        living().documents_mut().records().take_file(file);
        let mut ids = index.documents().iter().zip(offsets).filter(|(_, offset)| **offset > 0);
        loop {
            let some: Vec<_> = ids.by_ref().take(MOVED_AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            let mut living = living();
            for (id, offset) in some {
                living.documents_mut().move_record(&id, last, *offset);
            }
        }
        living().documents_mut().records().drop_older();
    }
}

impl fmt::Debug for SnapshotThread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Renewal")
    }
}
