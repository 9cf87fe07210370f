//! The text of the Lua output: names, line numbers, depth of nesting. Knows no syntax tree.

pub(crate) mod lines;
pub(crate) mod names;
pub(crate) mod nesting;
