//! SQLite: databases in files, and in memory.
//!
//! Reading order: `database`, `table`, `key_value`, then `read` (`select`, `rows`, `encode`, `reader`, `pool`)
//! and `write` (`writer`), then `documents`.

mod backup;
mod connection;
mod database;
mod documents;
mod fault;
mod key_value;
mod options;
mod read;
mod schema;
mod scheme;
mod table;
mod write;

pub use backup::catalog::RestorableSpan;
pub use backup::companion::{BACKUP_START, CONTINUOUS_BACKUPS, end_continuous_backups};
pub use backup::options::{SHIPPING, ShippingOptions};
pub use backup::rebuild::{is_continuous_backup, restorable_spans, restore_sqlite_at};
pub use backup::restore::restore_sqlite;
pub use backup::segment::SEGMENT_SIZE;
pub use backup::shipper::{
    SHIPPING_END, SHIPPING_LOG, SHIPPING_RETRY, SHIPPING_RETRY_LIMIT, SHIPPING_TAKEOVER,
    SHIPPING_TIME, ship_sqlite, ship_sqlite_once,
};
pub use connection::database_file::VALUE_LIMIT;
pub use connection::functions::DECIMAL_DIGITS;
pub use database::{SqliteBackend, SqliteDatabase};
pub use documents::{
    DOCUMENT_BYTES, DOCUMENT_ROWS, DOCUMENT_SIZE, DocumentRows, DocumentTable, document_table,
};
pub use options::{POOL_CONNECTIONS, SqliteOptions, Synchronous};
pub use read::answer_cache::{KEPT_ANSWERS, KEPT_BYTES, KEPT_LARGEST};
pub use read::encode::ENCODING_LIMIT;
pub use read::pool::{CHUNK, POOL_WAITING, STREAM_PATIENCE};
pub use read::reader::{READ_BUDGET, READ_SIZE};
pub use read::statement::RETURNING_LIMIT;
pub use scheme::SqliteScheme;
pub use table::{SqliteRows, SqliteTable};
pub use write::backlog::{WRITE_QUEUE, WRITE_WAITING};
pub use write::change_feed::WATCHED_ROWS;
pub use write::insert::{INSERT_PATIENCE, INSERT_TIME};
pub use write::shared::CLOSE_TIME;
pub use write::transaction::TRANSACTION_NESTING;
pub use write::writer::{WRITE_GROUP, WRITE_GROUP_TIME};
