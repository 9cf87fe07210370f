//! The grammar for tree-sitter beside the language's own parser.
#![allow(clippy::unwrap_used)]

mod agreement;
mod broken;
mod generated;
mod neovim;
mod programs;
mod queries;
mod textmate;
