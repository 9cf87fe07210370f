//! Transactions of a program: from its begin to its end the writer serves one of them alone.
//!
//! So a transaction sees its own writes and nobody else's, and two of them never get in each
//! other's way: they run one after the other. The price is that others wait, which is why a
//! transaction has little time.

use crate::sqlite::fault::Fault;
use crate::sqlite::write::queue::{Next, Queue, Refused};
use crate::sqlite::write::shared::Shared;
use crate::sqlite::write::writer::{Alone, Job, Session, Task, job, until};
use runnel_store::{Answer, Context, Kind, Transaction};
use rusqlite::Connection;
use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a transaction may wait for its next verb. Everyone else who writes waits with it, so
/// after this it is rolled back, and its next verb says so.
pub const TRANSACTION_IDLE: Duration = Duration::from_secs(5);

/// How long a transaction may take in all.
pub const TRANSACTION_TIME: Duration = Duration::from_secs(30);

/// Transactions can be nested this deep.
pub const TRANSACTION_NESTING: usize = 32;

/// Verbs of one transaction that wait for the one before.
const WAITING: usize = 64;

/// What the writer is told within a transaction.
struct Order {
    /// A level that was dropped without an end: rolled back before anything else happens.
    dropped: Option<usize>,
    step: Step,
}

enum Step {
    /// A verb, in a savepoint of its own.
    Verb(Box<dyn Job>),
    /// Something that must not be in one: the beginning and the end of levels.
    Bare(Box<dyn Job>),
    Commit(oneshot::Sender<Result<(), Fault>>),
}

/// What the levels of one transaction share with the writer's thread.
struct Line {
    orders: Arc<Queue<Order>>,
    /// Why the transaction ended, where it did before its time.
    fate: Mutex<Option<Fault>>,
}

impl Line {
    fn fault(&self) -> Fault {
        let fate = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        let over = || Fault::new(Kind::Conflict, "the transaction has ended already");
        fate.clone().unwrap_or_else(over)
    }

    /// Ends it: nothing comes in any more, and what waits is refused.
    fn end(&self, fault: Option<Fault>) {
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        self.orders.close();
        while let Some(order) = self.orders.try_next() {
            match order.step {
                Step::Verb(mut job) | Step::Bare(mut job) => {
                    job.fail(self.fault());
                    job.answer();
                }
                Step::Commit(sender) => drop(sender.send(Err(self.fault()))),
            }
        }
    }
}

/// A transaction under way, as its levels see it.
pub(crate) struct Held {
    shared: Arc<Shared>,
    line: Arc<Line>,
    /// How many levels there are now: 1 is the transaction itself.
    depth: Cell<usize>,
    dropped: Cell<Option<usize>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // The writer finds the line closed, and rolls back what is not committed.
        self.line.orders.close();
    }
}

/// The transaction of this database that a caller is in.
pub(crate) fn of(shared: &Arc<Shared>, context: &Context) -> Option<Rc<Held>> {
    let mut next = context.transaction.as_ref();
    while let Some(transaction) = next {
        if let Some(level) = transaction.as_any().downcast_ref::<Level>()
            && Arc::ptr_eq(&level.held.shared, shared)
        {
            return Some(level.held.clone());
        }
        next = transaction.outer();
    }
    None
}

/// Begins a transaction, or a level of the one that the caller is in.
pub(crate) fn begin(shared: &Arc<Shared>, context: &Context) -> Answer<Rc<dyn Transaction>> {
    let outer = context.transaction.clone();
    if let Some(held) = of(shared, context) {
        let level = held.depth.get() + 1;
        if level > TRANSACTION_NESTING {
            let message = format!("transactions are nested more than {TRANSACTION_NESTING} deep");
            return Answer::Ready(Err(Fault::new(Kind::TooLarge, message).into()));
        }
        let begun = held.bare(context.deadline, format!("SAVEPOINT level{level}"));
        held.depth.set(level);
        // Made now: given up while it begins, it is undone before whatever follows.
        let made = Level { held, level, outer, ended: Cell::default() };
        return begun.map(move |()| Rc::new(made) as Rc<dyn Transaction>);
    }
    if let Err(fault) = shared.writable() {
        return Answer::Ready(Err(fault.into()));
    }
    let line = Arc::new(Line { orders: Queue::new(WAITING), fate: Mutex::default() });
    let (begun, receiver) = oneshot::channel();
    let hold = Hold { line: line.clone(), begun, deadline: context.deadline };
    let (depth, dropped) = (Cell::new(1), Cell::default());
    let held = Rc::new(Held { shared: shared.clone(), line, depth, dropped });
    let begun = shared.writer.queue(Task::Alone(Box::new(hold)), receiver, context.deadline);
    begun.map(move |()| {
        Rc::new(Level { held, level: 1, outer, ended: Cell::default() }) as Rc<dyn Transaction>
    })
}

impl Held {
    /// Runs work in the transaction, after what was asked before. What fails has done nothing, and
    /// the transaction goes on.
    pub(crate) fn run<T, F>(&self, deadline: Option<Instant>, work: F) -> Answer<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (job, receiver) = job(deadline, None, work);
        self.order(Step::Verb(job), receiver, deadline)
    }

    fn bare(&self, deadline: Option<Instant>, sql: String) -> Answer<()> {
        let work = move |connection: &Connection| Ok(connection.execute_batch(&sql)?);
        let (job, receiver) = job(deadline, None, work);
        self.order(Step::Bare(job), receiver, deadline)
    }

    fn order<T: 'static>(
        &self,
        step: Step,
        receiver: oneshot::Receiver<Result<T, Fault>>,
        deadline: Option<Instant>,
    ) -> Answer<T> {
        let order = Order { dropped: self.dropped.take(), step };
        let full = match self.line.orders.push(order) {
            Ok(()) => None,
            Err(Refused::Full(order)) => Some(order),
            Err(Refused::Closed) => return Answer::Ready(Err(self.line.fault().into())),
        };
        let line = self.line.clone();
        Answer::later(async move {
            if let Some(order) = full {
                until(deadline, line.orders.wait(order)).await?.map_err(|_| line.fault())?;
            }
            Ok(until(deadline, receiver).await?.map_err(|_| line.fault())??)
        })
    }
}

/// One level of a transaction.
struct Level {
    held: Rc<Held>,
    level: usize,
    outer: Option<Rc<dyn Transaction>>,
    ended: Cell<bool>,
}

impl Level {
    /// Leaves this level; `None` when that has been done before.
    fn leave(&self) -> Result<(), Fault> {
        if self.ended.replace(true) {
            return Err(Fault::new(Kind::Conflict, "the transaction has ended already"));
        }
        self.held.depth.set(self.level - 1);
        Ok(())
    }
}

impl Transaction for Level {
    fn commit(&self) -> Answer<()> {
        if let Err(fault) = self.leave() {
            return Answer::Ready(Err(fault.into()));
        }
        if self.level > 1 {
            return self.held.bare(None, format!("RELEASE level{}", self.level));
        }
        let (sender, receiver) = oneshot::channel();
        self.held.order(Step::Commit(sender), receiver, None)
    }

    fn roll_back(&self) -> Answer<()> {
        if let Err(fault) = self.leave() {
            return Answer::Ready(Err(fault.into()));
        }
        if self.level > 1 {
            return self.held.bare(None, undo(self.level));
        }
        // One that is over has been rolled back already.
        self.held.line.orders.close();
        Answer::ok(())
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        self.outer.as_ref()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        if self.ended.get() {
            return;
        }
        if self.level == 1 {
            return self.held.line.orders.close();
        }
        let outermost = self.held.dropped.get().unwrap_or(self.level).min(self.level);
        self.held.dropped.set(Some(outermost));
        self.held.depth.set(outermost - 1);
    }
}

fn undo(level: usize) -> String {
    format!("ROLLBACK TO level{level}; RELEASE level{level}")
}

/// A transaction that waits for its turn.
struct Hold {
    line: Arc<Line>,
    begun: oneshot::Sender<Result<(), Fault>>,
    deadline: Option<Instant>,
}

impl Alone for Hold {
    fn run(self: Box<Self>, session: &Session) {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || self.begun.is_closed() {
            return;
        }
        let begun = session.begin();
        let good = begun.is_ok();
        if self.begun.send(begun).is_err() || !good {
            return;
        }
        let fate = serve(session, &self.line.orders);
        session.roll_back();
        self.line.end(fate);
    }
}

/// Does what it is told until the transaction ends; answers why, where that was before its time.
fn serve(session: &Session, orders: &Queue<Order>) -> Option<Fault> {
    let end = Instant::now() + TRANSACTION_TIME;
    loop {
        let order = match orders.next_until(end.min(Instant::now() + TRANSACTION_IDLE)) {
            Next::Item(order) => order,
            Next::Closed => return None,
            Next::Late => return Some(late(end)),
        };
        if let Some(level) = order.dropped
            && let Err(error) = session.connection.execute_batch(&undo(level))
        {
            return Some(error.into());
        }
        let stands = match order.step {
            Step::Commit(sender) => {
                // Nobody waits for the answer any more: it is committed all the same.
                let _ = sender.send(session.commit());
                return None;
            }
            Step::Verb(mut job) => {
                let stands = session.attempt(job.as_mut(), Some(end));
                job.answer();
                stands
            }
            Step::Bare(mut job) => {
                job.run(&session.connection);
                job.answer();
                !session.connection.is_autocommit()
            }
        };
        if !stands {
            let message = "a statement was stopped, and the transaction with it";
            return Some(if Instant::now() >= end {
                late(end)
            } else {
                Fault::new(Kind::Timeout, message)
            });
        }
    }
}

fn late(end: Instant) -> Fault {
    let message = if Instant::now() >= end {
        format!("the transaction has lasted longer than {} s", TRANSACTION_TIME.as_secs())
    } else {
        format!("the transaction has done nothing for {} s", TRANSACTION_IDLE.as_secs())
    };
    Fault::new(Kind::Timeout, format!("{message} and was rolled back"))
}
