//! Addresses of hosts on the local network.

use super::{DOMAIN, daemon};
use mdns_sd::{HostnameResolutionEvent, ScopedIp};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How long others have for an answer.
const TIME: Duration = Duration::from_secs(2);

/// A lock for each host in question, because the thread answers only the latest question for one.
static ASKED: Mutex<Vec<(String, Weak<HostLock>)>> = Mutex::new(Vec::new());

type HostLock = tokio::sync::Mutex<()>;

/// The lock of a host. Locks that are not in use are dropped.
fn lock_of(host: &str) -> Arc<HostLock> {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    asked.retain(|(_, lock)| lock.strong_count() > 0);
    let known = asked.iter().find(|(known, _)| known == host);
    known.and_then(|(_, lock)| lock.upgrade()).unwrap_or_else(|| {
        let lock = Arc::new(HostLock::default());
        asked.push((host.to_string(), Arc::downgrade(&lock)));
        lock
    })
}

/// Looks up the addresses of a host: by the system, and a name that ends in `.local` by multicast as
/// well. The first that finds some answers.
///
/// # Errors
/// That of the system, where neither finds the host.
pub(crate) async fn lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let system = tokio::net::lookup_host((host, port));
    if !is_local(host) {
        return system.await.map(Iterator::collect);
    }
    let (mut system, mut multicast) = (pin!(system), pin!(ask(host, port, TIME)));
    tokio::select! {
        found = system.as_mut() => match found {
            Ok(found) => Ok(found.collect()),
            Err(error) => multicast.await.ok_or(error),
        },
        found = multicast.as_mut() => match found {
            Some(found) => Ok(found),
            None => system.await.map(Iterator::collect),
        },
    }
}

/// Whether a name belongs to the local network; a dot may end it.
fn is_local(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let cut = host.len().saturating_sub(DOMAIN.len());
    let (name, domain) = (host.get(..cut), host.get(cut..));
    name.is_some_and(|name| !name.is_empty())
        && domain.is_some_and(|domain| domain.eq_ignore_ascii_case(DOMAIN))
}

/// Asks the local network. `None` without an answer in time.
pub(super) async fn ask(host: &str, port: u16, time: Duration) -> Option<Vec<SocketAddr>> {
    let name = format!("{}.", host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase());
    let lock = lock_of(&name);
    tokio::time::timeout(time, async {
        let _alone = lock.lock().await;
        let daemon = daemon().ok()?;
        let answers = daemon.resolve_hostname(&name, Some(time.as_millis() as u64)).ok()?;
        let mut found = None;
        while let Ok(event) = answers.recv_async().await {
            match event {
                HostnameResolutionEvent::AddressesFound(_, addresses) => {
                    found = Some(addresses_of(&addresses, port));
                    break;
                }
                HostnameResolutionEvent::SearchTimeout(_)
                | HostnameResolutionEvent::SearchStopped(_) => break,
                _ => {}
            }
        }
        // It would ask again and again.
        let _ = daemon.stop_resolve_hostname(&name);
        found.filter(|found| !found.is_empty())
    })
    .await
    .ok()?
}

/// The addresses, those of IPv4 first: every server that announces itself has one.
fn addresses_of(addresses: &HashSet<ScopedIp>, port: u16) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = addresses
        .iter()
        .filter_map(|address| match address {
            ScopedIp::V6(v6) => {
                let scope = v6.scope_id().index;
                Some(SocketAddr::V6(SocketAddrV6::new(*v6.addr(), port, 0, scope)))
            }
            other => match other.to_ip_addr() {
                IpAddr::V4(v4) => Some(SocketAddr::from((v4, port))),
                IpAddr::V6(_) => None,
            },
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_local_network_are_asked_for() {
        for name in ["defiant.local", "DEFIANT.Local.", "a.b.local"] {
            assert!(is_local(name), "{name}");
        }
        for name in ["", "local", ".local", "localhost", "a.locals", "local.example", "größe"] {
            assert!(!is_local(name), "{name}");
        }
    }
}
