//! One connection to the server, with the statements that are prepared on it.

use crate::database::slow::RunningStatement;
use crate::postgres::connection::address::Address;
use crate::postgres::connection::tls::{Secure, Tls};
use crate::postgres::fault::{self, SqlFault, SqlFaultCause, SqlResult};
use crate::postgres::options::PostgresOptions;
use crate::postgres::value::parameter::Parameter;
use runnel_store::{Count, Counters, Level, ProgramPlace, Slot};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, RowStream, Socket, Statement};

/// Prepared statements that each connection keeps.
const STATEMENTS: usize = 256;

/// How long asking the server to stop a statement may take.
const CANCEL_TIME: Duration = Duration::from_secs(5);

/// What is needed for making connections.
pub(crate) struct PostgresServer {
    pub(crate) address: Address,
    pub(crate) options: PostgresOptions,
    pub(crate) tls: Tls,
    pub(crate) counters: Arc<Counters>,
}

/// The wire below a client, which a task has to drive.
pub(crate) type Wire = tokio_postgres::Connection<Socket, Secure<Socket>>;

/// A connection.
pub(crate) struct PostgresConnection {
    client: Client,
    server: Rc<PostgresServer>,
    statements: RefCell<FxHashMap<Box<str>, Statement>>,
    driver: JoinHandle<()>,
    /// Statements that are running, or were when their callers gave up.
    busy: Cell<usize>,
    /// It is in the middle of a transaction, and cannot be returned to the pool.
    entered: Cell<bool>,
    /// A statement failed because the server is gone.
    dead: Cell<bool>,
    /// The slot of the pool that it keeps until its statement has been cancelled.
    slot: Option<Slot>,
    /// The place in the program that runs the next statements.
    asking: Cell<ProgramPlace>,
}

impl PostgresServer {
    pub(crate) fn new(address: Address, options: PostgresOptions) -> SqlResult<Self> {
        let tls = Tls::new(address.verify, address.roots.as_deref())?;
        let counters = Counters::of("postgres", &address.place);
        Ok(PostgresServer { address, options, tls, counters })
    }

    pub(crate) fn place(&self) -> &str {
        &self.address.place
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> SqlResult<(Client, Wire)> {
        let limit = self.options.connect_time;
        let connected = self.address.config.connect(self.tls.clone());
        match tokio::time::timeout(limit, connected).await {
            Ok(Ok(pair)) => Ok(pair),
            Ok(Err(error)) => Err(fault::from_driver(&error, self.place())),
            Err(_) => Err(fault::late(self.place(), limit)),
        }
    }

    /// The settings of every connection: time limits for statements, and one format of dates.
    fn setup(&self) -> String {
        let millis = |time: Duration| time.as_millis().clamp(1, i32::MAX as u128);
        format!(
            "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'iso_8601'; \
             SET bytea_output = 'hex'; SET client_min_messages = 'warning'",
            millis(self.options.statement_time),
            millis(self.options.idle_transaction),
        )
    }
}

/// Spawns a task beside the worker's own tasks: the wire of the driver library has to be driven at
/// all times, and an abandoned statement is cancelled after its caller is gone.
pub(crate) fn beside<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Option<JoinHandle<T>> {
    // Without a runtime the process is about to end, and the sockets with it.
    tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(work))
}

impl PostgresConnection {
    pub(crate) async fn open(server: &Rc<PostgresServer>) -> SqlResult<Self> {
        let (client, wire) = server.connect().await?;
        let place = server.place().to_string();
        let driver = beside(async move {
            if let Err(error) = wire.await {
                tracing::debug!(place, %error, "a connection to PostgreSQL ended");
            }
        });
        let Some(driver) = driver else {
            return Err(SqlFault::new(runnel_store::Kind::Failed, "there is no event loop here"));
        };
        let connection = PostgresConnection {
            client,
            server: server.clone(),
            statements: RefCell::default(),
            driver,
            busy: Cell::new(0),
            entered: Cell::new(false),
            dead: Cell::new(false),
            slot: None,
            asking: Cell::default(),
        };
        server.counters.add(Count::Opened, 1);
        server.counters.rise(Level::Open, 1);
        let limit = server.options.connect_time;
        match tokio::time::timeout(limit, connection.batch(&server.setup())).await {
            Ok(done) => done.map(|()| connection),
            Err(_) => Err(fault::late(server.place(), limit)),
        }
    }

    /// Whether it can be returned to the pool.
    pub(crate) fn is_clean(&self) -> bool {
        !self.is_busy() && !self.entered.get() && !self.is_closed()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.dead.get() || self.client.is_closed()
    }

    /// Whether a statement was given up in the middle.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get() > 0
    }

    /// Says whether it is in the middle of a transaction.
    pub(crate) fn set_entered(&self, entered: bool) {
        self.entered.set(entered);
    }

    /// Closes it, and gives its place in the pool up when the server has nothing to do with it any
    /// more.
    pub(crate) fn close(mut self, slot: Option<Slot>) {
        self.slot = slot;
    }

    /// Says which place in the program runs the next statements.
    pub(crate) fn asks_from(&self, place: ProgramPlace) {
        self.asking.set(place);
    }

    /// A statement that runs, for the log of slow ones.
    pub(crate) fn running<'a>(&self, sql: &'a str) -> RunningStatement<'a> {
        let threshold = self.server.options.slow_statement_time;
        RunningStatement::start_with(sql, self.asking.get(), threshold)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn place(&self) -> &str {
        self.server.place()
    }

    /// Runs something on the server. Given up in the middle, the connection stays busy.
    pub(crate) async fn ask<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> SqlResult<T> {
        self.work();
        let done = work.await;
        self.rest();
        done.map_err(|error| self.fault(&error))
    }

    pub(crate) fn fault(&self, error: &tokio_postgres::Error) -> SqlFault {
        let fault = fault::from_driver(error, self.place());
        if fault.cause == SqlFaultCause::Closed {
            self.dead.set(true);
        }
        fault
    }

    /// Counts something that was done on it.
    pub(crate) fn count(&self, count: Count, more: u64) {
        self.server.counters.add(count, more);
    }

    /// Marks it as busy until [`PostgresConnection::rest`].
    pub(crate) fn work(&self) {
        self.busy.set(self.busy.get() + 1);
    }

    /// The answer of what ran was read to its end.
    pub(crate) fn rest(&self) {
        self.busy.set(self.busy.get().saturating_sub(1));
    }

    /// A prepared statement, remembered.
    pub(crate) async fn prepare(&self, sql: &str) -> SqlResult<Statement> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.ask(self.client.prepare(sql)).await?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= STATEMENTS {
            statements.clear();
        }
        statements.insert(sql.into(), statement.clone());
        Ok(statement)
    }

    /// Forgets the prepared statements: the tables have changed.
    pub(crate) fn forget(&self) {
        self.statements.borrow_mut().clear();
        self.client.clear_type_cache();
    }

    /// Starts a statement that answers rows. The connection is busy until they are read.
    pub(crate) async fn rows(
        &self,
        statement: &Statement,
        parameters: &[Parameter],
    ) -> SqlResult<RowStream> {
        self.count(Count::Statements, 1);
        self.ask(self.client.query_raw(statement, parameters.iter())).await
    }

    /// Runs a statement and reads all its rows; for answers that are known to be small.
    pub(crate) async fn all(
        &self,
        sql: &str,
        parameters: &[Parameter],
    ) -> SqlResult<Vec<tokio_postgres::Row>> {
        let statement = self.prepare(sql).await?;
        let shown: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|parameter| parameter as _).collect();
        self.count(Count::Statements, 1);
        let _running = self.running(sql);
        let rows = self.ask(self.client.query(&statement, &shown)).await?;
        self.count(Count::Rows, rows.len() as u64);
        Ok(rows)
    }

    /// Runs a statement and answers how many rows it changed.
    pub(crate) async fn execute(&self, sql: &str, parameters: &[Parameter]) -> SqlResult<u64> {
        let statement = self.prepare(sql).await?;
        self.count(Count::Statements, 1);
        let _running = self.running(sql);
        self.ask(self.client.execute_raw(&statement, parameters.iter())).await
    }

    /// Runs statements without parameters.
    pub(crate) async fn batch(&self, sql: &str) -> SqlResult<()> {
        self.count(Count::Statements, 1);
        self.ask(self.client.batch_execute(sql)).await
    }
}

/// A fault that says the connection has ended, for those who find out by looking.
pub(crate) fn closed(place: &str) -> SqlFault {
    let message = format!("the connection to PostgreSQL at {place} was closed");
    SqlFault {
        cause: SqlFaultCause::Closed,
        ..SqlFault::new(runnel_store::Kind::Unavailable, message)
    }
}

impl Drop for PostgresConnection {
    /// Closes it; a statement that still runs is stopped on the server first, which would not
    /// notice otherwise before it has something to say.
    fn drop(&mut self) {
        self.server.counters.fall(Level::Open, 1);
        if !self.is_busy() || self.client.is_closed() {
            self.driver.abort();
            return;
        }
        let (token, tls) = (self.client.cancel_token(), self.server.tls.clone());
        let (driver, slot) = (self.driver.abort_handle(), self.slot.take());
        beside(async move {
            if let Ok(Err(error)) = tokio::time::timeout(CANCEL_TIME, token.cancel_query(tls)).await
            {
                tracing::debug!(%error, "a statement could not be stopped");
            }
            driver.abort();
            drop(slot);
        });
    }
}
