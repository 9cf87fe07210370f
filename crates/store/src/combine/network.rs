//! Combinators for sources behind a network: retry, timeout, rate limit, polling.

pub(crate) mod limit;
pub(crate) mod polling;
pub(crate) mod retry;
pub(crate) mod timeout;
