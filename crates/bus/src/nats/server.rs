//! One server and the connection to it, which everything shares.

use super::fault;
use crate::address::Address;
use crate::shared_connection::SharedConnection;
use crate::{BusOptions, tls, wait};
use async_nats::connection::State;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{Context, ContextBuilder, kv};
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use runnel_store::{Error, Kind, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Commands that wait to be written. Further ones wait, no longer than their own deadlines.
const UNWRITTEN: usize = 1024;

/// How often the server is pinged.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The request timeout of the library: longer than any deadline of ours, so that it only cleans up
/// abandoned requests.
const GIVEN_UP: Duration = Duration::from_secs(600);

/// Buckets that are remembered for one connection.
const BUCKETS: usize = 256;

/// A server, and who we are to it.
pub(super) struct NatsServer {
    pub(super) address: Address,
    /// A file of credentials (a JWT and a seed).
    pub(super) credentials: Option<String>,
    pub(super) options: BusOptions,
    link: SharedConnection<Rc<NatsConnection>>,
}

/// One connection. The library connects again by itself for those who still hold it.
pub(super) struct NatsConnection {
    pub(super) client: Client,
    pub(super) jetstream: Context,
    /// Counts possible losses of messages: broken connections, and slow subscribers.
    pub(super) gaps: watch::Receiver<u64>,
    /// The buckets that were opened here.
    pub(super) buckets: RefCell<HashMap<String, kv::Store>>,
    pub(super) object_buckets: RefCell<HashMap<String, ObjectBucket>>,
    pub(super) streams: RefCell<HashMap<String, ()>>,
}

/// A bucket of objects, and the stream behind it.
#[derive(Clone)]
pub(super) struct ObjectBucket {
    pub(super) store: ObjectStore,
    pub(super) stream: Stream<()>,
}

impl NatsConnection {
    /// Remembers a bucket; when there are too many, all are looked up again.
    pub(super) fn remember<T: Clone>(buckets: &RefCell<HashMap<String, T>>, name: &str, one: &T) {
        let mut buckets = buckets.borrow_mut();
        if buckets.len() >= BUCKETS {
            buckets.clear();
        }
        buckets.insert(name.to_string(), one.clone());
    }
}

impl NatsServer {
    pub(super) fn new(address: Address, credentials: Option<String>, options: BusOptions) -> Self {
        NatsServer { address, credentials, options, link: SharedConnection::new() }
    }

    /// Uses the connection within the deadline. A server that was not heard in all that time loses
    /// it.
    pub(super) async fn with<T, F: Future<Output = Result<T>>>(
        self: &Rc<Self>,
        deadline: Instant,
        act: impl FnOnce(Rc<NatsConnection>) -> F,
    ) -> Result<T> {
        let wire = self.wire(deadline).await?;
        let heard = || wire.client.statistics().in_bytes.load(Ordering::Relaxed);
        let before = heard();
        let result = wait::by(deadline, &self.address, act(wire.clone())).await;
        let late = result.as_ref().is_err_and(|error| error.kind == Kind::Timeout);
        if late && heard() == before {
            self.link.forget(|current| Rc::ptr_eq(current, &wire));
        }
        result
    }

    /// The connection. A broken one is replaced, so that an unreachable server is an error at once.
    pub(super) async fn wire(self: &Rc<Self>, deadline: Instant) -> Result<Rc<NatsConnection>> {
        let usable = |wire: &Rc<NatsConnection>| wire.client.connection_state() == State::Connected;
        let connecting = self.link.get(usable, || connect(self.clone()));
        wait::by(deadline, &self.address, connecting).await
    }

    /// What the library reports, in our words.
    pub(super) fn fault(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        fault::from_library(error, &self.address)
    }
}

async fn connect(server: Rc<NatsServer>) -> Result<Rc<NatsConnection>> {
    let by = Instant::now() + server.options.connect_time;
    let connecting = async {
        let (options, gaps) = prepared(&server).await?;
        let address = url(&server.address)?;
        let connected = options.connect(address).await;
        let client = connected.map_err(|error| fault::of_connecting(&error, &server.address))?;
        let jetstream = ContextBuilder::new().timeout(GIVEN_UP).build(client.clone());
        let (buckets, object_buckets, streams) = Default::default();
        let known = NatsConnection { client, jetstream, gaps, buckets, object_buckets, streams };
        Ok(Rc::new(known))
    };
    wait::by(by, &server.address, connecting).await
}

/// What the connection is made with.
async fn prepared(server: &NatsServer) -> Result<(ConnectOptions, watch::Receiver<u64>)> {
    let address = &server.address;
    let (sender, gaps) = watch::channel(0);
    let sender = Arc::new(sender);
    let mut options = ConnectOptions::new()
        .name("runnel")
        .connection_timeout(server.options.connect_time)
        .request_timeout(Some(GIVEN_UP))
        .ping_interval(HEARTBEAT)
        .client_capacity(UNWRITTEN)
        .event_callback(move |event| {
            if matches!(event, Event::Disconnected | Event::SlowConsumer(_)) {
                sender.send_modify(|gaps| *gaps += 1);
            }
            std::future::ready(())
        });
    options = match (&address.user, &address.password) {
        (Some(user), Some(password)) => options.user_and_password(user.clone(), password.clone()),
        (Some(token), None) => options.token(token.clone()),
        _ => options,
    };
    if let Some(path) = &server.credentials {
        options = options.credentials_file(path).await.map_err(|error| {
            Error::new(Kind::Invalid, format!("the credentials cannot be read from {path}"))
                .with_detail(error.to_string())
        })?;
    }
    if address.secure || server.options.variable("SSL_CERT_FILE").is_some() {
        options = options.tls_client_config(tls::client(&server.options)?);
    }
    Ok((options.require_tls(address.secure), gaps))
}

/// The address as the library wants it, without who we are.
fn url(address: &Address) -> Result<ServerAddr> {
    let scheme = if address.secure { "tls" } else { "nats" };
    format!("{scheme}://{address}").parse().map_err(|_| {
        Error::new(Kind::Invalid, format!("{address} cannot be the address of a server"))
    })
}
