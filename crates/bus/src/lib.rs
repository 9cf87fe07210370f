//! Redis and NATS as stores and streams: how several machines share state and changes.
//!
//! - [`redis_scheme`] is the store behind `redis:` and `rediss:`, [`Redis`] one database of one
//!   server (Valkey is meant wherever Redis is named), [`RedisChannels`] its channels.
//! - [`nats_scheme`] is the store behind `nats:`, [`Nats`] one server: buckets of keys and values,
//!   buckets of objects, and subjects.
//! - [`BusOptions`] say how long to wait and where the environment is.
//!
//! Connections are made when they are first needed, shared by all references of one server, and
//! made anew when they break. Everything happens on the worker's own thread, within a
//! [`tokio::task::LocalSet`] or a [`tokio::runtime::LocalRuntime`].
//!
//! Reading order: `address`, `link`, `feed`, then `redis` and `nats`.

mod address;
mod feed;
mod merge;
mod nats;
mod options;
mod queue;
mod redis;
mod scheme;
mod shared_connection;
mod tls;
mod wait;

pub use nats::{BUCKET_NAME_LIMIT, NATS_KEY_LIMIT, Nats, OBJECT_NAME_LIMIT, nats_scheme};
pub use options::{BusOptions, CONNECT_TIME, OPERATION_TIME, Variable};
pub use queue::{DEAD_LETTERS, GROUP_NAME_LIMIT, LONGEST_STREAM, MAX_LENGTH, MOST_DELIVERED};
pub use redis::{
    ELEMENTS_LIMIT, KEY_LIMIT, LONGEST_WAIT, Redis, RedisChannels, VALUE_LIMIT, redis_scheme,
};
pub use scheme::{LISTING_LIMIT, SERVERS};
