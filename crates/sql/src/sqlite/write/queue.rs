//! A bounded queue from event loops to one thread.
//!
//! Queues of libraries end when their last sender is dropped. Here a sender may be a future that
//! waits for capacity and is never polled again, while its thread joins the thread of the queue: so
//! this queue is closed explicitly.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

/// The queue; handles are shared by [`Arc`].
pub(crate) struct ThreadQueue<T> {
    state: Mutex<QueueState<T>>,
    filled: Condvar,
    /// One permit for each free place.
    room: Semaphore,
}

struct QueueState<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

/// What a thread that does not wait for ever finds.
#[derive(Debug, PartialEq)]
pub(crate) enum Next<T> {
    Item(T),
    /// The queue has been closed and is empty.
    Closed,
    /// Nothing came in time.
    Late,
}

/// Why something was not queued.
pub(crate) enum Refused<T> {
    /// There is no room now; [`ThreadQueue::wait`] waits for it.
    Full(T),
    /// The queue has been closed.
    Closed,
}

impl<T> ThreadQueue<T> {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(ThreadQueue {
            state: Mutex::new(QueueState { waiting: VecDeque::new(), closed: false }),
            filled: Condvar::new(),
            room: Semaphore::new(places),
        })
    }

    /// Queues at once, or not. Those that wait already come first.
    pub(crate) fn push(&self, item: T) -> Result<(), Refused<T>> {
        match self.room.try_acquire() {
            Ok(permit) => permit.forget(),
            Err(tokio::sync::TryAcquireError::NoPermits) => return Err(Refused::Full(item)),
            Err(tokio::sync::TryAcquireError::Closed) => return Err(Refused::Closed),
        }
        self.enter(item)
    }

    /// Queues once there is room.
    pub(crate) async fn wait(&self, item: T) -> Result<(), Refused<T>> {
        match self.room.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => return Err(Refused::Closed),
        }
        self.enter(item)
    }

    fn enter(&self, item: T) -> Result<(), Refused<T>> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        state.waiting.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the next, if there is one.
    pub(crate) fn try_next(&self) -> Option<T> {
        let item = self.lock().waiting.pop_front()?;
        self.room.add_permits(1);
        Some(item)
    }

    /// Waits for the next; `None` when the queue has been closed and is empty.
    pub(crate) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                self.room.add_permits(1);
                return Some(item);
            }
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the next until a moment.
    pub(crate) fn next_until(&self, moment: Instant) -> Next<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                self.room.add_permits(1);
                return Next::Item(item);
            }
            if state.closed {
                return Next::Closed;
            }
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Late;
            }
            let waited = self.filled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets nothing in any more; what is in can still be taken.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.room.close();
        self.filled.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.room.is_closed()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test(flavor = "current_thread")]
    async fn it_is_bounded_and_in_order() {
        let queue = ThreadQueue::new(2);
        assert!(queue.push(1).is_ok() && queue.push(2).is_ok());
        assert!(matches!(queue.push(3), Err(Refused::Full(3))));
        let waiting = queue.wait(3);
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(queue.next(), Some(1));
        // The permit belongs to the waiting sender.
        assert!(matches!(queue.push(4), Err(Refused::Full(4))));
        assert!(waiting.await.is_ok());
        assert_eq!(
            (queue.try_next(), queue.try_next(), queue.try_next()),
            (Some(2), Some(3), None)
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn closing_lets_out_and_not_in() {
        let queue = ThreadQueue::new(1);
        assert!(queue.push(1).is_ok());
        let waiting = queue.wait(2);
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        queue.close();
        assert!(matches!(waiting.await, Err(Refused::Closed)));
        assert!(matches!(queue.push(3), Err(Refused::Closed)));
        assert_eq!((queue.next(), queue.next()), (Some(1), None));
        assert_eq!(queue.next_until(Instant::now()), Next::Closed);
        assert_eq!(ThreadQueue::<i32>::new(1).next_until(Instant::now()), Next::Late);
    }
}
