//! The integration tests of the crate.
#![allow(clippy::unwrap_used)]

mod broken;
mod doubt;
mod leaks;
mod nats;
mod proxy;
mod queues;
mod redis;
mod support;
mod wrong;
