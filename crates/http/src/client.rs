//! The HTTP client: the web as a store, and requests of other stores that travel over HTTP.

pub(crate) mod address;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod connection;
pub(crate) mod cookies;
pub(crate) mod failure;
pub(crate) mod fault;
pub(crate) mod fetch;
pub(crate) mod hosts;
pub(crate) mod incoming;
pub(crate) mod options;
pub(crate) mod outgoing;
pub(crate) mod paced;
pub(crate) mod store;
pub(crate) mod transport;
