//! Subcommands of one file each: `backup` with `restore` and `vacuum`, `bench`, `check`, `dump` with
//! `load`, `fmt`, `graph`, `html`, `migrate`, `openapi`, `routes`, `serve`. `shipping` is the continuous
//! kind of `backup`; `resources` are what the commands of databases name.
//!
//! `run`, `repl` and `test`, which need more than a file, stand beside this folder.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod fmt;
pub(crate) mod graph;
pub(crate) mod html;
pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod resources;
pub(crate) mod routes;
pub(crate) mod serve;
pub(crate) mod shipping;
