//! Commits of one key are serialized within the process, so that what a request saw of an object is
//! still so when it replaces it.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use tokio::sync::{Mutex, MutexGuard};

/// Keys share this many locks; two that share one wait for each other while one is committed, not
/// while its content is received.
const LOCKS: usize = 512;

static KEYS: [Mutex<()>; LOCKS] = [const { Mutex::const_new(()) }; LOCKS];

/// Waits for other commits of the key by tasks of all workers.
pub(crate) async fn lock(bucket: &str, key: &str) -> MutexGuard<'static, ()> {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS[HASHER.hash_one((bucket, key)) as usize % LOCKS].lock().await
}
