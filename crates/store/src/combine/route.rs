//! One store for each first part of the path, or for each scheme.

use super::{in_order, renamed, until_error};
use crate::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted, Query, Records,
    Reference, Shape, Store, Transaction, Value, Verb, Verbs, Watchers,
};
use futures_util::{StreamExt, future, stream};
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
///
/// Watching the root, by segment, watches all stores, and needs all of them to tell. A watch ends
/// with a temporary error when a store that it is about is mounted or taken away: whoever follows
/// should read and watch again.
pub struct Route {
    by: By,
    stores: RefCell<BTreeMap<Box<str>, Rc<dyn Store>>>,
    otherwise: RefCell<Option<Rc<dyn Store>>>,
    /// Told of what is mounted and taken away.
    mounts: Watchers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Segment,
    Scheme,
}

impl Route {
    /// Chooses by the first part of the path.
    pub fn by_segment() -> Self {
        Route {
            by: By::Segment,
            stores: RefCell::default(),
            otherwise: RefCell::default(),
            mounts: Watchers::new(),
        }
    }

    /// Chooses by the scheme.
    pub fn by_scheme() -> Self {
        Route { by: By::Scheme, ..Route::by_segment() }
    }

    /// Mounts a store under a name, in place of the one that was there, which is answered.
    pub fn mount(&self, name: &str, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let before = self.stores.borrow_mut().insert(name.into(), store);
        self.mounts.lost(&Reference::from_path(name));
        before
    }

    /// Takes the store of a name away.
    pub fn unmount(&self, name: &str) -> Option<Rc<dyn Store>> {
        let before = self.stores.borrow_mut().remove(name);
        self.mounts.lost(&Reference::from_path(name));
        before
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
        self.mounts.lost(&Reference::default());
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

    /// The changes of all stores, each named from the root.
    fn watch_all(&self, reference: &Reference, context: &Context) -> Answer<Vec<Changes>> {
        let mut all: Answer<Vec<Changes>> = Answer::ok(Vec::new());
        let mut add = |changes: Answer<Changes>| {
            let before = std::mem::replace(&mut all, Answer::ok(Vec::new()));
            all = before.and_then(move |mut all| {
                changes.map(move |changes| {
                    all.push(changes);
                    all
                })
            });
        };
        for (name, store) in self.stores.borrow().iter() {
            let (mount, root) = (Reference::from_path(&**name), Reference::default());
            let changes = store.watch(&root, context).on(Verb::Watch, &mount);
            add(renamed(changes, &mount.clone(), move |below| Some(mount.join(below.path()))));
        }
        if let Some(store) = &*self.otherwise.borrow() {
            let names: Rc<[String]> = self.names().into();
            // What lies below a name is not seen in the store of the others.
            let covered = move |changed: &Reference| {
                let first = changed.split_first();
                first.is_some_and(|(first, _)| names.iter().any(|name| name == first))
            };
            add(store.watch(reference, context).map(move |changes| -> Changes {
                Box::pin(changes.filter(move |change| {
                    future::ready(!matches!(change, Ok(change) if covered(&change.reference)))
                }))
            }));
        }
        all
    }

    /// The changes of one store, with references as the watcher names them.
    fn watch_one(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let changes = self.pass(Verb::Watch, reference, |store, below| store.watch(below, context));
        if self.by == By::Scheme {
            let scheme = reference.scheme().map(String::from);
            return renamed(changes, reference, move |changed| {
                let changed = changed.clone();
                Some(match &scheme {
                    Some(scheme) if changed.scheme().is_none() => changed.with_scheme(&**scheme),
                    _ => changed,
                })
            });
        }
        match reference.split_first() {
            Some((first, _)) if self.store(first).is_some() => {
                let mount = Reference::from_path(first);
                renamed(changes, reference, move |below| Some(mount.join(below.path())))
            }
            _ => changes,
        }
    }

    fn is_root(&self, reference: &Reference) -> bool {
        self.by == By::Segment && reference.name().is_none()
    }
}

fn remounted() -> Error {
    let message = "the stores mounted here have changed; read and watch again";
    Error::new(Kind::Unavailable, message)
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

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.pass(Verb::Post, reference, |store, below| store.insert(below, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.pass(Verb::Query, reference, |store, below| {
            store.run(below, statement, parameters, context)
        })
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.pass(Verb::Define, reference, |store, below| store.migrate(below, steps, context))
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.pass(Verb::Begin, reference, |store, below| store.begin(below, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        // Watched first, so that nothing mounted meanwhile is missed.
        let about = match (self.by, reference.split_first(), reference.scheme()) {
            (By::Segment, Some((first, _)), _) => Reference::from_path(first),
            (By::Scheme, _, Some(scheme)) => Reference::from_path(scheme),
            _ => Reference::default(),
        };
        let mounts = self.mounts.watch(&about).map(|_| Err(remounted()));
        let all = if self.is_root(reference) {
            self.watch_all(reference, context)
        } else {
            self.watch_one(reference, context).map(|changes| vec![changes])
        };
        let on = reference.clone();
        let watched = all.map(move |all| -> Changes {
            let mounts: Changes = Box::pin(
                mounts.map(move |end| end.map_err(|error: Error| error.on(Verb::Watch, &on))),
            );
            until_error(Box::pin(stream::select_all(all.into_iter().chain([mounts]))))
        });
        watched.on(Verb::Watch, reference)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.pass(Verb::Define, reference, |store, below| store.define(below, shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List);
        self.choose(reference).map_or(reading, |(store, below)| store.verbs(&below))
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let chosen = self.choose(reference);
        chosen.map_or(Conditions::None, |(store, below)| store.conditions(&below))
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
