//! The lock of the database file, which one process has for each transaction that writes.

use crate::sqlite::fault::SqlResult;
use rusqlite::Connection;
use std::time::{Duration, Instant};

/// The pause of a writer that waits for the lock, on average. The pauses of SQLite grow to 100 ms, and a
/// writer that commits all the time is without the lock for microseconds only: with them another
/// process waited for seconds.
const PAUSE: Duration = Duration::from_millis(1);

/// Begins a transaction that writes. Waits for writers of other processes, at most for `patience`.
///
/// # Errors
/// The lock was not free in time, or the fault of the database.
pub(crate) fn begin_immediate(connection: &Connection, patience: Duration) -> SqlResult<()> {
    let begin = || -> SqlResult<()> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(())
    };
    connection.busy_timeout(Duration::ZERO)?;
    let started = Instant::now();
    let begun = loop {
        match begin() {
            Err(fault) if fault.is_busy() && started.elapsed() < patience => {
                // Of different lengths, so that waiting processes do not look at the same moments.
                let random = u64::from(started.elapsed().subsec_nanos()) % 1_000_000;
                std::thread::sleep(PAUSE / 2 + Duration::from_nanos(random));
            }
            begun => break begun,
        }
    };
    connection.busy_timeout(patience)?;
    begun
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn open(path: &std::path::Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection
    }

    #[test]
    fn a_writer_that_commits_all_the_time_starves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        open(&path).execute_batch("create table t (n)").unwrap();
        let patience = Duration::from_secs(60);
        let barrier = Barrier::new(2);
        // Each commits until the other one has 200 commits, too.
        let counts = [0, 1].map(|_| std::sync::atomic::AtomicU32::new(0));
        let write = |own: usize| {
            let connection = open(&path);
            barrier.wait();
            let load = |at: usize| counts[at].load(std::sync::atomic::Ordering::Relaxed);
            while load(0) < 200 || load(1) < 200 {
                begin_immediate(&connection, patience).unwrap();
                connection.execute("insert into t values (1)", []).unwrap();
                connection.execute_batch("commit").unwrap();
                counts[own].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            load(own)
        };
        let done = std::thread::scope(|scope| {
            let other = scope.spawn(|| write(1));
            [write(0), other.join().unwrap()]
        });
        // One that gets the lock by chance alone is not fifty times slower.
        assert!(done.iter().all(|&count| count < 10_000), "{done:?}");
    }

    #[test]
    fn the_wait_ends_with_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let (holder, waiting) = (open(&path), open(&path));
        holder.execute_batch("create table t (n); begin immediate").unwrap();
        let fault = begin_immediate(&waiting, Duration::from_millis(20)).unwrap_err();
        assert!(fault.is_busy());
        holder.execute_batch("commit").unwrap();
        begin_immediate(&waiting, Duration::ZERO).unwrap();
    }
}
