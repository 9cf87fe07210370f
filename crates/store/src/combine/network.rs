//! Combinators for sources behind a network: retry, timeout, rate limit, circuit breaker, polling.

use crate::combine::definition::Combinator;

pub(crate) mod circuit_breaker;
pub(crate) mod limit;
pub(crate) mod polling;
pub(crate) mod retry;
pub(crate) mod timeout;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] = &[
    retry::COMBINATOR,
    timeout::COMBINATOR,
    limit::COMBINATOR,
    circuit_breaker::COMBINATOR,
    polling::COMBINATOR,
];
