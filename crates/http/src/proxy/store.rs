//! The reverse proxy as a store: the last one that a relayed request reaches.

use super::balance::Balancer;
use super::checks;
use super::forward::{ProxyCore, not_relayed, relayed_exchange};
use super::options::ProxyOptions;
use super::sticky::StickyCookie;
use super::upstream::ProxyUpstream;
use crate::server::request::relay::expect_proxies;
use runnel_store::{
    Answer, Content, Context, Error, Kind, Outcome, Reference, Result, Store, Verb, Verbs,
};
use std::cell::Cell;
use std::rc::Rc;

/// A reverse proxy. A server relays the requests that reach it as they are: see [`Verbs::relays`]. All
/// other verbs are [`Kind::NotAllowed`].
///
/// Its connections and what it knows of its upstreams belong to the worker that made it.
///
/// # Errors
/// [`Kind::Invalid`]: it has no upstreams, or an address is none.
pub fn proxy(options: ProxyOptions) -> Result<Rc<dyn Store>> {
    if options.to.is_empty() {
        let message = "a Proxy needs `to`, such as 'http://10.0.0.1:8080'";
        return Err(Error::new(Kind::Invalid, message));
    }
    let upstreams = options.to.iter().map(|address| ProxyUpstream::new(address, &options));
    let upstreams = upstreams.collect::<Result<Vec<_>>>()?;
    let sticky = StickyCookie::new(&options.sticky, &options.to)?;
    let balancer = Balancer::new(upstreams, options.balance);
    expect_proxies();
    let core = Rc::new(ProxyCore { balancer, sticky, options });
    Ok(Rc::new(ProxyStore { core, is_checked: Cell::new(false) }))
}

struct ProxyStore {
    core: Rc<ProxyCore>,
    /// Whether the health checks run, which begin with the first request.
    is_checked: Cell<bool>,
}

impl ProxyStore {
    fn relay<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        answer: T,
    ) -> Answer<T> {
        let Some(exchange) =
            context.exchange.as_ref().filter(|one| relayed_exchange(&***one).is_some())
        else {
            return not_relayed().on(verb, reference).into();
        };
        if !self.is_checked.replace(true) {
            checks::start(&self.core);
        }
        let (core, exchange, reference) = (self.core.clone(), exchange.clone(), reference.clone());
        Answer::later(async move {
            let Some(relayed) = relayed_exchange(&*exchange) else { return Err(not_relayed()) };
            core.forward(relayed, &reference).await.map(|()| answer)
        })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for ProxyStore {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.relay(Verb::Get, reference, context, None)
    }

    fn put(&self, reference: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        self.relay(Verb::Put, reference, context, Outcome::default())
    }

    fn post(&self, reference: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        self.relay(Verb::Post, reference, context, Outcome::default())
    }

    fn merge(&self, reference: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        self.relay(Verb::Merge, reference, context, Outcome::default())
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.relay(Verb::Delete, reference, context, Outcome::default())
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        let verbs = Verbs::NONE.with(Verb::Get).with(Verb::Put).with(Verb::Post);
        verbs.with(Verb::Merge).with(Verb::Delete).with_relay()
    }

    runnel_store::without!(
        list, keys, appends, attributes, relocate, query, watch, tables, conditions, guards,
        escapes, as_any, sources
    );

    fn describe(&self) -> String {
        let places: Vec<&str> =
            self.core.balancer.upstreams.iter().map(|upstream| upstream.place()).collect();
        format!("proxy to {}", places.join(", "))
    }
}
