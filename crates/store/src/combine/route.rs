//! One store for each first part of the path, or for each scheme.

use super::in_order;
use crate::{
    Answer, Content, Context, Entry, Error, Kind, Posted, Query, Reference, Shape, Store, Verb,
    Verbs,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Chooses a store by name, and another one where no name fits.
///
/// By segment, `a/b/c` is `b/c` in the store that is mounted at `a`, and listing the root names
/// the stores. By scheme, `a:b/c` is the same reference in the store of the scheme `a`.
///
/// Where no store fits nothing is there: reading answers that it is missing, and writing is
/// [`Kind::NotAllowed`]. Stores can be mounted and taken away at any time.
pub struct Route {
    by: By,
    stores: RefCell<BTreeMap<Box<str>, Rc<dyn Store>>>,
    otherwise: RefCell<Option<Rc<dyn Store>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Segment,
    Scheme,
}

impl Route {
    /// Chooses by the first part of the path.
    pub fn by_segment() -> Self {
        Route { by: By::Segment, stores: RefCell::default(), otherwise: RefCell::default() }
    }

    /// Chooses by the scheme.
    pub fn by_scheme() -> Self {
        Route { by: By::Scheme, ..Route::by_segment() }
    }

    /// Mounts a store under a name, in place of the one that was there, which is answered.
    pub fn mount(&self, name: &str, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        self.stores.borrow_mut().insert(name.into(), store)
    }

    /// Takes the store of a name away.
    pub fn unmount(&self, name: &str) -> Option<Rc<dyn Store>> {
        self.stores.borrow_mut().remove(name)
    }

    /// The store of a name.
    pub fn store(&self, name: &str) -> Option<Rc<dyn Store>> {
        self.stores.borrow().get(name).cloned()
    }

    /// The names under which stores are mounted, in order.
    pub fn names(&self) -> Vec<String> {
        self.stores.borrow().keys().map(|name| name.to_string()).collect()
    }

    /// Uses a store where no name fits, with the reference as it is.
    pub fn otherwise(&self, store: Rc<dyn Store>) {
        *self.otherwise.borrow_mut() = Some(store);
    }

    fn choose(&self, reference: &Reference) -> Option<(Rc<dyn Store>, Reference)> {
        let chosen = match self.by {
            By::Scheme => {
                let store = reference.scheme().and_then(|scheme| self.store(scheme));
                store.map(|store| (store, reference.clone()))
            }
            By::Segment => reference.split_first().and_then(|(first, rest)| {
                let store = self.stores.borrow().get(first).cloned();
                store.map(|store| (store, rest))
            }),
        };
        chosen.or_else(|| Some((self.otherwise.borrow().clone()?, reference.clone())))
    }

    fn pass<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&dyn Store, &Reference) -> Answer<T>,
    ) -> Answer<T> {
        match self.choose(reference) {
            Some((store, below)) => act(&*store, &below),
            None => {
                Error::new(Kind::NotAllowed, "no store is mounted here").on(verb, reference).into()
            }
        }
    }

    fn is_root(&self, reference: &Reference) -> bool {
        self.by == By::Segment && reference.name().is_none()
    }
}

impl Store for Route {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match self.choose(reference) {
            Some((store, below)) => store.get(&below, context),
            None => Answer::ok(None),
        }
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.pass(Verb::Put, reference, |store, below| store.put(below, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        let posted =
            self.pass(Verb::Post, reference, |store, below| store.post(below, content, context));
        let Some((first, _)) = reference.split_first() else { return posted };
        if self.by == By::Scheme || self.store(first).is_none() {
            return posted;
        }
        let mount = Reference::from_path(first);
        posted.map(move |posted| Posted {
            reference: posted.reference.map(|new| new.with_path(mount.join(new.path()).path())),
            ..posted
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.pass(Verb::Merge, reference, |store, below| store.merge(below, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        match self.choose(reference) {
            Some((store, below)) => store.delete(&below, context),
            None => Answer::ok(false),
        }
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let below = match self.choose(reference) {
            Some((store, below)) => store.list(&below, context),
            None => Answer::ok(None),
        };
        if !self.is_root(reference) {
            return below;
        }
        let names = self.names().into_iter();
        let mut entries: Vec<_> = names.map(|name| Entry { name, collection: true }).collect();
        below.map(move |below| {
            entries.extend(below.unwrap_or_default());
            Some(in_order(entries))
        })
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.pass(Verb::Query, reference, |store, below| store.query(below, query, context))
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.pass(Verb::Define, reference, |store, below| store.define(below, shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List);
        self.choose(reference).map_or(reading, |(store, below)| store.verbs(&below))
    }

    fn describe(&self) -> String {
        match self.by {
            By::Segment => "route by path".to_string(),
            By::Scheme => "route by scheme".to_string(),
        }
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let label = |name: &str| match self.by {
            By::Segment => format!("/{name}"),
            By::Scheme => format!("{name}:"),
        };
        let stores = self.stores.borrow();
        let mut sources: Vec<_> =
            stores.iter().map(|(name, store)| (label(name), store.clone())).collect();
        let otherwise = self.otherwise.borrow().clone();
        sources.extend(otherwise.map(|store| ("otherwise".to_string(), store)));
        sources
    }
}
