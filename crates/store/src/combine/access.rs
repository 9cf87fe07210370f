//! Combinators between clients and a store: who may ask, how often, and which headers the answer
//! has. They look at the HTTP exchange of a verb and leave the content as it is: type, entity tag,
//! ranges and files that the system sends stay those of the source.
//!
//! A server may ask a store twice for one request, to list what a get did not find or to compare a
//! tag. What must happen once for a request is noted in its exchange ([`crate::Exchange::pass`]).

use crate::combine::definition::Combinator;

mod credentials;
mod gate;
pub(crate) mod guard;
pub(crate) mod guesses;
pub(crate) mod header_text;
pub(crate) mod headers;
pub(crate) mod rate_limit;
pub(crate) mod rate_table;
pub(crate) mod redirects;
pub(crate) mod security_headers;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] = &[
    guard::COMBINATOR,
    rate_limit::COMBINATOR,
    headers::COMBINATOR,
    security_headers::COMBINATOR,
    redirects::COMBINATOR,
];
