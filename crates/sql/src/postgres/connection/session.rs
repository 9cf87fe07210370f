//! Running something on a connection: of the pool, or of the transaction that the caller is in.

use crate::postgres::connection::client::Connection;
use crate::postgres::connection::pool::{Lease, Pool};
use crate::postgres::connection::transaction::{self, Shared};
use crate::postgres::fault::{self, Cause, Fault};
use runnel_store::Context;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
pub(crate) struct Session {
    pub(crate) pool: Rc<Pool>,
    pub(crate) transaction: Option<Rc<Shared>>,
    pub(crate) deadline: Option<Instant>,
}

impl Session {
    pub(crate) fn new(pool: &Rc<Pool>, context: &Context) -> Self {
        Session {
            pool: pool.clone(),
            transaction: transaction::of(pool, context),
            deadline: context.deadline,
        }
    }

    /// Without a caller who would set a deadline.
    pub(crate) fn own(pool: &Rc<Pool>) -> Self {
        Session::new(pool, &Context::default())
    }

    /// How long the next wait may take: to the deadline, or the limit of the options.
    pub(crate) fn patience(&self) -> Duration {
        match self.deadline {
            Some(deadline) => deadline.saturating_duration_since(Instant::now()),
            None => self.pool.server.options.time_limit,
        }
    }

    /// Waits for something within the limit. What is given up is stopped on the server.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let (patience, began) = (self.patience(), Instant::now());
        match tokio::time::timeout(patience, work).await {
            Ok(done) => done,
            Err(_) => {
                self.pool.distrust_before(began);
                Err(fault::late(self.pool.server.place(), patience))
            }
        }
    }

    /// Runs something, once more where that helps: on a new connection when the one from the pool
    /// had died and nothing is lost by it, and with new statements when the tables have changed.
    pub(crate) async fn run<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.within(self.attempts(repeat, work)).await
    }

    /// The same for what may take as long as its source does: only a caller's deadline ends it.
    pub(crate) async fn unhurried<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self.deadline {
            Some(_) => self.run(repeat, work).await,
            None => self.attempts(repeat, work).await,
        }
    }

    async fn attempts<T>(
        &self,
        repeat: Repeat,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(transaction) = &self.transaction {
            return transaction.run(work).await;
        }
        let mut again = true;
        loop {
            let lease = self.pool.lease(self.deadline).await?;
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
    pub(crate) fn helps(&self, lease: &Lease, repeat: Repeat, fault: &Fault) -> bool {
        match fault.cause {
            Cause::Closed => {
                self.pool.distrust();
                lease.used && repeat == Repeat::Yes
            }
            Cause::Stale => {
                lease.forget();
                self.pool.forget();
                true
            }
            _ => false,
        }
    }
}
