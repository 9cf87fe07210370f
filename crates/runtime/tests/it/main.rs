//! Integration tests of the runtime, in one binary.

mod catalogue;
mod checks;
mod compile_loads;
mod connections;
mod elements;
mod error_places;
mod fibers;
mod insertion;
mod kernel;
mod language;
mod limits;
mod memory;
mod observing;
mod pages;
mod queries;
mod support;
mod transactions;
