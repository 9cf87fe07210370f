//! The connection pool of one worker: small, and first in, first out.

use crate::postgres::connection::client::{PostgresConnection, PostgresServer};
use crate::postgres::fault::{self, SqlFault, SqlResult};
use runnel_store::{Slot, SlotLimits, Slots};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most verbs of one worker that wait for a connection; more are refused.
pub const POSTGRES_WAITING: usize = 1024;

/// The idle timeout of a connection, enforced when the next one is requested.
const IDLE_TIME: Duration = Duration::from_secs(600);

/// An unread result that holds a connection.
pub(crate) trait Unread {
    /// Gives the connection back, if it still holds one; the statement will run again when its
    /// rows are wanted.
    fn give_up(&self) -> bool;
}

/// The pool.
pub(crate) struct PostgresPool {
    pub(crate) server: Rc<PostgresServer>,
    slots: Arc<Slots>,
    /// The last used is the next used.
    idle: RefCell<Vec<(PostgresConnection, Instant)>>,
    /// Unread results that hold a connection, the oldest first.
    unread: RefCell<VecDeque<Weak<dyn Unread>>>,
}

/// A connection on loan.
pub(crate) struct PostgresLease {
    connection: Option<PostgresConnection>,
    pool: Rc<PostgresPool>,
    /// Whether others have used it before, so that it may have died meanwhile.
    pub(crate) used: bool,
    slot: Option<Slot>,
}

impl PostgresPool {
    pub(crate) fn new(server: PostgresServer) -> Rc<Self> {
        let limits = SlotLimits {
            slots: server.options.max_connections,
            waiting: POSTGRES_WAITING,
            wait: server.options.pool_timeout,
        };
        let slots = Slots::new(limits, server.counters.clone());
        Rc::new(PostgresPool {
            server: Rc::new(server),
            slots,
            idle: RefCell::default(),
            unread: RefCell::default(),
        })
    }

    /// Acquires a connection, in the order of the requests.
    pub(crate) async fn lease(
        self: &Rc<Self>,
        deadline: Option<Instant>,
    ) -> SqlResult<PostgresLease> {
        if self.slots.is_full() {
            self.reclaim();
        }
        let slot = self.slots.take(deadline).await.map_err(|none| {
            let what = format!("connections to PostgreSQL at {}", self.server.place());
            SqlFault::new(none.kind(), none.message(&what))
        })?;
        let found = self.reuse();
        let used = found.is_some();
        let connection = match found {
            Some(connection) => connection,
            None => PostgresConnection::open(&self.server).await?,
        };
        Ok(PostgresLease {
            connection: Some(connection),
            pool: self.clone(),
            used,
            slot: Some(slot),
        })
    }

    /// Waits for something until the deadline, or within the limit of the options. The server
    /// cancels an abandoned statement.
    pub(crate) async fn within<T>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = SqlResult<T>>,
    ) -> SqlResult<T> {
        let began = Instant::now();
        let patience = match deadline {
            Some(deadline) => deadline.saturating_duration_since(began),
            None => self.server.options.time_limit,
        };
        match tokio::time::timeout(patience, work).await {
            Ok(done) => done,
            Err(_) => {
                self.distrust_before(began);
                Err(fault::late(self.server.place(), patience))
            }
        }
    }

    fn reuse(&self) -> Option<PostgresConnection> {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(connection, since)| !connection.is_closed() && since.elapsed() < IDLE_TIME);
        idle.pop().map(|(connection, _)| connection)
    }

    /// Closes the idle connections: one was found dead, and the others are as old.
    pub(crate) fn distrust(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes the connections that have been idle since before a moment: the network may have lost
    /// them too.
    pub(crate) fn distrust_before(&self, moment: Instant) {
        self.idle.borrow_mut().retain(|(_, since)| *since >= moment);
    }

    /// Forgets statements that were prepared for other tables.
    pub(crate) fn forget(&self) {
        self.idle.borrow().iter().for_each(|(connection, _)| connection.forget());
    }

    /// Registers an unread result that holds a connection.
    pub(crate) fn remember(&self, unread: Weak<dyn Unread>) {
        let mut known = self.unread.borrow_mut();
        known.retain(|one| one.strong_count() > 0);
        known.push_back(unread);
    }

    /// Reclaims the connection of the oldest unread result, which runs its statement again when it
    /// is read.
    fn reclaim(&self) {
        loop {
            let Some(oldest) = self.unread.borrow_mut().pop_front() else { return };
            if let Some(unread) = oldest.upgrade()
                && unread.give_up()
            {
                return;
            }
        }
    }
}

impl Deref for PostgresLease {
    type Target = PostgresConnection;

    fn deref(&self) -> &PostgresConnection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("a lease has its connection until it is dropped"),
        }
    }
}

impl Drop for PostgresLease {
    fn drop(&mut self) {
        match self.connection.take() {
            Some(connection) if connection.is_clean() => {
                self.pool.idle.borrow_mut().push((connection, Instant::now()));
            }
            Some(connection) => connection.close(self.slot.take()),
            None => {}
        }
    }
}
