//! Integration tests of the parser and the formatter, in one binary.

mod bounds;
mod common;
mod faults;
mod formatting;
mod language_cases;
mod outlines;
mod properties;
