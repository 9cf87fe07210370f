//! What a database and its tables share within a worker.

use crate::postgres::connection::client::{Connection, Server};
use crate::postgres::connection::pool::Pool;
use crate::postgres::connection::session::{Repeat, Session};
use crate::postgres::fault::{Cause, Fault};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::watch::Hub;
use runnel_store::{Context, Kind};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long the description of a table is taken to be true without a sign that it is not. Columns
/// that somebody else adds show up after that time; one that is gone is noticed at once.
const KNOWN_TIME: Duration = Duration::from_secs(5);

/// Descriptions of tables that are remembered.
const KNOWN_TABLES: usize = 1024;

/// The shared part.
pub(crate) struct Core {
    pub(crate) pool: Rc<Pool>,
    pub(crate) hub: Hub,
    tables: RefCell<FxHashMap<String, (Instant, Rc<TableInfo>)>>,
}

impl Core {
    pub(crate) fn new(server: Server) -> Rc<Self> {
        let pool = Pool::new(server);
        let hub = Hub::new(&pool.server);
        Rc::new(Core { pool, hub, tables: RefCell::default() })
    }

    pub(crate) fn session(&self, context: &Context) -> Session {
        Session::new(&self.pool, context)
    }

    pub(crate) fn place(&self) -> &str {
        self.pool.server.place()
    }

    /// The description of a table; `None` when there is none of that name.
    pub(crate) async fn look(
        &self,
        session: &Session,
        name: &str,
    ) -> Result<Option<Rc<TableInfo>>, Fault> {
        if let Some((since, known)) = self.tables.borrow().get(name)
            && since.elapsed() < KNOWN_TIME
        {
            return Ok(Some(known.clone()));
        }
        let read = async |connection: &Connection| TableInfo::read(connection, name).await;
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
        session: &Session,
        name: &str,
        work: impl AsyncFn(Rc<TableInfo>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let mut again = true;
        loop {
            let Some(info) = self.look(session, name).await? else { return Ok(None) };
            match work(info).await {
                Ok(done) => return Ok(Some(done)),
                Err(fault) if fault.cause == Cause::Stale && again => {
                    self.forget();
                    again = false;
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// The fault that a table is not there.
pub(crate) fn missing(name: &str) -> Fault {
    Fault::new(Kind::NotFound, format!("there is no table {name}; define it with a class"))
}
