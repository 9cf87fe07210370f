//! Accepting connections: listening sockets, the quota of each client, and file descriptors.

pub(crate) mod client_quota;
pub(crate) mod descriptors;
pub(crate) mod incoming;
pub(crate) mod listen;
