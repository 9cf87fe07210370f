//! Writing rows: one at a time, and many with COPY.

pub(crate) mod change;
pub(crate) mod copy;
