//! The state of a running server and the registry of its connections: limits for all of them and for
//! each client.

use crate::handler::Served;
use crate::server::busy_poll::BusyPoll;
use crate::server::connection_state::{ConnectionState, GIVING_UP};
use crate::server::listener::client_quota::{Client, ClientQuotas};
use crate::server::listener::descriptors::Reserve;
use crate::server::listener::incoming::ConnectionSource;
use crate::server::log_rate::LogRate;
use crate::server::observer::Observer;
use crate::server::options::Limits;
use crate::server::protocols::Protocols;
use crate::server::request::forwarded;
use crate::server::request::hosts::ServedHosts;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// The pause after a failed accept (too many open files).
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The pause before the next search for an expendable connection.
const LOOKING: Duration = Duration::from_millis(100);

/// The state that the listener and the connections of a server share.
pub(crate) struct ServerState {
    pub(crate) served: Rc<RefCell<Served>>,
    pub(crate) limits: Rc<Limits>,
    pub(crate) hosts: Rc<ServedHosts>,
    pub(crate) protocols: Rc<Protocols>,
    pub(crate) observer: Option<Rc<dyn Observer>>,
    pub(crate) busy_poll: Option<Rc<BusyPoll>>,
    pub(crate) clients: RefCell<ClientQuotas>,
    pub(crate) next: Cell<u64>,
    /// A connection has ended.
    pub(crate) ended: Notify,
    /// Rate limit of log lines about a full server.
    pub(crate) crowded: LogRate,
    /// Stops accepting.
    pub(crate) stop: Notify,
    /// Whether to accept what waits in the queue of a shared socket before the end.
    pub(crate) empties_queue: Cell<bool>,
}

impl ServerState {
    /// Updates the state of every connection, and wakes its task.
    pub(crate) fn update_all(&self, what: impl Fn(&ConnectionState)) {
        for state in self.clients.borrow().connections() {
            what(state);
            state.wake();
        }
    }

    /// Waits for capacity. Closes an idle connection of the client that holds the most.
    pub(crate) async fn make_room(&self) {
        while self.clients.borrow().len() >= self.limits.connections {
            if let Some(left_out) = self.crowded.allow() {
                let most = self.limits.connections;
                tracing::warn!(left_out, "all {most} connections are in use: idle ones are closed");
            }
            if !self.close_idle().await {
                // A busy connection may become idle.
                let _ = tokio::time::timeout(LOOKING, self.ended.notified()).await;
            }
        }
    }

    /// Closes an expendable connection and waits for its end. Returns whether there was one.
    async fn close_idle(&self) -> bool {
        let Some(spare) = self.clients.borrow_mut().expendable() else { return false };
        spare.give_up();
        let _ = tokio::time::timeout(GIVING_UP, self.ended.notified()).await;
        true
    }

    /// Frees a file descriptor by closing an idle connection, or refuses the waiting one.
    pub(crate) async fn find_descriptor(
        &self,
        incoming: &mut ConnectionSource,
        reserve: &mut Reserve,
    ) {
        let is_found = self.close_idle().await;
        if let ConnectionSource::Handed(_, asked) = incoming {
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

    pub(crate) fn cannot_accept(&self, error: &io::Error) {
        if let Some(left_out) = self.crowded.allow() {
            tracing::error!(%error, left_out, "no connection can be accepted; trying again shortly");
        }
    }

    /// Whether a client has reached its limit. Connections of a trusted proxy count for its
    /// clients.
    pub(crate) fn is_over_quota(&self, peer: SocketAddr) -> bool {
        let Some(most) = self.limits.client_connections else { return false };
        let held = self.clients.borrow().held_by(Client::of(peer));
        if held < most || forwarded::is_trusted(&self.limits.access.trusted_proxies, peer) {
            return false;
        }
        self.refused(peer, most);
        true
    }

    /// Reports a connection that is of no trusted load balancer.
    pub(crate) fn refuse_stranger(&self, peer: SocketAddr) {
        if let Some(left_out) = self.crowded.allow() {
            let peer = peer.ip();
            tracing::warn!(%peer, left_out, "a connection of no trusted proxy was closed");
        }
    }

    fn refused(&self, client: SocketAddr, most: usize) {
        if let Some(left_out) = self.crowded.allow() {
            let client = client.ip();
            tracing::warn!(%client, left_out, "a client has reached its limit of {most} connections");
        }
    }

    pub(crate) async fn all_ended(&self) {
        while self.clients.borrow().len() > 0 {
            self.ended.notified().await;
        }
    }
}

/// The registration of a connection: dropping it removes the connection.
pub(crate) struct ConnectionRegistration {
    pub(crate) number: u64,
    pub(crate) peer: SocketAddr,
    pub(crate) client: Cell<Client>,
    /// The client already has too many connections.
    pub(crate) is_refused: Cell<bool>,
    pub(crate) shared: Rc<ServerState>,
}

impl ConnectionRegistration {
    /// A trusted proxy has named its client in the first request: the connection counts for that
    /// client.
    pub(crate) fn belongs_to(&self, peer: SocketAddr) {
        let client = Client::of(peer);
        let before = self.client.replace(client);
        if before == client {
            return;
        }
        let mut clients = self.shared.clients.borrow_mut();
        let held = clients.held_by(client);
        if let Some(state) = clients.remove(before, self.number) {
            clients.add(client, self.number, state);
        }
        if let Some(most) = self.shared.limits.client_connections.filter(|most| held >= *most) {
            self.is_refused.set(true);
            self.shared.refused(peer, most);
        }
    }

    /// Whether the client has too many connections.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }
}

impl Drop for ConnectionRegistration {
    fn drop(&mut self) {
        self.shared.clients.borrow_mut().remove(self.client.get(), self.number);
        self.shared.ended.notify_waiters();
        if let Some(observer) = &self.shared.observer {
            observer.closed(self.peer);
        }
    }
}
