//! Tests of the crate through its public face: watched servers, and a collector of traces.

#![allow(clippy::unwrap_used)]

mod observing;
mod support;
mod traces;
