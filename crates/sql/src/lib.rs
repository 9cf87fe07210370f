//! SQLite and PostgreSQL databases and their tables as stores.
//!
//! - [`Database`] is a file (or memory): its root lists the tables, it makes the table of a class,
//!   and it runs statements in SQL.
//! - [`Table`] is one table: reading answers rows that encode themselves straight from SQLite's
//!   columns, and the other verbs insert, replace, change and delete rows.
//!
//! Reads run on each worker's own connection within a budget; writes go to one thread for each
//! database, which commits many of them at once and then answers.
//!
//! [`Postgres`] and [`PostgresTable`] are the same for a PostgreSQL server, and [`PostgresScheme`]
//! is the store of all such databases.
//!
//! Reading order: `sqlite`, `postgres`.

mod admission;
mod columns;
mod content;
mod csv;
mod fault;
mod incoming;
mod parameters;
mod postgres;
mod shape;
mod sqlite;

pub use postgres::{
    POSTGRES_AHEAD, POSTGRES_DATABASES, POSTGRES_NESTING, POSTGRES_TOLD_ROWS, POSTGRES_WAITING,
    POSTGRES_WATCHERS, Postgres, PostgresOptions, PostgresScheme, PostgresTable,
};
pub use sqlite::{
    CHUNK, Database, ENCODING_LIMIT, FILTER_DEPTH, INSERT_PATIENCE, INSERT_TIME, KEPT_ANSWERS,
    KEPT_BYTES, KEPT_LARGEST, LIST_LIMIT, Options, POOL_CONNECTIONS, POOL_WAITING, READ_BUDGET,
    READ_SIZE, RETURNING_LIMIT, STREAM_PATIENCE, Synchronous, TRANSACTION_IDLE,
    TRANSACTION_NESTING, TRANSACTION_TIME, Table, VALUE_LIMIT, WATCHED_ROWS, WRITE_GROUP,
    WRITE_GROUP_TIME, WRITE_QUEUE, WRITE_WAITING,
};
