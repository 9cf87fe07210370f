//! A store, served: the listener, its connections, and how they come to an end.

use crate::network::unix_socket::{SocketFile, UNIX_PEER, bind_unix};
use crate::server::busy_poll::Spin;
use crate::server::connection::ServerConnection;
use crate::server::connection_state::ConnectionState;
use crate::server::listener::client_quota::Client;
use crate::server::listener::descriptors::{Reserve, is_out_of_descriptors};
use crate::server::listener::incoming::{ConnectionSource, Share};
use crate::server::listener::listen::{is_of_the_client, listen};
use crate::server::log_rate::LogRate;
use crate::server::options::ServerOptions;
use crate::server::protocols::Protocols;
use crate::server::registry::{ACCEPT_PAUSE, ConnectionRegistration, ServerState};
use crate::server::request::forwarded;
use crate::server::service::RequestService;
use runnel_store::{Budget, Error, Kind, Result, Store};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A running server. Dropping it stops it at once: connections are cut.
pub struct HttpServer {
    shared: Rc<ServerState>,
    address: SocketAddr,
    accepting: RefCell<Option<JoinHandle<()>>>,
}

/// Serves a store: every request becomes a verb on it.
///
/// | method | verb | answer |
/// | --- | --- | --- |
/// | GET, HEAD | get | 200 with the content, 204 when it is empty, 304 when the client has it |
/// | PUT | put | 201 when created, 200 when replaced; the body is the path, as in Objective-S |
/// | POST | post | 201 with `Location` when the new thing has a place, 200 with content, else 204 |
/// | PATCH | merge | 204 |
/// | DELETE | delete | 204, or 404 when nothing was there |
/// | OPTIONS | verbs | 204 with `Allow` |
///
/// Where a get finds nothing, `list` is asked: a collection is a page of links, the rest is 404.
/// Other methods are 501; a verb that the store does not do is 405. An error has the status of
/// its kind. Text without a media type is `text/html`, bytes without one are
/// `application/octet-stream`, structures and lazy content are JSON (lazy content is CSV or plain
/// text where the client asks for that).
///
/// Paths are unescaped and their dot segments resolved before the store sees them, but `%2F` stays
/// as it is, so that it separates nothing. A client that closes its side of the connection, even
/// for sending only, gives up the request that it waits for: the verb is dropped.
///
/// Must be called within a [`tokio::runtime::LocalRuntime`] or a [`tokio::task::LocalSet`] (the
/// former is a little faster): a server and its stores stay on one thread.
///
/// # Errors
/// [`Kind::Conflict`] when the port is taken, [`Kind::Denied`] when the port needs more rights,
/// [`Kind::Invalid`] when the address is not one of this machine.
pub async fn serve(root: Rc<dyn Store>, options: ServerOptions) -> Result<HttpServer> {
    if let Some(address) = &options.socket {
        let (listener, file) = bind_unix(address)?;
        return start_unix(listener, Some(file), root, options);
    }
    let listener = listen(options.address)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(ConnectionSource::Listener(listener), address, root, options)
}

/// Serves a store on a socket that listens already: one that a supervisor hands over. The
/// address in the options does not count. At the end, connections that
/// wait on the socket are left to whoever else listens on it.
///
/// # Errors
/// [`Kind::Failed`] when the socket cannot be used.
pub async fn serve_on(
    listener: std::net::TcpListener,
    root: Rc<dyn Store>,
    options: ServerOptions,
) -> Result<HttpServer> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = TcpListener::from_std(listener).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(ConnectionSource::Shared(listener), address, root, options)
}

/// The same on a Unix socket.
///
/// # Errors
/// Those of [`serve_on`].
pub async fn serve_on_unix(
    listener: std::os::unix::net::UnixListener,
    root: Rc<dyn Store>,
    options: ServerOptions,
) -> Result<HttpServer> {
    start_unix(listener, None, root, options)
}

fn start_unix(
    listener: std::os::unix::net::UnixListener,
    file: Option<SocketFile>,
    root: Rc<dyn Store>,
    options: ServerOptions,
) -> Result<HttpServer> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = UnixListener::from_std(listener).map_err(unusable)?;
    start(ConnectionSource::Unix(listener, file), UNIX_PEER, root, options)
}

/// Serves a store on connections that another thread accepts on a port and hands over: how the
/// workers of a process share a port evenly. When the server stops it says so, and
/// whatever the other thread has accepted for it by then is still answered.
///
/// # Errors
/// [`Kind::Invalid`] when the certificate in the options is not usable.
pub async fn serve_handed(
    share: Share,
    address: SocketAddr,
    root: Rc<dyn Store>,
    options: ServerOptions,
) -> Result<HttpServer> {
    start(ConnectionSource::Handed(share, None), address, root, options)
}

fn start(
    incoming: ConnectionSource,
    address: SocketAddr,
    root: Rc<dyn Store>,
    options: ServerOptions,
) -> Result<HttpServer> {
    Budget::of_process().enforce();
    let shared = Rc::new(ServerState {
        root: Rc::new(RefCell::new(root)),
        protocols: Rc::new(Protocols::new(&options)?),
        limits: Rc::new(options.limits),
        observer: options.observer,
        spin: Spin::new(options.spin),
        clients: RefCell::default(),
        next: Cell::new(0),
        ended: Notify::new(),
        crowded: LogRate::new(),
        stop: Notify::new(),
        empties_queue: Cell::new(false),
    });
    let accepting = tokio::task::spawn_local(accept(incoming, shared.clone()));
    Ok(HttpServer { shared, address, accepting: RefCell::new(Some(accepting)) })
}

fn unusable(error: io::Error) -> Error {
    Error::new(Kind::Failed, "the listening socket cannot be used").with_detail(error.to_string())
}

impl HttpServer {
    /// Where it listens; [`UNIX_PEER`] on a Unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// [`crate::Limits::stop_time`].
    pub fn stop_time(&self) -> Duration {
        self.shared.limits.stop_time
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.clients.borrow().len()
    }

    /// Serves another store from the next request on. RequestService under way keep the old one.
    pub fn set_root(&self, root: Rc<dyn Store>) {
        *self.shared.root.borrow_mut() = root;
    }

    /// The store that is served.
    pub fn root(&self) -> Rc<dyn Store> {
        self.shared.root.borrow().clone()
    }

    /// Drains: no connection is accepted any more, and the port is free at once. Connections that
    /// are open are answered with `Connection: close` (HTTP/1.1) or get GOAWAY (HTTP/2); one
    /// without a request for [`crate::Limits::drain_time`] closes, WebSockets and streams of events end.
    /// What is not done when the patience ends is cut. Answers whether all was done.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.accept_no_more(true).await;
        let quiet = self.shared.limits.drain_time;
        self.shared.tell(|state| state.drain(quiet));
        self.end(patience).await
    }

    /// Stops because another process takes over the socket. So that no client loses a request,
    /// open connections are not closed for as long as the grace lasts: a request on one is
    /// answered, and its answer says that it was the last one. Then as [`HttpServer::stop`].
    pub async fn leave(&self, grace: Duration, patience: Duration) -> bool {
        self.accept_no_more(false).await;
        self.shared.tell(|state| state.leaving.set(true));
        // Those that are left are idle, or long at work.
        let _ = tokio::time::timeout(grace, self.shared.all_ended()).await;
        self.shared.tell(|state| state.stopping.set(true));
        self.end(patience.saturating_sub(grace)).await
    }

    async fn accept_no_more(&self, empties_queue: bool) {
        let accepting = self.accepting.take();
        if let Some(accepting) = accepting {
            self.shared.empties_queue.set(empties_queue);
            self.shared.stop.notify_one();
            // It ends at once; an error would say that it had panicked.
            let _ = accepting.await;
        }
    }

    async fn end(&self, patience: Duration) -> bool {
        let in_time = tokio::time::timeout(patience, self.shared.all_ended()).await.is_ok();
        if !in_time {
            self.shared.tell(|state| state.cut.set(true));
            self.shared.all_ended().await;
        }
        in_time
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
        self.shared.tell(|state| state.cut.set(true));
    }
}

/// Accepts connections until it is told to stop.
async fn accept(mut incoming: ConnectionSource, shared: Rc<ServerState>) {
    let mut reserve = Reserve::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.stop.notified() => break,
            accepted = incoming.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_the_client(&error) => continue,
            Err(error) => {
                shared.cannot_accept(&error);
                if is_out_of_descriptors(&error) {
                    shared.find_descriptor(&mut incoming, &mut reserve).await;
                } else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        if shared.has_enough(peer) {
            continue;
        }
        let stops = tokio::select! {
            biased;
            () = shared.make_room() => false,
            () = shared.stop.notified() => true,
        };
        begin(stream, peer, &shared);
        if stops {
            break;
        }
    }
    // The system has accepted the connections in the queue of the socket: closing it would reset
    // them, so they are served.
    let Some(mut rest) = incoming.close(shared.empties_queue.get()) else { return };
    while let Some((stream, peer)) = rest.next().await {
        begin(stream, peer, &shared);
    }
}

/// Starts the conversation on a new connection.
fn begin(stream: TcpStream, peer: SocketAddr, shared: &Rc<ServerState>) {
    // Without it a small answer can wait 40 ms for an acknowledgement.
    if peer != UNIX_PEER
        && let Err(error) = stream.set_nodelay(true)
    {
        tracing::debug!(%error, "a connection was closed before it began");
        return;
    }
    let state = Rc::new(ConnectionState::new(Instant::now()));
    let number = shared.next.get();
    shared.next.set(number.wrapping_add(1));
    let client = Client::of(peer);
    shared.clients.borrow_mut().add(client, number, state.clone());
    if let Some(observer) = &shared.observer {
        observer.opened(peer);
    }
    let client = Cell::new(client);
    let membership = Rc::new(ConnectionRegistration {
        number,
        peer,
        client,
        is_refused: Cell::new(false),
        shared: shared.clone(),
    });
    let behind_proxy = forwarded::is_trusted(&shared.limits.proxies, peer);
    let requests = RequestService {
        root: shared.root.clone(),
        limits: shared.limits.clone(),
        state,
        peer,
        observer: shared.observer.clone(),
        spin: shared.spin.clone(),
        multiplexed: false,
        membership: behind_proxy.then(|| membership.clone()),
    };
    let conversation = ServerConnection::new(stream, shared.protocols.clone(), requests);
    tokio::task::spawn_local(async move {
        let _membership = membership;
        conversation.await;
    });
}
