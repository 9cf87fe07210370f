//! Whether the file of an open database is still the one at its path, and whether it is damaged.
//!
//! SQLite continues to write into a file that was deleted or replaced: its rows would be gone with the
//! last connection, and the log at the path would be applied to another file
//! (<https://sqlite.org/howtocorrupt.html>, section 2.4). So each transaction looks at the path when
//! it begins, and again before its writes are answered.

use crate::sqlite::connection::database_file::{DatabaseFile, beside};
use crate::sqlite::fault::{SqlFault, SqlFaultCause, SqlResult};
use runnel_store::Kind;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a file is beyond its name: the device and the inode.
type FileIdentity = (u64, u64);

/// The state of one open database; all its connections in this process share it.
pub(crate) struct FileHealth {
    /// Absent in memory.
    file: Option<OpenFile>,
    damaged: AtomicBool,
    /// Whether the log has said that the file is gone.
    reported: AtomicBool,
}

struct OpenFile {
    path: PathBuf,
    identity: Option<FileIdentity>,
    log_path: PathBuf,
    /// Of the write-ahead log, from the first transaction on.
    log: OnceLock<FileIdentity>,
}

impl FileHealth {
    /// Of a database that was opened just now.
    pub(crate) fn of(place: &DatabaseFile) -> FileHealth {
        let file = place.path().map(|path| OpenFile {
            path: path.to_path_buf(),
            identity: identity(path).ok(),
            log_path: beside(path, "-wal"),
            log: OnceLock::new(),
        });
        FileHealth { file, damaged: AtomicBool::new(false), reported: AtomicBool::new(false) }
    }

    /// Refuses to write into a database that is damaged, or that is not at its path any more.
    pub(crate) fn check(&self) -> SqlResult<()> {
        if self.damaged.load(Ordering::Relaxed) {
            return Err(SqlFault::damaged());
        }
        self.check_place()
    }

    /// The same, when a transaction is committed.
    pub(crate) fn check_place(&self) -> SqlResult<()> {
        let Some(file) = self.file.as_ref().filter(|file| !file.is_in_place()) else {
            self.reported.store(false, Ordering::Relaxed);
            return Ok(());
        };
        if !self.reported.swap(true, Ordering::Relaxed) {
            tracing::error!(
                database = %file.path.display(),
                "the database file was deleted or replaced while it is open; writes are refused \
                 until the program starts again"
            );
        }
        let message = "the database file was deleted or replaced while it is open; start the \
                       program again to use the file that is there now";
        Err(SqlFault::new(Kind::Unavailable, message))
    }

    /// Remembers a page that could not be read, because a write beside it would make a repair harder.
    pub(crate) fn note(&self, fault: &SqlFault) {
        if fault.cause == SqlFaultCause::Damaged && !self.damaged.swap(true, Ordering::Relaxed) {
            tracing::error!(
                database = self.file.as_ref().map(|file| file.path.display().to_string()),
                "the database file is damaged; writes are refused until it is restored and the \
                 program starts again"
            );
        }
    }
}

impl FileHealth {
    /// Whether the write-ahead log at the path is another one than that of this database.
    pub(crate) fn is_log_foreign(&self) -> bool {
        self.file.as_ref().is_some_and(|file| {
            let now = identity(&file.log_path).ok();
            now.is_some() && file.log.get().is_some_and(|known| Some(*known) != now)
        })
    }

    /// Removes the write-ahead log of a file that was moved or deleted, at the end: SQLite would
    /// apply it to the file that has the name now. The caller has carried it over.
    pub(crate) fn remove_stray_log(&self) {
        let Some(file) = self.file.as_ref().filter(|file| !file.is_in_place()) else { return };
        if file.log.get().is_some() && !self.is_log_foreign() {
            // What cannot be removed stays: the next program that opens the database applies it.
            let _ = std::fs::remove_file(&file.log_path);
            let _ = std::fs::remove_file(beside(&file.path, "-shm"));
        }
    }
}

impl OpenFile {
    fn is_in_place(&self) -> bool {
        // What cannot be looked at is not known to be gone.
        let same = |path: &Path, known: Option<FileIdentity>| match identity(path) {
            Ok(now) => known.is_none_or(|known| known == now),
            Err(error) => known.is_none() || error.kind() != ErrorKind::NotFound,
        };
        if self.log.get().is_none()
            && let Ok(log) = identity(&self.log_path)
        {
            let _ = self.log.set(log);
        }
        same(&self.path, self.identity) && same(&self.log_path, self.log.get().copied())
    }
}

fn identity(path: &Path) -> std::io::Result<FileIdentity> {
    let facts = std::fs::metadata(path)?;
    Ok((facts.dev(), facts.ino()))
}
