//! Combinators that convert content: JSON, CSV, text and gzip.

use crate::combine::definition::Combinator;

pub(crate) mod choice;
pub(crate) mod codec;
pub(crate) mod compressed;
mod document;
pub(crate) mod json;

/// The combinators of this room that programs can use.
pub(super) const COMBINATORS: &[Combinator] =
    &[json::COMBINATOR, codec::CSV, codec::TEXT, compressed::COMBINATOR, choice::COMBINATOR];
