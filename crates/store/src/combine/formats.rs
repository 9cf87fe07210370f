//! Combinators that convert content: JSON, CSV, text and gzip.

pub(crate) mod codec;
pub(crate) mod compressed;
pub(crate) mod json;
