//! Clients that ask one request after the other without a pause for thought.

use super::eventually;
use super::http::Connection;
use std::io::{ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What one client does.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    pub(crate) target: &'static str,
    /// Whether it keeps its connection, or opens one for each request.
    pub(crate) keeps: bool,
    /// Between two requests.
    pub(crate) pause: Duration,
    /// Whether it ends when a new connection is refused, instead of calling that a failure.
    pub(crate) ends_when_refused: bool,
}

/// Clients at work.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    pub(crate) fn on(port: u16, clients: impl IntoIterator<Item = Client>) -> Load {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients = clients.into_iter().map(|client| {
            let (stop, answered) = (stop.clone(), answered.clone());
            std::thread::spawn(move || client.run(port, &stop, &answered))
        });
        Load { clients: clients.collect(), stop, answered }
    }

    /// Waits until this many more requests are answered.
    pub(crate) fn goes_on(&self, more: usize) {
        let until = self.answered() + more;
        eventually("requests are answered", || self.answered() >= until);
    }

    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Stops the clients; their failures.
    pub(crate) fn failures(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.refused()
    }

    /// Waits until every client was refused; their failures.
    pub(crate) fn refused(self) -> Vec<String> {
        self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    }
}

impl Client {
    /// Sends requests until the stop flag is set; returns the failures.
    fn run(self, port: u16, stop: &AtomicBool, answered: &AtomicUsize) -> Vec<String> {
        let (mut kept, mut failures) = (None, Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let connection = match kept.take().map_or_else(|| Connection::open(port), Ok) {
                Ok(connection) => connection,
                Err(error) if self.ends_when_refused && is_refusal(error.kind()) => break,
                Err(error) => {
                    failures.push(error.to_string());
                    continue;
                }
            };
            match self.ask(connection) {
                Ok((status, connection)) => {
                    kept = connection.filter(|_| self.keeps);
                    match status {
                        200 => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        other => failures.push(other.to_string()),
                    }
                }
                Err(error) => failures.push(error.to_string()),
            }
            std::thread::sleep(self.pause);
        }
        failures
    }

    /// The status, and the connection unless the answer was its last.
    fn ask(self, mut connection: Connection) -> Result<(u16, Option<Connection>)> {
        let reply = connection.send("GET", self.target, b"")?;
        let goes_on = reply.header("connection") != Some("close");
        Ok((reply.status, goes_on.then_some(connection)))
    }
}

fn is_refusal(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::ConnectionRefused | ErrorKind::TimedOut)
}
