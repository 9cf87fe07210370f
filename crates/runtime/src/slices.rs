//! Long native work in time slices: after each slice of an operation other fibers run.
//!
//! Such an operation is a state machine with a `step`. It queues like a fiber
//! ([`crate::fibers::scheduler`]), so that many operations together delay others no longer than one. Its
//! partial result lies on a stack of its own ([`Workspace`]), which is released on drop: a cancelled
//! fiber ends its operation that way.
//!
//! - [`build`]: objects of the engine from a parsed document or a value.
//! - [`walk`]: traversal of an object of the engine, for JSON ([`json`]) and plain data ([`data`]).

pub(crate) mod build;
pub(crate) mod content;
pub(crate) mod data;
pub(crate) mod json;
mod shared_keys;
pub(crate) mod walk;

use crate::engine::stack::Stack;
use crate::engine::thread::EngineThread;
use crate::engine::watchdog::SLICE;
use crate::fibers::fault::Fault;
use crate::fibers::scheduler::{Scheduler, Ticket};
use crate::fibers::tidying;
use crate::isolate::Isolate;
use runnel_store::{Context, Error, Kind};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Units of work between two readings of the clock: some ten microseconds.
const UNITS: u32 = 128;
/// Bytes of text that count as one unit.
const UNIT_BYTES: usize = 256;
/// The time of the first slice: most operations end within it.
const AT_ONCE: Duration = Duration::from_millis(1);
/// How long a request waits for memory of others, and between two attempts.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The time of one slice.
pub(crate) struct Slice {
    until: Option<Instant>,
    units: u32,
}

impl Slice {
    fn lasting(time: Duration) -> Slice {
        Slice { until: Some(Instant::now() + time), units: UNITS }
    }

    /// The first slice of an operation. Where the program cannot wait it is the only one, and endless.
    pub(crate) fn first(stack: Stack) -> Slice {
        match stack.can_wait() {
            true => Slice::lasting(AT_ONCE),
            false => Slice::endless(),
        }
    }

    /// A slice without an end, for work that cannot wait.
    pub(crate) fn endless() -> Slice {
        Slice { until: None, units: UNITS }
    }

    /// Counts one unit of work and some bytes of text. Answers whether the slice is over.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        let units = 1 + u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX - 1);
        self.units = self.units.saturating_sub(units);
        if self.units > 0 {
            return false;
        }
        self.units = UNITS;
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Runs an operation to its end: `step` answers `None` until it is done.
pub(crate) async fn run<T>(
    isolate: &Isolate,
    mut step: impl FnMut(&mut Slice) -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let mut ran = Duration::ZERO;
    loop {
        room(isolate).await?;
        turn(isolate.scheduler(), ran).await;
        let began = isolate.scheduler().begin();
        let outcome = step(&mut Slice::lasting(SLICE));
        ran += Scheduler::end(isolate.scheduler(), began);
        tidying::after_run(isolate);
        if let Some(value) = outcome? {
            return Ok(value);
        }
        tokio::task::yield_now().await;
    }
}

/// Waits for a collection where the engine is over its limit.
async fn room(isolate: &Isolate) -> Result<(), Error> {
    while crate::engine::memory::is_over() {
        if isolate.collector().relieve(isolate.stack()) {
            return match crate::engine::memory::is_exhausted() {
                true => Err(out_of_memory(isolate)),
                false => Ok(()),
            };
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The out-of-memory error of native work.
fn out_of_memory(isolate: &Isolate) -> Error {
    Fault::of_engine(&String::from_utf8_lossy(crate::engine::memory::MESSAGE)).into_error(isolate)
}

/// Charges a request for objects of the engine before they are made. It waits up to [`PATIENCE`] for
/// memory of other requests, whose garbage is collected meanwhile.
///
/// # Errors
/// Those of [`Context::hold`]; [`Kind::Unavailable`] where the engine has no room for them.
pub(crate) async fn hold(isolate: &Isolate, call: &Context, bytes: usize) -> Result<(), Error> {
    if call.exchange.is_none() {
        return Ok(());
    }
    let until = Instant::now() + PATIENCE;
    let mut charged = false;
    loop {
        let refused = match charged {
            true => None,
            false => call.hold(bytes).err(),
        };
        charged = refused.is_none();
        if charged
            && crate::engine::memory::used().saturating_add(bytes) <= crate::engine::memory::limit()
        {
            return Ok(());
        }
        let refused = refused.unwrap_or_else(no_room);
        if refused.kind != Kind::Unavailable || Instant::now() >= until {
            return Err(refused);
        }
        while !isolate.collector().relieve(isolate.stack()) {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn no_room() -> Error {
    Error::new(Kind::Unavailable, "the program has no memory left for this request")
        .with_detail("see --memory")
}

/// Waits for a turn, while fibers queue.
async fn turn(scheduler: &Rc<Scheduler>, ran: Duration) {
    let mut ticket: Option<Rc<Ticket>> = None;
    std::future::poll_fn(|context| match &ticket {
        Some(ticket) if ticket.is_granted(context) => Poll::Ready(()),
        Some(_) => Poll::Pending,
        None if !scheduler.must_wait() => Poll::Ready(()),
        None => {
            ticket = Some(scheduler.enter(ran, None, context));
            Poll::Pending
        }
    })
    .await;
}

/// A stack for partial results, on which no code runs.
pub(crate) struct Workspace {
    isolate: Isolate,
    thread: EngineThread,
}

impl Workspace {
    pub(crate) fn new(isolate: &Isolate) -> Workspace {
        Workspace { isolate: isolate.clone(), thread: EngineThread::new(isolate.stack()) }
    }

    pub(crate) fn isolate(&self) -> &Isolate {
        &self.isolate
    }

    pub(crate) fn stack(&self) -> Stack<'_> {
        self.thread.stack()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.thread.release(self.isolate.stack());
    }
}
