//! The integration tests of the crate.
#![allow(clippy::unwrap_used)]

mod common;
mod histories;
mod postgres;
mod sqlite;
