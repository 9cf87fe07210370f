//! References: paths, values in their segments, and queries on what they name.

mod computed;
mod constraint;
mod element;
pub(crate) mod loads;
pub(crate) mod path;
pub(crate) mod query;
mod related;
pub(crate) mod segment;
