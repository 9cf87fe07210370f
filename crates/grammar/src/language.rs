//! The generated parser.

#![allow(unsafe_code)] // the border to C

use tree_sitter_language::LanguageFn;

// SAFETY: the declaration is that of `src/tree_sitter/parser.h` of the grammar.
unsafe extern "C" {
    fn tree_sitter_runnel() -> *const ();
}

/// The language for `tree_sitter::Parser::set_language`.
// SAFETY: the function is the one that tree-sitter generated in `src/parser.c` of the grammar.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_runnel) };

/// The query that colours a program.
pub const HIGHLIGHTS: &str =
    include_str!("../../../editors/tree-sitter-runnel/queries/highlights.scm");
