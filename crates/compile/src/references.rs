//! References: paths, values in their segments, and queries on what they name.

mod constraint;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod segment;
