//! Natives for forked fibers, and for jobs of which only one worker runs.

use crate::fibers::fiber::Fiber;
use crate::fibers::task::FiberTask;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::values::handle::ObjectHandle;
use runnel_store::{Error, Kind};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

pub(crate) const NATIVES: [(&str, Native); 7] = [
    ("fork", fork),
    ("join", join),
    ("joinAny", join_any),
    ("cancel", cancel),
    ("isDone", is_done),
    ("leads", leads),
    ("endJob", end_job),
];

/// Forked fibers that may run at the same time.
const MOST: usize = 10_000;

thread_local! {
    static RUNNING: Cell<usize> = const { Cell::new(0) };
}

/// A forked fiber and its result. Without a result at its end it was cancelled.
struct ForkedFiber {
    task: Rc<FiberTask>,
    result: RefCell<Option<Result<ObjectHandle, Error>>>,
}

impl ForkedFiber {
    /// The value or error of a fiber that has ended. May be called more than once.
    fn outcome(&self) -> Result<Given, Error> {
        match &*self.result.borrow() {
            Some(Ok(value)) => Ok(Given::Object(value.clone())),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::new(Kind::Cancelled, "the fiber was cancelled")),
        }
    }
}

/// Counts a running fiber, however it ends.
struct RunningFiber;

impl RunningFiber {
    fn new() -> RunningFiber {
        RUNNING.set(RUNNING.get() + 1);
        RunningFiber
    }
}

impl Drop for RunningFiber {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
    }
}

/// `(function, milliseconds or nil, whether it is awaited, whether it is detached)`: forks a fiber, with
/// a timeout where one is given. A fiber that is not awaited is in no transaction, because it can
/// outlive it. A detached fiber has no deadline and is not cancelled with the fiber that forks it.
fn fork(isolate: &Isolate, arguments: Arguments) -> Reply {
    if RUNNING.get() >= MOST {
        let message = format!("more than {MOST} fibers are running; wait for some of them first");
        return Reply::Failed(Error::new(Kind::Unavailable, message));
    }
    let stack = arguments.0;
    stack.push_copy(1);
    let function = stack.keep();
    let mut call = isolate.call();
    call.known = None;
    if !arguments.boolean(3) {
        call.transaction = None;
    }
    let detached = arguments.boolean(4);
    if detached {
        call.deadline = None;
    }
    if !arguments.is_nil(2) {
        let limit = Duration::from_secs_f64((arguments.number(2) / 1000.0).clamp(0.0, 1e9));
        let end = Instant::now() + limit;
        call.deadline = Some(call.deadline.map_or(end, |outer| outer.min(end)));
    }
    let fiber = Fiber::new(
        isolate,
        call,
        |stack| {
            stack.push_kept(function);
            stack.release(function);
            0
        },
        ObjectHandle::new,
    );
    let task = Rc::new(FiberTask::default());
    let forked = Rc::new(ForkedFiber { task: task.clone(), result: RefCell::default() });
    let (running, shared, of_fiber) = (RunningFiber::new(), forked.clone(), isolate.clone());
    let handle = tokio::task::spawn_local(async move {
        let _running = running;
        let result = fiber.await.map_err(|fault| fault.into_error(&of_fiber));
        shared.result.replace(Some(result));
        shared.task.end();
    });
    task.started(handle.abort_handle());
    if !detached {
        isolate.add_child(task);
    }
    Reply::Now(Given::Native(forked))
}

/// `(fiber)`: waits for its end; its value, or its error.
fn join(_: &Isolate, arguments: Arguments) -> Reply {
    let forked = attempt!(arguments.held::<ForkedFiber>("a fiber"));
    if forked.task.has_ended() {
        return forked.outcome().into();
    }
    Reply::later(async move {
        forked.task.ended().await;
        forked.outcome()
    })
}

/// `(array of fibers)`: waits until one of them has ended; its position, from 1.
fn join_any(_: &Isolate, arguments: Arguments) -> Reply {
    let stack = arguments.0;
    let mut tasks = Vec::new();
    for position in 1..=stack.length(1) {
        stack.get_element(1, position);
        let forked = stack.native(-1).and_then(|native| native.downcast::<ForkedFiber>().ok());
        stack.pop(1);
        tasks.extend(forked.map(|forked| forked.task.clone()));
    }
    if tasks.is_empty() {
        return Reply::Failed(Error::new(Kind::Invalid, "there is no fiber to wait for"));
    }
    let first = |tasks: &[Rc<FiberTask>]| tasks.iter().position(|task| task.has_ended());
    if let Some(position) = first(&tasks) {
        return Reply::Now(Given::Number(position as f64 + 1.0));
    }
    Reply::later(async move {
        let ends = tasks.iter().map(|task| Box::pin(task.ended()));
        futures_util::future::select_all(ends).await;
        Ok(first(&tasks).map_or(Given::Nil, |position| Given::Number(position as f64 + 1.0)))
    })
}

/// `(fiber)`: cancels it.
fn cancel(_: &Isolate, arguments: Arguments) -> Reply {
    attempt!(arguments.held::<ForkedFiber>("a fiber")).task.cancel();
    Reply::Now(Given::Nil)
}

/// `(fiber)`: whether it has ended.
fn is_done(_: &Isolate, arguments: Arguments) -> Reply {
    let forked = arguments.held::<ForkedFiber>("a fiber");
    Reply::Now(Given::Boolean(forked.is_ok_and(|forked| forked.task.has_ended())))
}

/// `(job)`: whether this worker runs a job; nil when the job has ended.
fn leads(isolate: &Isolate, arguments: Arguments) -> Reply {
    match isolate.host().leads(&arguments.text(1)) {
        Ok(Some(leads)) => Reply::Now(Given::Boolean(leads)),
        Ok(None) => Reply::Now(Given::Nil),
        Err(error) => Reply::Failed(error),
    }
}

/// `(job)`: ends it in all workers.
fn end_job(isolate: &Isolate, arguments: Arguments) -> Reply {
    isolate.host().end_job(&arguments.text(1));
    Reply::Now(Given::Nil)
}
