//! The certificates of a server: read from files or a store, selected by name, reloaded when they
//! change; and the authorities of its clients' certificates. Handshakes are in `server_tls`.

pub(crate) mod by_name;
pub(crate) mod client;
pub(crate) mod local;
pub(crate) mod pem;
pub(crate) mod stored;
