//! The HTTP server: listener, connections in HTTP/1.1 and HTTP/2, and the path from a request
//! through a verb of a store to the response.

pub(crate) mod busy_poll;
pub(crate) mod connection;
pub(crate) mod connection_state;
pub(crate) mod http1;
pub(crate) mod listener;
pub(crate) mod log_rate;
pub(crate) mod observer;
pub(crate) mod options;
pub(crate) mod protocols;
pub(crate) mod registry;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod socket;
