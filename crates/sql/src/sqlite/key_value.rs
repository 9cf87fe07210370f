//! Key-value stores in tables of SQLite: `statements` is what they do on a connection, `backend`
//! brings it to the writer and to the readers.

pub(crate) mod backend;
mod statements;
