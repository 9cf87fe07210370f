//! Appending as one step, for the readers of this process.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Files share this many locks; two that share one wait for each other, for a moment.
const LOCKS: usize = 64;

static FILES: [RwLock<()>; LOCKS] = [const { RwLock::new(()) }; LOCKS];

/// RAII guard of an append, which excludes readers of this process: the system would show them a
/// partial append, page by page. It must not be held during a flush.
pub(super) struct Appending(#[expect(dead_code, reason = "held")] RwLockWriteGuard<'static, ()>);

/// RAII guard that excludes appends by this process to the file.
pub(super) struct Reading(#[expect(dead_code, reason = "held")] RwLockReadGuard<'static, ()>);

impl Appending {
    /// `path` is without links.
    pub(super) fn begin(path: &Path) -> Self {
        Appending(lock(path).write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Reading {
    /// `path` is without links.
    pub(super) fn begin(path: &Path) -> Self {
        Reading(lock(path).read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn lock(path: &Path) -> &'static RwLock<()> {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    &FILES[HASHER.hash_one(path) as usize % LOCKS]
}
