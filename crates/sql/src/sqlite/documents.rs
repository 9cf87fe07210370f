//! Tables over stores that are no databases: one row is one JSON document.
//!
//! `folder` reads and writes the documents of a store, `row_engine` gives them the meaning of rows: an SQLite
//! table in memory, which no one else sees, applies each change and answers each query. So a class, a query and
//! an error mean the same as in a database. `row_store` writes rows one by one, and keeps by `unique` what no two
//! may share. `rows` is what [`SqlTable`](crate::SqlTable) needs of them, and
//! `define` says which stores and classes can be a table.

mod define;
mod folder;
mod row_engine;
mod row_store;
mod rows;
mod unique;

pub use define::document_table;
pub use folder::{DOCUMENT_BYTES, DOCUMENT_ROWS, DOCUMENT_SIZE};
pub use rows::{DocumentRows, DocumentTable};
