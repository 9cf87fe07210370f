//! Servers for tests: real ones, each in a folder of its own on a free port, gone afterwards.
//!
//! - [`Service`] says which server: Postgres, Redis, NATS with JetStream, S3.
//! - [`Server::start`] starts one and waits until it answers. Dropping it ends it and removes its
//!   data; it also ends with the process that started it, however that ends.
//! - [`Server::for_test`] does the same for a test: where the server's program is missing, it
//!   reports that the test is left out, or fails in continuous integration.
//! - [`run_http_cases`] sends raw bytes to an HTTP server and checks what comes back.
//! - [`leave_out`] reports a check that cannot run here.
//! - [`alone`] runs a test in a process of its own, [`usage`] measures one.
//!
//! Reading order: `service`, `server`, `process`.

mod http_cases;
mod left_out;
mod process;
mod server;
mod service;

pub use http_cases::run_http_cases;
pub use left_out::{leave_out, list_as_left_out};
pub use process::{alone, usage};
pub use server::{START_TIME, Server};
pub use service::Service;
