//! Running something on a connection: of the pool, or of the transaction that the caller is in.

use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::pool::{PostgresLease, PostgresPool};
use crate::postgres::connection::transaction::{self, PostgresTransaction};
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use runnel_store::{Context, ProgramPlace};
use std::rc::Rc;
use std::time::Instant;

/// Whether something may run twice when the connection dies under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only reads.
    Yes,
    /// It may have happened.
    No,
}

/// Who asks, and until when.
#[derive(Clone)]
pub(crate) struct PostgresSession {
    pub(crate) pool: Rc<PostgresPool>,
    pub(crate) transaction: Option<Rc<PostgresTransaction>>,
    pub(crate) deadline: Option<Instant>,
    /// The place in the program, for the log.
    pub(crate) place: ProgramPlace,
}

impl PostgresSession {
    pub(crate) fn new(pool: &Rc<PostgresPool>, context: &Context) -> Self {
        PostgresSession {
            pool: pool.clone(),
            transaction: transaction::current(pool, context),
            deadline: context.deadline,
            place: context.place,
        }
    }

    /// Without a caller who would set a deadline.
    pub(crate) fn own(pool: &Rc<PostgresPool>) -> Self {
        PostgresSession::new(pool, &Context::default())
    }

    /// Waits for something until the deadline or the time limit. The server cancels an abandoned
    /// statement.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = SqlResult<T>>) -> SqlResult<T> {
        self.pool.within(self.deadline, work).await
    }

    /// Runs something, with one retry: on a new connection when the pooled one had died and the
    /// work is idempotent, and with new statements when the tables have changed.
    pub(crate) async fn run<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&PostgresConnection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.within(self.attempts(repeat, work)).await
    }

    /// The same for what may take as long as its source does: only a caller's deadline ends it.
    pub(crate) async fn unhurried<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&PostgresConnection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        match self.deadline {
            Some(_) => self.run(repeat, work).await,
            None => self.attempts(repeat, work).await,
        }
    }

    async fn attempts<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&PostgresConnection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if let Some(transaction) = &self.transaction {
            let asking = async |connection: &PostgresConnection| {
                connection.asks_from(self.place);
                work(connection).await
            };
            return transaction.run(asking).await;
        }
        let mut again = true;
        loop {
            let lease = self.pool.lease(self.deadline).await?;
            lease.asks_from(self.place);
            match work(&lease).await {
                Ok(done) => return Ok(done),
                Err(fault) if self.helps(&lease, repeat, &fault) && again => again = false,
                Err(fault) if repeat == Repeat::No => return Err(fault.in_doubt()),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Whether trying once more may help, after what was found wrong with the connection is put
    /// right.
    pub(crate) fn helps(&self, lease: &PostgresLease, repeat: Repeat, fault: &SqlFault) -> bool {
        match fault.cause {
            SqlFaultCause::Closed => {
                self.pool.distrust();
                lease.used && repeat == Repeat::Yes
            }
            SqlFaultCause::Stale => {
                lease.forget();
                self.pool.forget();
                true
            }
            _ => false,
        }
    }
}
