//! Writes that wait, and the task that does them.

use crate::combine::{Retry, RetryOptions};
use crate::{ClientContent, Content, Context, Error, Kind, Reference, Result, Store, Verb};
use futures_util::FutureExt;
use futures_util::future::select;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The delay and the limits of a [`crate::WriteBack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBackOptions {
    /// How long a write waits for others of the same reference before it is done.
    pub delay: Duration,
    /// The maximum number of references with pending writes, at least 1. Beyond it, the writer
    /// waits.
    pub max_pending: usize,
    /// Bytes of pending contents, about. Beyond, the writer waits.
    pub max_size: u64,
    /// How often a write is tried again after a temporary error, before it counts as lost.
    pub retries: u32,
    /// Whether a put asks the source first whether it creates something, and a delete whether there
    /// is something to delete. Without, both answer what they can know: a put of something unknown
    /// that it was there (`false`), a delete that it was (`true`).
    pub exact: bool,
}

impl Default for WriteBackOptions {
    /// After 100 ms, at most 1024 references and 64 MiB, ten tries more.
    fn default() -> Self {
        WriteBackOptions {
            delay: Duration::from_millis(100),
            max_pending: 1024,
            max_size: 64 << 20,
            retries: 10,
            exact: false,
        }
    }
}

/// What a pending write costs beside its bytes.
const OVERHEAD: u64 = 256;

/// The writes that wait for one source.
pub(super) struct PendingWrites {
    pub(super) source: Rc<dyn Store>,
    pub(super) options: WriteBackOptions,
    retry: Retry,
    state: RefCell<PendingState>,
    /// A write was done or lost.
    moved: Notify,
    /// Wakes the task early when a caller waits for the flush.
    hurry: Notify,
}

#[derive(Default)]
struct PendingState {
    /// By path, its parts joined by single slashes.
    writes: HashMap<Box<str>, WaitingWrite>,
    order: VecDeque<Box<str>>,
    in_flight: Option<(Box<str>, WaitingWrite)>,
    bytes: u64,
    /// Numbers of the last write that was added, and of the last that is no longer pending.
    added: u64,
    ended: u64,
    working: bool,
    /// How many wait for everything to be done.
    waiting: usize,
    lost: Option<Error>,
}

/// The latest write of a reference: content, or `None` for a deletion.
struct WaitingWrite {
    reference: Reference,
    content: Option<Content>,
    size: u64,
    number: u64,
    due: Instant,
    /// A client sent the content.
    from_client: Option<ClientContent>,
}

/// The pending state of a reference.
pub(super) enum PendingRead {
    Nothing,
    /// Content, or none where it was deleted.
    Written(Option<Content>),
    /// Something that may be the same, in another spelling.
    Unclear,
}

fn key(reference: &Reference) -> Box<str> {
    reference.segments().collect::<Vec<_>>().join("/").into()
}

fn size(content: Option<&Content>) -> u64 {
    OVERHEAD + content.map_or(0, crate::combine::answers::size)
}

impl PendingState {
    fn at(&self, key: &str) -> Option<&WaitingWrite> {
        let in_flight = self.in_flight.as_ref().filter(|(on, _)| **on == *key);
        self.writes.get(key).or_else(|| in_flight.map(|(_, write)| write))
    }

    fn len(&self) -> usize {
        self.writes.len() + usize::from(self.in_flight.is_some())
    }
}

impl PendingWrites {
    pub(super) fn new(source: Rc<dyn Store>, options: WriteBackOptions) -> Self {
        let pauses = RetryOptions {
            retries: options.retries,
            initial_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(10),
            retry_posts: false,
        };
        let retry = Retry::new(source.clone(), pauses);
        let (state, moved, hurry) = (RefCell::default(), Notify::new(), Notify::new());
        PendingWrites { source, options, retry, state, moved, hurry }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.borrow().len() == 0
    }

    /// Whether a flush would have nothing to do or report.
    pub(super) fn is_clean(&self) -> bool {
        self.is_empty() && self.state.borrow().lost.is_none()
    }

    pub(super) fn find(&self, reference: &Reference) -> PendingRead {
        let state = self.state.borrow();
        if state.len() == 0 {
            return PendingRead::Nothing;
        }
        match state.at(&key(reference)) {
            None => PendingRead::Nothing,
            Some(write) if write.reference == *reference => match &write.content {
                Some(content) => content
                    .share()
                    .map_or(PendingRead::Unclear, |it| PendingRead::Written(Some(it))),
                None => PendingRead::Written(None),
            },
            Some(_) => PendingRead::Unclear,
        }
    }

    /// Whether there is something at a reference, pending or in the source.
    pub(super) async fn exists(&self, reference: &Reference, context: &Context) -> Result<bool> {
        if let PendingRead::Written(written) = self.find(reference) {
            return Ok(written.is_some());
        }
        let context = Context { known: None, ..context.clone() };
        Ok(self.source.get(reference, &context).await?.is_some())
    }

    pub(super) fn is_too_large(&self, content: Option<&Content>) -> bool {
        size(content) > self.options.max_size
    }

    pub(super) fn has_room(&self, reference: &Reference, content: Option<&Content>) -> bool {
        let state = self.state.borrow();
        let known = state.writes.contains_key(&key(reference));
        let room = known || state.len() < self.options.max_pending.max(1);
        room && state.bytes + size(content) <= self.options.max_size
    }

    /// Queues a write. Returns whether a put creates or a delete removes content, if that is known.
    pub(super) fn add(
        self: &Rc<Self>,
        reference: &Reference,
        content: Option<Content>,
        before: Option<bool>,
        from_client: Option<ClientContent>,
    ) -> bool {
        let mut state = self.state.borrow_mut();
        let key = key(reference);
        let there = state.at(&key).map(|write| write.content.is_some()).or(before);
        let answer = match &content {
            Some(_) => !there.unwrap_or(true),
            None => there.unwrap_or(true),
        };
        let size = size(content.as_ref());
        state.bytes += size;
        if let Some(write) = state.writes.get_mut(&key) {
            let old = std::mem::replace(&mut write.size, size);
            write.content = content;
            write.from_client = from_client;
            state.bytes -= old;
        } else {
            state.added += 1;
            let (number, due) = (state.added, Instant::now() + self.options.delay);
            let reference = reference.clone();
            let write = WaitingWrite { reference, content, size, number, due, from_client };
            state.order.push_back(key.clone());
            state.writes.insert(key, write);
        }
        if !std::mem::replace(&mut state.working, true) {
            tokio::task::spawn_local(self.clone().work());
        }
        answer
    }

    /// Performs pending writes until the queue is empty.
    async fn work(self: Rc<Self>) {
        while let Some(due) = self.next_due() {
            if self.state.borrow().waiting == 0 {
                select(pin!(sleep_until(due)), pin!(self.hurry.notified())).await;
            }
            let Some((reference, content, from_client)) = self.take_next() else { continue };
            let context = Context { from_client, ..Context::default() };
            let verb = if content.is_some() { Verb::Put } else { Verb::Delete };
            let write = async {
                match content {
                    Some(content) => self.retry.put(&reference, content, &context).await.map(drop),
                    None => self.retry.delete(&reference, &context).await.map(drop),
                }
            };
            // A panic of the source loses one write, and not those behind it.
            let result = AssertUnwindSafe(write).catch_unwind().await.unwrap_or_else(|_| {
                Err(Error::new(Kind::Failed, "the source failed by an internal error"))
            });
            self.end(result.map_err(|error| error.on(verb, &reference)));
        }
    }

    /// When the next write is to be done; without one the work ends.
    fn next_due(&self) -> Option<Instant> {
        let mut state = self.state.borrow_mut();
        let due = state.order.front().and_then(|key| state.writes.get(key)).map(|write| write.due);
        state.working = due.is_some();
        due
    }

    fn take_next(&self) -> Option<(Reference, Option<Content>, Option<ClientContent>)> {
        let mut state = self.state.borrow_mut();
        let key = state.order.pop_front()?;
        let write = state.writes.remove(&key)?;
        let content = match &write.content {
            Some(content) => Some(content.share()?),
            None => None,
        };
        let (reference, from_client) = (write.reference.clone(), write.from_client.clone());
        state.in_flight = Some((key, write));
        Some((reference, content, from_client))
    }

    fn end(&self, result: Result<()>) {
        let mut state = self.state.borrow_mut();
        if let Some((_, write)) = state.in_flight.take() {
            state.bytes -= write.size;
            state.ended = write.number;
        }
        if let Err(error) = result {
            tracing::error!(%error, detail = error.detail.as_deref(), "a pending write was lost");
            state.lost.get_or_insert(error);
        }
        drop(state);
        self.moved.notify_waiters();
    }

    /// Waits until one write less is pending.
    pub(super) async fn moved(&self) -> Result<()> {
        let _hurry = Hurry::new(self);
        self.moved.notified().await;
        Ok(())
    }

    /// Waits until everything that is pending now is done or lost.
    pub(super) async fn drained(&self) -> Result<()> {
        let last = self.state.borrow().added;
        let _hurry = Hurry::new(self);
        while self.state.borrow().ended < last {
            self.moved.notified().await;
        }
        Ok(())
    }

    /// Drains the queue and returns the error of a lost write.
    pub(super) async fn flush(&self) -> Result<()> {
        self.drained().await?;
        self.state.borrow_mut().lost.take().map_or(Ok(()), Err)
    }
}

/// RAII guard of a waiting caller, during which writes are not delayed.
struct Hurry<'a>(&'a PendingWrites);

impl<'a> Hurry<'a> {
    fn new(pending: &'a PendingWrites) -> Self {
        pending.state.borrow_mut().waiting += 1;
        pending.hurry.notify_waiters();
        Hurry(pending)
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.state.borrow_mut().waiting -= 1;
    }
}
