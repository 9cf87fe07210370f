//! Integration tests of the parser and the formatter, in one binary.

mod bounds;
mod common;
mod faults;
mod formatting;
mod habits;
mod language_cases;
mod mutations;
mod outlines;
mod properties;
