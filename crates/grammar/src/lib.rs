//! The grammar of Runnel for tree-sitter, as editors compile it from `editors/tree-sitter-runnel`. Its tests compare it
//! with the parser of `runnel-syntax` on every program of the project.

mod language;

pub use language::{HIGHLIGHTS, LANGUAGE};
