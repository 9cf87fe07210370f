//! Connection quota of each client, so that no client takes all connections.
//!
//! A client is an IPv4 address or an IPv6 /64 network, the usual size of a customer's network.
//! Opening and closing a connection cost O(log n), a request nothing.

use crate::server::connection_state::{ConnectionState, IdleState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

/// Clients that are searched for an expendable connection.
const CLIENTS: usize = 8;
/// Connections of each of them that are searched.
const CONNECTIONS: usize = 64;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Client {
    V4(u32),
    /// The first half of the address.
    V6(u64),
}

impl Client {
    pub(crate) fn of(peer: SocketAddr) -> Client {
        match peer.ip().to_canonical() {
            IpAddr::V4(address) => Client::V4(address.to_bits()),
            IpAddr::V6(address) => Client::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// The connections of a server by client.
#[derive(Default)]
pub(crate) struct ClientQuotas {
    clients: HashMap<Client, ClientConnections>,
    /// Clients by number of connections. Among equals, the least recently searched or changed one
    /// comes first.
    ranks: BTreeSet<(usize, Reverse<u64>, Client)>,
    turn: u64,
    count: usize,
}

#[derive(Default)]
struct ClientConnections {
    connections: BTreeMap<u64, Rc<ConnectionState>>,
    turn: u64,
    /// The start of the next search.
    next: u64,
}

impl ClientQuotas {
    /// The number of connections.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The number of connections of a client.
    pub(crate) fn held_by(&self, client: Client) -> usize {
        self.clients.get(&client).map_or(0, |held| held.connections.len())
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = &Rc<ConnectionState>> {
        self.clients.values().flat_map(|held| held.connections.values())
    }

    pub(crate) fn add(&mut self, client: Client, number: u64, state: Rc<ConnectionState>) {
        self.change(client, |held| drop(held.connections.insert(number, state)));
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, client: Client, number: u64) -> Option<Rc<ConnectionState>> {
        let mut removed = None;
        self.change(client, |held| removed = held.connections.remove(&number));
        self.count -= usize::from(removed.is_some());
        removed
    }

    /// An expendable connection: an idle one, or else a half-open one, of the client with the most
    /// connections; without one, of the client with the next most.
    pub(crate) fn expendable(&mut self) -> Option<Rc<ConnectionState>> {
        let most: Vec<Client> =
            self.ranks.iter().rev().take(CLIENTS).map(|&(_, _, client)| client).collect();
        most.into_iter().find_map(|client| {
            let mut spare = None;
            // It moves behind its equals.
            self.change(client, |held| spare = held.expendable());
            spare
        })
    }

    fn change(&mut self, client: Client, change: impl FnOnce(&mut ClientConnections)) {
        self.turn += 1;
        let held = self.clients.entry(client).or_default();
        self.ranks.remove(&(held.connections.len(), Reverse(held.turn), client));
        change(held);
        held.turn = self.turn;
        match held.connections.len() {
            0 => drop(self.clients.remove(&client)),
            count => drop(self.ranks.insert((count, Reverse(self.turn), client))),
        }
    }
}

impl ClientConnections {
    fn expendable(&mut self) -> Option<Rc<ConnectionState>> {
        let (before, after) =
            (self.connections.range(..self.next), self.connections.range(self.next..));
        let mut best: Option<(IdleState, &Rc<ConnectionState>)> = None;
        let mut last = None;
        for (number, state) in after.chain(before).take(CONNECTIONS) {
            last = Some(*number);
            if let Some(rest) = state.idle_state()
                && best.is_none_or(|(other, _)| rest < other)
            {
                best = Some((rest, state));
            }
        }
        let spare = best.map(|(_, state)| state.clone());
        self.next = last.map_or(0, |number| number + 1);
        spare
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn client(text: &str) -> Client {
        Client::of(SocketAddr::new(text.parse().unwrap(), 1))
    }

    fn idle() -> Rc<ConnectionState> {
        let state = Rc::new(ConnectionState::new(Instant::now()));
        state.start_request();
        state.finish_response();
        state
    }

    fn half_open() -> Rc<ConnectionState> {
        let since = Instant::now().checked_sub(std::time::Duration::from_secs(2));
        Rc::new(ConnectionState::new(since.unwrap()))
    }

    fn busy() -> Rc<ConnectionState> {
        let state = idle();
        state.start_request();
        state
    }

    fn is(one: Option<Rc<ConnectionState>>, other: &Rc<ConnectionState>) -> bool {
        one.is_some_and(|one| Rc::ptr_eq(&one, other))
    }

    #[test]
    fn a_client_is_an_address_or_a_network() {
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_eq!(client("2001:db8:0:1::1"), client("2001:db8:0:1:ffff::2"));
        assert_ne!(client("2001:db8:0:1::1"), client("2001:db8:0:2::1"));
    }

    #[test]
    fn the_client_that_holds_most_gives_up_what_is_idle() {
        let (few, many) = (client("10.0.0.1"), client("10.0.0.2"));
        let mut clients = ClientQuotas::default();
        assert!(clients.expendable().is_none());
        let (first, half, working) = (idle(), half_open(), busy());
        clients.add(few, 1, first.clone());
        clients.add(many, 2, half.clone());
        clients.add(many, 3, working.clone());
        assert_eq!((clients.len(), clients.held_by(many), clients.held_by(few)), (3, 2, 1));
        assert!(is(clients.expendable(), &half));
        let second = idle();
        clients.add(many, 4, second.clone());
        assert!(is(clients.expendable(), &second));
        // A given-up connection is not found again.
        second.give_up();
        half.give_up();
        assert!(is(clients.expendable(), &first));
        first.give_up();
        assert!(clients.expendable().is_none());
        for (client, number) in [(few, 1), (many, 2), (many, 3), (many, 4)] {
            assert!(clients.remove(client, number).is_some());
        }
        assert!(clients.remove(many, 4).is_none());
        assert_eq!((clients.len(), clients.clients.len(), clients.ranks.len()), (0, 0, 0));
    }

    #[test]
    fn clients_that_hold_as_many_give_up_in_turn() {
        let mut clients = ClientQuotas::default();
        let all: Vec<_> = (0..20_u64)
            .map(|number| {
                let state = idle();
                clients.add(Client::V4(number as u32), number, state.clone());
                state
            })
            .collect();
        for state in &all {
            assert!(is(clients.expendable(), state));
            state.give_up();
        }
    }

    #[test]
    fn a_search_goes_on_where_the_last_one_has_ended() {
        let (one, mut clients) = (client("10.0.0.1"), ClientQuotas::default());
        for number in 0..200 {
            clients.add(one, number, busy());
        }
        let last = idle();
        clients.add(one, 200, last.clone());
        let found = (0..4).find_map(|_| clients.expendable());
        assert!(is(found, &last));
    }
}
