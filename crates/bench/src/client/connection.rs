//! One connection to the server, and its active request.

use crate::client::response::{ReadStep, ResponseReader};
use crate::client::tls::{Stream, TlsClient};
use crate::load::counts::RequestFailure;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadState {
    /// Idle; it may be open.
    Free,
    /// Waiting for its due time.
    Resting,
    /// Connecting, for a request.
    Connecting,
    /// A request is active.
    Busy,
}

/// The result of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiveOutcome {
    /// The response is incomplete.
    More,
    /// The response is complete; the socket may have more.
    Answer {
        /// The socket may have more, if only the end.
        more: bool,
    },
}

/// A connection, open or closed.
#[derive(Debug)]
pub(crate) struct LoadConnection {
    stream: Option<Stream<TcpStream>>,
    pub(crate) state: LoadState,
    pub(crate) reader: ResponseReader,
    /// Written bytes of the request.
    written: usize,
    /// Requests on this connection, with the active one.
    requests: u64,
    /// The active request closes the connection.
    pub(crate) last: bool,
    /// Whether the body so far matches.
    matches: bool,
    /// When the request was due.
    pub(crate) begun: u64,
    /// When the request times out; for a resting connection, when it continues.
    pub(crate) due: u64,
    /// Whether the request is measured.
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

    /// Starts connecting.
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

    /// Whether the connection is established; `false` while it is unknown.
    pub(crate) fn is_connected(&mut self) -> Result<bool, RequestFailure> {
        let Some(stream) = &self.stream else { return Ok(false) };
        let stream = stream.socket();
        if let Some(error) = stream.take_error().unwrap_or_else(Some) {
            return Err(connect_failure(&error));
        }
        match stream.peer_addr() {
            Ok(_) => {
                // Without TCP_NODELAY a request in several pieces waits for acknowledgements.
                let _ = stream.set_nodelay(true);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(connect_failure(&error)),
        }
    }

    /// Starts a request on the open connection, which closes after `per_connection` of them.
    pub(crate) fn begin(&mut self, per_connection: Option<u64>) {
        self.state = LoadState::Busy;
        self.requests += 1;
        self.last = per_connection.is_some_and(|most| self.requests >= most);
        self.written = 0;
        self.matches = true;
        self.reader.restart();
    }

    /// Writes as much of the request as the socket accepts.
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
            // Buffered TLS data follows when there is room; reading reports failures.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether a TLS handshake still delays the request.
    pub(crate) fn is_unsent(&self, request: &[u8]) -> bool {
        self.written < request.len() && self.stream.as_ref().is_some_and(Stream::is_secure)
    }

    /// Reads available input, and compares the body to `expected`. `closed`: the server has closed
    /// its side, so the end can be read, and is not signalled again.
    ///
    /// # Errors
    /// The connection ended too early, or the input is no response.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        expected: Option<&[u8]>,
        closed: bool,
        received: &mut u64,
    ) -> Result<ReceiveOutcome, RequestFailure> {
        let Some(stream) = &mut self.stream else { return Ok(ReceiveOutcome::More) };
        // TLS returns one record for each read.
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
                // Input beyond the response is unexpected.
                Ok(ReadStep::Done(_)) | Err(_) => return Err(RequestFailure::Malformed),
            }
        }
    }

    /// Whether the complete body matches.
    pub(crate) fn matches(&self, expected: Option<&[u8]>) -> bool {
        expected.is_none_or(|body| self.matches && self.reader.length() == body.len() as u64)
    }

    /// Whether an idle connection is usable: it must have no input.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Whether another request may follow.
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
