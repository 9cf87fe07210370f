//! The network of a client: what limits count together.

use std::net::IpAddr;

/// An IPv4 address, or the /64 network of an IPv6 address, which is the usual size of a customer's
/// network: its holder has all of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNetwork(Option<u128>);

impl ClientNetwork {
    /// What asks without an address: the program itself, or a client on a Unix socket.
    pub const UNKNOWN: ClientNetwork = ClientNetwork(None);

    /// The network of an address.
    pub fn of(address: Option<IpAddr>) -> ClientNetwork {
        ClientNetwork(address.map(|address| match address.to_canonical() {
            // Mapped addresses (RFC 4291 section 2.5.5.2), so that no network of IPv6 meets one.
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits() >> 64 << 64,
        }))
    }

    /// Whether it tells one client from another.
    pub fn is_known(self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_its_first_half() {
        let of = |text: &str| ClientNetwork::of(Some(text.parse().unwrap()));
        assert_ne!(of("127.0.0.1"), of("127.0.0.2"));
        assert_eq!(of("127.0.0.1"), of("::ffff:127.0.0.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("0.0.0.0"), of("::1"));
        assert_ne!(of("0.0.0.0"), ClientNetwork::UNKNOWN);
    }
}
