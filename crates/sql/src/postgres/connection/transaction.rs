//! Transactions: one connection for all that happens in one, savepoints for those within.

use crate::postgres::connection::client::{Connection, closed};
use crate::postgres::connection::pool::{Lease, Pool};
use crate::postgres::connection::session::Session;
use crate::postgres::fault::{Cause, Fault};
use runnel_store::{Answer, Context, Count, Error, Kind, Transaction};
use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Transactions can be nested this deep.
pub const POSTGRES_NESTING: usize = 32;

/// What the levels of one transaction share.
pub(crate) struct Shared {
    pool: Rc<Pool>,
    /// The connection; none after the end, or after a statement in it was given up.
    lease: Mutex<Option<Lease>>,
    began: Instant,
    /// How many levels there are now: 1 is the transaction itself.
    depth: Cell<usize>,
    /// The outermost level that was dropped without an end: what follows rolls back to before it.
    dropped: Cell<Option<usize>>,
}

/// One level of a transaction.
pub(crate) struct Level {
    shared: Rc<Shared>,
    level: usize,
    outer: Option<Rc<dyn Transaction>>,
    ended: Cell<bool>,
}

/// The transaction of this pool that a caller is in.
pub(crate) fn of(pool: &Rc<Pool>, context: &Context) -> Option<Rc<Shared>> {
    let mut next = context.transaction.as_ref();
    while let Some(transaction) = next {
        if let Some(level) = transaction.as_any().downcast_ref::<Level>()
            && Rc::ptr_eq(&level.shared.pool, pool)
        {
            return Some(level.shared.clone());
        }
        next = transaction.outer();
    }
    None
}

/// Begins a transaction, or a level of the one that the caller is in.
pub(crate) async fn begin(
    session: Session,
    outer: Option<Rc<dyn Transaction>>,
) -> Result<Rc<dyn Transaction>, Fault> {
    let (shared, level) = match &session.transaction {
        Some(shared) => {
            let level = shared.depth.get() + 1;
            if level > POSTGRES_NESTING {
                let message = format!("transactions are nested more than {POSTGRES_NESTING} deep");
                return Err(Fault::invalid(message));
            }
            let savepoint = format!("SAVEPOINT runnel_{level}");
            let made = async |connection: &Connection| connection.batch(&savepoint).await;
            session.within(shared.enter(made)).await?;
            shared.depth.set(level);
            (shared.clone(), level)
        }
        None => {
            let lease = session.within(first(&session)).await?;
            let shared = Shared {
                pool: session.pool.clone(),
                lease: Mutex::new(Some(lease)),
                began: Instant::now(),
                depth: Cell::new(1),
                dropped: Cell::new(None),
            };
            (Rc::new(shared), 1)
        }
    };
    Ok(Rc::new(Level { shared, level, outer, ended: Cell::default() }))
}

/// A connection on which a transaction has begun. Nothing has happened before, so that one that
/// is found dead may be replaced.
async fn first(session: &Session) -> Result<Lease, Fault> {
    loop {
        let lease = session.pool.lease(session.deadline).await?;
        lease.set_entered(true);
        match lease.batch("BEGIN").await {
            Ok(()) => return Ok(lease),
            Err(fault) if fault.cause == Cause::Closed && lease.used => session.pool.distrust(),
            Err(fault) => return Err(fault),
        }
    }
}

impl Shared {
    /// Runs a verb in the transaction. A verb that fails has done nothing and the transaction goes
    /// on: PostgreSQL itself would refuse everything after an error.
    pub(crate) async fn run<T>(
        &self,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let verb = async |connection: &Connection| {
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
                    if fault.cause != Cause::Closed {
                        connection
                            .batch(
                                "ROLLBACK TO SAVEPOINT runnel_verb; \
                                 RELEASE SAVEPOINT runnel_verb",
                            )
                            .await?;
                    }
                    if fault.cause == Cause::Stale {
                        connection.forget();
                    }
                    Err(fault)
                }
            }
        };
        let done = self.enter(verb).await;
        match done {
            Err(fault) if fault.cause == Cause::Stale => self.enter(verb).await,
            done => done,
        }
    }

    /// Runs something on the connection as soon as it is free.
    async fn enter<T>(
        &self,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut held = self.lease.lock().await;
        let broken = match held.as_ref() {
            None => Some(over()),
            Some(lease) if lease.is_busy() => Some(Fault::new(
                Kind::Conflict,
                "a statement of the transaction was given up, and the transaction with it",
            )),
            Some(lease) if lease.is_closed() => Some(closed(lease.place())),
            Some(_) if self.began.elapsed() > self.pool.server.options.transaction_time => {
                let limit = self.pool.server.options.transaction_time.as_secs();
                let message = format!("the transaction has lasted longer than {limit} s");
                Some(Fault::new(Kind::Timeout, message))
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

fn over() -> Fault {
    Fault::new(Kind::Conflict, "the transaction has ended already")
}

impl Level {
    fn end(&self, outermost: &'static str, inner: String) -> Answer<()> {
        if self.ended.replace(true) {
            return Answer::Ready(Err(Error::from(over())));
        }
        let (shared, level) = (self.shared.clone(), self.level);
        Answer::later(async move {
            let session = Session::own(&shared.pool);
            let sql = if level == 1 { outermost } else { inner.as_str() };
            let ended = async |connection: &Connection| connection.batch(sql).await;
            let done = session.within(shared.enter(ended)).await;
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

impl Transaction for Level {
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
        self.end("ROLLBACK", inner)
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
