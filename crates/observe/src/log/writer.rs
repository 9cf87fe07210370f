//! The log writer: a thread that writes lines to a file or standard output, so that a slow disk or
//! a full pipe delays no request.

use crate::metrics::registry::locked;
use crate::settings::{LogTarget, WriterOf};
use runnel_store::{Error, Kind, Result};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The largest queue, in bytes; lines beyond are dropped and counted.
const MOST: usize = 4 * 1024 * 1024;
/// How long the thread collects lines before it writes them together.
const GATHER: Duration = Duration::from_millis(20);
/// How long stopping waits for the last lines.
const END: Duration = Duration::from_secs(2);
/// Interval of checks for log rotation.
const LOOK: Duration = Duration::from_secs(1);

/// The writers of this process, one for each target.
static ALL: Mutex<Option<HashMap<LogTarget, Weak<LogWriter>>>> = Mutex::new(None);

/// A target and its thread. The last holder writes the queue before it drops the writer.
pub(crate) struct LogWriter {
    shared: Arc<WriterState>,
    thread: Option<JoinHandle<()>>,
}

struct WriterState {
    queue: Mutex<LineQueue>,
    wake: Condvar,
    written: Condvar,
}

#[derive(Default)]
struct LineQueue {
    lines: Vec<u8>,
    /// The thread waits for a wake-up.
    asleep: bool,
    over: bool,
    /// The lines taken from the queue are written.
    done: bool,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("LogWriter")
    }
}

impl LogWriter {
    /// The writer of a target, shared by all workers.
    ///
    /// # Errors
    /// [`Kind::Denied`] or [`Kind::Failed`]: the file cannot be opened.
    pub(crate) fn of(target: &LogTarget, open: WriterOf) -> Result<Arc<LogWriter>> {
        let mut all = locked(&ALL);
        let all = all.get_or_insert_default();
        all.retain(|_, writer| writer.strong_count() > 0);
        if let Some(known) = all.get(target).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let made = Arc::new(LogWriter::start(target, open)?);
        all.insert(target.clone(), Arc::downgrade(&made));
        Ok(made)
    }

    fn start(target: &LogTarget, open: WriterOf) -> Result<LogWriter> {
        let mut sink = match target {
            LogTarget::File(path) => Sink::file(path)?,
            _ => Sink { out: open(target), file: None },
        };
        let shared = Arc::new(WriterState {
            queue: Mutex::default(),
            wake: Condvar::new(),
            written: Condvar::new(),
        });
        let seen = shared.clone();
        let thread = std::thread::Builder::new()
            .name("access-log".into())
            .stack_size(128 * 1024)
            .spawn(move || write_all(&seen, &mut sink))
            .map_err(|error| {
                Error::new(Kind::Failed, "the thread of the access log could not be started")
                    .with_detail(error.to_string())
            })?;
        Ok(LogWriter { shared, thread: Some(thread) })
    }

    /// Queues a line. Returns whether there was room.
    pub(crate) fn add(&self, line: &[u8]) -> bool {
        let mut queue = locked(&self.shared.queue);
        if queue.lines.len() + line.len() > MOST {
            return false;
        }
        queue.lines.extend_from_slice(line);
        if queue.asleep {
            queue.asleep = false;
            drop(queue);
            self.shared.wake.notify_one();
        }
        true
    }

    /// Waits until the queue is written, within a timeout.
    pub(crate) fn flush(&self) {
        let queue = locked(&self.shared.queue);
        // A panic of the thread would poison nothing relevant.
        let _ = self
            .shared
            .written
            .wait_timeout_while(queue, END, |queue| !queue.lines.is_empty() || !queue.done);
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        locked(&self.shared.queue).over = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread ends after writing the queue; it cannot panic.
            let _ = thread.join();
        }
    }
}

/// Writes queued lines until the writer is dropped.
fn write_all(shared: &WriterState, sink: &mut Sink) {
    let mut lines = Vec::new();
    loop {
        let mut queue = locked(&shared.queue);
        queue.done = true;
        while queue.lines.is_empty() && !queue.over {
            shared.written.notify_all();
            queue.asleep = true;
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.asleep = false;
        let over = queue.over;
        if !over {
            drop(queue);
            std::thread::sleep(GATHER);
            queue = locked(&shared.queue);
        }
        std::mem::swap(&mut lines, &mut queue.lines);
        queue.done = false;
        drop(queue);
        sink.write(&lines);
        lines.clear();
        if over {
            return;
        }
    }
}

/// The output.
struct Sink {
    out: Box<dyn Write + Send>,
    file: Option<OpenFile>,
}

struct OpenFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    looked: Instant,
}

impl Sink {
    fn file(path: &Path) -> Result<Sink> {
        let out = open(path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::PermissionDenied => Kind::Denied,
                _ => Kind::Failed,
            };
            let path = path.display();
            let message = format!("the access log {path} cannot be written: choose another place");
            Error::new(kind, message).with_detail(error.to_string())
        })?;
        let file =
            OpenFile { path: path.to_path_buf(), identity: identity(path), looked: Instant::now() };
        Ok(Sink { out: Box::new(out), file: Some(file) })
    }

    fn write(&mut self, lines: &[u8]) {
        if let Some(file) = &mut self.file
            && file.looked.elapsed() >= LOOK
        {
            file.looked = Instant::now();
            // Log rotation moved the file away: opens a new one.
            if identity(&file.path) != file.identity
                && let Ok(out) = open(&file.path)
            {
                self.out = Box::new(out);
                file.identity = identity(&file.path);
            }
        }
        if let Err(error) = self.out.write_all(lines).and_then(|()| self.out.flush()) {
            tracing::debug!(%error, "lines of the access log were lost");
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// The identity of the file behind a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
    }
    #[cfg(not(unix))]
    {
        std::fs::metadata(path).ok().map(|_| (0, 0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn nowhere(_: &LogTarget) -> Box<dyn Write + Send> {
        Box::new(std::io::sink())
    }

    #[test]
    fn what_waits_is_written_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let target = LogTarget::File(path.clone());
        let writer = LogWriter::of(&target, nowhere).unwrap();
        assert!(Arc::ptr_eq(&writer, &LogWriter::of(&target, nowhere).unwrap()));
        for number in 0..1000 {
            assert!(writer.add(format!("line {number}\n").as_bytes()));
        }
        drop(writer);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("line 999\n"));
    }

    #[test]
    fn what_was_added_can_be_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let writer = LogWriter::of(&LogTarget::File(path.clone()), nowhere).unwrap();
        for number in 0..20 {
            writer.add(b"line\n");
            writer.flush();
            assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), number + 1);
        }
    }

    #[test]
    fn a_file_that_was_moved_away_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut sink = Sink::file(&path).unwrap();
        sink.write(b"old\n");
        std::fs::rename(&path, folder.path().join("access.log.1")).unwrap();
        sink.file.as_mut().unwrap().looked = Instant::now() - LOOK;
        sink.write(b"new\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    }

    #[test]
    fn lines_without_room_are_refused() {
        let blocked =
            WriterState { queue: Mutex::default(), wake: Condvar::new(), written: Condvar::new() };
        let writer = LogWriter { shared: Arc::new(blocked), thread: None };
        let line = vec![b'x'; MOST / 2];
        assert!(writer.add(&line) && writer.add(&line));
        assert!(!writer.add(b"x"));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let target = LogTarget::File("/nowhere/at/all/access.log".into());
        let error = LogWriter::of(&target, nowhere).unwrap_err();
        assert!(error.message.contains("/nowhere/at/all/access.log"), "{}", error.message);
    }
}
