//! NATS: buckets of keys and values, buckets of objects, and subjects.
//!
//! - `scheme` finds the server of a reference; `server` keeps the connection to it.
//! - `store` looks at the first part of a path: `kv` is in `bucket`, `objects` in `objects`,
//!   `subjects` in `subjects`, `streams` in `streams`, with a `follower` for each that follows one.
//! - `names` makes keys of paths and back; `fault` says in words what went wrong.
//!
//! The protocols are those of the architecture decision records of NATS
//! (<https://github.com/nats-io/nats-architecture-and-design>): ADR-8 for keys and values, ADR-20
//! for objects; the crate `async-nats` speaks them.

mod bucket;
mod fault;
mod follower;
mod listing;
mod names;
mod object_attributes;
mod objects;
mod reader;
mod scheme;
mod server;
mod store;
mod streams;
mod subjects;
mod watch;

pub use names::{BUCKET_NAME_LIMIT, NATS_KEY_LIMIT};
pub use objects::OBJECT_NAME_LIMIT;
pub use scheme::nats_scheme;
pub use store::Nats;
