//! The integration tests of the crate.
#![allow(clippy::unwrap_used)]

mod broken;
mod leaks;
mod nats;
mod redis;
mod support;
mod wrong;
