//! Serving a store or a handler: starting, accepting, draining and stopping.

use crate::handler::Served;
use crate::network::certificates::by_name::CertificatesByName;
use crate::network::server_tls::ServerTls;
use crate::network::unix_socket::{SocketFile, UNIX_PEER, bind_unix};
use crate::server::busy_poll::BusyPoll;
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
use crate::server::request::hosts::ServedHosts;
use crate::server::service::RequestService;
use runnel_store::{Budget, Error, Kind, Result};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A running server. Dropping it closes all connections at once.
pub struct HttpServer {
    shared: Rc<ServerState>,
    address: SocketAddr,
    accepting: RefCell<Option<JoinHandle<()>>>,
}

/// Serves a store or a [`crate::Handler`]. For a store, every request becomes a verb on it:
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
/// Where a get finds nothing, `list` is called: a collection becomes a page of links, anything else
/// is 404. Other methods are 501; a verb that the store lacks is 405. An error has the status of
/// its kind. Text without a media type is `text/html`, bytes without one are
/// `application/octet-stream`, structures and lazy content are JSON (lazy content is CSV or plain
/// text for clients that prefer it).
///
/// Paths are decoded and their dot segments removed before the store sees them, but `%2F` stays, so
/// that it is no separator. A client that closes its side of the connection, even for sending only,
/// cancels its pending request: the verb is dropped.
///
/// Must be called within a [`tokio::runtime::LocalRuntime`] or a [`tokio::task::LocalSet`] (the
/// former is a little faster): a server and its stores stay on one thread.
///
/// # Errors
/// [`Kind::Conflict`] when the port is taken, [`Kind::Denied`] when the port needs more rights,
/// [`Kind::Invalid`] when the address is not one of this machine.
pub async fn serve(served: impl Into<Served>, options: ServerOptions) -> Result<HttpServer> {
    let served = served.into();
    if let Some(address) = &options.socket {
        let (listener, file) = bind_unix(address)?;
        return start_unix(listener, Some(file), served, options).await;
    }
    let listener = listen(options.address)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(ConnectionSource::Listener(listener), address, served, options).await
}

/// Serves a store or a handler on a listening socket, as inherited from a supervisor. The address in the
/// options is ignored. At the end, connections in the queue are left to the other processes that
/// share the socket.
///
/// # Errors
/// [`Kind::Failed`] when the socket cannot be used.
pub async fn serve_on(
    listener: std::net::TcpListener,
    served: impl Into<Served>,
    options: ServerOptions,
) -> Result<HttpServer> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = TcpListener::from_std(listener).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(ConnectionSource::Shared(listener), address, served.into(), options).await
}

/// Serves a store or a handler on a listening Unix socket.
///
/// # Errors
/// Those of [`serve_on`].
pub async fn serve_on_unix(
    listener: std::os::unix::net::UnixListener,
    served: impl Into<Served>,
    options: ServerOptions,
) -> Result<HttpServer> {
    start_unix(listener, None, served.into(), options).await
}

async fn start_unix(
    listener: std::os::unix::net::UnixListener,
    file: Option<SocketFile>,
    served: Served,
    options: ServerOptions,
) -> Result<HttpServer> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = UnixListener::from_std(listener).map_err(unusable)?;
    start(ConnectionSource::Unix(listener, file), UNIX_PEER, served, options).await
}

/// Serves a store or a handler on connections that another thread accepts and hands over: the workers of a
/// process share a port evenly that way. When the server stops it tells the other thread;
/// connections accepted for it by then are still served.
///
/// # Errors
/// [`Kind::Invalid`] when the certificate in the options is not usable.
pub async fn serve_handed(
    share: Share,
    address: SocketAddr,
    served: impl Into<Served>,
    options: ServerOptions,
) -> Result<HttpServer> {
    start(ConnectionSource::Handed(share, None), address, served.into(), options).await
}

async fn start(
    incoming: ConnectionSource,
    address: SocketAddr,
    served: Served,
    options: ServerOptions,
) -> Result<HttpServer> {
    Budget::of_process().enforce();
    let shared = Rc::new(ServerState {
        served: Rc::new(RefCell::new(served)),
        protocols: Rc::new(Protocols::new(&options).await?),
        hosts: Rc::new(ServedHosts::of(address, &options)),
        limits: Rc::new(options.limits),
        observer: options.observer,
        busy_poll: BusyPoll::new(options.spin),
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
    /// The listening address; [`UNIX_PEER`] on a Unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listening port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The names for which the server has certificates; `None` without TLS.
    pub fn certificates(&self) -> Option<Arc<CertificatesByName>> {
        self.shared.protocols.tls.as_ref().map(ServerTls::names)
    }

    /// [`crate::Limits::stop_time`].
    pub fn stop_time(&self) -> Duration {
        self.shared.limits.stop_time
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.clients.borrow().len()
    }

    /// Serves another store or handler from the next request on. Active requests keep the old one.
    pub fn set_root(&self, root: impl Into<Served>) {
        *self.shared.served.borrow_mut() = root.into();
    }

    /// The served store or handler.
    pub fn root(&self) -> Served {
        self.shared.served.borrow().clone()
    }

    /// Drains: accepting stops, and the port is free at once. Open connections get `Connection:
    /// close` (HTTP/1.1) or GOAWAY (HTTP/2) and close after [`crate::Limits::drain_time`] without a
    /// request; WebSockets and event streams end. After `patience`, remaining connections are
    /// closed. Returns whether all requests completed.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.accept_no_more(true).await;
        let quiet = self.shared.limits.drain_time;
        self.shared.update_all(|state| state.drain(quiet));
        self.end(patience).await
    }

    /// Stops because another process takes over the socket. During `grace` open connections stay,
    /// so that no client loses a request: the next response on each is its last one. Then as
    /// [`HttpServer::stop`].
    pub async fn leave(&self, grace: Duration, patience: Duration) -> bool {
        self.accept_no_more(false).await;
        self.shared.update_all(|state| state.leaving.set(true));
        // Those that are left are idle, or busy for long.
        let _ = tokio::time::timeout(grace, self.shared.all_ended()).await;
        self.shared.update_all(|state| state.stopping.set(true));
        self.end(patience.saturating_sub(grace)).await
    }

    async fn accept_no_more(&self, empties_queue: bool) {
        let accepting = self.accepting.take();
        if let Some(accepting) = accepting {
            self.shared.empties_queue.set(empties_queue);
            self.shared.stop.notify_one();
            // It ends at once; an error would be a panic.
            let _ = accepting.await;
        }
    }

    async fn end(&self, patience: Duration) -> bool {
        let in_time = tokio::time::timeout(patience, self.shared.all_ended()).await.is_ok();
        if !in_time {
            self.shared.update_all(|state| state.cut.set(true));
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
        self.shared.update_all(|state| state.cut.set(true));
    }
}

/// Accepts connections until the server stops.
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
        if shared.is_over_quota(peer) {
            continue;
        }
        let stops = tokio::select! {
            biased;
            () = shared.make_room() => false,
            () = shared.stop.notified() => true,
        };
        start_connection(stream, peer, &shared);
        if stops {
            break;
        }
    }
    // The kernel has completed the handshakes in the socket's queue: closing it would reset them,
    // so they are served.
    let Some(mut rest) = incoming.close(shared.empties_queue.get()) else { return };
    while let Some((stream, peer)) = rest.next().await {
        start_connection(stream, peer, &shared);
    }
}

/// Starts a new connection.
fn start_connection(stream: TcpStream, peer: SocketAddr, shared: &Rc<ServerState>) {
    // Without TCP_NODELAY a small response can wait 40 ms for an acknowledgement.
    if peer != UNIX_PEER
        && let Err(error) = stream.set_nodelay(true)
    {
        tracing::debug!(%error, "a connection was closed before it began");
        return;
    }
    let behind_proxy = forwarded::is_trusted(&shared.limits.access.trusted_proxies, peer);
    if shared.limits.access.proxy_protocol && !behind_proxy {
        shared.refuse_stranger(peer);
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
    let requests = RequestService {
        served: shared.served.clone(),
        is_secure: shared.protocols.tls.is_some(),
        limits: shared.limits.clone(),
        hosts: shared.hosts.clone(),
        state,
        peer,
        observer: shared.observer.clone(),
        busy_poll: shared.busy_poll.clone(),
        multiplexed: false,
        is_anonymous: false,
        client_certificate: None,
        membership: behind_proxy.then(|| membership.clone()),
    };
    let conversation = ServerConnection::new(stream, shared.protocols.clone(), requests);
    tokio::task::spawn_local(async move {
        let _membership = membership;
        conversation.await;
    });
}
