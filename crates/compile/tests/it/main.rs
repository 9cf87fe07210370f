//! Integration tests of the compiler, in one binary.

mod properties;
