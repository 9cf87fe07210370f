//! Key-value stores: bytes by key in tables of a database, for every database system.
//!
//! `layout` says which tables there are, `backend` what SQLite and PostgreSQL implement, `store` is
//! the store, `upload` and `download` move content in chunks, `open_objects` knows who reads. SQL
//! belongs into the rooms of the systems.

pub(crate) mod backend;
pub(crate) mod download;
pub(crate) mod entry;
pub(crate) mod layout;
pub(crate) mod open_objects;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod upload;
