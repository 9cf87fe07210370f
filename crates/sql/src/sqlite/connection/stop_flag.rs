//! The moment at which a running statement is to be stopped.

use crate::sqlite::fault::{SqlFault, SqlResult};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Steps of SQLite's virtual machine between two looks at the clock: some tens of microseconds.
/// One step that is long in itself (counting all rows of a table is one) is not interrupted.
pub(crate) const STEPS: i32 = 2_000;

const NEVER: u64 = u64::MAX;

/// Tells the progress handler of one connection when to stop. Shared with the handler, which
/// SQLite calls on whichever thread runs the statement.
#[derive(Clone)]
pub(crate) struct StopFlag {
    epoch: Instant,
    nanoseconds: Arc<AtomicU64>,
}

impl StopFlag {
    /// Installs the handler.
    pub(crate) fn install(connection: &mut Connection) -> SqlResult<Self> {
        let stop = StopFlag { epoch: Instant::now(), nanoseconds: Arc::new(AtomicU64::new(NEVER)) };
        let seen = stop.clone();
        connection.progress_handler(STEPS, Some(move || seen.passed()))?;
        Ok(stop)
    }

    /// Runs something that stops at a moment, or runs to its end.
    pub(crate) fn during<T>(&self, moment: Option<Instant>, work: impl FnOnce() -> T) -> T {
        let at = moment.map_or(NEVER, |moment| {
            let nanoseconds = moment.saturating_duration_since(self.epoch).as_nanos();
            u64::try_from(nanoseconds).unwrap_or(NEVER)
        });
        self.nanoseconds.store(at, Ordering::Relaxed);
        let result = work();
        self.nanoseconds.store(NEVER, Ordering::Relaxed);
        result
    }

    fn passed(&self) -> bool {
        let at = self.nanoseconds.load(Ordering::Relaxed);
        at != NEVER && self.epoch.elapsed().as_nanos() >= u128::from(at)
    }
}

/// Whether a deadline lies behind.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Waits for something until a deadline.
pub(crate) async fn until<T>(
    deadline: Option<Instant>,
    future: impl Future<Output = T>,
) -> SqlResult<T> {
    match deadline {
        None => Ok(future.await),
        Some(deadline) => {
            let waited = tokio::time::timeout_at(deadline.into(), future).await;
            waited.map_err(|_| SqlFault::timeout())
        }
    }
}
