//! SQLite and PostgreSQL databases and their tables as stores.
//!
//! - [`SqlDatabase`] is a database: its root lists the tables, it makes the table of a class, and
//!   it runs statements in SQL. [`SqliteDatabase`] is a file (or memory), [`PostgresDatabase`] one
//!   of a server.
//! - [`SqlTable`] is one table: reading answers rows that encode themselves straight from the
//!   database's columns, and the other verbs insert, replace, change and delete rows.
//! - A key-value store ([`SqlDatabase::key_value_store`]) keeps bytes by key, of any length.
//! - [`document_table`] is the table of a class in a store that is no database: rows are documents.
//! - [`ship_sqlite`] follows a SQLite database into any store, and [`restore_sqlite_at`] restores a moment.
//! - [`SqliteScheme`] and [`PostgresScheme`] are the stores of all databases of a system.
//!
//! With SQLite, reads run on each worker's own connection within a budget; writes go to one thread
//! for each database, which commits many of them at once and then answers. With PostgreSQL, each
//! worker has a small pool of connections.
//!
//! Reading order: `database`, `rows`, `key_value`, `sqlite`, `postgres`.

mod database;
mod fault;
mod key_value;
mod postgres;
mod rows;
mod sqlite;

pub use database::SqlDatabase;
pub use database::backend::{DatabaseBackend, InsertedRow, TableBackend};
pub use database::filter::FILTER_DEPTH;
pub use database::scope::{QUERY_RELATIONS, RELATED_DEPTH};
pub use database::slow::SLOW_STATEMENT;
pub use database::table::{LIST_LIMIT, SqlTable};
pub use key_value::layout::{KEY_LENGTH, OBJECT_CHUNK, REPLACED_TIME, UPLOAD_TIME};
pub use key_value::store::APPEND_LIMIT;
pub use postgres::{
    POSTGRES_AHEAD, POSTGRES_DATABASES, POSTGRES_NESTING, POSTGRES_TOLD_ROWS, POSTGRES_WAITING,
    POSTGRES_WATCHERS, PostgresBackend, PostgresDatabase, PostgresOptions, PostgresRows,
    PostgresScheme, PostgresTable,
};
pub use sqlite::{
    BACKUP_START, CHUNK, CLOSE_TIME, CONTINUOUS_BACKUPS, DECIMAL_DIGITS, DOCUMENT_BYTES,
    DOCUMENT_ROWS, DOCUMENT_SIZE, DocumentRows, DocumentTable, ENCODING_LIMIT, INSERT_PATIENCE,
    INSERT_TIME, KEPT_ANSWERS, KEPT_BYTES, KEPT_LARGEST, POOL_CONNECTIONS, POOL_WAITING,
    READ_BUDGET, READ_SIZE, RETURNING_LIMIT, RestorableSpan, SEGMENT_SIZE, SHIPPING, SHIPPING_END,
    SHIPPING_LOG, SHIPPING_RETRY, SHIPPING_RETRY_LIMIT, SHIPPING_TAKEOVER, SHIPPING_TIME,
    STREAM_PATIENCE, ShippingOptions, SqliteBackend, SqliteDatabase, SqliteOptions, SqliteRows,
    SqliteScheme, SqliteTable, Synchronous, TRANSACTION_NESTING, VALUE_LIMIT, WATCHED_ROWS,
    WRITE_GROUP, WRITE_GROUP_TIME, WRITE_QUEUE, WRITE_WAITING, document_table,
    end_continuous_backups, is_continuous_backup, restorable_spans, restore_sqlite,
    restore_sqlite_at, ship_sqlite, ship_sqlite_once,
};
