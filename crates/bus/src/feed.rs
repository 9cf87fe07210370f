//! The queue of changes of one watcher.

use futures_util::Stream;
use runnel_store::{Change, Changes, Error, Reference, Result, WAITING_CHANGES};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A queue of at most [`WAITING_CHANGES`]: changes go in at one end, the other is the watcher's
/// stream.
pub(crate) struct WatchFeed {
    watched: Reference,
    waiting: RefCell<VecDeque<Change>>,
    failure: RefCell<Option<Error>>,
    ended: Cell<bool>,
    waker: Cell<Option<Waker>>,
}

impl WatchFeed {
    /// The feed of one who watches the reference.
    pub(crate) fn new(watched: Reference) -> Rc<Self> {
        Rc::new(WatchFeed {
            watched,
            waiting: RefCell::default(),
            failure: RefCell::default(),
            ended: Cell::new(false),
            waker: Cell::default(),
        })
    }

    /// Queues a change. When the queue is full it is replaced by one `lost`.
    pub(crate) fn push(&self, change: Change) {
        let full = self.waiting.borrow().len() >= WAITING_CHANGES;
        if full {
            self.lose();
        }
        self.waiting.borrow_mut().push_back(change);
        self.wake();
    }

    /// Reports that changes were lost, in place of those that wait.
    pub(crate) fn lose(&self) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.clear();
        waiting.push_back(Change::lost(self.watched.clone()));
        drop(waiting);
        self.wake();
    }

    /// Ends it with an error, after what waits.
    pub(crate) fn fail(&self, error: Error) {
        *self.failure.borrow_mut() = Some(error);
        self.ended.set(true);
        self.wake();
    }

    /// The watcher's stream. Dropping it drops the guard, which ends the watch.
    pub(crate) fn changes(self: &Rc<Self>, guard: impl Sized + 'static) -> Changes {
        Box::pin(FeedChanges { feed: self.clone(), _guard: Box::new(guard) })
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

struct FeedChanges {
    feed: Rc<WatchFeed>,
    _guard: Box<dyn std::any::Any>,
}

impl Stream for FeedChanges {
    type Item = Result<Change>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(change) = self.feed.waiting.borrow_mut().pop_front() {
            return Poll::Ready(Some(Ok(change)));
        }
        if self.feed.ended.get() {
            return Poll::Ready(self.feed.failure.borrow_mut().take().map(Err));
        }
        self.feed.waker.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};
    use runnel_store::{ChangeKind, Kind};

    #[tokio::test(flavor = "current_thread")]
    async fn a_slow_watcher_is_told_once_that_it_missed_something() {
        let feed = WatchFeed::new(Reference::from_path("top"));
        let mut changes = feed.changes(());
        for number in 0..=WAITING_CHANGES {
            feed.push(Change::changed(Reference::from_path(format!("top/{number}"))));
        }
        let lost = changes.next().await.unwrap().unwrap();
        assert_eq!((lost.kind, lost.reference.path()), (ChangeKind::Lost, "top"));
        let last = changes.next().await.unwrap().unwrap();
        assert_eq!(last.reference.path(), format!("top/{WAITING_CHANGES}"));
        assert!(changes.next().now_or_never().is_none());
        feed.fail(Error::new(Kind::Denied, "no more"));
        assert_eq!(changes.next().await.unwrap().err().unwrap().kind, Kind::Denied);
        assert!(changes.next().await.is_none());
    }
}
