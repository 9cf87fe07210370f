//! The reverse proxy: requests of a server that go to other servers as they are, and their responses.
//!
//! `cycle` asks the stores in front of the proxy, `store` is the proxy as a store, and `forward` sends
//! one request, with retries. What a program reads and writes itself on other servers belongs to
//! `client`, whose connections and transport these files use.

pub(crate) mod balance;
pub(crate) mod checks;
pub(crate) mod cycle;
pub(crate) mod fault;
pub(crate) mod forward;
pub(crate) mod headers;
pub(crate) mod health;
pub(crate) mod options;
pub(crate) mod response;
pub(crate) mod sticky;
pub(crate) mod store;
pub(crate) mod target;
pub(crate) mod tunnel;
pub(crate) mod upload;
pub(crate) mod upstream;
