//! Queries as SQL, and their rows as content.

pub(crate) mod condition;
pub(crate) mod rows;
pub(crate) mod select;
pub(crate) mod statement;
