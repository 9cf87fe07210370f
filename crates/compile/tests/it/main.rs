//! Integration tests of the compiler, in one binary.

mod clean;
mod counted;
mod declared_answers;
mod names;
mod properties;
mod world;
