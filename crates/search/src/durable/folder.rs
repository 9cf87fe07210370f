//! The folder of a collection: which files are in it, and that only one process uses it.

use crate::durable::disk_error::DiskError;
use crate::durable::disk_steps::{DiskStep, DiskSteps};
use runnel_store::Kind;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the names of all files end with.
const ENDING: &str = ".search";

/// A folder that this process has for itself as long as this lives.
#[derive(Debug)]
pub(crate) struct CollectionFolder {
    path: PathBuf,
    steps: DiskSteps,
    closing: AtomicBool,
    lock: File,
}

/// The files by the numbers of writes in their names, ascending.
#[derive(Debug, Default)]
pub(crate) struct FolderFiles {
    /// Snapshots, by the last write that each has.
    pub(crate) snapshots: Vec<u64>,
    /// Parts of the log, by the first write of each.
    pub(crate) logs: Vec<u64>,
}

impl CollectionFolder {
    /// Makes the folder if it is not there, and takes it.
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

    /// Lets long work end early.
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

    /// Where a snapshot is written before it gets its name.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.path.join("unfinished")
    }

    /// The files that are there.
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

    /// Removes what nothing needs once there is a snapshot of the writes up to this one: older
    /// snapshots, and parts of the log with these writes only.
    pub(crate) fn clean(&self, last: u64) -> Result<(), DiskError> {
        let files = self.files()?;
        let remove = |path: PathBuf| {
            self.steps.take(DiskStep::Remove).and_then(|()| std::fs::remove_file(&path)).or_else(
                |error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(DiskError::of_file("removing", &path, &error)),
                },
            )
        };
        for old in files.snapshots.iter().filter(|other| **other < last) {
            remove(self.snapshot(*old))?;
        }
        for pair in files.logs.windows(2).filter(|pair| pair[1] <= last + 1) {
            remove(self.log(pair[0]))?;
        }
        Ok(())
    }

    /// Removes what a crash has left behind.
    pub(crate) fn clean_up(&self) -> Result<(), DiskError> {
        let unfinished = self.unfinished();
        match std::fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(DiskError::of_file("removing", &unfinished, &error));
            }
            _ => {}
        }
        match self.files()?.snapshots.last() {
            Some(newest) => self.clean(*newest),
            None => Ok(()),
        }
    }

    /// Makes changes of names durable.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        let synced = self.steps.take(DiskStep::SyncFolder).and_then(|()| sync_folder(&self.path));
        synced.map_err(|error| DiskError::of_file("writing", &self.path, &error))
    }
}

impl Drop for CollectionFolder {
    fn drop(&mut self) {
        // Closing alone would not do while a process that is just being started has the file, too.
        // If it fails, the lock goes with the file.
        let _ = self.lock.unlock();
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    // Folders can be opened and flushed on Unix; elsewhere the system sees to it.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
