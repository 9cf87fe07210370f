//! PostgreSQL: databases on other machines, or on this one.
//!
//! Reading order: `database`, `table`, `select`, `rows`, `decode`; then `session`, `pool` and
//! `connection` for how statements reach the server, `transaction` and `watch`.

mod address;
mod change;
mod condition;
mod conditional;
mod connection;
mod copy;
mod core;
mod database;
pub(crate) mod decimal;
mod decode;
mod define;
mod fault;
mod migrate;
pub(crate) mod moment;
mod options;
mod parameter;
mod pool;
mod rows;
mod schema;
mod scheme;
mod select;
mod session;
mod statement;
mod table;
mod tls;
mod transaction;
mod watch;

pub use database::Postgres;
pub use options::PostgresOptions;
pub use pool::POSTGRES_WAITING;
pub use rows::POSTGRES_AHEAD;
pub use scheme::{POSTGRES_DATABASES, PostgresScheme};
pub use table::PostgresTable;
pub use transaction::POSTGRES_NESTING;
pub use watch::{POSTGRES_TOLD_ROWS, POSTGRES_WATCHERS};
