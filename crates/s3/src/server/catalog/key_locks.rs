//! Commits of one key are serialized within the process, so that what a request saw of an object is
//! still so when it replaces it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex as Guarded, PoisonError, Weak};
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};

/// Keys share this many locks; two that share one wait for each other while one is committed, not
/// while its content is received.
const LOCKS: usize = 512;

static KEYS: [Mutex<()>; LOCKS] = [const { Mutex::const_new(()) }; LOCKS];

/// Waits for other commits of the key by tasks of all workers.
pub(crate) async fn lock(bucket: &str, key: &str) -> MutexGuard<'static, ()> {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS[HASHER.hash_one((bucket, key)) as usize % LOCKS].lock().await
}

/// Locks of uploads that may be left over in the table before it is cleared of them.
const LEFT_OVER: usize = 1_024;

/// The locks of uploads that are held or awaited.
type UploadLocks = HashMap<(String, String), Weak<Mutex<()>>>;

/// Waits for other changes of an upload by tasks of all workers.
///
/// A completion holds it while the content is joined, and commits its key meanwhile. So it is never
/// one of the locks that keys share.
pub(crate) async fn lock_upload(bucket: &str, id: &str) -> OwnedMutexGuard<()> {
    static UPLOADS: LazyLock<Guarded<UploadLocks>> = LazyLock::new(Guarded::default);
    let own = {
        let mut locks = UPLOADS.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.len() >= LEFT_OVER {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = locks.entry((bucket.to_string(), id.to_string())).or_default();
        lock.upgrade().unwrap_or_else(|| {
            let own = Arc::default();
            *lock = Arc::downgrade(&own);
            own
        })
    };
    own.lock_owned().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn an_upload_locks_no_key() {
        let held = lock_upload("bucket", "id").now_or_never();
        assert!(held.is_some());
        assert!(lock_upload("bucket", "id").now_or_never().is_none());
        assert!(lock_upload("bucket", "other").now_or_never().is_some());
        // Other tests hold some of these locks for a moment; with one of the upload this would not end.
        for number in 0..10_000 {
            let key = timeout(Duration::from_secs(60), lock("bucket", &number.to_string())).await;
            assert!(key.is_ok(), "{number}");
        }
        drop(held);
        assert!(lock_upload("bucket", "id").now_or_never().is_some());
    }
}
