//! `redis:` and `rediss:`.

use super::Redis;
use super::keys::{database, of_url};
use crate::BusOptions;
use crate::address::Address;
use crate::scheme::{BusScheme, FindServer, OpenServers, ResolvedServer};
use runnel_store::{Reference, Result, Store};
use std::rc::Rc;

/// The server of references without a host, where the environment names none.
const USUAL: &str = "redis://127.0.0.1:6379/0";

/// The store behind `redis:` and `rediss:` (the same over an encrypted connection).
///
/// - `redis://host:port/0/key` is a key of a database, `redis://host/0` all keys of it;
///   `redis://user:password@host/0/key` says who we are.
/// - `redis:key` is a key of the database that `REDIS_URL` names, or of `127.0.0.1:6379/0`;
///   `redis:///1/key` a key of another database there.
/// - `redis://host/pubsub/name` and `redis:///pubsub/name` are channels
///   ([`crate::RedisChannels`]): no key can be in their place, because a database is a number.
///
/// See [`Redis`] for what keys do. At most [`crate::SERVERS`] databases are connected at once.
pub fn redis_scheme(options: BusOptions) -> Rc<dyn Store> {
    Rc::new(BusScheme { name: "redis", find: RedisServers { options, open: OpenServers::new() } })
}

struct RedisServers {
    options: BusOptions,
    open: OpenServers<(Address, i64), Redis>,
}

impl RedisServers {
    fn usual(&self) -> Result<(Address, i64)> {
        of_url(&self.options.variable("REDIS_URL").unwrap_or_else(|| USUAL.to_string()))
    }
}

impl FindServer for RedisServers {
    fn find(&self, reference: &Reference) -> Result<ResolvedServer> {
        let path = reference.path();
        let Some(rest) = path.strip_prefix("//") else {
            let (address, database) = self.usual()?;
            let inner = reference.with_path(reference.relative_path());
            let prefix = path[..path.len() - inner.path().len()].to_string();
            let key = (address.clone(), database);
            let store = self.open.get(key, || Ok(Redis::at(address, database, &self.options)))?;
            return Ok(ResolvedServer { store, inner, prefix });
        };
        let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (address, usual) = match authority {
            "" => self.usual()?,
            authority => {
                let secure = reference.scheme() == Some("rediss");
                (Address::parse(authority, secure, 6379)?, 0)
            }
        };
        let channels = first == "pubsub";
        let number = if channels || first.is_empty() { usual } else { database(first)? };
        let key = (address.clone(), number);
        let redis = self.open.get(key, || Ok(Redis::at(address, number, &self.options)))?;
        let store: Rc<dyn Store> = if channels { redis.channels() } else { redis };
        let slash = if first.is_empty() { "" } else { "/" };
        let prefix = format!("//{authority}/{first}{slash}");
        Ok(ResolvedServer {
            store,
            inner: reference.with_path(rest.trim_start_matches('/')),
            prefix,
        })
    }
}
