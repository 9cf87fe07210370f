//! Combinators that keep content near: the cache, delayed writes and files for a web server.

use crate::combine::definition::Combinator;

pub(crate) mod cache;
pub(crate) mod static_files;
pub(crate) mod write_back;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] =
    &[cache::COMBINATOR, write_back::COMBINATOR, static_files::COMBINATOR];
