//! Combinators that change which reference of which source is meant.

use crate::combine::definition::Combinator;

pub(crate) mod encoded_slashes;
pub(crate) mod extension;
pub(crate) mod fallback;
pub(crate) mod map;
pub(crate) mod relative;
pub(crate) mod rename;
pub(crate) mod route;
pub(crate) mod sequence;
pub(crate) mod shard;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] = &[
    relative::COMBINATOR,
    sequence::COMBINATOR,
    fallback::COMBINATOR,
    shard::COMBINATOR,
    route::COMBINATOR,
    rename::COMBINATOR,
    extension::COMBINATOR,
];
