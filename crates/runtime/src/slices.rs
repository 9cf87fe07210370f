//! Native work in slices: an operation that would run for long runs for one slice, lets others have
//! their turn, and goes on.
//!
//! Such an operation is a state machine with a `step`. It waits in line like a fiber
//! ([`crate::fibers::scheduler`]), so that many of them together hold up others no longer than one. What it has
//! made so far lies on a stack of its own ([`Workspace`]), which is released when it is dropped: that is
//! how a cancelled fiber ends its operation.
//!
//! - [`build`]: objects of the engine from a parsed document or a value.
//! - [`walk`]: goes through an object of the engine, for JSON ([`json`]) and plain data ([`data`]).

pub(crate) mod build;
pub(crate) mod content;
pub(crate) mod data;
pub(crate) mod json;
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
/// How long an operation may run before it is a matter of slices.
const AT_ONCE: Duration = Duration::from_millis(1);
/// How long a request waits for memory of others, and between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The time of one slice.
pub(crate) struct Slice {
    until: Option<Instant>,
    units: u32,
}

impl Slice {
    fn of(time: Duration) -> Slice {
        Slice { until: Some(Instant::now() + time), units: UNITS }
    }

    /// The first slice of an operation, before it is known whether there are others. Where the
    /// program cannot wait there are none, and this one has no end.
    pub(crate) fn first(stack: Stack) -> Slice {
        match stack.can_wait() {
            true => Slice::of(AT_ONCE),
            false => Slice::endless(),
        }
    }

    /// For work that cannot wait.
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

/// Runs an operation to its end: `step` answers nothing as long as it has to go on.
pub(crate) async fn run<T>(
    isolate: &Isolate,
    mut step: impl FnMut(&mut Slice) -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let mut ran = Duration::ZERO;
    loop {
        room(isolate).await?;
        turn(isolate.scheduler(), ran).await;
        let began = isolate.scheduler().begin();
        let outcome = step(&mut Slice::of(SLICE));
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

/// The error of native work that stops for want of memory.
fn out_of_memory(isolate: &Isolate) -> Error {
    Fault::of_engine(&String::from_utf8_lossy(crate::engine::memory::MESSAGE)).into_error(isolate)
}

/// Charges a request for objects of the engine before they are made. It waits a moment for memory of
/// others, of which the garbage is collected meanwhile.
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

/// Waits in line, where there is one.
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

/// A stack of its own, on which no code runs.
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

    pub(crate) fn stack(&self) -> Stack {
        self.thread.stack()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.thread.release(self.isolate.stack());
    }
}
