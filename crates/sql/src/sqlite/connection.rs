//! Connections to a database file: how they are opened, what they may do, and what SQLite calls back.
//!
//! No table and no query is known here.

pub(crate) mod authorizer;
pub(crate) mod cell;
pub(crate) mod database_file;
pub(crate) mod decimal_order;
pub(crate) mod file_health;
pub(crate) mod file_lock;
pub(crate) mod functions;
pub(crate) mod row_source;
pub(crate) mod statement_counts;
pub(crate) mod stop_flag;
pub(crate) mod wal_index;
