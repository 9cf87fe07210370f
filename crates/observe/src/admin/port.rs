//! The admin port as a read-only store: health, readiness, metrics and the dashboard. It is never
//! part of what a program serves.

use crate::admin::dashboard;
use crate::admin::pages;
use crate::admin::readiness::Readiness;
use crate::admin::token::AdminToken;
use crate::metrics::exposition;
use crate::metrics::registry::Registry;
use crate::metrics::snapshot::MetricsSnapshot;
use crate::settings::ObserveSettings;
use runnel_http::{AccessPolicy, HttpServer, Limits, ServerOptions};
use runnel_store::{
    Answer, ClientNetwork, Content, Context, Error, GuessLimit, Kind, Outcome, Reference, Result,
    Store, Value, Verb, Verbs, json,
};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The most connections of the admin port.
const CONNECTIONS: usize = 64;
/// Its request timeout: a profile takes up to 30 seconds.
const TIME: Duration = Duration::from_secs(35);

/// The limit of wrong tokens, which all admin ports of the process share.
const ADMIN_GUESSES: &str = "tokens of the admin port";

/// The challenge of a 401: browsers ask for a name and a password.
const CHALLENGE: &str = "Basic realm=\"the admin port\", charset=\"UTF-8\"";

/// The response to a page that an admin port without a token does not show.
const NEEDS_TOKEN: &str = "403 Forbidden: this page shows what only users of the server may see, so \
     the admin port needs a token: give the server an `adminToken:`\n";

/// Serves the admin port, on an inherited socket if there is one.
///
/// # Errors
/// Those of [`runnel_http::serve`], and [`Kind::Invalid`] for a public address: an address beyond
/// loopback requires a token.
pub(crate) async fn serve(
    address: SocketAddr,
    settings: &ObserveSettings,
    listener: Option<TcpListener>,
    registry: Arc<Registry>,
    readiness: Rc<Readiness>,
) -> Result<HttpServer> {
    let token = settings.admin_token.clone();
    if token.is_none() && !address.ip().to_canonical().is_loopback() {
        return Err(Error::new(
            Kind::Invalid,
            format!(
                "the option admin of a server: others can reach {}, so name an adminToken, or only \
                 a port, which listens on 127.0.0.1",
                address.ip()
            ),
        ));
    }
    let limits = Limits {
        body: 0,
        connections: CONNECTIONS,
        request_time: TIME,
        keep_alive: Duration::from_secs(30),
        access: AccessPolicy {
            allowed_hosts: hosts(address, &settings.admin_hosts),
            ..AccessPolicy::default()
        },
        ..Limits::default()
    };
    let options = ServerOptions { address, limits, ..ServerOptions::default() };
    let store =
        Rc::new(Admin { registry, readiness, token, guesses: GuessLimit::usual(ADMIN_GUESSES) });
    match listener {
        Some(listener) => runnel_http::serve_on(listener, store, options).await,
        None => runnel_http::serve(store, options).await,
    }
}

/// The served hosts beside those of the option. Without names the rule of every server holds: on
/// loopback the names of this machine. Elsewhere the token alone protects: no browser sends it under
/// another name.
fn hosts(address: SocketAddr, named: &[String]) -> Vec<String> {
    if named.is_empty() {
        return Vec::new();
    }
    let own = address.ip().to_canonical().to_string();
    let machine = ["localhost", "127.0.0.1", "::1"].into_iter().map(String::from);
    machine.chain([own]).chain(named.iter().cloned()).collect()
}

struct Admin {
    registry: Arc<Registry>,
    readiness: Rc<Readiness>,
    token: Option<AdminToken>,
    guesses: GuessLimit,
}

impl Admin {
    /// Whether a request has full read access.
    ///
    /// # Errors
    /// [`Kind::TooMany`] after too many wrong tokens of the client.
    fn admits(&self, context: &Context) -> Result<bool> {
        let Some(token) = &self.token else { return Ok(true) };
        let Some(exchange) = &context.exchange else { return Ok(false) };
        let Some(sent) = exchange.header("authorization") else { return Ok(false) };
        let client = Some(ClientNetwork::of(exchange.client()));
        self.guesses.count((), client)?;
        let is_right = token.is_in(&sent);
        if is_right {
            self.guesses.take_back((), client);
        }
        Ok(is_right)
    }

    /// Readiness. Only requests with the token see the checks by name.
    fn ready(&self, context: &Context) -> Answer<Option<Content>> {
        let exchange = context.exchange.clone();
        let shows_checks = match self.admits(context) {
            Ok(admitted) => admitted,
            Err(error) => return error.into(),
        };
        let asked = self.readiness.ask();
        let registry = self.registry.clone();
        Answer::later(async move {
            let found = asked.await;
            let draining = registry.draining.load(Relaxed);
            let ready = !draining && found.iter().all(|(_, wrong)| wrong.is_none());
            if let (false, Some(exchange)) = (ready, exchange) {
                exchange.set_status(503);
            }
            let mut answer =
                Value::record([("ready", Value::Bool(ready)), ("draining", Value::Bool(draining))]);
            if shows_checks {
                let checks = found.into_iter().map(|(name, wrong)| {
                    (name, Value::Text(wrong.unwrap_or_else(|| "ready".to_string())))
                });
                answer.set("checks", Value::record(checks));
            }
            Ok(Some(structure(&answer)))
        })
    }
}

/// The response to a request without the token.
fn unauthorized(context: &Context) -> Answer<Option<Content>> {
    if let Some(exchange) = &context.exchange
        && let Err(error) = exchange.set_header("www-authenticate", CHALLENGE)
    {
        return error.into();
    }
    let text = "401 Unauthorized: send the token of the admin port as `Authorization: Bearer`, \
                or as a password\n";
    answer_status(context, 401, text)
}

fn answer_status(context: &Context, status: u16, text: &'static str) -> Answer<Option<Content>> {
    if let Some(exchange) = &context.exchange {
        exchange.set_status(status);
    }
    Answer::ok(Some(Content::text(text).with_media_type("text/plain; charset=utf-8")))
}

fn structure(value: &Value) -> Content {
    Content::bytes(json::text(value)).with_media_type("application/json")
}

#[deny(clippy::missing_trait_methods)]
impl Store for Admin {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let page = pages::find(&self.registry, reference.relative_path());
        if let Some(exchange) = &context.exchange {
            let policy = if page.is_some() { pages::POLICY } else { dashboard::POLICY };
            // Forms name their origin only where the page may tell its address.
            let referrer = if page.is_some() { "same-origin" } else { "no-referrer" };
            let headers = [
                ("cache-control", "no-store"),
                ("content-security-policy", policy),
                ("referrer-policy", referrer),
            ];
            for (name, value) in headers {
                if let Err(error) = exchange.set_header(name, value) {
                    return error.into();
                }
            }
        }
        if !matches!(reference.path(), "/healthz" | "/readyz") {
            match self.admits(context) {
                Ok(true) => {}
                Ok(false) => return unauthorized(context),
                Err(error) => return error.into(),
            }
        }
        let content = match reference.path() {
            "/healthz" => Content::text("ok\n").with_media_type("text/plain; charset=utf-8"),
            "/readyz" => return self.ready(context),
            "/" => Content::text(dashboard::page(&pages::links(&self.registry)))
                .with_media_type("text/html; charset=utf-8"),
            "/metrics" => Content::text(exposition::text(&MetricsSnapshot::of(&self.registry)))
                .with_media_type(exposition::MEDIA_TYPE),
            "/metrics.json" => structure(&MetricsSnapshot::of(&self.registry).json()),
            _ => match page {
                Some(page) if page.needs_token && self.token.is_none() => {
                    return answer_status(context, 403, NEEDS_TOKEN);
                }
                Some(page) => return page.store.get(reference, context),
                None => return Answer::ok(None),
            },
        };
        Answer::ok(Some(content))
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<runnel_store::Entry>>> {
        Error::not_allowed(Verb::List, reference).into()
    }

    /// The buttons of a page. The server refuses forms of other origins.
    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match self.admits(context) {
            Ok(true) => {}
            Ok(false) => {
                let outcome = |content| Outcome { content, ..Outcome::default() };
                return unauthorized(context).map(outcome);
            }
            Err(error) => return error.into(),
        }
        match pages::find(&self.registry, reference.relative_path()) {
            Some(page) if !page.needs_token || self.token.is_some() => {
                page.store.post(reference, content, context)
            }
            _ => Error::not_allowed(Verb::Post, reference).into(),
        }
    }

    fn appends(&self, _: &Reference) -> bool {
        false
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match pages::find(&self.registry, reference.relative_path()) {
            Some(page) => page.store.verbs(reference),
            None => Verbs::NONE.with(Verb::Get),
        }
    }

    runnel_store::without!(
        put, merge, delete, keys, attributes, relocate, query, watch, tables, conditions, links,
        as_any, sources
    );

    fn describe(&self) -> String {
        "admin port".to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_machine_lead_to_the_admin_port() {
        let of = |address: &str, named: &[&str]| {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            hosts(address.parse().unwrap(), &named)[..].join(" ")
        };
        assert_eq!(of("127.0.0.1:1", &[]), "");
        assert_eq!(of("10.0.0.5:1", &["a.example"]), "localhost 127.0.0.1 ::1 10.0.0.5 a.example");
        assert_eq!(of("[::]:1", &["a.example"]), "localhost 127.0.0.1 ::1 :: a.example");
    }
}
