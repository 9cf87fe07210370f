//! The findings: one file for each kind.

pub(crate) mod answers;
mod arguments;
mod doubled;
mod effects;
mod kept;
mod messages;
mod names;
mod properties;
mod units;
