//! Combinators that check or change single verbs: logging, refusing and merging writes,
//! reporting what is missing, answering repeated requests, writing to several stores.

use crate::combine::definition::Combinator;

pub(crate) mod ensure;
pub(crate) mod idempotent;
pub(crate) mod log;
pub(crate) mod merge;
pub(crate) mod mirror;
pub(crate) mod readonly;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] = &[
    merge::COMBINATOR,
    mirror::COMBINATOR,
    ensure::COMBINATOR,
    readonly::COMBINATOR,
    idempotent::COMBINATOR,
];
