//! Integration tests of the checker, in one binary. What it finds in programs with the real kernel is
//! tested in `crates/runtime/tests/it/checks.rs`.

mod bounds;
mod common;
mod kernels;
mod properties;
