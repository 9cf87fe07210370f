//! A store, served: the listener, its connections, and how they come to an end.

use crate::network::unix_socket::{SocketFile, UNIX_PEER, bind_unix};
use crate::server::busy_poll::Spin;
use crate::server::connection::Conversation;
use crate::server::connection_state::{GIVING_UP, Meter};
use crate::server::listener::client_quota::{Client, Clients};
use crate::server::listener::descriptors::{Reserve, is_out_of_descriptors};
use crate::server::listener::incoming::{Incoming, Share};
use crate::server::listener::listen::{is_of_the_client, listen};
use crate::server::log_rate::LogRate;
use crate::server::observer::Observer;
use crate::server::options::{Limits, Options};
use crate::server::protocols::Protocols;
use crate::server::request::forwarded;
use crate::server::service::Requests;
use runnel_store::{Budget, Error, Kind, Result, Store};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How long to wait after the system refused to accept a connection (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long until the next look for a connection that can be given up.
const LOOKING: Duration = Duration::from_millis(100);

/// A running server. Dropping it stops it at once: connections are cut.
pub struct Server {
    shared: Rc<Shared>,
    address: SocketAddr,
    accepting: RefCell<Option<JoinHandle<()>>>,
}

/// What the listener and the connections of a server have in common.
struct Shared {
    root: Rc<RefCell<Rc<dyn Store>>>,
    limits: Rc<Limits>,
    protocols: Rc<Protocols>,
    observer: Option<Rc<dyn Observer>>,
    spin: Option<Rc<Spin>>,
    clients: RefCell<Clients>,
    next: Cell<u64>,
    /// A connection has ended.
    ended: Notify,
    /// Lines about connections that find no room.
    crowded: LogRate,
    /// No connection is to be accepted any more.
    stop: Notify,
    /// Whether connections that wait on a socket of others are accepted before.
    empties_queue: Cell<bool>,
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
pub async fn serve(root: Rc<dyn Store>, options: Options) -> Result<Server> {
    if let Some(address) = &options.socket {
        let (listener, file) = bind_unix(address)?;
        return start_unix(listener, Some(file), root, options);
    }
    let listener = listen(options.address)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(Incoming::Listener(listener), address, root, options)
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
    options: Options,
) -> Result<Server> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = TcpListener::from_std(listener).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    start(Incoming::Shared(listener), address, root, options)
}

/// The same on a Unix socket.
///
/// # Errors
/// Those of [`serve_on`].
pub async fn serve_on_unix(
    listener: std::os::unix::net::UnixListener,
    root: Rc<dyn Store>,
    options: Options,
) -> Result<Server> {
    start_unix(listener, None, root, options)
}

fn start_unix(
    listener: std::os::unix::net::UnixListener,
    file: Option<SocketFile>,
    root: Rc<dyn Store>,
    options: Options,
) -> Result<Server> {
    listener.set_nonblocking(true).map_err(unusable)?;
    let listener = UnixListener::from_std(listener).map_err(unusable)?;
    start(Incoming::Unix(listener, file), UNIX_PEER, root, options)
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
    options: Options,
) -> Result<Server> {
    start(Incoming::Handed(share, None), address, root, options)
}

fn start(
    incoming: Incoming,
    address: SocketAddr,
    root: Rc<dyn Store>,
    options: Options,
) -> Result<Server> {
    Budget::of_process().enforce();
    let shared = Rc::new(Shared {
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
    Ok(Server { shared, address, accepting: RefCell::new(Some(accepting)) })
}

fn unusable(error: io::Error) -> Error {
    Error::new(Kind::Failed, "the listening socket cannot be used").with_detail(error.to_string())
}

impl Server {
    /// Where it listens; [`UNIX_PEER`] on a Unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// [`Limits::stop_time`].
    pub fn stop_time(&self) -> Duration {
        self.shared.limits.stop_time
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.clients.borrow().len()
    }

    /// Serves another store from the next request on. Requests under way keep the old one.
    pub fn set_root(&self, root: Rc<dyn Store>) {
        *self.shared.root.borrow_mut() = root;
    }

    /// The store that is served.
    pub fn root(&self) -> Rc<dyn Store> {
        self.shared.root.borrow().clone()
    }

    /// Drains: no connection is accepted any more, and the port is free at once. Connections that
    /// are open are answered with `Connection: close` (HTTP/1.1) or get GOAWAY (HTTP/2); one
    /// without a request for [`Limits::drain_time`] closes, WebSockets and streams of events end.
    /// What is not done when the patience ends is cut. Answers whether all was done.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.accept_no_more(true).await;
        let quiet = self.shared.limits.drain_time;
        self.shared.tell(|meter| meter.drain(quiet));
        self.end(patience).await
    }

    /// Stops because another process takes over the socket. So that no client loses a request,
    /// open connections are not closed for as long as the grace lasts: a request on one is
    /// answered, and its answer says that it was the last one. Then as [`Server::stop`].
    pub async fn leave(&self, grace: Duration, patience: Duration) -> bool {
        self.accept_no_more(false).await;
        self.shared.tell(|meter| meter.leaving.set(true));
        // Those that are left are idle, or long at work.
        let _ = tokio::time::timeout(grace, self.shared.all_ended()).await;
        self.shared.tell(|meter| meter.stopping.set(true));
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
            self.shared.tell(|meter| meter.cut.set(true));
            self.shared.all_ended().await;
        }
        in_time
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
        self.shared.tell(|meter| meter.cut.set(true));
    }
}

impl Shared {
    /// Tells every connection something, and wakes it.
    fn tell(&self, what: impl Fn(&Meter)) {
        for meter in self.clients.borrow().connections() {
            what(meter);
            meter.wake();
        }
    }

    /// Waits until there is room for another connection. An idle one of the client that holds the most
    /// is closed for it.
    async fn make_room(&self) {
        while self.clients.borrow().len() >= self.limits.connections {
            if let Some(left_out) = self.crowded.pass() {
                let most = self.limits.connections;
                tracing::warn!(left_out, "all {most} connections are in use: idle ones are closed");
            }
            if !self.give_one_up().await {
                // One that is busy may become idle.
                let _ = tokio::time::timeout(LOOKING, self.ended.notified()).await;
            }
        }
    }

    /// Closes a connection that can be spared, and waits for its end. Answers whether there was one.
    async fn give_one_up(&self) -> bool {
        let Some(spare) = self.clients.borrow_mut().spare() else { return false };
        spare.give_up();
        let _ = tokio::time::timeout(GIVING_UP, self.ended.notified()).await;
        true
    }

    /// Gives up an idle connection for its descriptor, or refuses one that waits.
    async fn find_descriptor(&self, incoming: &mut Incoming, reserve: &mut Reserve) {
        let is_found = self.give_one_up().await;
        if let Incoming::Handed(_, asked) = incoming {
            // The other thread may have ended.
            let _ = asked.take().map(|asked| asked.send(is_found));
            return;
        }
        if is_found {
            return;
        }
        let accept = async { incoming.accept().await.map(|(stream, _)| stream) };
        if !reserve.refuse(accept).await {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }

    fn cannot_accept(&self, error: &io::Error) {
        if let Some(left_out) = self.crowded.pass() {
            tracing::error!(%error, left_out, "no connection can be accepted; trying again shortly");
        }
    }

    /// Whether a client has all the connections that it may have. Those of a trusted proxy are its
    /// clients'.
    fn has_enough(&self, peer: SocketAddr) -> bool {
        let Limits { client_connections, proxies, .. } = &*self.limits;
        let Some(most) = *client_connections else { return false };
        let held = self.clients.borrow().held_by(Client::of(peer));
        if held < most || forwarded::is_trusted(proxies, peer) {
            return false;
        }
        self.refused(peer, most);
        true
    }

    fn refused(&self, client: SocketAddr, most: usize) {
        if let Some(left_out) = self.crowded.pass() {
            let client = client.ip();
            tracing::warn!(%client, left_out, "a client has {most} connections and gets no other");
        }
    }

    async fn all_ended(&self) {
        while self.clients.borrow().len() > 0 {
            self.ended.notified().await;
        }
    }
}

/// Accepts connections until it is told to stop.
async fn accept(mut incoming: Incoming, shared: Rc<Shared>) {
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
fn begin(stream: TcpStream, peer: SocketAddr, shared: &Rc<Shared>) {
    // Without it a small answer can wait 40 ms for an acknowledgement.
    if peer != UNIX_PEER
        && let Err(error) = stream.set_nodelay(true)
    {
        tracing::debug!(%error, "a connection was closed before it began");
        return;
    }
    let meter = Rc::new(Meter::new(Instant::now()));
    let number = shared.next.get();
    shared.next.set(number.wrapping_add(1));
    let client = Client::of(peer);
    shared.clients.borrow_mut().add(client, number, meter.clone());
    if let Some(observer) = &shared.observer {
        observer.opened(peer);
    }
    let client = Cell::new(client);
    let membership = Rc::new(Membership {
        number,
        peer,
        client,
        is_refused: Cell::new(false),
        shared: shared.clone(),
    });
    let behind_proxy = forwarded::is_trusted(&shared.limits.proxies, peer);
    let requests = Requests {
        root: shared.root.clone(),
        limits: shared.limits.clone(),
        meter,
        peer,
        observer: shared.observer.clone(),
        spin: shared.spin.clone(),
        multiplexed: false,
        membership: behind_proxy.then(|| membership.clone()),
    };
    let conversation = Conversation::new(stream, shared.protocols.clone(), requests);
    tokio::task::spawn_local(async move {
        let _membership = membership;
        conversation.await;
    });
}

/// A connection's place in the server's list, given up however the connection ends.
pub(crate) struct Membership {
    number: u64,
    peer: SocketAddr,
    client: Cell<Client>,
    /// The client has too many connections already.
    is_refused: Cell<bool>,
    shared: Rc<Shared>,
}

impl Membership {
    /// A trusted proxy has named its client in the first request: the connection counts as that one's.
    pub(crate) fn belongs_to(&self, peer: SocketAddr) {
        let client = Client::of(peer);
        let before = self.client.replace(client);
        if before == client {
            return;
        }
        let mut clients = self.shared.clients.borrow_mut();
        let held = clients.held_by(client);
        if let Some(meter) = clients.remove(before, self.number) {
            clients.add(client, self.number, meter);
        }
        if let Some(most) = self.shared.limits.client_connections.filter(|most| held >= *most) {
            self.is_refused.set(true);
            self.shared.refused(peer, most);
        }
    }

    /// Whether its client has too many connections.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.shared.clients.borrow_mut().remove(self.client.get(), self.number);
        self.shared.ended.notify_waiters();
        if let Some(observer) = &self.shared.observer {
            observer.closed(self.peer);
        }
    }
}
