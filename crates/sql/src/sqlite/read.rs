//! Reading: queries as SQL, the connections that run them, and rows as JSON, CSV and values.
//!
//! Nothing here writes; statements that write are in `write`.

pub(crate) mod answer_cache;
pub(crate) mod condition;
pub(crate) mod encode;
pub(crate) mod explain;
pub(crate) mod fold;
pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod select;
pub(crate) mod shared_snapshot;
pub(crate) mod statement;
