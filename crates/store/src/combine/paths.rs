//! Combinators that change which reference of which source is meant.

pub(crate) mod extension;
pub(crate) mod map;
pub(crate) mod relative;
pub(crate) mod rename;
pub(crate) mod route;
pub(crate) mod sequence;
