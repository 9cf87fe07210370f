//! The writes that wait for room in the queue of the writer: bounded in number and in time.

use crate::sqlite::connection::stop_flag::until;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::write::queue::Refused;
use runnel_store::{Count, Counters, Kind, Level};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Writes that wait for the writer of one database. When it is full, the next ones wait for room.
pub const WRITE_QUEUE: usize = 1024;

/// Writes that wait for room in the queue; more are refused as temporarily unavailable.
pub const WRITE_WAITING: usize = 4096;

/// Those who wait for room in the queue.
pub(crate) struct WriteBacklog {
    waiting: AtomicUsize,
    /// How long each waits at most.
    patience: Duration,
    numbers: Arc<Counters>,
}

/// A place in it, until it is dropped.
pub(crate) struct BacklogEntry(Arc<WriteBacklog>);

impl WriteBacklog {
    pub(crate) fn new(patience: Duration, numbers: Arc<Counters>) -> Arc<Self> {
        Arc::new(WriteBacklog { waiting: AtomicUsize::new(0), patience, numbers })
    }

    pub(crate) fn enter(line: &Arc<WriteBacklog>) -> SqlResult<BacklogEntry> {
        let place = BacklogEntry(line.clone());
        line.numbers.rise(Level::Waiting, 1);
        if line.waiting.fetch_add(1, Ordering::Relaxed) >= WRITE_WAITING {
            line.numbers.add(Count::Refused, 1);
            return Err(SqlFault::new(Kind::Unavailable, "too many writes wait for the database"));
        }
        Ok(place)
    }
}

impl BacklogEntry {
    /// Waits for room, no longer than one may.
    pub(crate) async fn wait<T>(
        self,
        deadline: Option<Instant>,
        room: impl Future<Output = Result<(), Refused<T>>>,
    ) -> SqlResult<()> {
        let start = Instant::now();
        let patience = self.0.patience;
        let found = until(deadline, tokio::time::timeout(patience, room)).await;
        self.0.numbers.waits.record(start.elapsed());
        match found {
            Ok(Ok(found)) => found.map_err(|_| SqlFault::stopped()),
            Ok(Err(_)) => {
                self.0.numbers.add(Count::Late, 1);
                let seconds = patience.as_secs_f64();
                let message = format!(
                    "{WRITE_QUEUE} writes wait for the database, and within {seconds} s there was \
                     no room for another"
                );
                Err(SqlFault::new(Kind::Unavailable, message))
            }
            Err(fault) => {
                self.0.numbers.add(Count::Late, 1);
                Err(fault)
            }
        }
    }
}

impl Drop for BacklogEntry {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.numbers.fall(Level::Waiting, 1);
    }
}
