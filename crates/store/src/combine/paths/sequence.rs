//! The first store that has it.

use crate::combine::answers::{first_answer, in_order, until_error};
use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer, relocate_below};
use crate::{
    Answer, Change, ChangeKind, Changes, Conditions, Confinement, Content, Context, Entry, Error,
    KeyPage, KeyRange, Kind, Query, Reference, Relative, Result, Store, Verb, Verbs,
};
use futures_util::{StreamExt, stream};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Sequence",
    aliases: &["SequentialStore", "MPWSequentialStore"],
    help: "layers: the first store with a result",
    settings: &NO_SETTINGS,
    make: |parts| Ok(Sequence::new(parts.sources.clone()).into()),
};

/// Reads from the first of several stores that has the reference; the others are fallbacks, like
/// defaults under settings. All writes reach the first store alone, so content of a lower store can
/// be covered but not deleted. A listing merges the names of all stores; a query runs in the first
/// store that does not answer [`Kind::NotFound`].
///
/// A watch requires every store to support it. A change in a lower store is reported unless an
/// upper store covers it. A deletion above a lower store's content is reported as a change to that
/// content. Both cases cost a lookup in the other stores.
pub struct Sequence {
    stores: Vec<Rc<dyn Store>>,
}

impl Sequence {
    /// The first store is the uppermost and receives all writes.
    pub fn new(stores: Vec<Rc<dyn Store>>) -> Self {
        Sequence { stores }
    }

    /// Existence depends on all stores, and writes reach the first alone. A condition is therefore
    /// supported only with a single store.
    fn admits(&self, verb: Verb, reference: &Reference, context: &Context) -> Result<()> {
        let condition = context.only_if.as_ref();
        self.conditions(reference).admit(condition, verb, reference)
    }
}

impl Layer for Sequence {
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
        "sequence".to_string()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let writes = matches!(verb, Verb::Put | Verb::Post | Verb::Merge | Verb::Delete);
        if writes && let Err(error) = self.admits(verb, reference, context) {
            return error.into();
        }
        match self.stores.first() {
            Some(store) => act(&**store, reference, context),
            None => Error::not_allowed(verb, reference).into(),
        }
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (on, context) = (reference.clone(), context.clone());
        let ask = move |store: &dyn Store| store.get(&on, &context);
        first_answer(&self.stores, ask, |found| matches!(found, Ok(None)))
            .unwrap_or_else(|| Answer::ok(None))
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let listed: Vec<_> =
            self.stores.iter().map(|store| store.list(reference, context)).collect();
        let mut all = Answer::ok(None);
        for one in listed {
            all = all.and_then(move |all: Option<Vec<Entry>>| {
                one.map(move |one| match (all, one) {
                    (Some(mut all), Some(one)) => {
                        all.extend(one);
                        Some(all)
                    }
                    (all, one) => all.or(one),
                })
            });
        }
        all.map(|all| all.map(in_order))
    }

    /// Without its own listing, a walk merges those of the stores.
    fn layer_keys(&self, _: &Reference, _: &KeyRange, _: &Context) -> Answer<Option<KeyPage>> {
        Answer::ok(None)
    }

    /// A single store moves. Of several, a lower one may have the content, which is only read.
    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        match self.stores.as_slice() {
            [_] => relocate_below(self, from, to, context),
            _ => Error::not_allowed(Verb::Put, from).into(),
        }
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let (on, query, context) = (reference.clone(), query.clone(), context.clone());
        let ask = move |store: &dyn Store| store.query(&on, &query, &context);
        first_answer(
            &self.stores,
            ask,
            |found| matches!(found, Err(error) if error.kind == Kind::NotFound),
        )
        .unwrap_or_else(|| Error::not_allowed(Verb::Query, reference).into())
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let mut watched: Answer<Vec<Changes>> = Answer::ok(Vec::new());
        for store in &self.stores {
            let changes = store.watch(reference, context);
            watched = watched.and_then(move |mut all| {
                changes.map(move |changes| {
                    all.push(changes);
                    all
                })
            });
        }
        let stores: Rc<[Rc<dyn Store>]> = self.stores.as_slice().into();
        watched.map(move |watched| {
            let labelled = watched.into_iter().enumerate();
            let each = labelled.map(|(level, changes)| changes.map(move |one| (level, one)));
            let seen = stream::select_all(each).filter_map(move |(level, change)| {
                let stores = stores.clone();
                async move {
                    match change {
                        Ok(change) => seen(&stores, level, change).await.map(Ok),
                        Err(error) => Some(Err(error)),
                    }
                }
            });
            until_error(Box::pin(seen))
        })
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let all: Vec<Verbs> = self.stores.iter().map(|store| store.verbs(reference)).collect();
        let Some((own, others)) = all.split_first() else { return Verbs::NONE };
        let asks = others.iter().any(|verbs| verbs.asks_visitor());
        let own = if asks { own.with_visitor() } else { *own };
        let is_public = all.iter().all(|verbs| !verbs.has(Verb::List) || verbs.lists_in_public());
        let own = if is_public && own.has(Verb::List) { own } else { own.without_public_list() };
        let reading = [Verb::Get, Verb::List, Verb::Query];
        reading.into_iter().fold(own, |verbs, verb| {
            match others.iter().any(|other| other.has(verb)) {
                true => verbs.with(verb),
                false => verbs,
            }
        })
    }

    fn layer_conditions(&self, reference: &Reference) -> Conditions {
        match self.stores.as_slice() {
            [only] => only.conditions(reference),
            _ => Conditions::None,
        }
    }

    /// All stores confined, in the same order.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        match all_confined(&self.stores, reference, links) {
            Ok(stores) => Confinement::By(Rc::new(Sequence { stores })),
            Err(refused) => refused,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let stores = self.stores.iter().enumerate();
        stores.map(|(at, store)| ((at + 1).to_string(), store.clone())).collect()
    }
}

/// A change in one of the stores as it is seen through all of them.
async fn seen(stores: &[Rc<dyn Store>], level: usize, change: Change) -> Option<Change> {
    if change.kind == ChangeKind::Lost {
        return Some(change);
    }
    for store in &stores[..level] {
        if has(store, &change.reference).await {
            return None;
        }
    }
    if change.kind == ChangeKind::Deleted {
        for store in &stores[level + 1..] {
            if has(store, &change.reference).await {
                return Some(Change::changed(change.reference));
            }
        }
    }
    Some(change)
}

/// Whether a store has content at a reference. An error counts as empty, so that the change is
/// reported.
async fn has(store: &Rc<dyn Store>, reference: &Reference) -> bool {
    matches!(store.get(reference, &Context::default()).await, Ok(Some(_)))
}

/// All stores confined to a reference, in the same order.
///
/// # Errors
/// What the first of them answers that cannot be confined.
pub(crate) fn all_confined(
    stores: &[Rc<dyn Store>],
    reference: &Reference,
    links: bool,
) -> std::result::Result<Vec<Rc<dyn Store>>, Confinement> {
    let confined = |store: &Rc<dyn Store>| match store.confined(reference, links) {
        Confinement::By(confined) => Ok(confined),
        Confinement::Inherent => {
            Ok(Rc::new(Relative::new(store.clone(), reference.clone())) as Rc<dyn Store>)
        }
        // It may be created later, where the copy would not see it.
        Confinement::Missing => Err(Confinement::Missing),
        Confinement::Impossible => Err(Confinement::Impossible),
    };
    stores.iter().map(confined).collect()
}
