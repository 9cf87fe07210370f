//! The client address behind trusted proxies.
//!
//! A proxy appends the address of its client to `X-Forwarded-For`. Any client can send that field,
//! so it counts only where a trusted proxy wrote it: addresses are read from the end, and the first
//! that is no trusted proxy is the client.

use crate::network::unix_socket::UNIX_PEER;
use hyper::header::{HeaderMap, HeaderName};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The most addresses of a request that are read.
const MOST: usize = 32;

/// Fields that only a trusted proxy may set; they are removed from other requests.
const FIELDS: [HeaderName; 5] = [
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("forwarded"),
];

/// A trusted proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedProxy {
    /// All addresses with this prefix.
    Net(IpAddr, u8),
    /// Every client of the Unix socket.
    Unix,
}

impl TrustedProxy {
    /// `10.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8`, or `unix:`; `None` for anything else.
    pub fn parse(text: &str) -> Option<TrustedProxy> {
        if text == "unix:" {
            return Some(TrustedProxy::Unix);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits: u8 = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
            None => most,
        };
        // An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as IPv4.
        let bits = match address.is_ipv6() && address.to_canonical().is_ipv4() {
            true => bits.checked_sub(96)?,
            false => bits,
        };
        Some(TrustedProxy::Net(address.to_canonical(), bits))
    }

    fn is(self, peer: SocketAddr) -> bool {
        match self {
            TrustedProxy::Unix => peer == UNIX_PEER,
            TrustedProxy::Net(net, bits) => {
                peer != UNIX_PEER && has_prefix(peer.ip().to_canonical(), net, bits)
            }
        }
    }
}

fn has_prefix(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    // Compares the prefix bits. A shift by the full width is invalid in Rust.
    match (address, net) {
        (IpAddr::V4(one), IpAddr::V4(two)) => {
            (one.to_bits() ^ two.to_bits()).checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
        }
        (IpAddr::V6(one), IpAddr::V6(two)) => {
            (one.to_bits() ^ two.to_bits()).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Whether a proxy is trusted.
pub(crate) fn is_trusted(trusted: &[TrustedProxy], peer: SocketAddr) -> bool {
    trusted.iter().any(|proxy| proxy.is(peer))
}

/// The client of a request; its forwarding fields are removed unless a trusted proxy wrote them.
/// Behind a proxy the client's port is unknown, and 0.
pub(crate) fn client(
    trusted: &[TrustedProxy],
    peer: SocketAddr,
    headers: &mut HeaderMap,
) -> SocketAddr {
    let is_trusted = |peer| is_trusted(trusted, peer);
    if !is_trusted(peer) {
        for field in &FIELDS {
            headers.remove(field);
        }
        return peer;
    }
    let mut client = peer;
    let lines = headers.get_all(&FIELDS[0]).iter().rev();
    let hops = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.rsplit(','));
    for hop in hops.take(MOST) {
        // An invalid address was written by an untrusted party.
        let Some(address) = address(hop.trim()) else { break };
        client = SocketAddr::new(address, 0);
        if !is_trusted(client) {
            break;
        }
    }
    client
}

/// Whether the client's URL is `https:` according to a trusted proxy.
pub(crate) fn is_secure(trusted: &[TrustedProxy], headers: &HeaderMap) -> bool {
    if trusted.is_empty() {
        return false;
    }
    let last = headers.get_all(&FIELDS[1]).iter().next_back();
    let scheme = last.and_then(|last| last.as_bytes().rsplit(|byte| *byte == b',').next());
    scheme.is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
}

/// The host of the client's URL according to a trusted proxy. [`client`] has removed the field of
/// others where any proxy is trusted. The last entry of a list is that of the nearest proxy.
pub(crate) fn host<'a>(trusted: &[TrustedProxy], headers: &'a HeaderMap) -> Option<&'a [u8]> {
    if trusted.is_empty() {
        return None;
    }
    let last = headers.get_all(&FIELDS[2]).iter().next_back()?;
    let host = last.as_bytes().rsplit(|byte| *byte == b',').next()?.trim_ascii();
    (!host.is_empty()).then_some(host)
}

/// An address, perhaps with a port, as some proxies write it.
fn address(text: &str) -> Option<IpAddr> {
    let whole = text.parse().ok();
    whole.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

/// A client address for programs and logs: without an unknown port.
pub(crate) struct DisplayedPeer(pub(crate) SocketAddr);

impl fmt::Display for DisplayedPeer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            UNIX_PEER => out.write_str("unix:"),
            client if client.port() == 0 => client.ip().fmt(out),
            client => client.fmt(out),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn seen(trusted: &[&str], peer: &str, fields: &[&'static str]) -> (String, bool) {
        let trusted: Vec<_> = trusted.iter().map(|one| TrustedProxy::parse(one).unwrap()).collect();
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append("x-forwarded-for", HeaderValue::from_static(field));
        }
        let peer = if peer == "unix:" { UNIX_PEER } else { peer.parse().unwrap() };
        let client = client(&trusted, peer, &mut headers);
        (DisplayedPeer(client).to_string(), headers.contains_key("x-forwarded-for"))
    }

    #[test]
    fn strangers_are_not_believed() {
        assert_eq!(seen(&[], "9.9.9.9:5", &["1.2.3.4"]), ("9.9.9.9:5".into(), false));
        assert_eq!(seen(&["10.0.0.0/8"], "9.9.9.9:5", &["1.2.3.4"]), ("9.9.9.9:5".into(), false));
        assert_eq!(seen(&["10.0.0.0/8"], "unix:", &["1.2.3.4"]), ("unix:".into(), false));
        assert_eq!(seen(&["0.0.0.0/0"], "unix:", &["1.2.3.4"]), ("unix:".into(), false));
    }

    #[test]
    fn a_trusted_proxy_names_its_client() {
        let of =
            |peer, fields: &[&'static str]| seen(&["10.0.0.0/8", "unix:", "::1"], peer, fields).0;
        assert_eq!(of("10.1.2.3:5", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(of("unix:", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(of("[::1]:5", &["2001:db8::7"]), "2001:db8::7");
        assert_eq!(of("[::ffff:10.1.2.3]:5", &["1.2.3.4"]), "1.2.3.4");
        // Entries that the client itself has sent come first, and do not count.
        assert_eq!(of("10.1.2.3:5", &["6.6.6.6, 1.2.3.4, 10.9.9.9"]), "1.2.3.4");
        assert_eq!(of("10.1.2.3:5", &["6.6.6.6", "1.2.3.4:99, 10.9.9.9"]), "1.2.3.4");
        assert_eq!(of("10.1.2.3:5", &["6.6.6.6, nonsense, 10.9.9.9"]), "10.9.9.9");
        assert_eq!(of("10.1.2.3:5", &[]), "10.1.2.3:5");
    }

    #[test]
    fn the_host_is_what_the_nearest_proxy_says() {
        let mut headers = HeaderMap::new();
        let proxies = [TrustedProxy::Unix];
        assert_eq!(host(&proxies, &headers), None);
        headers.insert("x-forwarded-host", HeaderValue::from_static("evil.example, a.example"));
        assert_eq!(host(&proxies, &headers), Some(&b"a.example"[..]));
        assert_eq!(host(&[], &headers), None);
        headers.append("x-forwarded-host", HeaderValue::from_static("b.example:8080"));
        assert_eq!(host(&proxies, &headers), Some(&b"b.example:8080"[..]));
    }

    #[test]
    fn nets_are_read_and_compared() {
        let net = |text| TrustedProxy::parse(text);
        for wrong in ["", "10.0.0.0/33", "::/129", "a.example", "10.0.0/8", "10.0.0.1/x", "unix"] {
            assert_eq!(net(wrong), None, "{wrong}");
        }
        let has = |text, peer: &str| net(text).unwrap().is(peer.parse().unwrap());
        assert!(has("10.0.0.0/8", "10.255.0.1:1") && !has("10.0.0.0/8", "11.0.0.1:1"));
        assert!(has("0.0.0.0/0", "11.0.0.1:1") && !has("0.0.0.0/0", "[::2]:1"));
        assert!(has("fd00::/8", "[fd12::1]:1") && !has("fd00::/8", "[fe80::1]:1"));
        assert!(has("::ffff:10.0.0.0/104", "10.0.0.9:1") && net("::ffff:10.0.0.0/8").is_none());
        assert!(has("::/0", "[::2]:1") && has("127.0.0.1", "127.0.0.1:1"));
    }
}
