//! PostgreSQL: databases on other machines, or on this one.
//!
//! Reading order: `database`, `table`, then `query` (`select`, `rows`) with `value` (`decode`),
//! `connection` (`session`, `pool`, `client`, `transaction`) and `watch`.

mod connection;

mod database;
mod dump;
mod fault;
mod key_value;
mod options;
mod query;
mod schema;
mod scheme;
mod table;
pub(crate) mod value;
mod watch;
mod worker_database;
mod write;

pub use connection::pool::POSTGRES_WAITING;
pub use connection::transaction::POSTGRES_NESTING;
pub use database::{PostgresBackend, PostgresDatabase};
pub use options::PostgresOptions;
pub use query::rows::POSTGRES_AHEAD;
pub use scheme::{POSTGRES_DATABASES, PostgresScheme};
pub use table::{PostgresRows, PostgresTable};
pub use watch::{POSTGRES_TOLD_ROWS, POSTGRES_WATCHERS};
