//! Fibers: pooled coroutines, each a future of its worker.
//!
//! A coroutine of the pool never ends: it runs a function under a protected call, yields the outcome
//! and waits for the next function. A native that must wait leaves its operation with the isolate and
//! yields; the fiber polls that operation, passes its outcome to the coroutine and resumes it.
//!
//! Dropping a fiber before its end cancels it: its operation is dropped, and the coroutine is resumed
//! with an error that no handler catches, so that `ensure:` blocks run. When these wait in turn, a
//! task of its own runs the rest of the fiber for a grace period.
//!
//! ```text
//!           turn              native waits             ready
//!   Fresh ───────▶ running ───────────────▶ Waiting ─────────▶ running ──▶ done
//!                  │     ▲
//!      slice over  ▼     │ turn
//!                 Preempted
//! ```
#![allow(unsafe_code)]

use super::fault::Fault;
use super::load::Living;
use super::scheduler::{RequestKind, Scheduler, Ticket};
use super::task::FiberTask;
use super::tidying;
use crate::engine::stack::{Stack, Type};
use crate::engine::thread::EngineThread;
use crate::engine::{memory, watchdog};
use crate::isolate::{Isolate, PendingOperation};
use crate::values::errors::{push_error, read_fault};
use mlua::ffi;
use runnel_store::{Answer, Content, Context as Call, Kind};
use std::future::Future;
use std::os::raw::c_int;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Bytes that a fiber allocates before it takes part in out-of-memory handling.
const HEAVY: usize = 4 << 20;
/// The grace period for `ensure:` blocks of a fiber that was cancelled or missed its deadline.
const GRACE: Duration = Duration::from_secs(5);
/// Resumes of a cancelled fiber before it is abandoned, where no event loop runs: each `ensure:` that
/// waits costs one.
const CANCEL_RESUMES: usize = 8;

/// The first value that a coroutine yields with its outcome.
const DONE: f64 = 1.0;

/// Why a coroutine returned to its fiber.
enum FiberStep {
    Done(bool),
    Waits,
    Preempted,
    Broken,
}

/// Why the coroutine does not run.
#[derive(Clone, Copy, PartialEq)]
enum FiberState {
    /// It has not begun.
    Fresh,
    /// It waits for the result of a verb.
    Waiting,
    /// Its time slice was over.
    Preempted,
}

/// A running fiber. `T` is made from the value it answers.
pub(crate) struct Fiber<T> {
    isolate: Isolate,
    coroutine: Option<EngineThread>,
    arguments: c_int,
    state: FiberState,
    pending: Option<PendingOperation>,
    /// The operation of a native whose slice ended before the coroutine could yield: a native that
    /// copies much ends the slice itself.
    early: Option<PendingOperation>,
    /// Its answer, when the slice ended just before the fiber.
    answer: Option<Box<Content>>,
    call: Call,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
    /// Its ticket, while it queues for a turn.
    ticket: Option<Rc<Ticket>>,
    /// How long it has run.
    ran: Duration,
    /// Bytes by which its turns have increased the memory of the engine.
    allocated: usize,
    /// The memory error is raised in it when it runs next.
    out_of_memory: bool,
    /// The request that it answers.
    kind: Option<RequestKind>,
    /// The fibers that it has started.
    children: Vec<Rc<FiberTask>>,
    /// It was cancelled or is late: only `ensure:` blocks run.
    ending: bool,
    /// It is a task of its own for its last `ensure:` blocks.
    alone: bool,
    take: fn(&Isolate, Stack, c_int) -> T,
    _living: Living,
}

impl<T> Unpin for Fiber<T> {}

impl<T> Fiber<T> {
    /// A fiber that calls a function; `push` pushes the function and at most six arguments and
    /// answers how many arguments. Nothing runs before the first poll.
    pub(crate) fn new(
        isolate: &Isolate,
        call: Call,
        push: impl FnOnce(Stack) -> c_int,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Self {
        let coroutine = isolate.take_coroutine();
        // A suspended coroutine cannot run code, and making objects may: they are made on the
        // stack that runs, and moved.
        let outer = isolate.stack();
        outer.reserve(24);
        coroutine.stack().reserve(24);
        let arguments = push(outer) + 1;
        outer.move_to(coroutine.stack(), arguments);
        Fiber {
            isolate: isolate.clone(),
            coroutine: Some(coroutine),
            arguments,
            state: FiberState::Fresh,
            pending: None,
            early: None,
            answer: None,
            call,
            timer: None,
            ticket: None,
            ran: Duration::ZERO,
            allocated: 0,
            out_of_memory: false,
            kind: None,
            children: Vec::new(),
            ending: false,
            alone: false,
            take,
            _living: Living::new(),
        }
    }

    /// Sets the kind of request it answers, which predicts its running time.
    pub(crate) fn set_kind(&mut self, kind: RequestKind) {
        self.kind = Some(kind);
    }

    /// Whether the engine has memory for it; if not, a step of a collection wakes it. When a whole
    /// collection frees too little, the memory error is raised in it.
    fn has_memory(&mut self, context: &mut Context<'_>) -> bool {
        let counts = self.allocated >= HEAVY || memory::is_exceeded();
        if !counts || !memory::is_over() || self.ending {
            return true;
        }
        if !self.isolate.collector().relieve(self.isolate.stack()) {
            after_the_others(context);
            return false;
        }
        if memory::is_exhausted() {
            // Its handlers may use the reserve.
            self.allocated = 0;
            self.out_of_memory = true;
        }
        true
    }

    /// Whether it may run now; if not, it is woken later.
    fn has_turn(&mut self, context: &mut Context<'_>) -> bool {
        let Some(ticket) = &self.ticket else {
            let line = self.isolate.scheduler();
            let must_wait = line.must_wait();
            if must_wait {
                self.ticket = Some(line.enter(self.ran, self.kind, context));
            }
            return !must_wait;
        };
        if !ticket.is_granted(context) {
            if !self.is_late(context) {
                return false;
            }
            // Past its deadline it runs at once, so that the error is raised where it stands.
            watchdog::fire();
        }
        self.ticket = None;
        true
    }

    fn step(&mut self) -> FiberStep {
        let Some(coroutine) = &self.coroutine else { return FiberStep::Broken };
        let stack = coroutine.stack();
        let deadline = self.call.deadline;
        // The isolate has the call while the fiber runs.
        let outer = self.isolate.enter(std::mem::take(&mut self.call), stack);
        let watched = self.isolate.watchdog().begin(deadline);
        let began = self.isolate.scheduler().begin();
        self.isolate.swap_children(&mut self.children);
        if let Some(answer) = self.answer.take() {
            self.isolate.hold_answer(*answer);
        }
        if std::mem::take(&mut self.out_of_memory) {
            watchdog::raise_next();
        }
        let used = memory::used();
        let mode = memory::enter_engine();
        // SAFETY: the coroutine is suspended and holds `arguments` values on its stack.
        let status = unsafe { ffi::lua_resume_(stack.state(), self.arguments) };
        memory::leave(mode);
        // It is raised in this fiber or in none.
        watchdog::takes_raise();
        self.allocated += memory::used().saturating_sub(used);
        self.isolate.swap_children(&mut self.children);
        self.ran += Scheduler::end(self.isolate.scheduler(), began);
        tidying::after_run(&self.isolate);
        let is_late = self.isolate.watchdog().end(watched);
        self.call = self.isolate.leave(outer);
        self.arguments = 0;
        let step = match status {
            ffi::LUA_YIELD if stack.top() == 0 => {
                // It may have been about to end; other fibers run before it does.
                self.answer = self.isolate.take_answer().map(Box::new);
                self.early = self.isolate.take_pending().or_else(|| self.early.take());
                FiberStep::Preempted
            }
            ffi::LUA_YIELD if stack.number(1) == DONE => FiberStep::Done(stack.boolean(2)),
            ffi::LUA_YIELD => FiberStep::Waits,
            _ => FiberStep::Broken,
        };
        if is_late {
            self.begin_end();
        }
        step
    }

    fn wait(&mut self) -> bool {
        let Some(coroutine) = &self.coroutine else { return false };
        coroutine.stack().set_top(0);
        self.state = FiberState::Waiting;
        self.pending = self.isolate.take_pending().or_else(|| self.early.take());
        self.pending.is_some()
    }

    /// Leaves a grace period for `ensure:` blocks and cancels the fibers it has forked.
    fn begin_end(&mut self) {
        for child in self.children.drain(..) {
            child.cancel();
        }
        if !self.ending {
            self.ending = true;
            self.call.deadline = Some(Instant::now() + GRACE);
            self.timer = None;
        }
    }

    /// Ends the wait with an error that the program cannot handle.
    fn give_end(&mut self, kind: Kind, message: &str) {
        let stack = self.isolate.stack();
        stack.reserve(24);
        stack.push_boolean(false);
        push_error(&self.isolate, stack, &runnel_store::Error::new(kind, message));
        stack.push_boolean(true);
        stack.set_field(-2, "_uncatchable");
        self.give();
        self.begin_end();
    }

    /// Moves the outcome of an operation from the isolate's stack to the coroutine.
    fn give(&mut self) {
        let Some(coroutine) = &self.coroutine else { return };
        coroutine.stack().reserve(24);
        // Other fibers may run before this one has its turn.
        self.answer = self.isolate.take_answer().map(Box::new);
        self.isolate.stack().move_to(coroutine.stack(), 2);
        self.arguments = 2;
    }

    fn outcome(&mut self, good: bool) -> Result<T, Fault> {
        let Some(coroutine) = self.coroutine.take() else {
            return Err(Fault::broken("the fiber has ended already"));
        };
        if let Some(kind) = self.kind {
            self.isolate.scheduler().learn(kind, self.ran);
        }
        let stack = coroutine.stack();
        let outcome = match good {
            true => Ok((self.take)(&self.isolate, stack, 3)),
            false => {
                // A deadline may have come between a verb and its wait.
                self.isolate.take_pending();
                Err(read_fault(&self.isolate, stack, 3))
            }
        };
        stack.set_top(0);
        // A stack that overflowed keeps its size, and has no room for the trace of the next time.
        match &outcome {
            Err(fault) if fault.kind == "recursion" => coroutine.release(self.isolate.stack()),
            _ => self.isolate.recycle(coroutine),
        }
        outcome
    }

    fn broken(&mut self) -> Fault {
        let Some(coroutine) = self.coroutine.take() else {
            return Fault::broken("the fiber has ended already");
        };
        let stack = coroutine.stack();
        if stack.top() == 0 {
            coroutine.release(self.isolate.stack());
            return Fault::broken("the fiber waits for nothing");
        }
        let fault = match stack.kind(-1) {
            Type::Text => Fault::of_engine(&stack.text(-1)),
            _ => read_fault(&self.isolate, stack, -1),
        };
        coroutine.release(self.isolate.stack());
        fault
    }

    /// Whether its deadline has passed; otherwise a timer wakes it then.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let Some(deadline) = self.call.deadline else { return false };
        if Instant::now() >= deadline {
            return true;
        }
        let timer =
            self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        timer.as_mut().poll(context).is_ready()
    }
}

/// Wakes this task after the event loop has polled its sockets and timers. Waking it directly would
/// let it run many times before: the loop polls them once in a few dozen tasks.
fn after_the_others(context: &mut Context<'_>) {
    let turn = std::pin::pin!(tokio::task::yield_now());
    // The first poll only asks for the wake-up.
    let _ = turn.poll(context);
}

impl<T> Future for Fiber<T> {
    type Output = Result<T, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.coroutine.is_none() {
            return Poll::Ready(Err(Fault::broken("the fiber has ended already")));
        }
        loop {
            if let Some(operation) = &mut this.pending {
                match operation.as_mut().poll(&this.isolate, &this.call, context) {
                    Poll::Ready(()) => {
                        this.pending = None;
                        this.give();
                    }
                    Poll::Pending if this.is_late(context) => {
                        this.pending = None;
                        this.give_end(Kind::Timeout, "the deadline passed while waiting");
                    }
                    Poll::Pending => {
                        this.isolate.flush_output();
                        return Poll::Pending;
                    }
                }
            }
            if !this.has_memory(context) || !this.has_turn(context) {
                return Poll::Pending;
            }
            match this.step() {
                FiberStep::Done(good) => return Poll::Ready(this.outcome(good)),
                FiberStep::Preempted => {
                    this.state = FiberState::Preempted;
                    if let Some(kind) = this.kind {
                        this.isolate.scheduler().learn(kind, this.ran);
                    }
                    // A slice is longer than a turn: fibers queue now, except without an event loop.
                    if this.has_turn(context) {
                        after_the_others(context);
                    }
                    return Poll::Pending;
                }
                FiberStep::Waits if this.wait() => {}
                FiberStep::Waits | FiberStep::Broken => return Poll::Ready(Err(this.broken())),
            }
        }
    }
}

impl<T> Fiber<T> {
    /// Cancels a fiber that has begun. Answers whether it continues: its `ensure:` blocks wait.
    fn cancel(&mut self) -> bool {
        let Some(coroutine) = &self.coroutine else { return false };
        match self.state {
            FiberState::Waiting => {
                self.pending = None;
                // A result that arrived before the fiber had its turn.
                coroutine.stack().set_top(0);
                self.give_end(Kind::Cancelled, "the caller went away");
            }
            // A preempted fiber takes no result: its deadline passes instead, and the hook raises.
            _ => {
                self.call.deadline = Some(Instant::now());
                watchdog::fire();
            }
        }
        match self.step() {
            FiberStep::Done(_) => {
                if let Some(coroutine) = self.coroutine.take() {
                    coroutine.stack().set_top(0);
                    self.isolate.recycle(coroutine);
                }
                false
            }
            FiberStep::Waits => self.wait(),
            FiberStep::Preempted => {
                self.state = FiberState::Preempted;
                true
            }
            FiberStep::Broken => false,
        }
    }

    /// The rest of a cancelled fiber, whose value is not needed.
    fn remains(&mut self) -> Fiber<()> {
        Fiber {
            isolate: self.isolate.clone(),
            coroutine: self.coroutine.take(),
            arguments: self.arguments,
            state: self.state,
            pending: self.pending.take(),
            early: self.early.take(),
            answer: None,
            call: self.call.clone(),
            timer: self.timer.take(),
            ticket: None,
            ran: self.ran,
            allocated: self.allocated,
            out_of_memory: self.out_of_memory,
            kind: None,
            children: std::mem::take(&mut self.children),
            ending: true,
            alone: true,
            take: |_, _, _| (),
            _living: Living::new(),
        }
    }
}

impl<T> Drop for Fiber<T> {
    fn drop(&mut self) {
        if self.coroutine.is_none() {
            return;
        }
        if self.state != FiberState::Fresh {
            let mut goes_on = self.alone || self.ending || self.cancel();
            if goes_on && !self.alone && tokio::runtime::Handle::try_current().is_ok() {
                let remains = self.remains();
                tokio::task::spawn_local(async move {
                    // No handler is left for errors of its `ensure:` blocks.
                    let _ = remains.await;
                });
                return;
            }
            for _ in 0..CANCEL_RESUMES {
                goes_on = goes_on && self.cancel();
            }
        }
        if let Some(coroutine) = self.coroutine.take() {
            coroutine.release(self.isolate.stack());
        }
    }
}

impl<T: 'static> Fiber<T> {
    /// Runs a fiber to its end at once when it does not wait: the usual case, without allocation.
    pub(crate) fn run_now(mut self) -> Answer<T> {
        let isolate = self.isolate.clone();
        let outcome = isolate.scheduler().at_once(|context| Pin::new(&mut self).poll(context));
        match outcome {
            Poll::Ready(result) => {
                Answer::Ready(result.map_err(|fault| fault.into_error(&isolate)))
            }
            Poll::Pending => {
                Answer::later(async move { self.await.map_err(|fault| fault.into_error(&isolate)) })
            }
        }
    }
}
