//! The request: its head as checked, the client behind a proxy, its origin, its body, and what the
//! program says of its response.

pub(crate) mod body;
pub(crate) mod early_hints;
pub(crate) mod exchange;
pub(crate) mod forwarded;
pub(crate) mod head;
pub(crate) mod hosts;
pub(crate) mod origin;
pub(crate) mod parts;
pub(crate) mod path_locks;
pub(crate) mod relay;
pub(crate) mod timer;
pub(crate) mod upload;
