//! The scheduler of fibers: least attained service first, and short requests before long ones.
//!
//! Under light load every fiber runs at once, at the cost of two readings of the clock. Once long fibers
//! have used up a turn of the event loop, runnable fibers queue. In each further turn, after the loop has
//! polled its sockets, a task grants turns to the head of the queue. So a request that arrives while
//! others compute is read within one time slice, and overtakes them. Queueing ends with the last long
//! fiber: a thousand short ones gain nothing by waiting for each other.
//!
//! The queue is ordered by *due times*: a fiber is due after [`PATIENCE`] times its running time, or, when
//! it is new, the usual running time of requests like it. That is shortest-job-first with least attained
//! service (Kleinrock, *Queueing Systems*, volume 2, section 4.7). Due times pass, so no fiber starves: it
//! is overtaken for at most [`LONGEST_PATIENCE`].
//!
//! For example, a new fiber of a request that usually runs for 0.1 ms is due after 3.2 ms; a fiber that has
//! run for 2 ms is due after 64 ms, and lets the first pass.

use runnel_store::Verb;
use rustc_hash::FxHasher;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Running time of long fibers in one turn of the event loop before runnable fibers queue.
const TURN: Duration = Duration::from_micros(250);
/// Long fibers that use up no turn within this time leave enough room. Without it a few long runs a
/// second, as in collections of garbage, would add up.
const WINDOW: Duration = Duration::from_millis(1);
/// A fiber that runs shorter than this uses up nothing of a turn: queueing costs more than it does.
const SHORT: Duration = Duration::from_micros(20);
/// How many times its own length a fiber can be made to wait by shorter ones.
const PATIENCE: u32 = 32;
/// The longest time that a fiber can be made to wait by shorter ones.
const LONGEST_PATIENCE: Duration = Duration::from_secs(2);
/// Kinds of requests in the table of running times. Two with the same hash share an entry, which
/// changes the order of fibers and nothing else.
const KINDS: usize = 1024;

/// Nanoseconds by which one longer run may raise the usual running time of a very short kind.
const LEAST_STEP: u32 = 1000;

/// The run queue of one isolate.
pub(crate) struct Scheduler {
    line: RefCell<BinaryHeap<QueuedFiber>>,
    /// What long fibers have used since the last turn began, or in this window.
    used: Cell<Duration>,
    /// When the first of them ended.
    since: Cell<Instant>,
    /// Queued fibers that are expected to run long.
    long: Cell<usize>,
    /// Runnable fibers queue.
    busy: Cell<bool>,
    /// Fibers that run inside each other: a verb of a fiber may run another one.
    depth: Cell<u32>,
    next: Cell<u64>,
    /// How long requests of a kind usually run, in nanoseconds.
    usual: Box<[Cell<u32>; KINDS]>,
}

/// What kind of request a fiber answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestKind(u16);

impl RequestKind {
    /// Requests with the same verb, the same first part of the path and as many parts are alike.
    pub(crate) fn new(verb: Verb, path: &str) -> RequestKind {
        let is_slash = |byte: &u8| *byte == b'/';
        let path = path.trim_start_matches('/').as_bytes();
        let end = path.iter().position(is_slash).unwrap_or(path.len());
        let (first, rest) = path.split_at(end);
        let mut hasher = FxHasher::default();
        hasher.write_u8(verb as u8);
        hasher.write(first);
        hasher.write_usize(rest.iter().filter(|byte| is_slash(byte)).count());
        // The upper bits of this hash are its best.
        RequestKind((hasher.finish() >> 54) as u16)
    }
}

/// A queued fiber's right to run.
pub(crate) struct Ticket {
    granted: Cell<bool>,
    waker: RefCell<Waker>,
}

struct QueuedFiber {
    due: Instant,
    number: u64,
    expected: Duration,
    /// Dropped by a fiber that was cancelled.
    ticket: std::rc::Weak<Ticket>,
}

impl Scheduler {
    pub(crate) fn new() -> Scheduler {
        Scheduler {
            line: RefCell::default(),
            used: Cell::default(),
            since: Cell::new(Instant::now()),
            long: Cell::new(0),
            busy: Cell::new(false),
            depth: Cell::new(0),
            next: Cell::new(0),
            usual: Box::new([const { Cell::new(0) }; KINDS]),
        }
    }

    /// The length of the queue.
    pub(crate) fn length(&self) -> usize {
        self.line.borrow().len()
    }

    /// Whether a runnable fiber has to queue. A fiber inside another never has to.
    pub(crate) fn must_wait(&self) -> bool {
        self.busy.get() && self.depth.get() == 0
    }

    /// Whether a fiber runs now, so that the next to begin runs inside it.
    pub(crate) fn is_within(&self) -> bool {
        self.depth.get() > 0
    }

    /// Polls a future before it is awaited, unless fibers queue. The task that awaits it then polls it
    /// at once: no wake-up is lost.
    pub(crate) fn at_once<T>(&self, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        match self.must_wait() {
            true => Poll::Pending,
            false => poll(&mut Context::from_waker(Waker::noop())),
        }
    }

    /// A fiber begins to run.
    pub(crate) fn begin(&self) -> Instant {
        self.depth.set(self.depth.get() + 1);
        Instant::now()
    }

    /// It has ended, waits, or was interrupted. Answers how long it ran.
    pub(crate) fn end(this: &Rc<Scheduler>, began: Instant) -> Duration {
        let ran = began.elapsed();
        this.depth.set(this.depth.get() - 1);
        if ran > SHORT && this.depth.get() == 0 {
            let used = this.use_up(ran, began + ran);
            if used > TURN && !this.busy.get() && tokio::runtime::Handle::try_current().is_ok() {
                this.busy.set(true);
                tokio::task::spawn_local(take_turns(TurnTaker(this.clone())));
            }
        }
        ran
    }

    /// A long fiber has run. Answers what long ones have used.
    fn use_up(&self, ran: Duration, now: Instant) -> Duration {
        if !self.busy.get() && now.duration_since(self.since.get()) > WINDOW {
            self.since.set(now);
            self.used.set(Duration::ZERO);
        }
        let used = self.used.get() + ran;
        self.used.set(used);
        used
    }

    /// Records how long a request of a kind ran. A single run says little, since the system may have
    /// run another process meanwhile: each changes the usual time by half at most.
    pub(crate) fn learn(&self, kind: RequestKind, ran: Duration) {
        let cell = &self.usual[usize::from(kind.0) % KINDS];
        let ran = u32::try_from(ran.as_nanos()).unwrap_or(u32::MAX);
        let before = cell.get();
        let after = match ran.checked_sub(before) {
            Some(more) => before.saturating_add((more / 8).min(before / 2 + LEAST_STEP)),
            None => before - (before - ran) / 8,
        };
        cell.set(after);
    }

    /// How long requests of a kind usually run.
    fn usual(&self, kind: RequestKind) -> Duration {
        Duration::from_nanos(self.usual[usize::from(kind.0) % KINDS].get().into())
    }

    /// Queues a fiber; its ticket wakes it when it may run.
    pub(crate) fn enter(
        &self,
        ran: Duration,
        kind: Option<RequestKind>,
        context: &Context<'_>,
    ) -> Rc<Ticket> {
        let ticket = Rc::new(Ticket {
            granted: Cell::new(false),
            waker: RefCell::new(context.waker().clone()),
        });
        let expected = kind.map_or(ran, |kind| self.usual(kind).max(ran));
        let number = self.next.get();
        self.next.set(number + 1);
        if expected > SHORT {
            self.long.set(self.long.get() + 1);
        }
        self.line.borrow_mut().push(QueuedFiber {
            due: Instant::now() + (expected * PATIENCE).min(LONGEST_PATIENCE),
            number,
            expected,
            ticket: Rc::downgrade(&ticket),
        });
        ticket
    }

    /// Grants turns to the head of the queue, as many as fill a turn. Answers whether there was any.
    fn grant(&self) -> bool {
        let mut expected = Duration::ZERO;
        let mut any = false;
        while expected < TURN {
            let Some(first) = self.line.borrow_mut().pop() else { break };
            if first.expected > SHORT {
                self.long.set(self.long.get() - 1);
            }
            let Some(ticket) = first.ticket.upgrade() else { continue };
            any = true;
            expected += first.expected.max(Duration::from_micros(1));
            ticket.granted.set(true);
            ticket.waker.borrow().wake_by_ref();
        }
        any
    }
}

impl Ticket {
    /// Whether the fiber may run; if not, it is woken later.
    pub(crate) fn is_granted(&self, context: &Context<'_>) -> bool {
        if !self.granted.get() {
            self.waker.borrow_mut().clone_from(context.waker());
        }
        self.granted.get()
    }
}

/// Grants turns in each turn of the event loop until no long fiber waits or has run.
async fn take_turns(turns: TurnTaker) {
    loop {
        // Comes back after the loop has looked at its sockets and timers.
        tokio::task::yield_now().await;
        let used = turns.0.used.replace(Duration::ZERO);
        turns.0.grant();
        // Short requests alone need no queue, however many arrive.
        if used <= TURN && turns.0.long.get() == 0 {
            return;
        }
    }
}

/// RAII guard of the granting task, which may end with the event loop: all queued fibers may run then.
struct TurnTaker(Rc<Scheduler>);

impl Drop for TurnTaker {
    fn drop(&mut self) {
        self.0.busy.set(false);
        while self.0.grant() {}
    }
}

impl PartialEq for QueuedFiber {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueuedFiber {}

impl PartialOrd for QueuedFiber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueuedFiber {
    /// The greatest element of the heap is the one due first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due).then(other.number.cmp(&self.number))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn context() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn the_one_that_has_run_least_is_first() {
        let scheduler = Scheduler::new();
        let long = scheduler.enter(Duration::from_millis(40), None, &context());
        let short = scheduler.enter(Duration::from_millis(1), None, &context());
        assert!(scheduler.grant());
        assert!(short.is_granted(&context()) && !long.is_granted(&context()));
        assert!(scheduler.grant());
        assert!(long.is_granted(&context()));
        assert!(!scheduler.grant());
    }

    #[test]
    fn a_request_like_others_that_ran_long_lets_short_ones_pass() {
        let scheduler = Scheduler::new();
        let (slow, fast) =
            (RequestKind::new(Verb::Get, "fib/25"), RequestKind::new(Verb::Get, "hi"));
        assert_eq!(slow, RequestKind::new(Verb::Get, "/fib/30"));
        for _ in 0..50 {
            scheduler.learn(slow, Duration::from_millis(3));
            scheduler.learn(fast, Duration::from_micros(3));
        }
        let first = scheduler.enter(Duration::ZERO, Some(slow), &context());
        let second = scheduler.enter(Duration::ZERO, Some(fast), &context());
        assert!(scheduler.grant());
        assert!(second.is_granted(&context()));
        // There was room for the first one as well: the short one fills no turn.
        assert!(first.is_granted(&context()));
    }

    #[test]
    fn nobody_waits_for_one_that_was_cancelled() {
        let scheduler = Scheduler::new();
        drop(scheduler.enter(Duration::ZERO, None, &context()));
        assert!(!scheduler.grant());
    }

    #[test]
    fn one_run_changes_little_of_what_is_usual() {
        let scheduler = Scheduler::new();
        let kind = RequestKind::new(Verb::Get, "hi");
        for _ in 0..50 {
            scheduler.learn(kind, Duration::from_micros(4));
        }
        let usual = scheduler.usual(kind);
        scheduler.learn(kind, Duration::from_millis(3));
        assert!(scheduler.usual(kind) < usual * 2);
        for _ in 0..100 {
            scheduler.learn(kind, Duration::from_millis(3));
        }
        assert!(scheduler.usual(kind) > Duration::from_millis(2));
    }

    async fn turns(count: usize) {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn the_line_ends_with_the_last_long_one() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.build_local(tokio::runtime::LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let scheduler = Rc::new(Scheduler::new());
            let runs = |time: Duration| {
                let began = scheduler.begin();
                Scheduler::end(&scheduler, began.checked_sub(time).unwrap());
            };
            runs(TURN * 2);
            assert!(scheduler.must_wait());
            let short: Vec<_> =
                (0..1000).map(|_| scheduler.enter(SHORT, None, &context())).collect();
            let long = scheduler.enter(TURN, None, &context());
            turns(4).await;
            assert!(scheduler.must_wait() && !long.is_granted(&context()));
            // A cancelled fiber keeps the queue only until its turn.
            drop(long);
            turns(100).await;
            assert!(!scheduler.must_wait());
            assert!(short.iter().all(|ticket| ticket.is_granted(&context())));
            runs(TURN * 2);
            let short: Vec<_> =
                (0..1000).map(|_| scheduler.enter(SHORT, None, &context())).collect();
            turns(4).await;
            assert!(!scheduler.must_wait());
            assert!(short.iter().all(|ticket| ticket.is_granted(&context())));
        });
    }

    #[test]
    fn few_long_runs_begin_no_line() {
        let scheduler = Rc::new(Scheduler::new());
        let start = Instant::now();
        for run in 1..100 {
            let used = scheduler.use_up(TURN / 5, start + WINDOW * 2 * run);
            assert_eq!(used, TURN / 5);
        }
        assert!((1..10).any(|_| scheduler.use_up(TURN / 5, start + WINDOW * 200) > TURN));
    }
}
