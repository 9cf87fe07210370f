//! Servers that announce themselves: `defiant.local`, and the service `_http._tcp` of that name.

use super::resolve::ask;
use super::{DOMAIN, daemon};
use mdns_sd::{
    DaemonEvent, DnsNameChange, IfKind, IfPredicate, RRType, Receiver, ServiceInfo,
    UnregisterStatus,
};
use runnel_store::{Error, Kind, Result};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The longest label of a name (RFC 1035 section 2.3.4).
const LABEL: usize = 63;

/// How long a start waits until the name is probed and announced, which takes about a second.
const TIME: Duration = Duration::from_secs(4);

/// How long another machine has to say that a name is its own. A name that was announced less than a
/// second ago is answered to the second question only (RFC 6762 section 6).
const ASK: Duration = Duration::from_millis(1_500);

/// Names that are tried: `defiant`, `defiant-2`, … `defiant-9`.
const NAMES: usize = 9;

/// How long the announcement of a changed name may take.
const AFTER_CHANGE: Duration = Duration::from_millis(500);

/// How long a stop waits until others were told that the name is gone.
const GOODBYE: Duration = Duration::from_millis(500);

/// A name that this process announces, for as long as this exists.
pub struct AnnouncedName {
    shared: Arc<Announcement>,
}

/// What the workers of a server announce together.
struct Announcement {
    /// Such as `defiant.local`.
    host: String,
    service: String,
    port: u16,
    /// The name that the server asked for.
    wanted: String,
}

/// The announcements of this process.
static ANNOUNCED: Mutex<Vec<Weak<Announcement>>> = Mutex::new(Vec::new());

/// Announces a server by a name, such as `defiant`, on every interface where others reach its address.
/// A name that another machine has gets a suffix: `defiant-2` (RFC 6762 section 9).
///
/// Must be called within a runtime for local tasks.
///
/// # Errors
/// [`Kind::Invalid`] for what is no name, and for an address that only this machine reaches;
/// [`Kind::Unavailable`] where multicast DNS cannot be spoken.
pub async fn announce(name: &str, address: SocketAddr, is_secure: bool) -> Result<AnnouncedName> {
    check_announced(name, address)?;
    let port = address.port();
    if let Some(shared) = known(name, port) {
        return Ok(AnnouncedName { shared });
    }
    let label = free_name(name).await?;
    let kind = if is_secure { "_https._tcp" } else { "_http._tcp" };
    let (host, instance) = (format!("{label}{DOMAIN}."), format!("{label} {port}"));
    let addresses: &[IpAddr] = match address.ip() {
        ip if ip.is_unspecified() => &[],
        ip => &[ip.to_canonical()],
    };
    let failed = |error: mdns_sd::Error| {
        Error::new(Kind::Unavailable, format!("the name {name}{DOMAIN} cannot be announced"))
            .with_detail(error.to_string())
    };
    let none: &[(&str, &str)] = &[];
    let domain = format!("{kind}{DOMAIN}.");
    let mut service =
        ServiceInfo::new(&domain, &instance, &host, addresses, port, none).map_err(failed)?;
    if addresses.is_empty() {
        service = service.enable_addr_auto();
    }
    // A socket of 0.0.0.0 takes no connections of IPv6.
    let takes_v6 = address.is_ipv6();
    let reaches = IfPredicate::new(move |interface| {
        !interface.is_loopback() && (takes_v6 || interface.ip().is_ipv4())
    });
    service.set_interfaces(vec![IfKind::Predicate(reaches)]);
    let fullname = service.get_fullname().to_string();
    let daemon = daemon()?;
    let events = daemon.monitor().map_err(failed)?;
    daemon.register(service).map_err(failed)?;
    let wanted = format!("{name}{DOMAIN}");
    let waiting = announced(&events, &fullname, &host);
    let host = match tokio::time::timeout(TIME, waiting).await {
        Ok(Some(host)) if !host.eq_ignore_ascii_case(&wanted) => {
            tracing::warn!("another machine is {wanted}: this server is {host}");
            host
        }
        Ok(Some(_)) => wanted,
        _ => {
            tracing::warn!("{wanted} is announced once there is a network");
            host.trim_end_matches('.').to_string()
        }
    };
    let wanted = name.to_string();
    let shared = Arc::new(Announcement { host, service: fullname, port, wanted });
    let mut all = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|one| one.strong_count() > 0);
    all.push(Arc::downgrade(&shared));
    Ok(AnnouncedName { shared })
}

/// Checks what [`announce`] would refuse, before anything listens.
///
/// # Errors
/// [`Kind::Invalid`].
pub fn check_announced(name: &str, address: SocketAddr) -> Result<()> {
    let is_label = !name.is_empty()
        && name.len() <= LABEL
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_label {
        let message = format!(
            "the option advertise of a server: a name such as 'defiant' has 1 to {LABEL} letters, \
             digits and hyphens, and is found as defiant.local"
        );
        return Err(Error::new(Kind::Invalid, message));
    }
    if address.ip().to_canonical().is_loopback() {
        let message = format!(
            "the option advertise of a server: others cannot reach {}, so leave out the address, \
             or name one of the network",
            address.ip()
        );
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(())
}

/// What another worker of the same server announces.
fn known(name: &str, port: u16) -> Option<Arc<Announcement>> {
    let all = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut alive = all.iter().filter_map(Weak::upgrade);
    alive.find(|one| one.wanted == name && one.port == port)
}

/// The first of `defiant`, `defiant-2`, … that no other machine has.
async fn free_name(name: &str) -> Result<String> {
    let numbered = (2..=NAMES).map(|number| format!("{name}-{number}"));
    for name in std::iter::once(name.to_string()).chain(numbered) {
        let found = ask(&format!("{name}{DOMAIN}"), 0, ASK).await.unwrap_or_default();
        // An address that can be bound is one of this machine: another server of it has the name.
        if found.iter().all(|address| UdpSocket::bind(address).is_ok()) {
            return Ok(name);
        }
    }
    let message = format!("the names {name}{DOMAIN} to {name}-{NAMES}{DOMAIN} are all taken");
    Err(Error::new(Kind::Conflict, message))
}

/// Waits until a service is announced. Answers the name of its host.
///
/// A conflict changes both names, the service's at another moment than the host's, and then the
/// announcement can fail to appear, although the host is found.
async fn announced(events: &Receiver<DaemonEvent>, fullname: &str, host: &str) -> Option<String> {
    let (instance, kind) = fullname.split_once('.')?;
    let mut changed = None;
    loop {
        let event = match &changed {
            None => events.recv_async().await,
            Some(host) => match tokio::time::timeout(AFTER_CHANGE, events.recv_async()).await {
                Ok(event) => event,
                Err(_) => return Some(String::clone(host)),
            },
        };
        match event.ok()? {
            DaemonEvent::NameChange(DnsNameChange { original, new_name, rr_type, .. })
                if matches!(rr_type, RRType::A | RRType::AAAA)
                    && original.eq_ignore_ascii_case(host) =>
            {
                changed = Some(new_name.trim_end_matches('.').to_string());
            }
            DaemonEvent::Announce(announced, place) => {
                // `defiant 2345 (2)._http._tcp.local.` on `defiant-2.local.:eth0`.
                let is_ours = announced.split_once('.').is_some_and(|(name, of)| {
                    let start = name.get(..instance.len());
                    of.eq_ignore_ascii_case(kind)
                        && start.is_some_and(|start| start.eq_ignore_ascii_case(instance))
                });
                if let (true, Some((host, _))) = (is_ours, place.split_once(".:")) {
                    return Some(host.to_string());
                }
            }
            _ => {}
        }
    }
}

impl AnnouncedName {
    /// The name of the host, such as `defiant.local`.
    pub fn host(&self) -> &str {
        &self.shared.host
    }

    /// Tells others that the name is gone, unless another worker still announces it.
    pub async fn withdraw(self) {
        if Arc::strong_count(&self.shared) > 1 {
            return;
        }
        if let Some(told) = self.shared.unregister() {
            let _ = tokio::time::timeout(GOODBYE, told.recv_async()).await;
        }
    }
}

impl Announcement {
    /// Takes the name back; what is answered says when others were told.
    fn unregister(&self) -> Option<Receiver<UnregisterStatus>> {
        daemon().ok()?.unregister(&self.service).ok()
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A second time has no effect.
        drop(self.unregister());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels_of_servers_that_others_reach() {
        let check = |name: &str, address: &str| {
            let address = address.parse().map_err(|_| "an address")?;
            check_announced(name, address).map_err(|_| "refused")
        };
        assert_eq!(check("defiant", "0.0.0.0:1"), Ok(()));
        assert_eq!(check("a-1", "[::]:1"), Ok(()));
        assert_eq!(check(&"a".repeat(63), "10.0.0.5:1"), Ok(()));
        for wrong in ["", "-a", "a-", "two words", "a.local", "größe", &"a".repeat(64)] {
            assert_eq!(check(wrong, "0.0.0.0:1"), Err("refused"), "{wrong}");
        }
        for alone in ["127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check("defiant", alone), Err("refused"), "{alone}");
        }
    }
}
