//! One store for each first part of the path, or for each scheme.

use super::encoded_slashes::{encoded_slash, split_encoded};
use crate::Relative;
use crate::combine::access::guard::is_guarded;
use crate::combine::answers::{in_order, renamed, until_error};
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer, PathUp, watch_below};
use crate::{
    Answer, Changes, Confinement, Content, Context, Entry, Error, KeyPage, KeyRange, Kind, Outcome,
    Reference, Result, Setting, SettingKind, SettingTable, Store, Verb, Verbs, Watchers,
};
use futures_util::{StreamExt, future, stream};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Default)]
struct RouteOptions {
    encoded_slashes: bool,
}

const SETTINGS: SettingTable<RouteOptions> = SettingTable(&[
    Setting::apart("otherwise", "the store for paths that no name fits", SettingKind::Store),
    Setting::new("encodedSlashes", "takes `%2F` and `\\` in a name as a part of it", |options| {
        &mut options.encoded_slashes
    }),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Route",
    aliases: &["SwitchingStore", "MPWSwitchingStore"],
    help: "routing by the first path segment",
    settings: &SETTINGS,
    make: |parts| {
        let RouteOptions { encoded_slashes } = parts.read("a Route", &SETTINGS)?;
        let route = Route { encoded_slashes, ..Route::by_segment() };
        for (name, store) in parts.names.iter().zip(&parts.sources) {
            route.mount(name, store.clone());
        }
        // A store beyond the names takes what no name fits.
        if let Some(otherwise) = parts.sources.get(parts.names.len()) {
            route.otherwise(otherwise.clone());
        }
        Ok(route.into())
    },
};

/// Dispatches to a store by name, with an optional default.
///
/// By segment, `a/b/c` is `b/c` in the store mounted at `a`, and listing the root lists the stores.
/// By scheme, `a:b/c` is the same reference in the store of the scheme `a`.
///
/// A request whose name has an escaped slash is [`Kind::Invalid`]: a server behind a mount may take
/// `admin%2Fx` for `admin/x`. A guard that is mounted under the decoded name answers first.
///
/// Without a matching store, a read finds nothing and a write is [`Kind::NotAllowed`]. Stores can
/// be mounted and unmounted at any time.
///
/// By segment, watching the root watches all stores, and requires every store to support it.
/// Mounting or unmounting a watched store ends the watch with a temporary error: the watcher should
/// then read and watch again.
pub struct Route {
    by: By,
    mounts: Rc<Mounts>,
    /// Whether an escaped slash is a part of a name.
    encoded_slashes: bool,
    /// How a confined copy confines the stores.
    confined: Option<Confining>,
}

/// How the stores of a confined copy are confined.
struct Confining {
    /// Whether links within a store are followed.
    links: bool,
    /// Each mounted store with its confined store, by name; without a name, the default store.
    latest: RefCell<ConfinedMounts>,
}

type ConfinedMounts = BTreeMap<Option<Box<str>>, (Rc<dyn Store>, Rc<dyn Store>)>;

impl Confining {
    /// A store without ways out; `None` where it cannot be confined, or is missing.
    fn confine(&self, name: Option<&str>, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let name: Option<Box<str>> = name.map(Box::from);
        if let Some((known, confined)) = self.latest.borrow().get(&name)
            && Rc::ptr_eq(known, &store)
        {
            return Some(confined.clone());
        }
        let confined = match store.confined(&Reference::default(), self.links) {
            Confinement::By(confined) => confined,
            Confinement::Inherent => store.clone(),
            Confinement::Missing | Confinement::Impossible => return None,
        };
        let before = self.latest.borrow_mut().insert(name, (store, confined.clone()));
        drop(before);
        Some(confined)
    }
}

/// The mounts, shared by a route and its confined copies.
#[derive(Default)]
struct Mounts {
    stores: RefCell<BTreeMap<Box<str>, Rc<dyn Store>>>,
    otherwise: RefCell<Option<Rc<dyn Store>>>,
    /// Publishes mounts and unmounts.
    watchers: Watchers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Segment,
    Scheme,
}

impl Route {
    /// Chooses by the first part of the path.
    pub fn by_segment() -> Self {
        Route { by: By::Segment, mounts: Rc::default(), encoded_slashes: false, confined: None }
    }

    /// Chooses by the scheme.
    pub fn by_scheme() -> Self {
        Route { by: By::Scheme, ..Route::by_segment() }
    }

    /// Mounts a store under a name and returns the store it replaces.
    pub fn mount(&self, name: &str, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let before = self.mounts.stores.borrow_mut().insert(name.into(), store);
        self.mounts.watchers.lost(&Reference::from_path(name));
        before
    }

    /// Takes the store of a name away.
    pub fn unmount(&self, name: &str) -> Option<Rc<dyn Store>> {
        let before = self.mounts.stores.borrow_mut().remove(name);
        self.mounts.watchers.lost(&Reference::from_path(name));
        before
    }

    /// The store of a name.
    pub fn store(&self, name: &str) -> Option<Rc<dyn Store>> {
        self.mounts.stores.borrow().get(name).cloned()
    }

    /// The names under which stores are mounted, in order.
    pub fn names(&self) -> Vec<String> {
        self.mounts.stores.borrow().keys().map(|name| name.to_string()).collect()
    }

    /// Uses a store where no name fits, with the reference as it is.
    pub fn otherwise(&self, store: Rc<dyn Store>) {
        *self.mounts.otherwise.borrow_mut() = Some(store);
        self.mounts.watchers.lost(&Reference::default());
    }

    fn choose(&self, reference: &Reference) -> Option<(Rc<dyn Store>, Reference)> {
        let chosen = match self.by {
            By::Scheme => reference.scheme().and_then(|scheme| {
                let store = self.store(scheme)?;
                Some((Some(scheme), store, reference.clone()))
            }),
            By::Segment => reference.split_first().and_then(|(first, rest)| {
                let store = self.mounts.stores.borrow().get(first).cloned()?;
                Some((Some(first), store, rest))
            }),
        };
        let otherwise = || Some((None, self.mounts.otherwise.borrow().clone()?, reference.clone()));
        let (name, store, below) = chosen.or_else(otherwise)?;
        Some((self.opened(name, store)?, below))
    }

    /// The store for a verb of this context. In a request a name has no escaped slash, but where a
    /// guard that refuses it is mounted.
    ///
    /// # Errors
    /// [`Kind::Invalid`].
    fn choose_for(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Result<Option<(Rc<dyn Store>, Reference)>> {
        if self.encoded_slashes || self.by == By::Scheme || context.exchange.is_none() {
            return Ok(self.choose(reference));
        }
        let Some((name, below)) = split_encoded(reference) else {
            return Ok(self.choose(reference));
        };
        let guarded = self.store(&name).filter(is_guarded);
        match guarded.and_then(|store| self.opened(Some(&name), store)) {
            Some(store) => Ok(Some((store, below))),
            None => Err(encoded_slash("Route")),
        }
    }

    /// A store as this route shows it: confined in a confined copy.
    fn opened(&self, name: Option<&str>, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        match &self.confined {
            None => Some(store),
            Some(confining) => confining.confine(name, store),
        }
    }

    /// A copy that confines its stores, those mounted later too.
    fn confined_copy(&self, links: bool) -> Rc<Route> {
        let confined = Some(Confining { links, latest: RefCell::default() });
        let (mounts, encoded_slashes) = (self.mounts.clone(), self.encoded_slashes);
        Rc::new(Route { by: self.by, mounts, encoded_slashes, confined })
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
        for (name, store) in self.mounts.stores.borrow().iter() {
            let Some(store) = self.opened(Some(name), store.clone()) else { continue };
            let (mount, root) = (Reference::from_path(&**name), Reference::default());
            let changes = store.watch(&root, context).on(Verb::Watch, &mount);
            add(renamed(changes, &mount.clone(), move |below| Some(mount.join(below.path()))));
        }
        let otherwise = self.mounts.otherwise.borrow().clone();
        if let Some(store) = otherwise.and_then(|store| self.opened(None, store)) {
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

    fn is_root(&self, reference: &Reference) -> bool {
        self.by == By::Segment && reference.name().is_none()
    }
}

fn not_mounted() -> Error {
    Error::new(Kind::NotAllowed, "no store is mounted here")
}

fn remounted() -> Error {
    let message = "the stores mounted here have changed; read and watch again";
    Error::new(Kind::Unavailable, message)
}

impl Layer for Route {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        match self.choose(reference) {
            Some((store, below)) => Ok(Below::found(store, below)),
            None => Err(not_mounted().on(verb, reference)),
        }
    }

    fn up(&self, reference: &Reference) -> Option<PathUp> {
        match self.by {
            By::Scheme => {
                let scheme = reference.scheme().map(String::from)?;
                Some(Box::new(move |changed| {
                    let changed = changed.clone();
                    Some(match changed.scheme() {
                        None => changed.with_scheme(&*scheme),
                        Some(_) => changed,
                    })
                }))
            }
            By::Segment => {
                let (first, _) = reference.split_first()?;
                self.store(first)?;
                let mount = Reference::from_path(first);
                Some(Box::new(move |below| Some(below.with_path(mount.join(below.path()).path()))))
            }
        }
    }

    fn renames_below(&self, _: &Reference) -> bool {
        false
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match self.choose_for(reference, context) {
            Ok(Some((store, below))) => act(&*store, &below, context),
            Ok(None) => not_mounted().on(verb, reference).into(),
            Err(error) => error.on(verb, reference).into(),
        }
    }

    fn name(&self) -> String {
        match self.by {
            By::Segment => "route by path".to_string(),
            By::Scheme => "route by scheme".to_string(),
        }
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match self.choose_for(reference, context) {
            Ok(Some((store, below))) => store.get(&below, context),
            Ok(None) => Answer::ok(None),
            Err(error) => error.on(Verb::Get, reference).into(),
        }
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        match self.choose_for(reference, context) {
            Ok(Some((store, below))) => store.delete(&below, context),
            Ok(None) => Answer::ok(Outcome::deleted(false)),
            Err(error) => error.on(Verb::Delete, reference).into(),
        }
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let below = match self.choose_for(reference, context) {
            Ok(Some((store, below))) => store.list(&below, context),
            Ok(None) => Answer::ok(None),
            Err(error) => return error.on(Verb::List, reference).into(),
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

    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        match self.choose_for(reference, context) {
            Ok(Some((store, below))) if !self.is_root(reference) => {
                store.keys(&below, range, context)
            }
            Ok(_) => Answer::ok(None),
            Err(error) => error.on(Verb::List, reference).into(),
        }
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        // Watched first, so that nothing mounted meanwhile is missed.
        let about = match (self.by, reference.split_first(), reference.scheme()) {
            (By::Segment, Some((first, _)), _) => Reference::from_path(first),
            (By::Scheme, _, Some(scheme)) => Reference::from_path(scheme),
            _ => Reference::default(),
        };
        let mounts = self.mounts.watchers.watch(&about).map(|_| Err(remounted()));
        let all = if self.is_root(reference) {
            self.watch_all(reference, context)
        } else {
            watch_below(self, reference, context).map(|changes| vec![changes])
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

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List);
        self.choose(reference).map_or(reading, |(store, below)| store.verbs(&below))
    }

    /// At its root, a route by path over confined stores, which follows later mounts; elsewhere the
    /// confined store of the name. A store without links may be replaced by a store with links, so
    /// a confined route wraps it as well.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let links = links && self.confined.as_ref().is_none_or(|own| own.links);
        if !self.is_root(reference) {
            let Some((store, below)) = self.choose(reference) else { return Confinement::Missing };
            return match store.confined(&below, links) {
                Confinement::Inherent => Confinement::By(Rc::new(Relative::new(
                    self.confined_copy(links),
                    reference.clone(),
                ))),
                other => other,
            };
        }
        let mounted = self.layer_sources();
        let root = Reference::default();
        let impossible =
            |store: &Rc<dyn Store>| matches!(store.confined(&root, links), Confinement::Impossible);
        if mounted.iter().any(|(_, store)| impossible(store)) {
            return Confinement::Impossible;
        }
        Confinement::By(self.confined_copy(links))
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let label = |name: &str| match self.by {
            By::Segment => format!("/{name}"),
            By::Scheme => format!("{name}:"),
        };
        let stores = self.mounts.stores.borrow();
        let mut sources: Vec<_> =
            stores.iter().map(|(name, store)| (label(name), store.clone())).collect();
        let otherwise = self.mounts.otherwise.borrow().clone();
        sources.extend(otherwise.map(|store| ("otherwise".to_string(), store)));
        sources
    }
}
