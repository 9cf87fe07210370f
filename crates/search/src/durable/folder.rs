//! The folder of a collection: its files, and the lock that gives it to one process.

use crate::durable::disk_error::DiskError;
use crate::durable::disk_steps::{DiskStep, DiskSteps};
use runnel_store::Kind;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The suffix of all file names.
const ENDING: &str = ".search";

/// A folder that this process holds a lock on, until it is dropped.
#[derive(Debug)]
pub(crate) struct CollectionFolder {
    path: PathBuf,
    steps: DiskSteps,
    closing: AtomicBool,
    lock: File,
}

/// The numbers of writes in the names of the files, ascending.
#[derive(Debug, Default)]
pub(crate) struct FolderFiles {
    /// Snapshots, by the last write of each.
    pub(crate) snapshots: Vec<u64>,
    /// Parts of the log, by the first write of each.
    pub(crate) logs: Vec<u64>,
}

impl CollectionFolder {
    /// Creates the folder if necessary, and locks it.
    pub(crate) fn open(path: &Path, steps: DiskSteps) -> Result<CollectionFolder, DiskError> {
        let failed = |error: io::Error| DiskError::of_file("opening the folder", path, &error);
        if !path.is_dir() {
            std::fs::create_dir_all(path).map_err(failed)?;
            if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
                sync_folder(above).map_err(failed)?;
            }
        }
        let lock = File::create(path.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "the folder {} is in use, perhaps by another process; end it, or give this \
                     index a folder of its own",
                    path.display()
                );
                return Err(DiskError::new(Kind::Conflict, message));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(CollectionFolder { path: path.to_owned(), steps, closing: AtomicBool::new(false), lock })
    }

    pub(crate) fn steps(&self) -> &DiskSteps {
        &self.steps
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Asks long operations to stop early.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(crate) fn snapshot(&self, last: u64) -> PathBuf {
        self.path.join(format!("snapshot-{last:016x}{ENDING}"))
    }

    pub(crate) fn log(&self, first: u64) -> PathBuf {
        self.path.join(format!("log-{first:016x}{ENDING}"))
    }

    /// The temporary name of a snapshot being written.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.path.join("unfinished")
    }

    /// The existing files.
    pub(crate) fn files(&self) -> Result<FolderFiles, DiskError> {
        let failed =
            |error: io::Error| DiskError::of_file("reading the folder", &self.path, &error);
        let mut files = FolderFiles::default();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let number = |start: &str| {
                let digits = name.to_str()?.strip_prefix(start)?.strip_suffix(ENDING)?;
                u64::from_str_radix(digits, 16).ok()
            };
            files.snapshots.extend(number("snapshot-"));
            files.logs.extend(number("log-"));
        }
        files.snapshots.sort_unstable();
        files.logs.sort_unstable();
        Ok(files)
    }

    /// Removes files that a snapshot of the writes up to `last` replaces: older snapshots, and
    /// parts of the log with these writes only.
    pub(crate) fn clean(&self, last: u64) -> Result<(), DiskError> {
        let files = self.files()?;
        let remove = |path: PathBuf| {
            let step = self.steps.enter(DiskStep::Remove);
            step.map_err(|error| DiskError::of_file("removing", &path, &error))?;
            remove_file(&path)
        };
        for old in files.snapshots.iter().filter(|other| **other < last) {
            remove(self.snapshot(*old))?;
        }
        for pair in files.logs.windows(2).filter(|pair| pair[1] <= last + 1) {
            remove(self.log(pair[0]))?;
        }
        Ok(())
    }

    /// Removes the leftovers of a crash.
    pub(crate) fn clean_up(&self) -> Result<(), DiskError> {
        remove_file(&self.unfinished())?;
        match self.files()?.snapshots.last() {
            Some(newest) => self.clean(*newest),
            None => Ok(()),
        }
    }

    /// Makes renames and removals durable.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        let synced = self.steps.enter(DiskStep::SyncFolder).and_then(|()| sync_folder(&self.path));
        synced.map_err(|error| DiskError::of_file("writing", &self.path, &error))
    }
}

impl Drop for CollectionFolder {
    fn drop(&mut self) {
        // Unlock explicitly: a child process being started may still share the descriptor. If this
        // fails, the lock ends with the file.
        let _ = self.lock.unlock();
    }
}

/// Removes a file if it exists.
fn remove_file(path: &Path) -> Result<(), DiskError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DiskError::of_file("removing", path, &error))
        }
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    // Unix can open and flush folders; elsewhere the system does it.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
