//! One connection to the server, and the request that is on it.

use crate::client::response::{ReadStep, ResponseReader};
use crate::client::tls::{Stream, TlsClient};
use crate::load::counts::RequestFailure;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadState {
    /// Nothing; it may be open.
    Free,
    /// Nothing, until its time has come.
    Resting,
    /// It is being made, for a request.
    Connecting,
    /// A request is on it.
    Busy,
}

/// What an event on a connection led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiveOutcome {
    /// The answer is not complete.
    More,
    /// It is; the event may have left more to be read.
    Answer {
        /// The system may have more, if only the end.
        more: bool,
    },
}

/// A connection, open or not.
#[derive(Debug)]
pub(crate) struct LoadConnection {
    stream: Option<Stream<TcpStream>>,
    pub(crate) state: LoadState,
    pub(crate) reader: ResponseReader,
    /// Bytes of the request that the system has taken.
    written: usize,
    /// Requests on this connection, with the one under way.
    requests: u64,
    /// The request under way tells the server to close.
    pub(crate) last: bool,
    /// The body so far is the expected one.
    matches: bool,
    /// When the request was to be sent.
    pub(crate) begun: u64,
    /// When it has taken too long; for a resting connection, when it goes on.
    pub(crate) due: u64,
    /// The request counts.
    pub(crate) measured: bool,
}

impl LoadConnection {
    pub(crate) fn new(bodiless: bool) -> Self {
        LoadConnection {
            stream: None,
            state: LoadState::Resting,
            reader: ResponseReader::new(bodiless),
            written: 0,
            requests: 0,
            last: false,
            matches: true,
            begun: 0,
            due: 0,
            measured: false,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Begins to make the connection.
    pub(crate) fn open(
        &mut self,
        address: SocketAddr,
        tls: Option<&TlsClient>,
        registry: &Registry,
        token: Token,
    ) -> Result<(), RequestFailure> {
        let made = TcpStream::connect(address).and_then(|mut stream| {
            registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
            Stream::new(stream, tls)
        });
        self.stream = Some(made.map_err(|error| connect_failure(&error))?);
        self.state = LoadState::Connecting;
        self.requests = 0;
        Ok(())
    }

    /// Whether the connection is made; `false` when it is not known yet.
    pub(crate) fn made(&mut self) -> Result<bool, RequestFailure> {
        let Some(stream) = &self.stream else { return Ok(false) };
        let stream = stream.socket();
        if let Some(error) = stream.take_error().unwrap_or_else(Some) {
            return Err(connect_failure(&error));
        }
        match stream.peer_addr() {
            Ok(_) => {
                // A request that goes out in pieces must not wait for the server's acknowledgement.
                let _ = stream.set_nodelay(true);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(connect_failure(&error)),
        }
    }

    /// Puts a request on the open connection, which closes after `per_connection` of them.
    pub(crate) fn begin(&mut self, per_connection: Option<u64>) {
        self.state = LoadState::Busy;
        self.requests += 1;
        self.last = per_connection.is_some_and(|most| self.requests >= most);
        self.written = 0;
        self.matches = true;
        self.reader.restart();
    }

    /// Sends what the system takes of the request.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), RequestFailure> {
        let Some(stream) = &mut self.stream else { return Err(RequestFailure::Closed) };
        while self.written < request.len() {
            match stream.write(&request[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The server may have answered before it closed: reading tells.
                Err(_) if self.written > 0 => {
                    self.written = request.len();
                    return Ok(());
                }
                Err(error) => return Err(self.broken(&error)),
            }
        }
        match stream.flush() {
            // What TLS has not sent yet follows when there is room; what is broken, reading tells.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether a handshake still stands before the request.
    pub(crate) fn is_unsent(&self, request: &[u8]) -> bool {
        self.written < request.len() && self.stream.as_ref().is_some_and(Stream::is_secure)
    }

    /// Reads what there is of an answer, and compares its body to `expected`. `closed`: the server
    /// has closed its side, so the end is there to be read, and will not be told again.
    ///
    /// # Errors
    /// The connection ended too early, or what came is no answer.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        expected: Option<&[u8]>,
        closed: bool,
        received: &mut u64,
    ) -> Result<ReceiveOutcome, RequestFailure> {
        let Some(stream) = &mut self.stream else { return Ok(ReceiveOutcome::More) };
        // TLS hands out no more than a record at a time.
        let tls = stream.is_secure();
        loop {
            let count = match stream.read(buffer) {
                Ok(0) if self.reader.ended() => return Ok(ReceiveOutcome::Answer { more: false }),
                Ok(0) if self.reader.started() => return Err(RequestFailure::Short),
                Ok(0) => return Err(RequestFailure::Closed),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(ReceiveOutcome::More);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(&error)),
            };
            *received += count as u64;
            let (mut at, mut matches) = (self.reader.length(), self.matches);
            let step = self.reader.feed(&buffer[..count], |part| {
                if let Some(expected) = expected {
                    let from = usize::try_from(at).unwrap_or(usize::MAX);
                    let there = expected.get(from..from.saturating_add(part.len()));
                    matches &= there == Some(part);
                    at += part.len() as u64;
                }
            });
            self.matches = matches;
            match step {
                Ok(ReadStep::More) if count < buffer.len() && !closed && !tls => {
                    return Ok(ReceiveOutcome::More);
                }
                Ok(ReadStep::More) => {}
                Ok(ReadStep::Done(taken)) if taken == count => {
                    return Ok(ReceiveOutcome::Answer { more: tls || count == buffer.len() });
                }
                // Nobody asked for what follows.
                Ok(ReadStep::Done(_)) | Err(_) => return Err(RequestFailure::Malformed),
            }
        }
    }

    /// The body is what was expected, to its end.
    pub(crate) fn matches(&self, expected: Option<&[u8]>) -> bool {
        expected.is_none_or(|body| self.matches && self.reader.length() == body.len() as u64)
    }

    /// Whether a connection without a request is still of use: nothing may come on it.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Another request may follow the one that was answered.
    pub(crate) fn keeps(&self) -> bool {
        !self.last && self.reader.keeps()
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    fn broken(&self, error: &io::Error) -> RequestFailure {
        match error.kind() {
            ErrorKind::TimedOut => RequestFailure::Timeout,
            _ => RequestFailure::Reset,
        }
    }
}

fn connect_failure(error: &io::Error) -> RequestFailure {
    match error.kind() {
        ErrorKind::ConnectionRefused => RequestFailure::Refused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => RequestFailure::Reset,
        ErrorKind::TimedOut => RequestFailure::ConnectTimeout,
        _ => RequestFailure::Connect,
    }
}
