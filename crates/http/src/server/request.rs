//! The request: its head as checked, the client behind a proxy, its origin, and its body.

pub(crate) mod body;
pub(crate) mod exchange;
pub(crate) mod forwarded;
pub(crate) mod head;
pub(crate) mod origin;
pub(crate) mod parts;
pub(crate) mod path_locks;
pub(crate) mod upload;
