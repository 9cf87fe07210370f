//! The integration tests of the crate.
#![allow(clippy::unwrap_used)]

mod broken;
mod conformance;
mod credentials;
mod documents;
mod leaks;
mod objects;
mod support;
mod wrong;
