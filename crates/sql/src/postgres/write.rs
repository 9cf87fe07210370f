//! Row writes: single statements, changes of many rows, and bulk loads with COPY.

pub(crate) mod change;
pub(crate) mod copy;
pub(crate) mod merge;
