//! Tests of documents, clients, pages and tables, with the tools that read them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod client;
mod document;
mod judge;
mod page;
mod patterns;
mod support;
mod table;
