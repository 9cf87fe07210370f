//! Write locks of files, shared by the threads of this process.

use super::place::DiskFault;
use super::read;
use crate::Condition;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Files share this many locks; two that share one wait for each other, for a moment.
const LOCKS: usize = 64;

static FILES: [Mutex<()>; LOCKS] = [const { Mutex::new(()) }; LOCKS];

/// RAII guard that excludes puts, appends and deletes of the file by other tasks of this process,
/// so that a condition still holds at the write. Large content is written before the lock, and the
/// flush follows it.
#[expect(dead_code, reason = "held")]
pub(super) struct Changing(MutexGuard<'static, ()>, Option<MutexGuard<'static, ()>>);

impl Changing {
    /// `path` is without links.
    pub(super) fn begin(path: &Path) -> Self {
        Changing(lock(number(path)), None)
    }

    /// The same of two files. The locks are taken in one order, so that two moves between the same
    /// places do not wait for each other.
    pub(super) fn begin_two(one: &Path, other: &Path) -> Self {
        let (one, other) = (number(one), number(other));
        let first = lock(one.min(other));
        Changing(first, (one != other).then(|| lock(one.max(other))))
    }

    /// Checks the condition against the current file.
    pub(super) fn check(&self, path: &Path, only_if: Option<&Condition>) -> Result<(), DiskFault> {
        let Some(condition) = only_if else { return Ok(()) };
        // What a link leads to is what a reader sees.
        let tag = match path.metadata() {
            Ok(metadata) if metadata.is_file() => Some(Some(read::entity_tag(&metadata))),
            Ok(_) => Some(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => {
                path.symlink_metadata().is_ok().then_some(None)
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotADirectory) => None,
            Err(error) => return Err(error.into()),
        };
        let present = tag.as_ref().map(Option::as_ref);
        condition.check(present).map_err(|_| DiskFault::Condition(condition.clone()))
    }
}

fn number(path: &Path) -> usize {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(path) as usize % LOCKS
}

fn lock(number: usize) -> MutexGuard<'static, ()> {
    FILES[number].lock().unwrap_or_else(PoisonError::into_inner)
}
