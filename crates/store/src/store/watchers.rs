//! Telling watchers of changes, from any thread.

use crate::{Change, ChangeKind, Changes, Error, Kind, Reference, Result, WAITING_CHANGES};
use futures_util::Stream;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// A publisher of changes: a store publishes, watchers subscribe. Clones share the subscriptions
/// and may be used from other threads: a database's writer publishes, workers watch.
///
/// - A change reaches the watchers of its reference and of every path above it. References are
///   compared by path segments; schemes, queries and doubled slashes make no difference.
/// - Each watcher has a queue of [`WAITING_CHANGES`]. On overflow, one [`ChangeKind::Lost`] at the
///   watched reference replaces the queued changes, and later changes follow it. Consecutive
///   changes of one reference are merged into the last.
/// - Publishing reads one counter if there are no watchers, and otherwise does one lookup per path
///   segment. Watchers of other paths cost nothing and are not woken.
/// - Changes carry no content, which cannot cross threads: a get returns it.
/// - The watchers' streams end when the last clone is dropped.
#[derive(Clone, Default)]
pub struct Watchers {
    shared: Arc<WatcherList>,
}

#[derive(Default)]
struct WatcherList {
    /// The number of watchers, read first so that publishing is free without any.
    watching: AtomicUsize,
    /// By the path that they watch, its parts joined by single slashes.
    queues: Mutex<BTreeMap<Box<str>, Vec<Arc<ChangeQueue>>>>,
}

/// What waits for one watcher.
struct ChangeQueue {
    /// The watched reference, as the watcher wrote it.
    reference: Reference,
    waiting: Mutex<WaitingChange>,
}

/// A change in a queue.
struct QueuedChange {
    kind: ChangeKind,
    reference: Reference,
    event: Option<&'static str>,
}

#[derive(Default)]
struct WaitingChange {
    changes: VecDeque<QueuedChange>,
    waker: Option<Waker>,
    ended: bool,
    /// The error that ended the watch, reported once.
    fault: Option<(Kind, String)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data behind these locks is always consistent, so a panic elsewhere does not invalidate
    // it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchers {
    /// A publisher without watchers.
    pub fn new() -> Self {
        Watchers::default()
    }

    /// Whether there is any watcher, for stores with a cost of reporting.
    pub fn is_watched(&self) -> bool {
        self.shared.watching.load(Ordering::Acquire) > 0
    }

    /// Watches a reference and what lies below it, from now on.
    pub fn watch(&self, reference: &Reference) -> Changes {
        let path = normal(reference.path());
        let queue =
            Arc::new(ChangeQueue { reference: reference.clone(), waiting: Mutex::default() });
        let mut queues = locked(&self.shared.queues);
        queues.entry(path.as_str().into()).or_default().push(queue.clone());
        self.shared.watching.fetch_add(1, Ordering::Release);
        drop(queues);
        Box::pin(ChangeWatcher { queue, path, shared: Arc::downgrade(&self.shared) })
    }

    /// Publishes new content at a reference.
    pub fn changed(&self, reference: &Reference) {
        self.publish(ChangeKind::Changed, reference);
    }

    /// Publishes the deletion of a reference.
    pub fn deleted(&self, reference: &Reference) {
        self.publish(ChangeKind::Deleted, reference);
    }

    /// Reports an unspecified change at the reference or below it. Watchers below it receive it
    /// too, each at its own reference.
    pub fn lost(&self, reference: &Reference) {
        self.publish(ChangeKind::Lost, reference);
    }

    /// Publishes a change of any kind.
    pub fn publish(&self, kind: ChangeKind, reference: &Reference) {
        self.tell(kind, reference, None);
    }

    /// Publishes a change with what caused it. Such changes are not merged.
    pub fn publish_event(&self, kind: ChangeKind, reference: &Reference, event: &'static str) {
        self.tell(kind, reference, Some(event));
    }

    fn tell(&self, kind: ChangeKind, reference: &Reference, event: Option<&'static str>) {
        if !self.is_watched() {
            return;
        }
        let path = normal(reference.path());
        let mut wakers = Vec::new();
        let queues = locked(&self.shared.queues);
        for above in at_and_above(&path) {
            for queue in queues.get(above).into_iter().flatten() {
                wakers.extend(queue.push(kind, reference, event));
            }
        }
        if kind == ChangeKind::Lost {
            for queue in below(&queues, &path) {
                wakers.extend(queue.push(kind, &queue.reference, None));
            }
        }
        drop(queues);
        // A task that is woken may end, and a watcher with it, which takes the lock.
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends every watch with an error, once what waits is read. The message is for people.
    pub fn fail(&self, kind: Kind, message: &str) {
        self.shared.end(Some((kind, message)));
    }
}

impl WatcherList {
    fn end(&self, fault: Option<(Kind, &str)>) {
        let queues = std::mem::take(&mut *locked(&self.queues));
        self.watching.store(0, Ordering::Release);
        for queue in queues.into_values().flatten() {
            let mut waiting = locked(&queue.waiting);
            waiting.ended = true;
            waiting.fault = fault.map(|(kind, message)| (kind, message.to_string()));
            let waker = waiting.waker.take();
            drop(waiting);
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for WatcherList {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl ChangeQueue {
    /// Queues a change and returns the watcher's waker.
    fn push(
        &self,
        kind: ChangeKind,
        reference: &Reference,
        event: Option<&'static str>,
    ) -> Option<Waker> {
        let mut waiting = locked(&self.waiting);
        let full = waiting.changes.len() == WAITING_CHANGES;
        // A queued loss absorbs further losses; a change after a loss is queued.
        let is_same = |last: &QueuedChange| {
            last.reference == *reference
                && (last.kind != ChangeKind::Lost || kind == last.kind)
                && last.event.is_none()
                && event.is_none()
        };
        match waiting.changes.back_mut() {
            Some(last) if is_same(last) => last.kind = kind,
            _ if full => {
                waiting.changes.clear();
                let (kind, reference) = (ChangeKind::Lost, self.reference.clone());
                waiting.changes.push_back(QueuedChange { kind, reference, event: None });
            }
            _ => {
                let reference = reference.clone();
                waiting.changes.push_back(QueuedChange { kind, reference, event });
            }
        }
        waiting.waker.take()
    }
}

/// The watcher's end of a queue. Dropping it ends the watch.
struct ChangeWatcher {
    queue: Arc<ChangeQueue>,
    path: String,
    shared: Weak<WatcherList>,
}

impl Stream for ChangeWatcher {
    type Item = Result<Change>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut waiting = locked(&self.queue.waiting);
        if let Some(QueuedChange { kind, reference, event }) = waiting.changes.pop_front() {
            return Poll::Ready(Some(Ok(Change { kind, reference, content: None, event })));
        }
        if let Some((kind, message)) = waiting.fault.take() {
            let error = Error::new(kind, message).on(crate::Verb::Watch, &self.queue.reference);
            return Poll::Ready(Some(Err(error)));
        }
        if waiting.ended {
            return Poll::Ready(None);
        }
        waiting.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for ChangeWatcher {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut queues = locked(&shared.queues);
        let Some(same) = queues.get_mut(self.path.as_str()) else { return };
        let before = same.len();
        same.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
        let gone = before - same.len();
        if same.is_empty() {
            queues.remove(self.path.as_str());
        }
        shared.watching.fetch_sub(gone, Ordering::Release);
    }
}

/// A path as its parts with single slashes between them.
fn normal(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if !normal.is_empty() {
            normal.push('/');
        }
        normal.push_str(part);
    }
    normal
}

/// `a/b`, `a` and the root for `a/b`.
fn at_and_above(path: &str) -> impl Iterator<Item = &str> {
    let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    let root = (!path.is_empty()).then_some("");
    std::iter::once(path).chain(above).chain(root)
}

/// The watchers below a path.
fn below<'a>(
    queues: &'a BTreeMap<Box<str>, Vec<Arc<ChangeQueue>>>,
    path: &str,
) -> impl Iterator<Item = &'a Arc<ChangeQueue>> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let from = (Bound::Excluded(prefix.as_str()), Bound::Unbounded);
    let range = queues.range::<str, _>(from);
    range.take_while(move |(path, _)| path.starts_with(&prefix)).flat_map(|(_, queues)| queues)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};
    use std::task::Wake;

    fn at(path: &str) -> Reference {
        Reference::from_path(path)
    }

    /// What waits, as `changed a/b`.
    fn waiting(changes: &mut Changes) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(Some(change)) = changes.next().now_or_never() {
            let change = change.unwrap();
            told.push(format!("{} {}", change.kind.name(), change.reference.path()));
        }
        told
    }

    #[test]
    fn those_at_and_above_are_told_and_those_beside_are_not() {
        let watchers = Watchers::new();
        let mut all = watchers.watch(&at(""));
        let mut above = watchers.watch(&at("/a/"));
        let mut here = watchers.watch(&at("a//b"));
        let mut beside = watchers.watch(&at("a/bc"));
        let mut below = watchers.watch(&at("a/b/c"));
        watchers.changed(&at("/a/b"));
        watchers.deleted(&at("a/b/d"));
        let both = ["changed /a/b", "deleted a/b/d"];
        assert_eq!(waiting(&mut all), both);
        assert_eq!(waiting(&mut above), both);
        assert_eq!(waiting(&mut here), both);
        assert!(waiting(&mut beside).is_empty() && waiting(&mut below).is_empty());
    }

    #[test]
    fn what_is_lost_is_told_below_as_well() {
        let watchers = Watchers::new();
        let mut above = watchers.watch(&at("a"));
        let mut below = watchers.watch(&at("/a/b/c"));
        let mut beside = watchers.watch(&at("a/bc"));
        watchers.lost(&at("a/b"));
        assert_eq!(waiting(&mut above), ["lost a/b"]);
        assert_eq!(waiting(&mut below), ["lost /a/b/c"]);
        assert!(waiting(&mut beside).is_empty());
    }

    #[test]
    fn a_full_queue_becomes_one_loss() {
        let watchers = Watchers::new();
        let mut slow = watchers.watch(&at("a"));
        for number in 0..10 * WAITING_CHANGES {
            watchers.changed(&at(&format!("a/{number}")));
        }
        let told = waiting(&mut slow);
        assert!(told.len() <= WAITING_CHANGES);
        assert_eq!(told[0], "lost a");
        assert!(told[1..].iter().all(|change| change.starts_with("changed a/")));
        assert_eq!(told.last().unwrap(), &format!("changed a/{}", 10 * WAITING_CHANGES - 1));
    }

    #[test]
    fn changes_of_one_reference_in_a_row_wait_as_one() {
        let watchers = Watchers::new();
        let mut changes = watchers.watch(&at(""));
        for _ in 0..3 {
            watchers.changed(&at("a"));
        }
        watchers.deleted(&at("a"));
        watchers.changed(&at("b"));
        watchers.changed(&at("a"));
        assert_eq!(waiting(&mut changes), ["deleted a", "changed b", "changed a"]);
        watchers.lost(&at("a"));
        watchers.changed(&at("a"));
        assert_eq!(waiting(&mut changes), ["lost a", "changed a"]);
    }

    #[test]
    fn events_wait_each_for_itself_up_to_the_bound() {
        let watchers = Watchers::new();
        let mut changes = watchers.watch(&at(""));
        watchers.publish_event(ChangeKind::Changed, &at("a"), "put");
        watchers.publish_event(ChangeKind::Changed, &at("a"), "put");
        watchers.changed(&at("a"));
        let mut events = Vec::new();
        while let Some(Some(change)) = changes.next().now_or_never() {
            events.push(change.unwrap().event);
        }
        assert_eq!(events, [Some("put"), Some("put"), None]);
        for _ in 0..=WAITING_CHANGES {
            watchers.publish_event(ChangeKind::Changed, &at("a"), "put");
        }
        assert_eq!(waiting(&mut changes), ["lost "]);
    }

    #[test]
    fn dropping_ends_the_watch_and_the_store_ends_the_stream() {
        let watchers = Watchers::new();
        let first = watchers.watch(&at("a"));
        let mut second = watchers.watch(&at("a"));
        assert!(watchers.is_watched());
        drop(first);
        assert!(watchers.is_watched());
        watchers.changed(&at("a"));
        drop(watchers);
        assert!(second.next().now_or_never().unwrap().is_some());
        assert!(second.next().now_or_never().unwrap().is_none());
        let watchers = Watchers::new();
        drop(watchers.watch(&at("a")));
        assert!(!watchers.is_watched());
        assert!(locked(&watchers.shared.queues).is_empty());
    }

    #[test]
    fn an_error_is_the_last_that_is_told() {
        let watchers = Watchers::new();
        let mut changes = watchers.watch(&at("a"));
        watchers.changed(&at("a"));
        watchers.fail(Kind::Unavailable, "the database has gone");
        assert!(changes.next().now_or_never().unwrap().unwrap().is_ok());
        let error = changes.next().now_or_never().unwrap().unwrap().err().unwrap();
        assert_eq!(error.to_string(), "watch a: the database has gone");
        assert!(changes.next().now_or_never().unwrap().is_none());
        assert!(!watchers.is_watched());
    }

    #[test]
    fn another_thread_wakes_only_those_concerned() {
        #[derive(Default)]
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let watchers = Watchers::new();
        let counts = ["a", "b"].map(|path| {
            let mut changes = watchers.watch(&at(path));
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            assert!(changes.as_mut().poll_next(&mut Context::from_waker(&waker)).is_pending());
            (changes, count)
        });
        let publisher = watchers.clone();
        std::thread::spawn(move || publisher.changed(&at("a/x"))).join().unwrap();
        let woken = counts.map(|(_, count)| count.0.load(Ordering::SeqCst));
        assert_eq!(woken, [1, 0]);
    }
}
