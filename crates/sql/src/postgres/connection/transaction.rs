//! Transactions: one connection for all that happens in one, savepoints for those within.

use crate::postgres::connection::client::{PostgresConnection, closed};
use crate::postgres::connection::pool::{PostgresLease, PostgresPool};
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use runnel_store::{Answer, Context, Count, Error, Isolation, Kind, Transaction};
use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Transactions can be nested this deep.
pub const POSTGRES_NESTING: usize = 32;

const ROLLBACK: &str = "ROLLBACK";

/// What the levels of one transaction share.
pub(crate) struct PostgresTransaction {
    pool: Rc<PostgresPool>,
    /// The connection; none after the end, or after a statement in it was given up.
    lease: Mutex<Option<PostgresLease>>,
    began: Instant,
    isolation: Isolation,
    /// How many levels there are now: 1 is the transaction itself.
    depth: Cell<usize>,
    /// The outermost level that was dropped without an end: what follows rolls back to before it.
    dropped: Cell<Option<usize>>,
}

/// One level of a transaction.
pub(crate) struct PostgresSavepoint {
    shared: Rc<PostgresTransaction>,
    level: usize,
    outer: Option<Rc<dyn Transaction>>,
    ended: Cell<bool>,
}

/// The transaction of this pool that a caller is in.
pub(crate) fn current(
    pool: &Rc<PostgresPool>,
    context: &Context,
) -> Option<Rc<PostgresTransaction>> {
    let mut next = context.transaction.as_ref();
    while let Some(transaction) = next {
        if let Some(level) = transaction.as_any().downcast_ref::<PostgresSavepoint>()
            && Rc::ptr_eq(&level.shared.pool, pool)
        {
            return Some(level.shared.clone());
        }
        next = transaction.outer();
    }
    None
}

/// Begins a transaction, or a savepoint of the caller's transaction.
pub(crate) async fn begin(
    pool: &Rc<PostgresPool>,
    isolation: Option<Isolation>,
    context: &Context,
) -> SqlResult<Rc<dyn Transaction>> {
    let outer = context.transaction.clone();
    let (shared, level) = match current(pool, context) {
        Some(shared) => {
            let level = shared.depth.get() + 1;
            if level > POSTGRES_NESTING {
                let message = format!("transactions are nested more than {POSTGRES_NESTING} deep");
                return Err(SqlFault::new(Kind::TooLarge, message));
            }
            if isolation.is_some_and(|isolation| isolation > shared.isolation) {
                let message =
                    format!("the transaction around this one is {}", shared.isolation.name());
                return Err(SqlFault::new(Kind::Invalid, message));
            }
            let savepoint = format!("SAVEPOINT runnel_{level}");
            let made = async |connection: &PostgresConnection| connection.batch(&savepoint).await;
            pool.within(context.deadline, shared.enter(made)).await?;
            shared.depth.set(level);
            (shared, level)
        }
        None => {
            let isolation = isolation.unwrap_or_default();
            let begun = first(pool, isolation, context.deadline);
            let lease = pool.within(context.deadline, begun).await?;
            let shared = PostgresTransaction {
                pool: pool.clone(),
                lease: Mutex::new(Some(lease)),
                began: Instant::now(),
                isolation,
                depth: Cell::new(1),
                dropped: Cell::new(None),
            };
            (Rc::new(shared), 1)
        }
    };
    Ok(Rc::new(PostgresSavepoint { shared, level, outer, ended: Cell::default() }))
}

/// A connection on which a transaction has begun. Nothing has happened on it before, so that a
/// dead one is replaced.
async fn first(
    pool: &Rc<PostgresPool>,
    isolation: Isolation,
    deadline: Option<Instant>,
) -> SqlResult<PostgresLease> {
    let begin = format!("BEGIN ISOLATION LEVEL {}", isolation.name());
    loop {
        let lease = pool.lease(deadline).await?;
        lease.set_entered(true);
        match lease.batch(&begin).await {
            Ok(()) => return Ok(lease),
            Err(fault) if fault.cause == SqlFaultCause::Closed && lease.used => pool.distrust(),
            Err(fault) => return Err(fault),
        }
    }
}

impl PostgresTransaction {
    /// Runs a verb in the transaction. A verb that fails has done nothing and the transaction goes
    /// on: PostgreSQL itself would refuse everything after an error.
    pub(crate) async fn run<T>(
        &self,
        work: impl AsyncFn(&PostgresConnection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let verb = async |connection: &PostgresConnection| {
            let point = connection.client().batch_execute("SAVEPOINT runnel_verb");
            // Both are on their way before either is answered.
            let (point, done) = tokio::join!(connection.ask(point), work(connection));
            point?;
            match done {
                Ok(done) => {
                    connection.batch("RELEASE SAVEPOINT runnel_verb").await?;
                    Ok(done)
                }
                Err(fault) => {
                    if fault.cause != SqlFaultCause::Closed {
                        connection
                            .batch(
                                "ROLLBACK TO SAVEPOINT runnel_verb; \
                                 RELEASE SAVEPOINT runnel_verb",
                            )
                            .await?;
                    }
                    if fault.cause == SqlFaultCause::Stale {
                        connection.forget();
                    }
                    Err(fault)
                }
            }
        };
        let done = self.enter(verb).await;
        match done {
            Err(fault) if fault.cause == SqlFaultCause::Stale => self.enter(verb).await,
            done => done,
        }
    }

    /// Runs something on the connection as soon as it is free.
    async fn enter<T>(
        &self,
        work: impl AsyncFn(&PostgresConnection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut held = self.lease.lock().await;
        let broken = match held.as_ref() {
            None => Some(over()),
            Some(lease) if lease.is_busy() => Some(SqlFault::new(
                Kind::Conflict,
                "a statement of the transaction was given up, and the transaction with it",
            )),
            Some(lease) if lease.is_closed() => Some(closed(lease.place())),
            Some(_) if self.began.elapsed() > self.pool.server.options.transaction_time => {
                let limit = self.pool.server.options.transaction_time.as_secs();
                let message = format!("the transaction has lasted longer than {limit} s");
                Some(SqlFault::new(Kind::Timeout, message))
            }
            Some(_) => None,
        };
        if let Some(fault) = broken {
            // Closing the connection rolls back.
            drop(held.take());
            return Err(fault);
        }
        let Some(lease) = held.as_ref() else { return Err(over()) };
        if let Some(level) = self.dropped.take() {
            let back = format!("ROLLBACK TO SAVEPOINT runnel_{level}");
            lease.batch(&format!("{back}; RELEASE SAVEPOINT runnel_{level}")).await?;
        }
        work(lease).await
    }
}

fn over() -> SqlFault {
    SqlFault::new(Kind::Conflict, "the transaction has ended already")
}

impl PostgresSavepoint {
    fn end(&self, outermost: &'static str, inner: String) -> Answer<()> {
        if self.ended.replace(true) {
            return Answer::Ready(Err(Error::from(over())));
        }
        let (shared, level) = (self.shared.clone(), self.level);
        Answer::later(async move {
            let sql = if level == 1 { outermost } else { inner.as_str() };
            let commits = level == 1 && outermost != ROLLBACK;
            let ended = async |connection: &PostgresConnection| {
                let done = connection.batch(sql).await;
                if commits { done.map_err(SqlFault::in_doubt) } else { done }
            };
            let done = shared.pool.within(None, shared.enter(ended)).await;
            shared.depth.set(level - 1);
            if level == 1 {
                let lease = shared.lease.lock().await.take();
                if let (Some(lease), Ok(())) = (lease, &done) {
                    lease.set_entered(false);
                }
            }
            done.map_err(Error::from)
        })
    }
}

impl Transaction for PostgresSavepoint {
    fn commit(&self) -> Answer<()> {
        // A transaction that has failed answers COMMIT well and rolls back; this statement does
        // not, and neither waits.
        let done = self.end("SELECT 1; COMMIT", format!("RELEASE SAVEPOINT runnel_{}", self.level));
        let counters = self.shared.pool.server.counters.clone();
        let commits = u64::from(self.level == 1);
        done.map(move |()| counters.add(Count::Commits, commits))
    }

    fn roll_back(&self) -> Answer<()> {
        let level = self.level;
        let inner =
            format!("ROLLBACK TO SAVEPOINT runnel_{level}; RELEASE SAVEPOINT runnel_{level}");
        self.end(ROLLBACK, inner)
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        self.outer.as_ref()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for PostgresSavepoint {
    fn drop(&mut self) {
        if self.ended.get() {
            return;
        }
        if self.level > 1 {
            let outermost = self.shared.dropped.get().unwrap_or(self.level).min(self.level);
            self.shared.dropped.set(Some(outermost));
            self.shared.depth.set(outermost - 1);
        } else if let Ok(mut held) = self.shared.lease.try_lock() {
            // Closing the connection rolls back. A verb that still holds it is dropped as well.
            drop(held.take());
        }
    }
}
