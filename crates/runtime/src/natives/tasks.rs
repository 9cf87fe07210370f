//! Fibers that a program starts itself.

use crate::engine::stack::Slot;
use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
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

/// Fibers that a program may have started and not yet ended.
const MOST: usize = 10_000;

thread_local! {
    static RUNNING: Cell<usize> = const { Cell::new(0) };
}

/// A fiber in the hands of the program. Cancelled when it is told so, when the fiber that started
/// it is cancelled, or when the program ends.
pub(crate) struct Task {
    result: RefCell<Option<Result<Slot, Error>>>,
    done: tokio::sync::Notify,
    abort: RefCell<Option<tokio::task::AbortHandle>>,
}

impl Task {
    pub(crate) fn is_over(&self) -> bool {
        self.result.borrow().is_some()
    }

    /// Ends it, if it has not ended.
    pub(crate) fn cancel(&self) {
        if let Some(abort) = self.abort.take() {
            abort.abort();
        }
        self.result
            .borrow_mut()
            .get_or_insert_with(|| Err(Error::new(Kind::Cancelled, "the fiber was cancelled")));
        self.done.notify_waiters();
    }
}

/// Counts a running fiber, however it ends.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
    }
}

/// `(function, milliseconds or nil, whether the fiber that starts it waits for it, whether it is
/// detached)`: starts a fiber; with a time it ends by then. One that nothing waits for is in no
/// transaction, because it can outlive it. A detached one has no deadline and is not cancelled with
/// the fiber that starts it.
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
        |_, stack, index| {
            stack.push_copy(index);
            stack.keep()
        },
    );
    let task = Rc::new(Task {
        result: RefCell::default(),
        done: tokio::sync::Notify::new(),
        abort: RefCell::default(),
    });
    RUNNING.set(RUNNING.get() + 1);
    let outer = isolate;
    let (counted, shared, isolate) = (Counted, task.clone(), isolate.clone());
    let handle = tokio::task::spawn_local(async move {
        let _counted = counted;
        let result = fiber.await.map_err(|fault| fault.into_error(&isolate));
        shared.result.replace(Some(result));
        shared.done.notify_waiters();
    });
    task.abort.replace(Some(handle.abort_handle()));
    if !detached {
        outer.add_child(task.clone());
    }
    Reply::Now(Given::Native(task))
}

fn task(arguments: Arguments) -> Result<Rc<Task>, Error> {
    arguments
        .native(1)
        .and_then(|native| native.downcast::<Task>().ok())
        .ok_or_else(|| Error::new(Kind::Invalid, "a fiber is expected here"))
}

/// Waits for a fiber; its value, or its error. May be asked more than once.
fn join(_: &Isolate, arguments: Arguments) -> Reply {
    let task = match task(arguments) {
        Ok(task) => task,
        Err(error) => return Reply::Failed(error),
    };
    let given = |result: &Result<Slot, Error>| match result {
        Ok(slot) => Ok(Given::Shared(*slot)),
        Err(error) => Err(error.clone()),
    };
    let ready = task.result.borrow().as_ref().map(given);
    match ready {
        Some(Ok(value)) => Reply::Now(value),
        Some(Err(error)) => Reply::Failed(error),
        None => Reply::later(async move {
            loop {
                let notified = task.done.notified();
                if let Some(result) = task.result.borrow().as_ref() {
                    return given(result);
                }
                notified.await;
            }
        }),
    }
}

/// `(array of fibers)`: waits until one of them has ended; its position, from 1.
fn join_any(_: &Isolate, arguments: Arguments) -> Reply {
    let stack = arguments.0;
    let mut tasks = Vec::new();
    for position in 1..=stack.length(1) {
        stack.get_element(1, position);
        let task = stack.native(-1).and_then(|native| native.downcast::<Task>().ok());
        stack.pop(1);
        tasks.extend(task);
    }
    if tasks.is_empty() {
        return Reply::Failed(Error::new(Kind::Invalid, "there is no fiber to wait for"));
    }
    let ended = |tasks: &[Rc<Task>]| tasks.iter().position(|task| task.result.borrow().is_some());
    if let Some(position) = ended(&tasks) {
        return Reply::Now(Given::Number(position as f64 + 1.0));
    }
    Reply::later(async move {
        loop {
            let waits = tasks.iter().map(|task| Box::pin(task.done.notified()));
            futures_util::future::select_all(waits).await;
            if let Some(position) = ended(&tasks) {
                return Ok(Given::Number(position as f64 + 1.0));
            }
        }
    })
}

fn cancel(_: &Isolate, arguments: Arguments) -> Reply {
    let task = match task(arguments) {
        Ok(task) => task,
        Err(error) => return Reply::Failed(error),
    };
    task.cancel();
    Reply::Now(Given::Nil)
}

fn is_done(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Boolean(task(arguments).is_ok_and(|task| task.result.borrow().is_some())))
}

/// `(job)`: whether this worker is the one that runs a job; nil when the job was ended.
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
