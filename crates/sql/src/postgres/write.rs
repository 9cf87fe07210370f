//! Writing rows: one at a time, under a condition, and many with COPY.

pub(crate) mod change;
pub(crate) mod conditional;
pub(crate) mod copy;
