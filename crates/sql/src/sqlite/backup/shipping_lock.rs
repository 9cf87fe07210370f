//! Who ships a database to a target: one of all processes and threads that want to.
//!
//! A file beside the database is locked. The system releases the lock when its process ends, in whatever
//! way, and the next one takes over. The file has no content and is removed at the end; one that a killed
//! process has left is used again.

use crate::sqlite::backup::segment::name_checksum;
use crate::sqlite::connection::database_file::{DatabaseFile, beside, from_io};
use crate::sqlite::fault::{SqlFault, SqlResult};
use runnel_store::{Kind, Reference};
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often a lock is tried whose file another process removes at this moment.
const TRIES: usize = 100;

/// The lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct ShippingLock {
    path: PathBuf,
    /// Its end releases the lock.
    _file: File,
}

/// The target as all who ship to it name it.
pub(crate) fn target_name(to: &Reference) -> String {
    let path = to.path().trim_end_matches('/');
    match to.scheme() {
        Some("file") => {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
            format!("file:{}", whole.display())
        }
        Some(scheme) => format!("{scheme}:{path}"),
        None => path.to_string(),
    }
}

impl ShippingLock {
    /// Takes the lock; `None`: another one ships.
    pub(crate) fn try_take(place: &DatabaseFile, to: &Reference) -> SqlResult<Option<Self>> {
        let Some(database) = place.path() else {
            return Err(SqlFault::invalid(
                "a database in memory has no log to follow; name a file, such as sqlite:tasks.db",
            ));
        };
        let ending = format!("-backup-{:016x}", name_checksum(&target_name(to)));
        ShippingLock::take(&beside(database, &ending))
    }

    fn take(path: &Path) -> SqlResult<Option<Self>> {
        let unlockable = |error: &std::io::Error| {
            from_io(error, "the lock of the backup beside the database cannot be taken")
        };
        for _ in 0..TRIES {
            let open = File::options().write(true).create(true).truncate(false).open(path);
            let file = open.map_err(|error| unlockable(&error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(unlockable(&error)),
            }
            let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
            let own = file.metadata().map(identity).map_err(|error| unlockable(&error))?;
            // The one before may have removed the file after it was opened here: then the name is that
            // of another file, or of none.
            if std::fs::metadata(path).map(identity).ok() == Some(own) {
                return Ok(Some(ShippingLock { path: path.to_path_buf(), _file: file }));
            }
        }
        Err(SqlFault::new(Kind::Unavailable, "the lock of the backup changes all the time"))
    }
}

impl Drop for ShippingLock {
    fn drop(&mut self) {
        // While the lock is still held. A file that stays is used by the next one.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_of_many_threads_has_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let Some(lock) = ShippingLock::take(&path).unwrap() else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
        assert!(!path.exists());
    }

    #[test]
    fn a_target_has_one_name() {
        let name = |scheme: &str, path: &str| {
            target_name(&Reference::from_path(path.to_string()).with_scheme(scheme.to_string()))
        };
        assert_eq!(name("s3", "box/tasks/"), name("s3", "box/tasks"));
        assert_ne!(name("s3", "box/tasks"), name("file", "box/tasks"));
        let here = std::env::current_dir().unwrap().join("copies");
        assert_eq!(name("file", "copies/"), name("file", here.to_str().unwrap()));
    }
}
