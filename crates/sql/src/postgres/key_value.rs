//! Key-value stores in tables of PostgreSQL: `statements` is what they do on a connection, `tables`
//! makes them, `backend` runs the statements in transactions.

pub(crate) mod backend;
mod statements;
mod tables;
