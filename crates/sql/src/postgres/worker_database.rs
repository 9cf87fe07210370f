//! What a database and its tables share within a worker.

use crate::postgres::connection::client::{PostgresConnection, PostgresServer};
use crate::postgres::connection::pool::PostgresPool;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::watch::PostgresListener;
use runnel_store::{Context, Kind};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long the description of a table is taken to be true without a sign that it is not. Columns
/// that other programs add show up after that time; a dropped column is noticed at once.
const KNOWN_TIME: Duration = Duration::from_secs(5);

/// Descriptions of tables that are remembered.
const KNOWN_TABLES: usize = 1024;

/// The shared part.
pub(crate) struct WorkerDatabase {
    pub(crate) pool: Rc<PostgresPool>,
    pub(crate) hub: PostgresListener,
    tables: RefCell<FxHashMap<String, (Instant, Rc<TableInfo>)>>,
}

impl WorkerDatabase {
    pub(crate) fn new(server: PostgresServer) -> Rc<Self> {
        let pool = PostgresPool::new(server);
        let hub = PostgresListener::new(&pool.server);
        Rc::new(WorkerDatabase { pool, hub, tables: RefCell::default() })
    }

    pub(crate) fn session(&self, context: &Context) -> PostgresSession {
        PostgresSession::new(&self.pool, context)
    }

    pub(crate) fn place(&self) -> &str {
        self.pool.server.place()
    }

    /// The description of a table; `None` when there is none of that name.
    pub(crate) async fn look(
        &self,
        session: &PostgresSession,
        name: &str,
    ) -> SqlResult<Option<Rc<TableInfo>>> {
        if let Some((since, known)) = self.tables.borrow().get(name)
            && since.elapsed() < KNOWN_TIME
        {
            return Ok(Some(known.clone()));
        }
        let read = async |connection: &PostgresConnection| TableInfo::read(connection, name).await;
        let Some(info) = session.run(Repeat::Yes, read).await? else { return Ok(None) };
        let info = Rc::new(info);
        // What a transaction made is not there for others yet, and may never be.
        if session.transaction.is_none() {
            let mut tables = self.tables.borrow_mut();
            if tables.len() >= KNOWN_TABLES {
                tables.clear();
            }
            tables.insert(name.to_string(), (Instant::now(), info.clone()));
        }
        Ok(Some(info))
    }

    /// The tables may have changed.
    pub(crate) fn forget(&self) {
        self.tables.borrow_mut().clear();
    }

    /// Runs something that needs the description of a table, once more with a new one when the
    /// description turns out to be old. Without the table the answer is `None`.
    pub(crate) async fn with_table<T>(
        &self,
        session: &PostgresSession,
        name: &str,
        work: impl AsyncFn(Rc<TableInfo>) -> SqlResult<T>,
    ) -> SqlResult<Option<T>> {
        let mut again = true;
        loop {
            let Some(info) = self.look(session, name).await? else { return Ok(None) };
            match work(info).await {
                Ok(done) => return Ok(Some(done)),
                Err(fault) if fault.cause == SqlFaultCause::Stale && again => {
                    self.forget();
                    again = false;
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// The fault that a table is not there.
pub(crate) fn missing(name: &str) -> SqlFault {
    SqlFault::new(Kind::NotFound, format!("there is no table {name}; define it with a class"))
}
