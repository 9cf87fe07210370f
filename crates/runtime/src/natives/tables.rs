//! Natives on tables: queries, definitions, insertions, changes and transactions.

pub(crate) mod define;
pub(crate) mod insert;
pub(crate) mod maintain;
pub(crate) mod place;
pub(crate) mod query;
pub(crate) mod query_data;
pub(crate) mod rows;
pub(crate) mod transaction;
pub(crate) mod update;
