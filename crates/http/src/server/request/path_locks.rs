//! Conditional writes of one path are serialized within the process, where no store can compare and
//! write in one step.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex as Guarded, PoisonError, Weak};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Locks that may be left over in the table before it is cleared of them.
const LEFT_OVER: usize = 1_024;

/// The locks that are held or awaited.
type PathLocks = HashMap<String, Weak<Mutex<()>>>;

/// Waits for other conditional writes of the path by requests of all workers.
///
/// Paths share no lock: a handler may write to another path of its own server.
pub(crate) async fn lock(path: &str) -> OwnedMutexGuard<()> {
    static PATHS: LazyLock<Guarded<PathLocks>> = LazyLock::new(Guarded::default);
    let own = {
        let mut locks = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.len() >= LEFT_OVER {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = locks.entry(path.to_string()).or_default();
        lock.upgrade().unwrap_or_else(|| {
            let own = Arc::default();
            *lock = Arc::downgrade(&own);
            own
        })
    };
    own.lock_owned().await
}
