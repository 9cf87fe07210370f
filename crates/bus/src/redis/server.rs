//! One server and the connection to it, which all commands share.

use super::fault;
use crate::address::Address;
use crate::shared_connection::SharedConnection;
use crate::{BusOptions, tls, wait};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, RedisResult, Value};
use runnel_store::{Error, Kind, Result};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Commands that wait for their answers on one connection. More wait for their turn, no longer
/// than their own deadlines.
const PENDING: usize = 1024;

/// Commands that wait to be written.
const UNWRITTEN: usize = 64;

/// A server and one of its databases.
pub(super) struct RedisServer {
    pub(super) address: Address,
    pub(super) database: i64,
    pub(super) options: BusOptions,
    link: SharedConnection<Rc<RedisConnection>>,
    /// Room for connections on which a command blocks.
    pub(super) blocking: Rc<Semaphore>,
}

/// Connections of a worker to one server on which commands block. More wait for their turn.
const BLOCKING: usize = 64;

/// One connection. Dropping it closes it and fails the pending commands.
pub(super) struct RedisConnection {
    connection: MultiplexedConnection,
    /// Room for commands that are sent and not answered.
    room: Semaphore,
    open: Rc<Cell<bool>>,
    answered: Cell<Instant>,
    driver: AbortHandle,
}

impl Drop for RedisConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A stream to a server: plain or encrypted.
pub(super) trait RedisStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> RedisStream for T {}

/// Whether a command may be sent again when the connection broke before its answer came.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Resend {
    /// Doing it twice is the same as doing it once.
    Yes,
    /// It is not known whether it was done.
    No,
}

impl RedisServer {
    pub(super) fn new(address: Address, database: i64, options: BusOptions) -> Self {
        let (link, blocking) = (SharedConnection::new(), Rc::new(Semaphore::new(BLOCKING)));
        RedisServer { address, database, options, link, blocking }
    }

    /// Sends one command and waits for its answer, no longer than until the deadline.
    pub(super) async fn ask(
        self: &Rc<Self>,
        command: &Cmd,
        again: Resend,
        deadline: Instant,
    ) -> Result<Value> {
        let asked = self.attempt(deadline, again, |mut connection| async move {
            connection.send_packed_command(command).await?.extract_error()
        });
        asked.await?.map_err(|error| fault::from_library(&error, &self.address))
    }

    /// As [`RedisServer::ask`], where the server's own errors matter.
    pub(super) async fn ask_for(
        self: &Rc<Self>,
        command: &Cmd,
        again: Resend,
        deadline: Instant,
    ) -> Result<std::result::Result<Value, redis::RedisError>> {
        let asked = self.attempt(deadline, again, |mut connection| async move {
            connection.send_packed_command(command).await?.extract_error()
        });
        asked.await
    }

    /// Does all commands at once (`MULTI`) and answers what each of them answered.
    pub(super) async fn ask_all(
        self: &Rc<Self>,
        commands: &Pipeline,
        again: Resend,
        deadline: Instant,
    ) -> Result<Vec<Value>> {
        let asked = self.attempt(deadline, again, |mut connection| async move {
            commands.query_async::<Vec<Value>>(&mut connection).await
        });
        asked.await?.map_err(|error| fault::from_library(&error, &self.address))
    }

    /// Uses the connection; it is dropped when the server has been silent until the deadline. The
    /// inner error is an answer of the server. From the moment at which there is room on the
    /// connection, a command counts as sent.
    async fn attempt<T, F: Future<Output = RedisResult<T>>>(
        self: &Rc<Self>,
        deadline: Instant,
        again: Resend,
        act: impl Fn(MultiplexedConnection) -> F,
    ) -> Result<RedisResult<T>> {
        let mut first = true;
        loop {
            let wire = self.wire(deadline).await?;
            let Ok(_room) = tokio::time::timeout_at(deadline.into(), wire.room.acquire()).await
            else {
                return Err(wait::too_late(&self.address));
            };
            let sent = Instant::now();
            let answer =
                tokio::time::timeout_at(deadline.into(), act(wire.connection.clone())).await;
            let Ok(result) = answer else {
                if wire.answered.get() < sent {
                    self.link.forget(|current| Rc::ptr_eq(current, &wire));
                }
                return Err(unknown(wait::too_late(&self.address), again));
            };
            match result {
                Err(error) if fault::is_broken(&error) => {
                    self.link.forget(|current| Rc::ptr_eq(current, &wire));
                    let fault = fault::from_library(&error, &self.address);
                    if again == Resend::Yes && first && fault.temporary {
                        first = false;
                        continue;
                    }
                    return Err(unknown(fault, again));
                }
                result => {
                    wire.answered.set(Instant::now());
                    return Ok(result);
                }
            }
        }
    }

    /// A connection for commands that block, which no other task uses.
    pub(super) async fn own_connection(self: &Rc<Self>) -> Result<Rc<RedisConnection>> {
        connect(self.clone()).await
    }

    async fn wire(self: &Rc<Self>, deadline: Instant) -> Result<Rc<RedisConnection>> {
        let connecting = self.link.get(|wire| wire.open.get(), || connect(self.clone()));
        wait::by(deadline, &self.address, connecting).await
    }

    /// A new stream to the server, nothing said on it yet.
    pub(super) async fn stream(&self) -> Result<Box<dyn RedisStream>> {
        let address = &self.address;
        let failed = |error: std::io::Error| fault::from_stream(&error, address);
        let plain = TcpStream::connect((address.host.as_str(), address.port));
        let plain = plain.await.map_err(failed)?;
        plain.set_nodelay(true).map_err(failed)?;
        if !address.secure {
            return Ok(Box::new(plain));
        }
        let name = ServerName::try_from(address.host.clone()).map_err(|_| {
            Error::new(Kind::Invalid, format!("{address} cannot be the name of a secure server"))
        })?;
        let connector = TlsConnector::from(Arc::new(tls::client(&self.options)?));
        Ok(Box::new(connector.connect(name, plain).await.map_err(failed)?))
    }

    /// Who we are to the server.
    pub(super) fn login(&self) -> RedisConnectionInfo {
        let mut login =
            RedisConnectionInfo::default().set_db(self.database).set_skip_set_lib_name();
        if let Some(user) = &self.address.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.address.password {
            login = login.set_password(password);
        }
        login
    }
}

impl RedisConnection {
    /// Sends a command that may block, and waits for its answer until the deadline. `None` where
    /// the connection broke or was silent: nothing more can be asked on it.
    pub(super) async fn block_on(
        &self,
        command: &Cmd,
        deadline: Instant,
    ) -> Option<RedisResult<Value>> {
        let mut connection = self.connection.clone();
        let asked = connection.send_packed_command(command);
        let answer = tokio::time::timeout_at(deadline.into(), asked).await.ok()?;
        let answer = answer.and_then(Value::extract_error);
        if answer.as_ref().is_err_and(fault::is_broken) { None } else { Some(answer) }
    }
}

/// A new connection, or an error within the time that connecting may take.
async fn connect(server: Rc<RedisServer>) -> Result<Rc<RedisConnection>> {
    let by = Instant::now() + server.options.connect_time;
    wait::by(by, &server.address, async {
        let stream = server.stream().await?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(UNWRITTEN);
        let login = server.login();
        let made = MultiplexedConnection::new_with_config(&login, stream, config);
        let (connection, driver) =
            made.await.map_err(|error| fault::from_library(&error, &server.address))?;
        let open = Rc::new(Cell::new(true));
        let closing = open.clone();
        let driver = tokio::task::spawn_local(async move {
            driver.await;
            closing.set(false);
        });
        let driver = driver.abort_handle();
        let mut connection_to_greet = connection.clone();
        let (room, answered) = (Semaphore::new(PENDING), Cell::new(Instant::now()));
        let wire = RedisConnection { connection, room, open, answered, driver };
        // A server that says nothing, or nonsense, is found out here and not by the first verb.
        let greeting = connection_to_greet.send_packed_command(&redis::cmd("PING")).await;
        match greeting.and_then(Value::extract_error) {
            Ok(_) => Ok(Rc::new(wire)),
            Err(error) => Err(fault::from_library(&error, &server.address)),
        }
    })
    .await
}

/// A fault of something that may have been done, and must not simply be done again.
fn unknown(fault: Error, again: Resend) -> Error {
    if again == Resend::No { fault.in_doubt() } else { fault }
}
