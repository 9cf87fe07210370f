//! Subcommands of one file each: `bench`, `build`, `check`, `completions` and `man`, `doc`, `fmt`, `graph`, `html`,
//! `lsp`, `new`, `openapi`, `profile`, `routes`, `serve`; and those of databases, in a room of their own.
//!
//! `run`, `repl` and `test`, which need more than a file, stand beside this folder.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod databases;
pub(crate) mod doc;
pub(crate) mod fmt;
pub(crate) mod graph;
pub(crate) mod html;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod openapi;
pub(crate) mod profile;
pub(crate) mod routes;
pub(crate) mod serve;
pub(crate) mod shell_files;
