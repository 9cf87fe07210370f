//! Row writes: single statements, and bulk loads with COPY.

pub(crate) mod change;
pub(crate) mod copy;
