//! The connections of one worker: few, and shared in the order in which they were asked for.

use crate::postgres::connection::client::{Connection, Server};
use crate::postgres::fault::Fault;
use crate::postgres::query::rows::Unread;
use runnel_store::{Slot, SlotLimits, Slots};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most verbs of one worker that wait for a connection; more are refused.
pub const POSTGRES_WAITING: usize = 1024;

/// A connection that nobody has used for so long is closed when the next one is asked for.
const IDLE_TIME: Duration = Duration::from_secs(600);

/// The pool.
pub(crate) struct Pool {
    pub(crate) server: Rc<Server>,
    slots: Arc<Slots>,
    /// The last used is the next used.
    idle: RefCell<Vec<(Connection, Instant)>>,
    /// Results that nobody has begun to read and that hold a connection, the oldest first.
    unread: RefCell<VecDeque<Weak<Unread>>>,
}

/// A connection on loan.
pub(crate) struct Lease {
    connection: Option<Connection>,
    pool: Rc<Pool>,
    /// Whether others have used it before, so that it may have died meanwhile.
    pub(crate) used: bool,
    slot: Option<Slot>,
}

impl Pool {
    pub(crate) fn new(server: Server) -> Rc<Self> {
        let limits = SlotLimits {
            slots: server.options.connections,
            waiting: POSTGRES_WAITING,
            wait: server.options.checkout_time,
        };
        let slots = Slots::new(limits, server.counters.clone());
        Rc::new(Pool {
            server: Rc::new(server),
            slots,
            idle: RefCell::default(),
            unread: RefCell::default(),
        })
    }

    /// A connection, as soon as it is our turn.
    pub(crate) async fn lease(self: &Rc<Self>, deadline: Option<Instant>) -> Result<Lease, Fault> {
        if self.slots.is_full() {
            self.reclaim();
        }
        let slot = self.slots.take(deadline).await.map_err(|none| {
            let what = format!("connections to PostgreSQL at {}", self.server.place());
            Fault::new(none.kind(), none.message(&what))
        })?;
        let found = self.reuse();
        let used = found.is_some();
        let connection = match found {
            Some(connection) => connection,
            None => Connection::open(&self.server).await?,
        };
        Ok(Lease { connection: Some(connection), pool: self.clone(), used, slot: Some(slot) })
    }

    fn reuse(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(connection, since)| !connection.is_closed() && since.elapsed() < IDLE_TIME);
        idle.pop().map(|(connection, _)| connection)
    }

    /// Closes the connections that nobody uses: one was found dead, and the others have been there
    /// as long.
    pub(crate) fn distrust(&self) {
        self.idle.borrow_mut().clear();
    }

    /// Closes the connections that nobody has heard of since: the network may have lost them too.
    pub(crate) fn distrust_before(&self, moment: Instant) {
        self.idle.borrow_mut().retain(|(_, since)| *since >= moment);
    }

    /// Forgets statements that were prepared for other tables.
    pub(crate) fn forget(&self) {
        self.idle.borrow().iter().for_each(|(connection, _)| connection.forget());
    }

    /// Remembers a result that holds a connection although nobody reads it yet.
    pub(crate) fn remember(&self, unread: &Rc<Unread>) {
        let mut known = self.unread.borrow_mut();
        known.retain(|one| one.strong_count() > 0);
        known.push_back(Rc::downgrade(unread));
    }

    /// Takes the connection of the oldest such result back; it is asked for again when somebody
    /// does read it.
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

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("a lease has its connection until it is dropped"),
        }
    }
}

impl Drop for Lease {
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
