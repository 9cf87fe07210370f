//! Redis and Valkey: keys with their values, and channels.
//!
//! - `scheme` finds the server of a reference; `server` keeps the connection to it and asks.
//! - `keys` is the store of the keys of one database: `read`, `write` and `list` are its verbs.
//! - `take` removes elements of lists; `stream` adds messages, which a `follower` does.
//! - `channels` is the store of channels; `hub` is the one connection that all watchers share.
//! - `fault` says in words what went wrong.
//!
//! The protocol is RESP2 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>), spoken
//! by the crate `redis`.

mod channels;
mod fault;
mod follower;
mod hub;
mod key_watch;
mod keys;
mod list;
mod notifications;
mod read;
mod scheme;
mod server;
mod stream;
mod take;
mod write;

pub use channels::RedisChannels;
pub use keys::{KEY_LIMIT, Redis};
pub use read::{ELEMENTS_LIMIT, VALUE_LIMIT};
pub use scheme::redis_scheme;
pub use take::LONGEST_WAIT;
