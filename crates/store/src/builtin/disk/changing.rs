//! Who changes a file at the moment, among the threads of this process.

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

/// While this is held nobody else of this process puts, appends to or deletes the file, so that
/// what a condition was checked against is what is replaced. What is large is written before, and
/// the disk is waited for afterwards.
pub(super) struct Changing(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Changing {
    /// `path` is without links.
    pub(super) fn begin(path: &Path) -> Self {
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let lock = &FILES[HASHER.hash_one(path) as usize % LOCKS];
        Changing(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at what is there now.
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
