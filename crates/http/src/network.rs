//! Byte transports below HTTP: TCP and Unix sockets, plain or with TLS, and the certificates.

pub(crate) mod local_certificate;
pub(crate) mod server_tls;
pub(crate) mod unix_socket;
pub(crate) mod wire;
