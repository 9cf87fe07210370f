//! Connections to a server: its address, TLS, the pool, sessions and transactions.

pub(crate) mod address;
pub(crate) mod client;
pub(crate) mod pool;
pub(crate) mod session;
pub(crate) mod tls;
pub(crate) mod transaction;
