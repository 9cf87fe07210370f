//! Natives on tables: queries, definitions, insertions and transactions.

pub(crate) mod define;
pub(crate) mod insert;
pub(crate) mod query;
pub(crate) mod transaction;
