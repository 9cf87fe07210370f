//! Servers for tests: real ones, each in a folder of its own on a free port, gone afterwards.
//!
//! - [`Service`] says which server: Postgres, Redis, NATS with JetStream, S3.
//! - [`Server::start`] starts one and waits until it answers. Dropping it ends it and removes its
//!   data; it also ends with the process that started it, however that ends.
//! - [`Server::for_test`] does the same for a test. If the server's program is not installed, the
//!   test is skipped with a message; in continuous integration it fails.
//!
//! - [`alone`] runs a test in a process of its own, [`usage`] measures one.
//!
//! Reading order: `service`, `server`, `process`.

mod process;
mod server;
mod service;

pub use process::{alone, usage};
pub use server::{START_TIME, Server};
pub use service::Service;
