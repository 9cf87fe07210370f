//! Byte transports below HTTP: TCP and Unix sockets, plain or with TLS, and the certificates; names
//! of the local network.

pub(crate) mod address_class;
pub(crate) mod certificates;
pub(crate) mod client_tls;
pub(crate) mod multicast_dns;
pub(crate) mod proxy_header;
pub(crate) mod server_tls;
pub(crate) mod unix_socket;
pub(crate) mod wire;
