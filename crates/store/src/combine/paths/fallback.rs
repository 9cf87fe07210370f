//! The first store that answers.

use crate::combine::answers::{first_answer, is_failure};
use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer};
use crate::combine::paths::sequence::all_confined;
use crate::{
    Answer, Confinement, Content, Context, Entry, Error, KeyPage, KeyRange, Query, Reference,
    Result, Store, Verb,
};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Fallback",
    aliases: &[],
    help: "reads from the next store where one is away or fails",
    settings: &NO_SETTINGS,
    make: |parts| Ok(Fallback::new(parts.sources.clone()).into()),
};

/// Reads from the first of several stores that answers. Stores that are away, take too long or fail
/// are passed over. What it answers counts, also that there is nothing. Writes and watches reach the
/// first store alone, and fail where it does.
///
/// How long a store may take is for a [`crate::Timeout`] to say, and how often it is asked while it
/// is away for a [`crate::CircuitBreaker`].
pub struct Fallback {
    stores: Rc<[Rc<dyn Store>]>,
}

impl Fallback {
    /// The first store is asked first and receives all writes.
    pub fn new(stores: Vec<Rc<dyn Store>>) -> Self {
        Fallback { stores: stores.into() }
    }

    fn read<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        ask: impl Fn(&dyn Store) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let failed = |answer: &Result<T>| answer.as_ref().is_err_and(is_failure);
        first_answer(&self.stores, ask, failed)
            .unwrap_or_else(|| Error::not_allowed(verb, reference).into())
    }
}

impl Layer for Fallback {
    /// The first store, which is written to.
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        match self.stores.first() {
            Some(store) => Ok(Below::same(store, reference)),
            None => Err(Error::not_allowed(verb, reference)),
        }
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "fallback".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (on, context) = (reference.clone(), context.clone());
        self.read(Verb::Get, reference, move |store| store.get(&on, &context))
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let (on, context) = (reference.clone(), context.clone());
        self.read(Verb::List, reference, move |store| store.list(&on, &context))
    }

    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (on, range, context) = (reference.clone(), range.clone(), context.clone());
        self.read(Verb::List, reference, move |store| store.keys(&on, &range, &context))
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let (on, query, context) = (reference.clone(), query.clone(), context.clone());
        self.read(Verb::Query, reference, move |store| store.query(&on, &query, &context))
    }

    /// All stores confined, in the same order.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        match all_confined(&self.stores, reference, links) {
            Ok(stores) => Confinement::By(Rc::new(Fallback::new(stores))),
            Err(refused) => refused,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let stores = self.stores.iter().enumerate();
        stores.map(|(at, store)| ((at + 1).to_string(), store.clone())).collect()
    }
}
