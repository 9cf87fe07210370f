//! How many connections each host gets, and what is counted of it.

use hyper::Uri;
use hyper::http::uri::{Authority, Scheme};
use runnel_store::{Counters, SlotLimits, Slots};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Hosts that are remembered though nobody talks to them now. Those beyond are forgotten: the next
/// request to one begins anew.
const REMEMBERED: usize = 1024;

/// The kind under which clients are counted.
const KIND: &str = "http";

/// All hosts that a client talks to.
#[derive(Debug)]
pub(crate) struct Hosts {
    limits: SlotLimits,
    /// Where all connections go, whatever the host.
    socket: Option<Host>,
    /// Those without TLS, and those with it.
    hosts: Mutex<[HashMap<Authority, Host>; 2]>,
}

/// One host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) slots: Arc<Slots>,
    pub(crate) counters: Arc<Counters>,
}

impl Host {
    fn new(limits: SlotLimits, place: &str) -> Self {
        let counters = Counters::of(KIND, place);
        Host { slots: Slots::new(limits, counters.clone()), counters }
    }
}

impl Hosts {
    pub(crate) fn new(limits: SlotLimits, socket: Option<&Path>) -> Self {
        let socket = socket.map(|path| Host::new(limits, &path.display().to_string()));
        Hosts { limits, socket, hosts: Mutex::default() }
    }

    /// The host of an address; `None` when it names none, which is an error later on.
    pub(crate) fn of(&self, target: &Uri) -> Option<Host> {
        if let Some(socket) = &self.socket {
            return Some(socket.clone());
        }
        let authority = target.authority()?;
        let is_secure = target.scheme() == Some(&Scheme::HTTPS);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = &mut hosts[usize::from(is_secure)];
        if let Some(known) = hosts.get(authority) {
            return Some(known.clone());
        }
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, host| !host.slots.is_idle());
        }
        let made = Host::new(self.limits, &place(authority));
        hosts.insert(authority.clone(), made.clone());
        Some(made)
    }
}

/// The numbers of where a connection leads.
pub(crate) fn counters(target: &Uri, socket: Option<&Path>) -> Arc<Counters> {
    match (socket, target.authority()) {
        (Some(socket), _) => Counters::of(KIND, &socket.display().to_string()),
        (None, Some(authority)) => Counters::of(KIND, &place(authority)),
        (None, None) => Counters::of(KIND, runnel_store::OTHER_PLACES),
    }
}

/// A host and its port, without a user and a password.
fn place(authority: &Authority) -> String {
    match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: SlotLimits = SlotLimits { slots: 1, waiting: 1, wait: Duration::ZERO };

    fn at(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn each_host_has_its_own() {
        let hosts = Hosts::new(LIMITS, None);
        let first = hosts.of(&at("http://me:secret@a.example:81/x")).unwrap();
        assert_eq!(first.counters.place, "a.example:81");
        let _held = first.slots.take(None).await.unwrap();
        assert!(hosts.of(&at("http://me:secret@a.example:81/y")).unwrap().slots.is_full());
        assert!(!hosts.of(&at("https://me:secret@a.example:81/y")).unwrap().slots.is_full());
        assert!(!hosts.of(&at("http://b.example")).unwrap().slots.is_full());
        let socket = Hosts::new(LIMITS, Some(Path::new("/run/x.sock")));
        assert_eq!(socket.of(&at("http://b.example")).unwrap().counters.place, "/run/x.sock");
    }

    #[tokio::test]
    async fn hosts_that_nobody_talks_to_are_forgotten() {
        let hosts = Hosts::new(LIMITS, None);
        let first = hosts.of(&at("http://first.example/")).unwrap();
        let _held = first.slots.take(None).await.unwrap();
        for number in 0..3 * REMEMBERED {
            hosts.of(&at(&format!("http://h{number}.example/"))).unwrap();
        }
        assert!(hosts.hosts.lock().unwrap()[0].len() <= REMEMBERED + 1);
        assert!(hosts.of(&at("http://first.example/")).unwrap().slots.is_full());
    }
}
