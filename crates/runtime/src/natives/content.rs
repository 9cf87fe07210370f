//! Content on its way: bodies of requests that handlers take while they arrive, and requests to other servers.

pub(crate) mod arriving;
pub(crate) mod fetch;
