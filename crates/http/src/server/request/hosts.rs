//! The hosts that a server answers for, against DNS rebinding: a page of another site points its own
//! name at this machine, and its browser then takes the server for the page's own origin. A name that
//! is found on this machine alone, and an address, cannot be pointed anywhere. One rule for all
//! servers, the admin port among them.

use crate::network::unix_socket::UNIX_PEER;
use crate::server::options::ServerOptions;
use std::cell::Cell;
use std::net::SocketAddr;

/// The hosts that a server answers for, decided once at its start.
#[derive(Debug)]
pub(crate) enum ServedHosts {
    /// Other machines or a proxy reach the server under names that it does not know.
    Any,
    /// Those of `allowedHosts:` alone.
    Named(Vec<String>),
    /// The names of this machine, and whether the log has told of another one.
    Local(Cell<bool>),
}

impl ServedHosts {
    /// The hosts of a server that listens on an address.
    pub(crate) fn of(address: SocketAddr, options: &ServerOptions) -> ServedHosts {
        let access = &options.limits.access;
        if access.allowed_hosts.iter().any(|host| host == "*") {
            return ServedHosts::Any;
        }
        if !access.allowed_hosts.is_empty() {
            return ServedHosts::Named(access.allowed_hosts.clone());
        }
        // A browser speaks to no Unix socket, and over TLS it compares the name with the certificate.
        let is_local = address != UNIX_PEER && address.ip().to_canonical().is_loopback();
        let is_open = options.advertise.is_some()
            || options.certificate.is_some()
            || !access.trusted_proxies.is_empty();
        match is_local && !is_open {
            true => ServedHosts::Local(Cell::new(false)),
            false => ServedHosts::Any,
        }
    }

    /// Checks the host of a request, perhaps with a port. Empty stands for requests without one
    /// (HTTP/1.0).
    ///
    /// # Errors
    /// The message of a 421.
    pub(crate) fn check(&self, host: &[u8]) -> Result<(), String> {
        match self {
            ServedHosts::Any => Ok(()),
            ServedHosts::Named(hosts) if is_named(hosts, host) => Ok(()),
            ServedHosts::Named(_) => Err("this server does not answer for that host".to_string()),
            ServedHosts::Local(_) if is_local(name(host)) => Ok(()),
            ServedHosts::Local(is_told) => {
                let is_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
                let plain = name(host).iter().filter(is_plain);
                let name: String = plain.map(|byte| byte.to_ascii_lowercase() as char).collect();
                let message = format!(
                    "a server on a loopback address answers for localhost and addresses only; \
                     allowedHosts: [ '{name}' ] admits this host"
                );
                if !is_told.replace(true) {
                    tracing::warn!("a request got 421 Misdirected Request: {message}");
                }
                Err(message)
            }
        }
    }
}

/// The name of a host without its port: `[::1]:80` is `::1`, and `a.example:80` is `a.example`.
fn name(host: &[u8]) -> &[u8] {
    let host = host.trim_ascii();
    if let Some(rest) = host.strip_prefix(b"[") {
        return rest.split(|byte| *byte == b']').next().unwrap_or(rest);
    }
    host.split(|byte| *byte == b':').next().unwrap_or(host)
}

/// Whether a name is one of a list, or below a `*.` of it.
fn is_named(hosts: &[String], host: &[u8]) -> bool {
    let name = name(host);
    hosts.iter().any(|served| match served.strip_prefix("*.") {
        None => served.as_bytes().eq_ignore_ascii_case(name),
        Some(domain) => is_below(name, domain.as_bytes()),
    })
}

/// Whether a name is below a domain.
fn is_below(name: &[u8], domain: &[u8]) -> bool {
    let from = name.len().saturating_sub(domain.len());
    from > 1 && name[from - 1] == b'.' && name[from..].eq_ignore_ascii_case(domain)
}

/// Whether no name server of others can point a name at this machine: one without a dot, one below
/// `localhost` (RFC 6761 section 6.3), or an address.
fn is_local(name: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    !name.contains(&b'.')
        || is_below(name, b"localhost")
        || std::str::from_utf8(name).is_ok_and(|name| name.parse::<std::net::IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::options::Limits;

    #[test]
    fn hosts_are_compared_without_case_and_port() {
        let hosts: Vec<String> = ["a.example", "::1", "*.b.example"].map(String::from).into();
        for served in
            ["a.example", "A.Example:80", "[::1]:8080", "[::1]", "x.b.example", "x.y.B.example:1"]
        {
            assert!(is_named(&hosts, served.as_bytes()), "{served}");
        }
        for other in
            ["b.example", "xb.example", ".b.example", "evil.example", "a.example.evil", "", "[::2]"]
        {
            assert!(!is_named(&hosts, other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn names_of_this_machine_and_addresses_cannot_be_rebound() {
        for local in [
            "",
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "shop.localhost",
            "a.b.LocalHost:1",
            "127.0.0.1:8080",
            "192.0.2.7",
            "[::1]:80",
            "[2001:db8::1]",
            "[::ffff:192.0.2.7]",
            "box:1",
        ] {
            assert!(is_local(name(local.as_bytes())), "{local}");
        }
        for other in [
            "evil.example",
            "evil.example.:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evillocalhost.x",
            "xlocalhost.example",
            "1.2.3",
            "0x7f.1",
            ".localhost",
            "evil.local",
            "127.0.0.1@evil.example",
        ] {
            assert!(!is_local(name(other.as_bytes())), "{other}");
        }
    }

    #[test]
    fn only_a_server_of_this_machine_alone_knows_its_names() {
        let of = |address: &str, hosts: &[&str]| {
            let allowed_hosts = hosts.iter().map(ToString::to_string).collect();
            let access = crate::AccessPolicy { allowed_hosts, ..Default::default() };
            let limits = Limits { access, ..Limits::default() };
            let options = ServerOptions { limits, ..ServerOptions::default() };
            let address = address.parse::<SocketAddr>();
            address.is_ok_and(|it| ServedHosts::of(it, &options).check(b"evil.example").is_ok())
        };
        for address in ["127.0.0.1:80", "127.0.0.2:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(!of(address, &[]) && of(address, &["*"]), "{address}");
        }
        for address in ["0.0.0.0:80", "[::]:80", "192.0.2.7:80"] {
            assert!(of(address, &[]) && !of(address, &["a.example"]), "{address}");
        }
    }
}
