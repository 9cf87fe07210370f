//! A bounded pool of threads for work that is too long for the event loop: parsing, hashing.

use crate::{Error, Kind, Result};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Input up to this size is worked on at once; a larger one on a thread of a pool.
pub const AT_ONCE: usize = 256 * 1024;

/// Threads of a pool at most.
const MOST_THREADS: usize = 8;

/// Operations that wait for a thread of the [`DATA_POOL`].
const QUEUE: usize = 256;

/// Parsing and hashing of large input.
pub static DATA_POOL: Pool = Pool::new("large contents", QUEUE);

/// Limit of text parsed concurrently, in bytes: the parsed form is several times as large.
const PARSED: usize = 32 << 20;
/// Bytes for one permit.
const PARSED_UNIT: usize = 1 << 10;

static PARSING: Semaphore = Semaphore::const_new(PARSED / PARSED_UNIT);

/// The right to parse a text, in turn.
pub struct ParsePermit(
    #[expect(dead_code, reason = "held until it is dropped")] SemaphorePermit<'static>,
);

/// Waits until a text of `bytes` bytes may be parsed; the process parses 32 MiB concurrently. Hold
/// the permit while the parsed document is in memory.
///
/// # Errors
/// None in practice.
pub async fn parse_permit(bytes: usize) -> Result<ParsePermit> {
    let units = bytes.min(PARSED).div_ceil(PARSED_UNIT);
    let permit = PARSING.acquire_many(u32::try_from(units).unwrap_or(1)).await;
    permit.map(ParsePermit).map_err(|_| Error::new(Kind::Failed, "no text is parsed any more"))
}

/// A pool: one permit for each thread, half as many as the machine has processors, common to all
/// workers. Work beyond the queue is refused.
pub struct Pool {
    what: &'static str,
    queue: usize,
    waiting: AtomicUsize,
    threads: LazyLock<Semaphore>,
}

/// One slot of the queue, until it is dropped.
struct QueueSlot(&'static Pool);

impl Pool {
    /// A pool with a queue of this length. `what` names the waiting work in the error of a full
    /// queue.
    pub const fn new(what: &'static str, queue: usize) -> Pool {
        Pool {
            what,
            queue,
            waiting: AtomicUsize::new(0),
            threads: LazyLock::new(|| Semaphore::new(pool_threads())),
        }
    }

    /// Runs work on a thread of the pool; without an event loop at once. Work that has begun ends,
    /// also when nothing awaits it any more.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when the queue is full; [`Kind::Failed`] for work that panicked.
    pub async fn run<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Ok(work());
        }
        let slot = self.enter()?;
        let closed = |_| Error::new(Kind::Failed, "the pool is closed");
        let permit = self.threads.acquire().await.map_err(closed)?;
        drop(slot);
        let computed = tokio::task::spawn_blocking(move || {
            // The thread is taken until the work ends, even when its fiber has been cancelled.
            let _permit = permit;
            work()
        });
        computed.await.map_err(|_| Error::new(Kind::Failed, "the computation ended early"))
    }

    /// The same for work that can fail. Of its error the kind, the message, the fields and the detail
    /// arrive.
    ///
    /// # Errors
    /// As [`Pool::run`], and that of the work.
    pub async fn attempt<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let parts = |error: Error| (error.kind, error.message, error.fields, error.detail);
        let done = self.run(move || work().map_err(parts)).await?;
        done.map_err(|(kind, message, fields, detail)| Error {
            fields,
            detail,
            ..Error::new(kind, message)
        })
    }

    fn enter(&'static self) -> Result<QueueSlot> {
        let slot = QueueSlot(self);
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.queue {
            return Ok(slot);
        }
        let message = format!("{} {} are waiting already; try again later", self.queue, self.what);
        Err(Error::new(Kind::Unavailable, message))
    }
}

/// The threads of a pool on this machine.
pub(super) fn pool_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, MOST_THREADS)
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn work_without_an_event_loop_is_done_at_once() {
        use futures_util::FutureExt;
        assert_eq!(DATA_POOL.run(|| 3).now_or_never().unwrap().unwrap(), 3);
    }

    #[tokio::test]
    async fn a_full_queue_refuses() {
        static SMALL: Pool = Pool::new("pieces of work", 2);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        let runs = (0..MOST_THREADS + 3).map(|_| {
            let held = held.clone();
            SMALL.run(move || held.lock().unwrap().recv().is_ok())
        });
        let all = futures_util::future::join_all(runs);
        let refused = async {
            let refused = SMALL.run(|| ()).await.unwrap_err();
            drop(release);
            refused
        };
        let (outcomes, refused) = futures_util::future::join(all, refused).await;
        assert_eq!(refused.kind, Kind::Unavailable);
        assert!(refused.message.starts_with("2 pieces of work are waiting"), "{refused}");
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Ok(false))));
        assert!(SMALL.run(|| true).await.unwrap());
    }

    #[tokio::test]
    async fn an_error_of_the_work_arrives() {
        let work = || Err::<(), _>(Error::new(Kind::Invalid, "wrong").with_field("/a", "missing"));
        let error = DATA_POOL.attempt(work).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Invalid, "wrong"));
        assert_eq!(error.fields[0].pointer, "/a");
        let panicked = DATA_POOL.run(|| panic!("the work is broken")).await;
        assert_eq!(panicked.unwrap_err().kind, Kind::Failed);
    }
}
