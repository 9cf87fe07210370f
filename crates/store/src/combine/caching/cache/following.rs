//! A cache's watch of its source.

use crate::{ChangeKind, Changes, Context, Kind, Reference, Result, Store};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Step, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// How far a write reaches. Everything above is forgotten in both cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The reference.
    AndAbove,
    /// The reference and everything below it.
    AndBelow,
}

impl Extent {
    /// The extent of a reported change.
    pub(super) fn of(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Changed => Extent::AndAbove,
            ChangeKind::Deleted | ChangeKind::Lost => Extent::AndBelow,
        }
    }
}

/// How long after a watch has ended the next one begins.
const PAUSE: Duration = Duration::from_secs(1);

/// A watch of the whole source, polled on each use of the cache. It needs no task: changes are
/// queued in the watch, and a read without changes costs one poll.
pub(super) enum SourceFollower {
    /// No watch until then.
    From(Instant),
    /// The source has not answered yet.
    Starting(Pin<Box<dyn Future<Output = Result<Changes>>>>),
    /// The source reports every change.
    On(Changes),
    /// The source does not report changes.
    Never,
}

impl SourceFollower {
    pub(super) fn new() -> Self {
        SourceFollower::From(Instant::now())
    }

    /// Whether the source reports changes, so that caching is safe.
    pub(super) fn is_on(&self) -> bool {
        matches!(self, SourceFollower::On(_))
    }

    /// The next change since the last call; a change of everything after a watch began or ended.
    pub(super) fn next(&mut self, source: &dyn Store) -> Option<(Reference, Extent)> {
        let everything = Some((Reference::default(), Extent::AndBelow));
        // No waker is needed: the next use of the cache polls again.
        let mut step = Step::from_waker(Waker::noop());
        loop {
            match self {
                SourceFollower::Never => return None,
                SourceFollower::From(moment) if Instant::now() < *moment => return None,
                SourceFollower::From(_) => {
                    let watch = source.watch(&Reference::default(), &Context::default());
                    *self = SourceFollower::Starting(Box::pin(watch));
                }
                SourceFollower::Starting(watch) => match watch.as_mut().poll(&mut step) {
                    Poll::Pending => return None,
                    Poll::Ready(Ok(changes)) => {
                        *self = SourceFollower::On(changes);
                        return everything;
                    }
                    Poll::Ready(Err(error)) if error.kind == Kind::NotAllowed => {
                        tracing::warn!(
                            "the cache of {} keeps nothing, because its source tells of no changes",
                            source.describe()
                        );
                        *self = SourceFollower::Never;
                    }
                    Poll::Ready(Err(_)) => *self = SourceFollower::From(Instant::now() + PAUSE),
                },
                SourceFollower::On(changes) => match changes.as_mut().poll_next(&mut step) {
                    Poll::Pending => return None,
                    Poll::Ready(Some(Ok(change))) => {
                        return Some((change.reference, Extent::of(change.kind)));
                    }
                    Poll::Ready(Some(Err(_)) | None) => {
                        *self = SourceFollower::From(Instant::now() + PAUSE);
                        return everything;
                    }
                },
            }
        }
    }
}
