//! Which addresses are not public, for clients that reach what a stranger names (server-side request forgery).
//!
//! Only what is known to be public is let through: of IPv6, the global unicast addresses alone. An IPv4 address inside
//! an IPv6 one counts as itself, because the network takes it out on the way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks of IPv4 that are not public (RFC 6890 and its registry): network, length of its prefix, class.
const V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared address of a provider"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a reserved address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a reserved address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a reserved address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "a broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// The class of an address that is not public, with its article.
pub(crate) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let address = address.to_bits();
    let within = |network: &Ipv4Addr, length: u32| {
        address.checked_shr(32 - length) == network.to_bits().checked_shr(32 - length)
    };
    V4.iter().find(|(network, length, _)| within(network, *length)).map(|(_, _, class)| *class)
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inside = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        not_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an address of this network"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        // IPv4-mapped; NAT64 (RFC 6052); 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            inside(high, low)
        }
        [0x2002, high, low, ..] => inside(high, low),
        [0xfc00..=0xfdff, ..] => Some("a unique local address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("a site-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        // Teredo and other protocols; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Some("a reserved address")
        }
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_pass() {
        for (class, addresses) in [
            ("this network", "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0"),
            ("a private", "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1"),
            ("a private", "::ffff:10.0.0.1 64:ff9b::a00:1 2002:a00:1::1"),
            ("a shared", "100.64.0.1 100.127.255.255 ::ffff:100.64.0.1"),
            (
                "a loopback",
                "127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
            ),
            ("a link-local", "169.254.169.254 fe80::1 febf::1 ::ffff:169.254.169.254"),
            ("a link-local", "64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1"),
            ("a unique local", "fc00::1 fd00:ec2::254 fdff::1"),
            ("a site-local", "fec0::1"),
            ("a multicast", "224.0.0.1 239.255.255.255 ff02::1"),
            ("a broadcast", "255.255.255.255"),
            ("a reserved", "192.0.0.1 192.0.2.1 192.88.99.1 198.19.0.1 198.51.100.1 203.0.113.9"),
            (
                "a reserved",
                "240.0.0.1 ::127.0.0.1 64:ff9b:1::1 2001::1 2001:db8::1 3fff::1 4000::1",
            ),
        ] {
            for address in addresses.split(' ') {
                let found = not_public(address.parse().unwrap()).unwrap_or("public");
                assert!(found.contains(class), "{address}: {found}, not {class}");
            }
        }
        for address in "1.1.1.1 9.255.255.255 100.63.0.1 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 223.255.255.255 \
                        2606:4700::1111 2a00::1 2001:4860:4860::8888 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::1"
            .split_whitespace()
        {
            assert_eq!(not_public(address.parse().unwrap()), None, "{address}");
        }
    }
}
