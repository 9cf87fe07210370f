//! The write-ahead log: a thread that appends writes with group commit, and begins a new part when
//! a snapshot is due.
//!
//! ```text
//! put, remove -> LogQueue -> log thread: write, fsync -> FlushProgress wakes the writers
//!                                 |
//!                                 +-> snapshot thread
//! ```

use crate::collection::id::Id;
use crate::durable::disk_error::DiskError;
use crate::durable::disk_steps::DiskStep;
use crate::durable::flush_progress::FlushProgress;
use crate::durable::folder::CollectionFolder;
use crate::durable::log_frame::{self, LOG_HEADER};
use crate::durable::recovery::{CollectionLayout, RecoveredCollection, reopen};
use crate::durable::snapshot_thread::{SnapshotSource, SnapshotThread};
use crate::index::search_index::SearchIndex;
use crate::search::SharedIndex;
use runnel_store::Kind;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Most bytes of writes that wait for the disk. Beyond, further writes fail as temporarily
/// unavailable; a bulk load waits instead.
pub const MAX_WAITING_BYTES: usize = 64 << 20;

/// The size from which a snapshot replaces the log, in bytes. The log may grow to half of the
/// snapshot.
pub const MIN_LOG_BYTES: u64 = 16 << 20;

/// The size from which a bulk load is worth a snapshot, in bytes; the log must also have an eighth
/// of the size of the snapshot.
const WORTH_A_SNAPSHOT: u64 = 1 << 20;

/// The log of a collection. Dropping it flushes waiting writes and ends the threads.
#[derive(Debug)]
pub(crate) struct WriteLog {
    shared: Arc<LogShare>,
    folder: Arc<CollectionFolder>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LogShare {
    state: Mutex<LogQueue>,
    filled: Condvar,
    progress: Arc<FlushProgress>,
}

#[derive(Debug)]
struct LogQueue {
    /// Encoded writes that wait for the disk.
    waiting: Vec<u8>,
    /// The number of the next write.
    next: u64,
    /// The number of the first waiting write.
    first: u64,
    /// Whether a snapshot was requested.
    asked: bool,
    /// A copy of the index and the number of its last write, for a snapshot.
    copy: Option<(Box<SearchIndex>, u64)>,
    /// The number of bulk loads; they delay snapshots.
    loading: usize,
    /// The size of the log, and of the newest snapshot.
    bytes: u64,
    snapshot_bytes: u64,
    /// Whether a snapshot is running.
    running: bool,
    closed: bool,
}

/// The next work of the thread.
struct LogBatch {
    /// The writes from `first` to before `next`.
    content: Vec<u8>,
    first: u64,
    next: u64,
    asked: bool,
    copy: Option<(Box<SearchIndex>, u64)>,
    loading: bool,
}

/// The state of the thread.
struct LogAppender {
    shared: Arc<LogShare>,
    folder: Arc<CollectionFolder>,
    file: File,
    salt: u64,
    /// The size of the current part.
    length: u64,
    /// The size of older parts that no snapshot has replaced yet.
    older: u64,
    /// The size at which to try a snapshot again after a failure.
    next_try: u64,
    renewal: SnapshotThread,
}

impl LogShare {
    fn lock(&self) -> MutexGuard<'_, LogQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot_done(&self, result: Result<(), DiskError>) {
        let mut state = self.lock();
        state.running = false;
        self.progress.snapshot_done(result);
        drop(state);
        self.filled.notify_all();
    }
}

impl WriteLog {
    /// Opens the content of a folder, and the log after it.
    ///
    /// An existing index, if given, receives the content.
    pub(crate) fn open(
        folder: Arc<CollectionFolder>,
        shape: CollectionLayout,
        place: Option<SharedIndex>,
    ) -> Result<(SharedIndex, WriteLog), DiskError> {
        let mut opened = shape.load(&folder, None)?;
        folder.clean_up()?;
        let empty = SearchIndex::new(shape.index.clone());
        let empty = empty.map_err(|error| DiskError::new(Kind::Invalid, error.message()))?;
        let loaded = std::mem::replace(&mut opened.index, empty);
        let index = match place {
            None => Arc::new(RwLock::new(loaded)),
            Some(index) => {
                *index.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                index
            }
        };
        let log = WriteLog::start(folder, shape, &opened, index.clone())?;
        Ok((index, log))
    }

    /// Starts the thread that appends to the log.
    fn start(
        folder: Arc<CollectionFolder>,
        shape: CollectionLayout,
        opened: &RecoveredCollection,
        index: SharedIndex,
    ) -> Result<WriteLog, DiskError> {
        let next = opened.last + 1;
        let (file, salt, length) = match opened.end {
            Some(end) => (reopen(&folder, end)?, end.salt, end.length),
            None => {
                let (file, salt) = begin_part(&folder, next)?;
                (file, salt, LOG_HEADER as u64)
            }
        };
        let progress = Arc::new(FlushProgress::new(opened.last));
        let state = LogQueue {
            waiting: Vec::new(),
            next,
            first: next,
            asked: opened.changed,
            copy: None,
            loading: 0,
            bytes: opened.log_bytes,
            snapshot_bytes: opened.snapshot_bytes,
            running: false,
            closed: false,
        };
        let shared = Arc::new(LogShare {
            state: Mutex::new(state),
            filled: Condvar::new(),
            progress: progress.clone(),
        });
        let told = shared.clone();
        let done = move |result| told.snapshot_done(result);
        let bytes = opened.snapshot_bytes;
        let renewal = SnapshotThread::new(folder.clone(), shape, index, bytes, Arc::new(done));
        let older = opened.log_bytes.saturating_sub(length);
        let mut writer = LogAppender {
            shared: shared.clone(),
            folder: folder.clone(),
            file,
            salt,
            length,
            older,
            next_try: 0,
            renewal,
        };
        let thread = std::thread::Builder::new()
            .name("search log".into())
            .spawn(move || writer.run())
            .map_err(|_| DiskError::new(Kind::Unavailable, "there is no thread for the log"))?;
        Ok(WriteLog { shared, folder, thread: Some(thread) })
    }

    /// The progress to wait on.
    pub(crate) fn progress(&self) -> &Arc<FlushProgress> {
        &self.shared.progress
    }

    /// Whether the log accepts a write.
    pub(crate) fn check_writable(&self) -> Result<(), DiskError> {
        if let Some(fault) = self.shared.progress.fault() {
            return Err(fault);
        }
        if self.is_full() {
            let message = format!(
                "more than {MAX_WAITING_BYTES} bytes of documents wait for the disk; try again \
                 soon, or load many documents at once"
            );
            return Err(DiskError::new(Kind::Unavailable, message));
        }
        Ok(())
    }

    /// Whether the queue has reached its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.shared.lock().waiting.len() > MAX_WAITING_BYTES
    }

    /// Takes a snapshot and blocks until it is complete.
    pub(crate) fn snapshot(&self) -> Result<(), DiskError> {
        let mut state = self.shared.lock();
        // A running snapshot may miss the last writes: wait for the one after it.
        let running = u64::from(state.running);
        let number = self.shared.progress.snapshots() + running + 1;
        state.asked = true;
        drop(state);
        self.shared.filled.notify_one();
        self.shared.progress.wait_for_snapshot(number)
    }

    /// Queues a write and returns its number. The caller holds the write lock.
    pub(crate) fn append(&self, id: &Id, record: Option<&[u8]>) -> u64 {
        let mut state = self.shared.lock();
        log_frame::append_write(id, record, &mut state.waiting);
        let number = state.next;
        state.next += 1;
        drop(state);
        self.shared.filled.notify_one();
        number
    }

    /// The number of the last queued write.
    pub(crate) fn last(&self) -> u64 {
        self.shared.lock().next - 1
    }

    /// Marks the start or the end of a bulk load.
    pub(crate) fn set_loading(&self, loading: bool) {
        let mut state = self.shared.lock();
        state.loading = match loading {
            true => state.loading + 1,
            false => state.loading.saturating_sub(1),
        };
    }

    /// Whether the log is long enough for a snapshot to speed up the next opening.
    pub(crate) fn is_worth_a_snapshot(&self) -> bool {
        let state = self.shared.lock();
        state.bytes > WORTH_A_SNAPSHOT.max(state.snapshot_bytes / 8)
    }

    /// Requests a snapshot of a copy of the index after the last write. Returns a number to wait
    /// for.
    pub(crate) fn snapshot_of(&self, index: SearchIndex) -> u64 {
        let mut state = self.shared.lock();
        let number = self.shared.progress.snapshots() + u64::from(state.running) + 1;
        let last = state.next - 1;
        state.copy = Some((Box::new(index), last));
        drop(state);
        self.shared.filled.notify_one();
        number
    }
}

impl Drop for WriteLog {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.folder.close();
        self.shared.filled.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Begins a part of the log.
fn begin_part(folder: &CollectionFolder, first: u64) -> Result<(File, u64), DiskError> {
    let path = folder.log(first);
    let failed = |error: io::Error| DiskError::of_file("beginning", &path, &error);
    // The salt is unpredictable for authors of documents.
    let salt = RandomState::new().hash_one(first);
    let begun = || {
        folder.steps().enter(DiskStep::NewLog)?;
        let mut file = File::create(&path)?;
        file.write_all(&log_frame::log_header(first, salt))?;
        file.sync_all()?;
        Ok(file)
    };
    let file = begun().map_err(failed).and_then(|file| folder.sync().map(|()| file));
    match file {
        Ok(file) => Ok((file, salt)),
        Err(fault) => {
            // An incomplete part would be in the way of its replacement.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Err(fault),
            }
        }
    }
}

impl LogAppender {
    fn run(&mut self) {
        let turns = catch_unwind(AssertUnwindSafe(|| self.take_turns()));
        if turns.is_err() {
            // Writers wait for this thread: an error ends their wait, which would last for ever.
            let fault = DiskError::new(Kind::Failed, "writing the log of an index failed").of_log();
            tracing::error!("{}", fault.message());
            self.shared.progress.fail(fault);
        }
        self.renewal.join();
        let message = "the index is closed";
        self.shared.progress.fail(DiskError::new(Kind::Unavailable, message));
    }

    fn take_turns(&mut self) {
        while let Some(work) = self.next() {
            if !work.content.is_empty() {
                if let Err(fault) = self.write(work.first, &work.content) {
                    let fault = fault.of_log();
                    tracing::error!(detail = fault.detail(), "{}", fault.message());
                    self.shared.progress.fail(fault);
                    break;
                }
                self.shared.progress.reach(work.next - 1);
            }
            self.renew_if_due(work);
        }
    }

    fn next(&self) -> Option<LogBatch> {
        let mut state = self.shared.lock();
        loop {
            if state.closed {
                (state.asked, state.copy) = (false, None);
            }
            let ready = (state.asked || state.copy.is_some()) && !state.running;
            if !state.waiting.is_empty() || ready {
                let copy = state.copy.take_if(|_| ready);
                let asked = ready && std::mem::take(&mut state.asked);
                state.running |= ready;
                let next = state.next;
                let first = std::mem::replace(&mut state.first, next);
                let content = std::mem::take(&mut state.waiting);
                let loading = state.loading > 0;
                return Some(LogBatch { content, first, next, asked, copy, loading });
            }
            if state.closed {
                return None;
            }
            state = self.shared.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Begins a new part of the log and a snapshot of everything before it, if one is due.
    fn renew_if_due(&mut self, work: LogBatch) {
        if let Some((succeeded, covered)) = self.renewal.take_result() {
            match succeeded {
                true => self.older = self.older.saturating_sub(covered),
                false => self.next_try = self.length + self.older + MIN_LOG_BYTES,
            }
        }
        let total = self.length + self.older;
        let snapshot_bytes = self.renewal.snapshot_bytes();
        let mut state = self.shared.lock();
        (state.bytes, state.snapshot_bytes) = (total, snapshot_bytes);
        let due = total > self.next_try.max(MIN_LOG_BYTES).max(snapshot_bytes / 2);
        if !(work.asked || work.copy.is_some() || due && !work.loading && !state.running) {
            return;
        }
        state.running = true;
        drop(state);
        if self.length > LOG_HEADER as u64 {
            match begin_part(&self.folder, work.next) {
                Ok((file, salt)) => {
                    self.older += self.length;
                    (self.file, self.salt, self.length) = (file, salt, LOG_HEADER as u64);
                }
                Err(fault) => {
                    tracing::warn!(detail = fault.detail(), "{}", fault.message());
                    self.next_try = total + MIN_LOG_BYTES;
                    return self.shared.snapshot_done(Err(fault));
                }
            }
        }
        let source = match work.copy {
            Some((index, last)) => SnapshotSource::Copy(index, last),
            None => SnapshotSource::Files(work.next - 1),
        };
        self.renewal.start(source, self.older);
    }

    fn write(&mut self, first: u64, content: &[u8]) -> Result<(), DiskError> {
        let header = log_frame::group_header(self.salt, first, content);
        let written = self
            .folder
            .steps()
            .enter(DiskStep::AppendLog)
            .and_then(|()| self.file.write_all(&header))
            .and_then(|()| self.file.write_all(content))
            .and_then(|()| self.folder.steps().enter(DiskStep::SyncLog))
            .and_then(|()| self.file.sync_data());
        self.length += (header.len() + content.len()) as u64;
        written
            .map_err(|error| DiskError::of_file("writing the log in", self.folder.path(), &error))
    }
}
