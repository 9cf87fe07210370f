//! Natives for servers: starting and observing them, streams and sockets of their responses.

pub(crate) mod live;
pub(crate) mod logging;
pub(crate) mod observe;
pub(crate) mod servers;
