//! Transactions of a program: the writer serves one transaction at once, from its begin to its end.
//!
//! So a transaction sees its own writes and no others, and transactions never conflict: they run
//! one after the other. The price is that other writers wait, which is why a transaction has little
//! time.

use crate::sqlite::connection::stop_flag::until;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::write::job::WriteJob;
use crate::sqlite::write::queue::{Next, Refused, ThreadQueue};
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask, job};
use runnel_store::{Answer, Context, Kind, Transaction};
use rusqlite::Connection;
use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Transactions can be nested this deep.
pub const TRANSACTION_NESTING: usize = 32;

/// Verbs of one transaction that wait for the one before.
const WAITING: usize = 64;

/// An order to the writer within a transaction.
struct TransactionOrder {
    /// A level that was dropped without an end: rolled back before anything else happens.
    dropped: Option<usize>,
    step: TransactionStep,
}

enum TransactionStep {
    /// A verb, in a savepoint of its own.
    Verb(Box<dyn WriteJob>),
    /// Something that must not be in one: the beginning and the end of levels.
    Bare(Box<dyn WriteJob>),
    Commit(oneshot::Sender<SqlResult<()>>),
}

/// What the levels of one transaction share with the writer's thread.
struct TransactionQueue {
    orders: Arc<ThreadQueue<TransactionOrder>>,
    /// Why the transaction ended, where it did before its time.
    fate: Mutex<Option<SqlFault>>,
}

impl TransactionQueue {
    fn fault(&self) -> SqlFault {
        let fate = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        let over = || SqlFault::new(Kind::Conflict, "the transaction has ended already");
        fate.clone().unwrap_or_else(over)
    }

    /// Ends it: nothing comes in any more, and what waits is refused.
    fn end(&self, fault: Option<SqlFault>) {
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        self.orders.close();
        while let Some(order) = self.orders.try_next() {
            match order.step {
                TransactionStep::Verb(mut job) | TransactionStep::Bare(mut job) => {
                    job.fail(self.fault());
                    job.answer();
                }
                TransactionStep::Commit(sender) => drop(sender.send(Err(self.fault()))),
            }
        }
    }
}

/// A transaction under way, as its levels see it.
pub(crate) struct SqliteTransaction {
    shared: Arc<SharedDatabase>,
    line: Arc<TransactionQueue>,
    /// How many levels there are now: 1 is the transaction itself.
    depth: Cell<usize>,
    dropped: Cell<Option<usize>>,
    /// Nothing was asked of the writer: what is committed is what the transaction sees.
    is_untouched: Cell<bool>,
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        // The writer finds the line closed, and rolls back what is not committed.
        self.line.orders.close();
    }
}

/// The transaction of this database that a caller is in.
pub(crate) fn current(
    shared: &Arc<SharedDatabase>,
    context: &Context,
) -> Option<Rc<SqliteTransaction>> {
    let mut next = context.transaction.as_ref();
    while let Some(transaction) = next {
        if let Some(level) = transaction.as_any().downcast_ref::<SqliteSavepoint>()
            && Arc::ptr_eq(&level.held.shared, shared)
        {
            return Some(level.held.clone());
        }
        next = transaction.outer();
    }
    None
}

/// Begins a transaction, or a savepoint of the caller's transaction. All are serializable.
pub(crate) fn begin(
    shared: &Arc<SharedDatabase>,
    context: &Context,
) -> Answer<Rc<dyn Transaction>> {
    let outer = context.transaction.clone();
    if let Some(held) = current(shared, context) {
        let level = held.depth.get() + 1;
        if level > TRANSACTION_NESTING {
            let message = format!("transactions are nested more than {TRANSACTION_NESTING} deep");
            return Answer::Ready(Err(SqlFault::new(Kind::TooLarge, message).into()));
        }
        let begun = held.bare(context.deadline, format!("SAVEPOINT level{level}"));
        held.depth.set(level);
        // Made now: given up while it begins, it is undone before whatever follows.
        let made = SqliteSavepoint { held, level, outer, ended: Cell::default() };
        return begun.map(move |()| Rc::new(made) as Rc<dyn Transaction>);
    }
    if let Err(fault) = shared.writable() {
        return Answer::Ready(Err(fault.into()));
    }
    let line =
        Arc::new(TransactionQueue { orders: ThreadQueue::new(WAITING), fate: Mutex::default() });
    let (begun, receiver) = oneshot::channel();
    let (time, deadline) = (shared.options.transaction_time, context.deadline);
    let hold = TransactionTask { line: line.clone(), begun, time, deadline };
    let (depth, dropped) = (Cell::new(1), Cell::default());
    let is_untouched = Cell::new(true);
    let held =
        Rc::new(SqliteTransaction { shared: shared.clone(), line, depth, dropped, is_untouched });
    let begun = shared.writer.queue(WriterTask::Alone(Box::new(hold)), receiver, context.deadline);
    begun.map(move |()| {
        Rc::new(SqliteSavepoint { held, level: 1, outer, ended: Cell::default() })
            as Rc<dyn Transaction>
    })
}

impl SqliteTransaction {
    /// Runs work in the transaction, after what was asked before. A failed verb has done nothing,
    /// and the transaction continues.
    pub(crate) fn run<T, F>(&self, deadline: Option<Instant>, work: F) -> Answer<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> SqlResult<T> + Send + 'static,
    {
        self.is_untouched.set(false);
        let (job, receiver) = job(deadline, None, work);
        self.order(TransactionStep::Verb(job), receiver, deadline)
    }

    /// Whether a reading connection sees what the transaction sees: it holds the lock of all writers, and
    /// has written nothing.
    pub(crate) fn is_untouched(&self) -> bool {
        self.is_untouched.get() && !self.line.orders.is_closed()
    }

    fn bare(&self, deadline: Option<Instant>, sql: String) -> Answer<()> {
        let work = move |connection: &Connection| Ok(connection.execute_batch(&sql)?);
        let (job, receiver) = job(deadline, None, work);
        self.order(TransactionStep::Bare(job), receiver, deadline)
    }

    fn order<T: 'static>(
        &self,
        step: TransactionStep,
        receiver: oneshot::Receiver<SqlResult<T>>,
        deadline: Option<Instant>,
    ) -> Answer<T> {
        let order = TransactionOrder { dropped: self.dropped.take(), step };
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
struct SqliteSavepoint {
    held: Rc<SqliteTransaction>,
    level: usize,
    outer: Option<Rc<dyn Transaction>>,
    ended: Cell<bool>,
}

impl SqliteSavepoint {
    /// Leaves this level; `None` when that has been done before.
    fn leave(&self) -> SqlResult<()> {
        if self.ended.replace(true) {
            return Err(SqlFault::new(Kind::Conflict, "the transaction has ended already"));
        }
        self.held.depth.set(self.level - 1);
        Ok(())
    }
}

impl Transaction for SqliteSavepoint {
    fn commit(&self) -> Answer<()> {
        if let Err(fault) = self.leave() {
            return Answer::Ready(Err(fault.into()));
        }
        if self.level > 1 {
            return self.held.bare(None, format!("RELEASE level{}", self.level));
        }
        let (sender, receiver) = oneshot::channel();
        self.held.order(TransactionStep::Commit(sender), receiver, None)
    }

    fn roll_back(&self) -> Answer<()> {
        if let Err(fault) = self.leave() {
            return Answer::Ready(Err(fault.into()));
        }
        if self.level > 1 {
            return self.held.bare(None, undo(self.level));
        }
        // A transaction that has ended early has been rolled back already.
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

impl Drop for SqliteSavepoint {
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
struct TransactionTask {
    line: Arc<TransactionQueue>,
    begun: oneshot::Sender<SqlResult<()>>,
    /// How long it may take.
    time: Duration,
    deadline: Option<Instant>,
}

impl ExclusiveTask for TransactionTask {
    fn run(self: Box<Self>, session: &WriterSession) {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || self.begun.is_closed() {
            return;
        }
        let begun = session.begin();
        let good = begun.is_ok();
        if self.begun.send(begun).is_err() || !good {
            return;
        }
        let fate = serve(session, &self.line, self.time);
        session.roll_back();
        self.line.end(fate);
    }
}

/// Executes orders until the transaction ends. Answers the reason when it ends early.
fn serve(session: &WriterSession, line: &TransactionQueue, time: Duration) -> Option<SqlFault> {
    let end = Instant::now() + time;
    loop {
        let order = match line.orders.next_until(end) {
            Next::Item(order) => order,
            Next::Closed => return None,
            Next::Late => return Some(late(time)),
        };
        if let Some(level) = order.dropped
            && let Err(error) = session.connection.execute_batch(&undo(level))
        {
            return Some(error.into());
        }
        let stands = match order.step {
            TransactionStep::Commit(sender) => {
                // The caller may be gone: it is committed all the same.
                let _ = sender.send(session.commit());
                return None;
            }
            TransactionStep::Verb(mut job) => {
                let stands = session.attempt(job.as_mut(), Some(end));
                job.answer();
                stands
            }
            TransactionStep::Bare(mut job) => {
                job.run(&session.connection);
                job.answer();
                !session.connection.is_autocommit()
            }
        };
        if !stands {
            let message = "a statement was stopped, and the transaction with it";
            return Some(if Instant::now() >= end {
                late(time)
            } else {
                SqlFault::new(Kind::Timeout, message)
            });
        }
    }
}

fn late(time: Duration) -> SqlFault {
    let seconds = time.as_secs_f64();
    let message = format!("the transaction has lasted longer than {seconds} s and was rolled back");
    SqlFault::new(Kind::Timeout, message)
}
