//! PostgreSQL, against a real server that is started once for all of these tests. Each test has a
//! database of its own.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod conditions;
mod conformance;
mod connections;
mod define;
mod faults;
mod queries;
mod scheme;
mod security;
mod support;
mod transactions;
mod values;
mod verbs;
mod watching;
