//! `nats:`.

use super::Nats;
use super::store::of_url;
use crate::BusOptions;
use crate::address::Address;
use crate::scheme::{BusScheme, FindServer, OpenServers, ResolvedServer};
use runnel_store::{Reference, Result, Store};
use std::rc::Rc;

/// The server of references without a host, where the environment names none.
const USUAL: &str = "nats://127.0.0.1:4222";

/// The store behind `nats:`.
///
/// - `nats://host:port/kv/BUCKET/key`, and `objects` and `subjects` in the place of `kv`;
///   `nats://user:password@host/…` and `nats://token@host/…` say who we are.
/// - `nats:kv/BUCKET/key` is at the server that `NATS_URL` names, or at `127.0.0.1:4222`;
///   `nats:///kv/…` is the same. `NATS_CREDS` names a file of credentials for it. A `NATS_URL` that
///   begins with `tls:` has the connection encrypted; a server that wants it gets it anyway.
///
/// [`Nats`] describes the verbs. At most [`crate::SERVERS`] servers are connected at once.
pub fn nats_scheme(options: BusOptions) -> Rc<dyn Store> {
    Rc::new(BusScheme { name: "nats", find: NatsServers { options, open: OpenServers::new() } })
}

struct NatsServers {
    options: BusOptions,
    open: OpenServers<(Address, Option<String>), Nats>,
}

impl NatsServers {
    fn usual(&self) -> Result<(Address, Option<String>)> {
        let url = self.options.variable("NATS_URL").unwrap_or_else(|| USUAL.to_string());
        let (address, credentials) = of_url(&url)?;
        Ok((address, credentials.or_else(|| self.options.variable("NATS_CREDS"))))
    }
}

impl FindServer for NatsServers {
    fn find(&self, reference: &Reference) -> Result<ResolvedServer> {
        let path = reference.path();
        let (authority, inner) = match path.strip_prefix("//") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", reference.relative_path()),
        };
        let inner = inner.trim_start_matches('/');
        let (address, credentials) = match authority {
            "" => self.usual()?,
            authority => (Address::parse(authority, false, 4222)?, None),
        };
        let key = (address.clone(), credentials.clone());
        let store = self.open.get(key, || Ok(Nats::at(address, credentials, &self.options)))?;
        let mut prefix = path[..path.len() - inner.len()].to_string();
        if inner.is_empty() && prefix.starts_with("//") && !prefix[2..].contains('/') {
            prefix.push('/');
        }
        Ok(ResolvedServer { store, inner: reference.with_path(inner), prefix })
    }
}
