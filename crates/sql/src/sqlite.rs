//! SQLite: databases in files, and in memory.
//!
//! Reading order: `database`, `table`, `select`, `rows`, `encode`; then `reader` and `pool` for how
//! reads run, `writer` for how writes do.

mod bulk;
mod cell;
mod change;
mod condition;
mod database;
mod decimal;
mod define;
mod encode;
mod fault;
mod fold;
mod guard;
mod home;
mod insert;
mod kept;
mod keys;
mod migrate;
mod options;
mod place;
mod plan;
mod pool;
mod queue;
mod reader;
mod removed;
mod row;
mod rows;
mod schema;
mod select;
mod shared;
mod standing;
mod statement;
mod stop;
mod table;
mod tally;
mod telling;
mod transaction;
mod wal_index;
mod within;
mod writer;

pub use database::Database;
pub use encode::ENCODING_LIMIT;
pub use insert::{INSERT_PATIENCE, INSERT_TIME};
pub use kept::{KEPT_ANSWERS, KEPT_BYTES, KEPT_LARGEST};
pub use options::{Options, POOL_CONNECTIONS, Synchronous};
pub use place::VALUE_LIMIT;
pub use pool::{CHUNK, POOL_WAITING, STREAM_PATIENCE};
pub use reader::{READ_BUDGET, READ_SIZE};
pub use select::FILTER_DEPTH;
pub use statement::RETURNING_LIMIT;
pub use table::{LIST_LIMIT, Table};
pub use telling::WATCHED_ROWS;
pub use transaction::{TRANSACTION_IDLE, TRANSACTION_NESTING, TRANSACTION_TIME};
pub use writer::{WRITE_GROUP, WRITE_GROUP_TIME, WRITE_QUEUE, WRITE_WAITING};
