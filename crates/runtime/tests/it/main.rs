//! Integration tests of the runtime, in one binary.

mod compile_loads;
mod connections;
mod elements;
mod fibers;
mod insertion;
mod kernel;
mod limits;
mod memory;
mod observing;
mod pages;
mod queries;
mod support;
mod transactions;
