//! The version of a database with a write-ahead log, read without a lock or a call of the system.
//!
//! Processes that share such a database share its index in memory. It begins with a header in two
//! copies, which every commit changes (<https://sqlite.org/walformat.html>, section 2.1: the change
//! counter, the number of frames and their checksum). A connection has it mapped as long as it is
//! open. A header that reads as it did before says that nothing was committed in between, by
//! whichever process; that is all it is used for.

#![allow(unsafe_code)]

use crate::sqlite::write::writer::CHECKPOINT_PAGES;
use rusqlite::{Connection, ffi};
use std::os::raw::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Words of one copy of the header.
const WORDS: usize = 12;

/// The word of the header that says how many frames the log has.
const FRAMES: usize = 4;

/// The word behind both copies that says how many of them were carried over into the database.
const CARRIED_OVER: usize = 2 * WORDS;

/// Bytes of the first part of the index, as SQLite maps it.
const PART: c_int = 32 * 1024;

/// The words of the header with the pages of the database, the checksum of the last frame, and the salts.
const PAGES: usize = 5;
const CHECKSUM: usize = 6;
const SALTS: usize = 8;

/// The header as it was read.
pub(crate) type Version = [u32; WORDS];

/// What the header says of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalHead {
    /// Frames up to the last commit.
    pub(crate) frames: u32,
    /// Frames that are in the database file, too.
    pub(crate) carried_over: u32,
    /// Pages of the database.
    pub(crate) page_count: u32,
    /// The checksum of the last frame.
    pub(crate) checksum: [u32; 2],
    /// As they are in the log, in the order of bytes of this machine.
    pub(crate) salts: [u32; 2],
}

/// The index of a connection. It must not be used after the connection is closed.
pub(crate) struct WalIndex(NonNull<u32>);

// SAFETY: the memory belongs to the whole process as long as the connection is open, and every access is
// that of an atomic: which thread it comes from makes no difference.
unsafe impl Send for WalIndex {}

impl WalIndex {
    /// The index of a connection that has read from the database; `None` without a write-ahead log,
    /// or when the log is not shared.
    pub(crate) fn of_connection(connection: &Connection) -> Option<WalIndex> {
        let setting = |name: &str| -> Option<String> {
            connection.pragma_query_value(None, name, |row| row.get(0)).ok()
        };
        let shared = setting("journal_mode")? == "wal" && setting("locking_mode")? == "normal";
        if !shared {
            return None;
        }
        let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
        let mut part: *mut c_void = std::ptr::null_mut();
        // SAFETY: the handle is open; the call writes the pointer to the connection's own file
        // object, which lives as long as the connection does.
        let found = unsafe {
            ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        };
        // SAFETY: on success the file is null or has a table of methods for its lifetime.
        let methods = unsafe { file.as_ref().and_then(|file| file.pMethods.as_ref()) };
        let methods = methods.filter(|one| found == ffi::SQLITE_OK && one.iVersion >= 2)?;
        // SAFETY: the connection has read with a write-ahead log, so its index is mapped; without
        // extending it this call only answers where (<https://sqlite.org/c3ref/io_methods.html>).
        let mapped = unsafe { methods.xShmMap?(file, 0, PART, 0, &raw mut part) };
        NonNull::new(part.cast()).filter(|_| mapped == ffi::SQLITE_OK).map(WalIndex)
    }

    /// Whether a long read transaction would not make the log longer: the log is short, or all of
    /// it was carried over into the database, so that a reader needs nothing of it.
    pub(crate) fn is_short(&self) -> bool {
        let frames = self.word(FRAMES).load(Ordering::Relaxed);
        frames < CHECKPOINT_PAGES || frames == self.word(CARRIED_OVER).load(Ordering::Relaxed)
    }

    /// The header, unless a writer is changing it.
    pub(crate) fn version(&self) -> Option<Version> {
        // A writer changes the second copy first. The loads of the first copy acquire, so that those
        // of the second cannot move before them: copies that are equal in this order are complete.
        let first: Version = std::array::from_fn(|at| self.word(at).load(Ordering::Acquire));
        let is_second = |at: usize| self.word(WORDS + at).load(Ordering::Relaxed) == first[at];
        (0..WORDS).all(is_second).then_some(first)
    }

    /// What the header says, unless a writer is changing it.
    pub(crate) fn head(&self) -> Option<WalHead> {
        let version = self.version()?;
        let carried_over = self.word(CARRIED_OVER).load(Ordering::Acquire);
        let (frames, page_count) = (version[FRAMES], version[PAGES]);
        let pair = |at: usize| [version[at], version[at + 1]];
        let (checksum, salts) = (pair(CHECKSUM), pair(SALTS));
        let is_same = self.version() == Some(version);
        is_same.then_some(WalHead { frames, carried_over, page_count, checksum, salts })
    }

    /// A word of the index.
    fn word(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at <= CARRIED_OVER);
        // SAFETY: the word lies at the beginning of the mapped part, which is aligned to a page and
        // stays mapped while the connection is open, longer than this borrow. Other processes and
        // SQLite's own code change it at any time, which is why it is only ever accessed as an
        // atomic; they store aligned words whole.
        unsafe { AtomicU32::from_ptr(self.0.add(at).as_ptr()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_of_another_connection_changes_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("pragma journal_mode = wal; create table t(x)").unwrap();
        let reader = Connection::open(&path).unwrap();
        let count =
            || -> i64 { reader.query_row("select count(*) from t", [], |row| row.get(0)).unwrap() };
        count();
        let index = WalIndex::of_connection(&reader).unwrap();
        let mut known = index.version().unwrap();
        for number in 1..200 {
            writer.execute("insert into t values (?1)", [number]).unwrap();
            let version = index.version().unwrap();
            assert_ne!(version, known);
            assert_eq!(index.version().unwrap(), version);
            assert_eq!(count(), number);
            assert_eq!(index.version().unwrap(), version);
            if number % 50 == 0 {
                writer.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
            }
            known = index.version().unwrap();
        }
    }

    #[test]
    fn only_a_shared_log_has_one() {
        let memory = Connection::open_in_memory().unwrap();
        assert!(WalIndex::of_connection(&memory).is_none());
        let folder = tempfile::tempdir().unwrap();
        let rollback = Connection::open(folder.path().join("x.db")).unwrap();
        rollback.execute_batch("create table t(x)").unwrap();
        assert!(WalIndex::of_connection(&rollback).is_none());
    }
}
