//! The files of databases whose pages are read beside SQLite.

use crate::sqlite::connection::database_file::from_io;
use crate::sqlite::fault::{SqlFault, SqlResult};
use runnel_store::Kind;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Files of databases that a process follows, at most.
const FOLLOWED_FILES: usize = 1000;

/// These stay open until the process ends: when a process closes any descriptor of a file, the system
/// releases all its locks of that file, and SQLite's are among them
/// (<https://sqlite.org/howtocorrupt.html>, section 2.2.1).
static FILES: Mutex<Vec<Arc<File>>> = Mutex::new(Vec::new());

fn identity(facts: &Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}

/// The file of a database, for reading.
pub(crate) fn page_file(path: &Path) -> SqlResult<Arc<File>> {
    let unreadable = |error: std::io::Error| from_io(&error, "the database cannot be read");
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let now = identity(&std::fs::metadata(path).map_err(unreadable)?);
    let is_same = |one: &&Arc<File>| one.metadata().is_ok_and(|facts| identity(&facts) == now);
    if let Some(known) = files.iter().find(is_same) {
        return Ok(known.clone());
    }
    if files.len() >= FOLLOWED_FILES {
        let message = format!("a process follows at most {FOLLOWED_FILES} databases");
        return Err(SqlFault::new(Kind::TooLarge, message));
    }
    let file = Arc::new(File::open(path).map_err(unreadable)?);
    files.push(file.clone());
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        std::fs::write(&path, "x").unwrap();
        let file = page_file(&path).unwrap();
        assert!(Arc::ptr_eq(&file, &page_file(&path).unwrap()));
        std::fs::rename(&path, folder.path().join("y.db")).unwrap();
        std::fs::write(&path, "y").unwrap();
        assert!(!Arc::ptr_eq(&file, &page_file(&path).unwrap()));
    }
}
