//! The journal of searches: a bounded queue, and a thread that counts searches and writes the log, so
//! that no search waits for either.
//!
//! All pages of a process that are made with the same settings share one journal: each worker of a
//! server makes its page by itself.

use crate::site::query_log::event::{QueryLogFormat, SearchEvent, write_missing};
use crate::site::query_log::rotation::RotatingLog;
use crate::site::statistics::Statistics;
use crate::site::statistics::saved;
use crate::site::statistics::seconds;
use runnel_store::{Error, Kind, Result, json};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Most searches in the queue. Further ones are dropped and counted.
pub const WAITING_SEARCHES: usize = 4_096;
/// Bytes after which the query log begins a new file, unless something else is said.
pub const QUERY_LOG_BYTES: u64 = 16 << 20;
/// Bytes of kept statistics that are read at most; full ones have less than 2 MiB.
const KEPT_BYTES: u64 = 8 << 20;
/// How long statistics that have changed stay in memory alone.
const KEEP_AFTER: Duration = Duration::from_secs(10);
/// Searches that are written at once.
const BATCH: usize = 512;

/// The settings of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalSettings {
    /// What tells journals without files apart.
    pub name: String,
    /// The file of the query log; none is written otherwise.
    pub log: Option<PathBuf>,
    /// How its lines are written.
    pub format: QueryLogFormat,
    /// Bytes after which it begins a new file; [`QUERY_LOG_BYTES`] if nothing is said.
    pub log_bytes: Option<u64>,
    /// The file in which statistics are kept across restarts; they begin anew otherwise.
    pub keep: Option<PathBuf>,
}

/// The journals of this process.
static ALL: Mutex<Vec<(JournalSettings, Weak<Journal>)>> = Mutex::new(Vec::new());

/// A handle to the journal. Dropping the last one writes the queue.
#[derive(Debug)]
pub struct Journal {
    queue: Option<SyncSender<JournalMessage>>,
    shared: Arc<JournalState>,
    thread: Option<JoinHandle<()>>,
}

/// A message to the thread of the journal.
#[derive(Debug)]
enum JournalMessage {
    Search(SearchEvent),
    /// Everything told before is to be written, and the sender to be dropped then.
    Write(SyncSender<()>),
}

#[derive(Debug)]
struct JournalState {
    statistics: Mutex<Statistics>,
    missing: AtomicU64,
}

impl Journal {
    /// The journal with these settings; started at its first use.
    ///
    /// # Errors
    /// The query log cannot be opened, or no thread can be started.
    pub fn of(settings: &JournalSettings) -> Result<Arc<Journal>> {
        let mut all = locked(&ALL);
        all.retain(|(_, journal)| journal.strong_count() > 0);
        let known = all.iter().find(|(known, _)| known == settings);
        if let Some(journal) = known.and_then(|(_, journal)| journal.upgrade()) {
            return Ok(journal);
        }
        let journal = Arc::new(Journal::begin(settings)?);
        all.push((settings.clone(), Arc::downgrade(&journal)));
        Ok(journal)
    }

    fn begin(settings: &JournalSettings) -> Result<Journal> {
        let log = match &settings.log {
            Some(path) => {
                Some(RotatingLog::open(path, settings.log_bytes.unwrap_or(QUERY_LOG_BYTES))?)
            }
            None => None,
        };
        let kept = settings.keep.as_deref().and_then(read_kept);
        let now = seconds(SystemTime::now());
        let statistics = Mutex::new(kept.unwrap_or_else(|| Statistics::new(now)));
        let shared = Arc::new(JournalState { statistics, missing: AtomicU64::new(0) });
        let (queue, events) = sync_channel(WAITING_SEARCHES);
        let mut writer = JournalWriter {
            shared: shared.clone(),
            log,
            format: settings.format,
            keep: settings.keep.clone(),
            changed: None,
            silent: false,
        };
        let thread = std::thread::Builder::new()
            .name("query-log".into())
            .stack_size(256 * 1024)
            .spawn(move || writer.run(&events))
            .map_err(|error| {
                Error::new(Kind::Failed, "the thread of the query log could not be started")
                    .with_detail(error.to_string())
            })?;
        Ok(Journal { queue: Some(queue), shared, thread: Some(thread) })
    }

    /// Records a search; never waits.
    pub(crate) fn tell(&self, event: SearchEvent) {
        let told = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(JournalMessage::Search(event)).is_ok());
        if !told {
            self.shared.missing.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what all journals of this process have been told, before it ends. Gives up on each
    /// after this time.
    pub fn write_all(patience: Duration) {
        let journals: Vec<_> = locked(&ALL).iter().filter_map(|(_, one)| one.upgrade()).collect();
        for journal in journals {
            let (done, written) = sync_channel(0);
            let told =
                journal.queue.as_ref().map(|queue| queue.try_send(JournalMessage::Write(done)));
            if matches!(told, Some(Ok(()))) {
                // It answers nothing: that its other end is gone is the answer.
                let _ = written.recv_timeout(patience);
            }
        }
    }

    /// A copy of the counts.
    pub(crate) fn statistics(&self) -> Statistics {
        locked(&self.shared.statistics).clone()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // The thread ends when it has written what waits.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Nothing that is guarded here is left half changed by a panic that matters to others.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the thread.
struct JournalWriter {
    shared: Arc<JournalState>,
    log: Option<RotatingLog>,
    format: QueryLogFormat,
    keep: Option<PathBuf>,
    /// Since when there are statistics that no file has.
    changed: Option<Instant>,
    /// Whether a failure was told already.
    silent: bool,
}

impl JournalWriter {
    fn run(&mut self, events: &Receiver<JournalMessage>) {
        let mut lines = Vec::new();
        loop {
            let received = match self.changed {
                Some(since) => {
                    let left = KEEP_AFTER.saturating_sub(since.elapsed());
                    events.recv_timeout(left)
                }
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let is_over = matches!(received, Err(RecvTimeoutError::Disconnected));
            // A panic costs the searches of one turn, and not the log until the next start.
            let turn = catch_unwind(AssertUnwindSafe(|| {
                if let Ok(first) = received {
                    self.write(first, events, &mut lines);
                }
                if is_over || self.changed.is_some_and(|since| since.elapsed() >= KEEP_AFTER) {
                    self.keep();
                }
            }));
            if turn.is_err() {
                tracing::error!("a turn of the query log failed; its searches are missing");
            }
            if is_over {
                return;
            }
        }
    }

    /// Counts and writes a search, and those that wait behind it.
    fn write(
        &mut self,
        first: JournalMessage,
        events: &Receiver<JournalMessage>,
        lines: &mut Vec<u8>,
    ) {
        lines.clear();
        let mut waiting = Vec::new();
        let missing = self.shared.missing.swap(0, Ordering::Relaxed);
        let mut statistics = locked(&self.shared.statistics);
        if missing > 0 {
            write_missing(missing, self.format, lines);
            statistics.missing = statistics.missing.saturating_add(missing);
        }
        for told in std::iter::once(first).chain(events.try_iter().take(BATCH)) {
            let event = match told {
                JournalMessage::Search(event) => event,
                JournalMessage::Write(done) => {
                    waiting.push(done);
                    continue;
                }
            };
            statistics.add(&event);
            if self.log.is_some() {
                event.write_line(self.format, lines);
            }
            if self.keep.is_some() {
                self.changed.get_or_insert_with(Instant::now);
            }
        }
        drop(statistics);
        if !lines.is_empty()
            && let Some(log) = &mut self.log
            && let Err(error) = log.add(lines)
        {
            self.complain("the query log could not be written", &error);
        }
        if !waiting.is_empty() {
            self.keep();
        }
    }

    fn keep(&mut self) {
        if self.changed.take().is_none() {
            return;
        }
        let Some(path) = self.keep.clone() else { return };
        let value = saved::value(&locked(&self.shared.statistics));
        if let Err(error) = replace(&path, &json::text(&value)) {
            self.complain("the statistics of searches could not be kept", &error);
        }
    }

    /// Once is enough: a full disk stays full for many searches.
    fn complain(&mut self, what: &str, error: &io::Error) {
        if !self.silent {
            self.silent = true;
            tracing::warn!("{what}: {error}");
        }
    }
}

/// Writes a file as a whole: others see the old one or the new one.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut beside = path.to_owned().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

/// Statistics of an earlier process. A file that is damaged is moved aside, so that nothing is lost
/// that may be wanted later.
fn read_kept(path: &Path) -> Option<Statistics> {
    let size = fs::metadata(path).ok()?.len();
    let read = || {
        let text = fs::read(path).ok()?;
        saved::statistics(&json::parse(&text).ok()?)
    };
    let kept = if size <= KEPT_BYTES { read() } else { None };
    if kept.is_none() {
        let mut aside = path.to_owned().into_os_string();
        aside.push(".damaged");
        let moved = fs::rename(path, &aside);
        tracing::warn!(
            "the statistics in {} could not be read and begin anew ({})",
            path.display(),
            if moved.is_ok() { "the old ones end in .damaged" } else { "the file stays" },
        );
    }
    kept
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::site::query_log::event::SearchKind;

    fn event(query: &str) -> SearchEvent {
        SearchEvent {
            seconds: 1_000_000,
            kind: SearchKind::Full,
            query: query.to_owned(),
            duration: Duration::from_micros(9),
            total: 1,
            offset: 0,
            interpretations: 1,
            chosen: None,
        }
    }

    #[test]
    fn searches_are_written_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let settings = JournalSettings {
            log: Some(folder.path().join("queries.log")),
            keep: Some(folder.path().join("statistics.json")),
            ..JournalSettings::default()
        };
        let journal = Journal::of(&settings).unwrap();
        let same = Journal::of(&settings).unwrap();
        assert!(Arc::ptr_eq(&journal, &same));
        journal.tell(event("first"));
        same.tell(event("second"));
        Journal::write_all(Duration::from_secs(10));
        assert!(folder.path().join("statistics.json").is_file());
        drop((journal, same));
        let lines = fs::read_to_string(folder.path().join("queries.log")).unwrap();
        let queries: Vec<_> = lines.lines().map(|line| line[30..].split(' ').next()).collect();
        assert_eq!(queries, [Some("|first"), Some("|second")]);

        let journal = Journal::of(&settings).unwrap();
        assert_eq!(journal.statistics().all.full, 2);
        drop(journal);
        fs::write(folder.path().join("statistics.json"), "{").unwrap();
        let journal = Journal::of(&settings).unwrap();
        assert_eq!(journal.statistics().all.full, 0);
        assert!(folder.path().join("statistics.json.damaged").is_file());
    }

    #[test]
    fn searches_that_come_too_fast_are_counted() {
        let settings = JournalSettings { name: "too fast".into(), ..JournalSettings::default() };
        let journal = Journal::of(&settings).unwrap();
        // The lock keeps the thread from counting, so that the queue fills up.
        let statistics = locked(&journal.shared.statistics);
        for _ in 0..2 * WAITING_SEARCHES {
            journal.tell(event("a"));
        }
        drop(statistics);
        let told = 2 * WAITING_SEARCHES as u64;
        loop {
            journal.tell(event("last"));
            let seen = journal.statistics();
            if seen.missing > 0 {
                assert!(seen.missing + seen.all.full >= WAITING_SEARCHES as u64);
                assert!(seen.all.full < told + WAITING_SEARCHES as u64);
                break;
            }
            std::thread::yield_now();
        }
    }
}
