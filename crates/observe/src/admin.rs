//! The admin port as a store: health, readiness, metrics, and the page that draws them. It only
//! reads, and it is never part of what a program serves.

use crate::readiness::Readiness;
use crate::registry::Registry;
use crate::snapshot::Snapshot;
use crate::{dashboard, exposition};
use runnel_http::{Limits, Options, Server};
use runnel_store::{
    Answer, Content, Context, Error, Reference, Result, Store, Value, Verb, Verbs, json,
};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Connections to the admin port at a time.
const CONNECTIONS: usize = 64;
/// How long an answer may take.
const TIME: Duration = Duration::from_secs(5);

/// Serves the admin port, on a socket that listens already where there is one.
pub(crate) async fn serve(
    address: SocketAddr,
    listener: Option<TcpListener>,
    registry: Arc<Registry>,
    readiness: Rc<Readiness>,
) -> Result<Server> {
    let limits = Limits {
        body: 0,
        connections: CONNECTIONS,
        request_time: TIME,
        keep_alive: Duration::from_secs(30),
        ..Limits::default()
    };
    let options = Options { address, limits, ..Options::default() };
    let store = Rc::new(Admin { registry, readiness });
    match listener {
        Some(listener) => runnel_http::serve_on(listener, store, options).await,
        None => runnel_http::serve(store, options).await,
    }
}

struct Admin {
    registry: Arc<Registry>,
    readiness: Rc<Readiness>,
}

impl Admin {
    fn ready(&self, context: &Context) -> Answer<Option<Content>> {
        let exchange = context.exchange.clone();
        let asked = self.readiness.ask();
        let registry = self.registry.clone();
        Answer::later(async move {
            let found = asked.await;
            let draining = registry.draining.load(Relaxed);
            let ready = !draining && found.iter().all(|(_, wrong)| wrong.is_none());
            if let (false, Some(exchange)) = (ready, exchange) {
                exchange.set_status(503);
            }
            let checks = found.into_iter().map(|(name, wrong)| {
                (name, Value::Text(wrong.unwrap_or_else(|| "ready".to_string())))
            });
            let answer = Value::record([
                ("ready", Value::Bool(ready)),
                ("draining", Value::Bool(draining)),
                ("checks", Value::record(checks)),
            ]);
            Ok(Some(structure(&answer)))
        })
    }
}

fn structure(value: &Value) -> Content {
    Content::bytes(json::text(value)).with_media_type("application/json")
}

#[deny(clippy::missing_trait_methods)]
impl Store for Admin {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if let Some(exchange) = &context.exchange {
            let headers =
                [("cache-control", "no-store"), ("content-security-policy", dashboard::POLICY)];
            for (name, value) in headers {
                if let Err(error) = exchange.set_header(name, value) {
                    return error.into();
                }
            }
        }
        let content = match reference.path() {
            "/" => Content::text(dashboard::PAGE).with_media_type("text/html; charset=utf-8"),
            "/healthz" => Content::text("ok\n").with_media_type("text/plain; charset=utf-8"),
            "/readyz" => return self.ready(context),
            "/metrics" => Content::text(exposition::text(&Snapshot::of(&self.registry)))
                .with_media_type(exposition::MEDIA_TYPE),
            "/metrics.json" => structure(&Snapshot::of(&self.registry).json()),
            _ => return Answer::ok(None),
        };
        Answer::ok(Some(content))
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<runnel_store::Entry>>> {
        Error::not_allowed(Verb::List, reference).into()
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    runnel_store::without!(
        put, post, merge, delete, keys, query, watch, tables, conditions, links, as_any, sources
    );

    fn describe(&self) -> String {
        "admin port".to_string()
    }
}
