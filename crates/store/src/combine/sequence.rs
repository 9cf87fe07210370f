//! The first store that has it.

use super::{in_order, until_error};
use crate::{
    Answer, Change, ChangeKind, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted,
    Query, Records, Reference, Result, Shape, Store, Transaction, Value, Verb, Verbs,
};
use futures_util::{StreamExt, stream};
use std::rc::Rc;

/// Reads from the first of several stores that has something at the reference; the others lie
/// under it, as defaults do under settings. Everything is written to the first store alone, so
/// what a lower one has can be covered but not deleted. A listing has the names of all; a query
/// runs where it is not [`Kind::NotFound`].
///
/// A watch needs all of the stores to tell. A change in a lower store is told unless an upper one
/// covers it, and what is deleted above something has changed to that; each of the two costs a look
/// at the other stores.
pub struct Sequence {
    stores: Vec<Rc<dyn Store>>,
}

impl Sequence {
    /// The first store is the uppermost, and the one that is written to.
    pub fn new(stores: Vec<Rc<dyn Store>>) -> Self {
        Sequence { stores }
    }

    /// Whether something is there is said by all stores, and the first alone is written to, so a
    /// condition can only be kept where there is one.
    fn admits(&self, verb: Verb, reference: &Reference, context: &Context) -> Result<()> {
        let condition = context.only_if.as_ref();
        self.conditions(reference).admit(condition, verb, reference)
    }

    fn first<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&dyn Store) -> Answer<T>,
    ) -> Answer<T> {
        match self.stores.first() {
            Some(store) => act(&**store),
            None => Error::not_allowed(verb, reference).into(),
        }
    }
}

impl Store for Sequence {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (on, context) = (reference.clone(), context.clone());
        let ask = move |store: &dyn Store| store.get(&on, &context);
        search(&self.stores, ask, |found| matches!(found, Ok(None)))
            .unwrap_or_else(|| Answer::ok(None))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        if let Err(error) = self.admits(Verb::Put, reference, context) {
            return error.into();
        }
        self.first(Verb::Put, reference, |store| store.put(reference, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        if let Err(error) = self.admits(Verb::Post, reference, context) {
            return error.into();
        }
        self.first(Verb::Post, reference, |store| store.post(reference, content, context))
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        if let Err(error) = self.admits(Verb::Merge, reference, context) {
            return error.into();
        }
        self.first(Verb::Merge, reference, |store| store.merge(reference, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        if let Err(error) = self.admits(Verb::Delete, reference, context) {
            return error.into();
        }
        self.first(Verb::Delete, reference, |store| store.delete(reference, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
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

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let (on, query, context) = (reference.clone(), query.clone(), context.clone());
        let ask = move |store: &dyn Store| store.query(&on, &query, &context);
        search(
            &self.stores,
            ask,
            |found| matches!(found, Err(error) if error.kind == Kind::NotFound),
        )
        .unwrap_or_else(|| Error::not_allowed(Verb::Query, reference).into())
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.first(Verb::Post, reference, |store| store.insert(reference, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.first(Verb::Query, reference, |store| {
            store.run(reference, statement, parameters, context)
        })
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.first(Verb::Define, reference, |store| store.migrate(reference, steps, context))
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.first(Verb::Begin, reference, |store| store.begin(reference, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
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

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.first(Verb::Define, reference, |store| store.define(reference, shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List);
        self.stores.first().map_or(reading, |store| store.verbs(reference))
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        match self.stores.as_slice() {
            [only] => only.conditions(reference),
            _ => Conditions::None,
        }
    }

    fn describe(&self) -> String {
        "sequence".to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
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

/// Whether a store has something at a reference. One that fails to answer counts as empty, so that
/// the change is told rather than not.
async fn has(store: &Rc<dyn Store>, reference: &Reference) -> bool {
    matches!(store.get(reference, &Context::default()).await, Ok(Some(_)))
}

/// Asks one store after the other as long as it is missing there; the last answer counts. `None`
/// where there is no store.
fn search<T: 'static>(
    stores: &[Rc<dyn Store>],
    ask: impl Fn(&dyn Store) -> Answer<T> + 'static,
    is_missing: fn(&Result<T>) -> bool,
) -> Option<Answer<T>> {
    let (first, rest) = stores.split_first()?;
    match ask(&**first) {
        Answer::Ready(result) if is_missing(&result) && !rest.is_empty() => {
            search(rest, ask, is_missing)
        }
        Answer::Ready(result) => Some(Answer::Ready(result)),
        Answer::Later(found) => {
            let rest = rest.to_vec();
            Some(Answer::later(async move {
                let mut found = found.await;
                for store in rest {
                    if !is_missing(&found) {
                        break;
                    }
                    found = ask(&*store).await;
                }
                found
            }))
        }
    }
}
