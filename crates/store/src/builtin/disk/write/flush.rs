//! Flushes of directories, with group commit: a flush that begins after several files got their names
//! makes all of them durable.

use crate::builtin::disk::place::DiskFault;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The directories that are being flushed, by path. Each has a task that waits for it.
static FLUSHES: Mutex<BTreeMap<PathBuf, Arc<DirectoryFlush>>> = Mutex::new(BTreeMap::new());

/// The flushes of one directory.
#[derive(Default)]
struct DirectoryFlush {
    turns: Mutex<FlushTurns>,
    ended: Condvar,
}

/// Flushes are numbered from 1.
#[derive(Default)]
struct FlushTurns {
    begun: u64,
    ended: u64,
    is_running: bool,
    /// The last flush that failed, and how: those who relied on it fail, too, because the system
    /// reports an error once.
    failed: (u64, Option<ErrorKind>),
}

/// Flushes the names in a directory to the disk: a file is only safe when its name is.
pub(crate) fn flush_directory(directory: &Path) -> Result<(), DiskFault> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let flush = lock(&FLUSHES).entry(directory.to_path_buf()).or_default().clone();
    let flushed = flush.run(|| sync_directory(directory));
    let mut flushes = lock(&FLUSHES);
    // The map and this task hold it: no other task waits. The lock covers the drop, too.
    if Arc::strong_count(&flush) == 2 {
        flushes.remove(directory);
    }
    drop(flush);
    drop(flushes);
    Ok(flushed?)
}

impl DirectoryFlush {
    /// Waits for a flush that begins from now on; leads it where no other task does.
    fn run(&self, sync: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let mut turns = lock(&self.turns);
        let wanted = turns.begun + 1;
        while turns.ended < wanted {
            if turns.is_running {
                turns = self.ended.wait(turns).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            turns.is_running = true;
            turns.begun += 1;
            drop(turns);
            let synced = sync();
            turns = lock(&self.turns);
            turns.is_running = false;
            turns.ended = turns.begun;
            if let Err(error) = &synced {
                turns.failed = (turns.ended, Some(error.kind()));
            }
            self.ended.notify_all();
            return synced;
        }
        match turns.failed {
            (number, Some(kind)) if number >= wanted => Err(kind.into()),
            _ => Ok(()),
        }
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        Ok(directory) => directory.sync_all(),
        // A write-only file cannot be flushed by itself.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        // Removed by another process since, so there is nothing to flush.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    /// Waits until a number of tasks hold the flush, besides this one.
    fn wait_for_holders(flush: &Arc<DirectoryFlush>, count: usize) {
        while Arc::strong_count(flush) < count + 1 {
            thread::yield_now();
        }
    }

    #[test]
    fn one_flush_serves_all_that_wait() {
        let flush = Arc::new(DirectoryFlush::default());
        let flushes = Arc::new(AtomicUsize::new(0));
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel::<()>();
        let (own, count) = (flush.clone(), flushes.clone());
        let held = Mutex::new(held);
        let first = thread::spawn(move || {
            own.run(|| {
                count.fetch_add(1, Ordering::SeqCst);
                begun.send(()).unwrap();
                held.lock().unwrap().recv().unwrap();
                Ok(())
            })
        });
        begins.recv().unwrap();
        let later: Vec<_> = (0..10)
            .map(|_| {
                let (own, count) = (flush.clone(), flushes.clone());
                thread::spawn(move || {
                    own.run(|| {
                        count.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                })
            })
            .collect();
        wait_for_holders(&flush, 11);
        assert_eq!(flushes.load(Ordering::SeqCst), 1, "a flush that had begun does not count");
        release.send(()).unwrap();
        first.join().unwrap().unwrap();
        later.into_iter().for_each(|task| task.join().unwrap().unwrap());
        let count = flushes.load(Ordering::SeqCst);
        assert!((2..=11).contains(&count), "{count}");
    }

    #[test]
    fn whoever_relied_on_a_failed_flush_fails() {
        let flush = DirectoryFlush::default();
        *lock(&flush.turns) = FlushTurns { begun: 3, ended: 3, ..FlushTurns::default() };
        let failed = flush.run(|| Err(ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::StorageFull);
        assert_eq!(lock(&flush.turns).failed, (4, Some(ErrorKind::StorageFull)));
        flush.run(|| Ok(())).unwrap();
    }

    #[test]
    fn what_was_flushed_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        assert!(flush_directory(folder.path()).is_ok());
        assert!(flush_directory(&folder.path().join("missing")).is_ok());
        assert!(!lock(&FLUSHES).contains_key(folder.path()));
    }
}
