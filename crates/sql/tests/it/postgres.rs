//! PostgreSQL, on a real server that all of these tests share. Each test has its own database.

mod conditions;
mod conformance;
mod connections;
mod define;
mod faults;
mod key_values;
mod queries;
mod scheme;
mod security;
pub(crate) mod support;
mod transactions;
mod values;
mod verbs;
mod watching;
