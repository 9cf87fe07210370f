//! Workers: a program runs once in each of several threads, which share its ports.
//!
//! The first worker runs to the end of its top level (or to its prompt) before the others start,
//! so that what it prepares (tables, files) is there. Each worker has its own event loop, isolate
//! and stores; what native stores keep (`memory:`, files, databases) is common to them all. A worker
//! that fails or panics ends the process, because half of the workers would hide the failure; a
//! supervisor restarts it.

mod door;
pub(crate) mod jobs;

use crate::console::Console;
use crate::exit_status;
use crate::process::handover;
use crate::process::signals;
use door::Entrance;
use runnel_http::{HttpServer, Served, ServerOptions};
use runnel_store::Result;
use std::cell::{Cell, RefCell};
use std::net::{SocketAddr, TcpListener};
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// The most workers.
pub(crate) const MOST: usize = 256;
/// The stack of a worker's thread in bytes, as the first one has it.
const STACK: usize = 8 * 1024 * 1024;

/// Which worker of how many.
pub(crate) struct WorkerIndex {
    number: usize,
    count: usize,
    /// How many servers with port 0 there were.
    anywhere: Cell<usize>,
    /// Where servers of this worker listen, as long as they do.
    held: RefCell<Vec<(door::Name, Weak<()>)>>,
}

/// Asks for a socket that another process holds.
type InheritedListener = fn(SocketAddr, usize) -> Result<Option<TcpListener>>;

/// A place where a server listens, until it is dropped. The socket itself may be another's, who
/// would hand it out twice.
pub(crate) struct ListenAddressGuard(#[expect(dead_code, reason = "its end says so")] Rc<()>);

impl WorkerIndex {
    /// The only worker, or the first.
    pub(crate) fn first(count: usize) -> WorkerIndex {
        WorkerIndex::other(0, count)
    }

    fn other(number: usize, count: usize) -> WorkerIndex {
        WorkerIndex { number, count, anywhere: Cell::new(0), held: RefCell::default() }
    }

    /// Its number, from 0.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Standard input and the prompt are the first worker's.
    pub(crate) fn is_first(&self) -> bool {
        self.number == 0
    }

    /// Serves: on the port of this process, of its supervisor, or of systemd.
    pub(crate) async fn serve(
        &self,
        served: Served,
        options: ServerOptions,
    ) -> Result<(HttpServer, ListenAddressGuard)> {
        self.serve_with(served, options, handover::listener).await
    }

    /// Serves beside another server, such as a redirect: never on the only socket of systemd.
    pub(crate) async fn serve_beside(
        &self,
        served: Served,
        options: ServerOptions,
    ) -> Result<(HttpServer, ListenAddressGuard)> {
        self.serve_with(served, options, |address, _| handover::side_listener(address)).await
    }

    async fn serve_with(
        &self,
        served: Served,
        options: ServerOptions,
        inherited: InheritedListener,
    ) -> Result<(HttpServer, ListenAddressGuard)> {
        let address = options.address;
        let is_anywhere = address.port() == 0 && options.socket.is_none();
        let again = if is_anywhere { self.anywhere.replace(self.anywhere.get() + 1) } else { 0 };
        let name = match &options.socket {
            Some(socket) => (socket.path.display().to_string(), 0),
            None => (format!("port {} of {}", address.port(), address.ip()), again),
        };
        let held = self.hold(&name)?;
        let server = self.serve_at(name, served, options, inherited).await?;
        Ok((server, held))
    }

    async fn serve_at(
        &self,
        name: door::Name,
        served: Served,
        options: ServerOptions,
        inherited: InheritedListener,
    ) -> Result<HttpServer> {
        let (address, again) = (options.address, name.1);
        let theirs = match &options.socket {
            Some(socket) => handover::unix_listener(socket)?.map(|one| Entrance::Unix(one, None)),
            None => inherited(address, again)?.map(|one| Entrance::Port(one, false)),
        };
        if self.count > 1 {
            let socket = options.socket.clone();
            let open = || match (theirs, socket) {
                (Some(entrance), _) => Ok(entrance),
                (None, None) => runnel_http::bind(address).map(|one| Entrance::Port(one, true)),
                (None, Some(socket)) => runnel_http::bind_unix(&socket)
                    .map(|(listener, file)| Entrance::Unix(listener, Some(file))),
            };
            let (share, address) = door::join(name, self.number, open)?;
            return runnel_http::serve_handed(share, address, served, options).await;
        }
        match theirs {
            Some(Entrance::Port(listener, _)) => {
                runnel_http::serve_on(listener, served, options).await
            }
            Some(Entrance::Unix(listener, _)) => {
                runnel_http::serve_on_unix(listener, served, options).await
            }
            None => runnel_http::serve(served, options).await,
        }
    }

    /// Takes a place for a server, once.
    fn hold(&self, name: &door::Name) -> Result<ListenAddressGuard> {
        let mut held = self.held.borrow_mut();
        held.retain(|(_, token)| token.strong_count() > 0);
        if held.iter().any(|(known, _)| known == name) {
            return Err(door::taken(&name.0));
        }
        let token = Rc::new(());
        held.push((name.clone(), Rc::downgrade(&token)));
        Ok(ListenAddressGuard(token))
    }
}

/// `auto`: one for each core that this process may use; or a number.
pub(crate) fn count(text: &str) -> std::result::Result<usize, String> {
    if text == "auto" {
        return Ok(std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST)));
    }
    match text.parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("a number from 1 to {MOST}, or auto")),
    }
}

/// Runs one of the other workers.
type Run = Box<dyn Fn(WorkerIndex) -> u8 + Send + Sync>;

/// The other workers, before and after they start.
static OTHERS: Mutex<Others> = Mutex::new(Others::None);

enum Others {
    None,
    Waiting(usize, Run),
    Running(Vec<JoinHandle<()>>),
}

/// Says how the other workers are run, once the first has come so far.
pub(crate) fn plan(count: usize, run: impl Fn(WorkerIndex) -> u8 + Send + Sync + 'static) {
    if count > 1 {
        *OTHERS.lock().unwrap_or_else(PoisonError::into_inner) =
            Others::Waiting(count, Box::new(run));
    }
}

/// Starts the others, the first time.
pub(crate) fn start() {
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    let (count, run) = match std::mem::replace(&mut *others, Others::None) {
        Others::Waiting(count, run) => (count, std::sync::Arc::new(run)),
        before => {
            *others = before;
            return;
        }
    };
    let mut threads = Vec::new();
    for number in 1..count {
        let run = run.clone();
        let thread = std::thread::Builder::new()
            .name(format!("worker {}", number + 1))
            .stack_size(STACK)
            .spawn(move || {
                let fall = Fall { number, why: "panicked" };
                let status = run(WorkerIndex::other(number, count));
                std::mem::forget(fall);
                jobs::release(number);
                if status != 0 && !signals::is_ending() {
                    Fall { number, why: "failed" }.end(status);
                }
            });
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                Console::error(&format!("error: worker {} cannot start: {error}", number + 1));
                signals::end_all(exit_status::SOFTWARE);
                break;
            }
        }
    }
    *others = Others::Running(threads);
}

/// Tells the others to stop, and waits until they have.
pub(crate) fn stop(status: u8) {
    signals::end_all(status);
    let others = std::mem::replace(
        &mut *OTHERS.lock().unwrap_or_else(PoisonError::into_inner),
        Others::None,
    );
    if let Others::Running(threads) = others {
        for thread in threads {
            // A panic has been told already.
            let _ = thread.join();
        }
    }
    door::close_all();
}

/// A worker that ends without having been told to ends the process.
struct Fall {
    number: usize,
    why: &'static str,
}

impl Fall {
    fn end(&self, status: u8) {
        let Fall { number, why } = self;
        Console::error(&format!("error: worker {} {why}; the program ends", number + 1));
        signals::end_all(status);
    }
}

impl Drop for Fall {
    fn drop(&mut self) {
        if std::thread::panicking() {
            jobs::release(self.number);
            self.end(exit_status::SOFTWARE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted() {
        assert_eq!(count("3"), Ok(3));
        assert!(count("auto").is_ok_and(|count| (1..=MOST).contains(&count)));
        for wrong in ["0", "-1", "257", "many", ""] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
