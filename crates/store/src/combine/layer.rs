//! The one way to wrap a store.

mod forward;

use super::answers::renamed;
use crate::{
    Answer, Attributes, BackupOrder, BulkChange, Changes, Conditions, Confinement, Content,
    Context, ContinuousBackup, Entry, Error, FetchAnswer, FetchRequest, Isolation, KeyPage,
    KeyRange, Kind, Migration, Outcome, Query, Records, Reference, Result, Shape, Store, Tables,
    Transaction, Value, Verb, Verbs,
};
use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

/// The store that answers for a layer, and the name of the reference there.
pub struct Below<'a> {
    /// The inner store.
    pub store: Cow<'a, Rc<dyn Store>>,
    /// The reference as the inner store knows it.
    pub reference: Cow<'a, Reference>,
}

impl<'a> Below<'a> {
    /// The same reference in an inner store.
    pub fn same(store: &'a Rc<dyn Store>, reference: &'a Reference) -> Self {
        Below { store: Cow::Borrowed(store), reference: Cow::Borrowed(reference) }
    }

    /// Another reference in an inner store.
    pub fn at(store: &'a Rc<dyn Store>, reference: Reference) -> Self {
        Below { store: Cow::Borrowed(store), reference: Cow::Owned(reference) }
    }

    /// A reference in a store that was found for it.
    pub fn found(store: Rc<dyn Store>, reference: Reference) -> Self {
        Below { store: Cow::Owned(store), reference: Cow::Owned(reference) }
    }
}

/// Names what lies below as the caller of a layer knows it; `None` where it has no name there.
pub type PathUp = Box<dyn Fn(&Reference) -> Option<Reference>>;

/// A store around other stores. Every verb passes through [`Layer::around`] to the inner store from
/// [`Layer::below`], and references return through [`Layer::up`]. A layer overrides only its
/// differences; all else reaches the inner store, so no verb is forgotten.
pub trait Layer: Sized + 'static {
    /// The inner store and the path down.
    ///
    /// # Errors
    /// Where no store answers, or the path is refused: the error of the verb.
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>>;

    /// The path up, for what a verb on `reference` answers; `None` where names are the same.
    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let _ = reference;
        None
    }

    /// The same layer around another inner store, which is a confined part. `None` if that is
    /// impossible: [`Store::confined`] is then [`Confinement::Impossible`].
    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>>;

    /// What it is, for [`Store::describe`].
    fn name(&self) -> String;

    /// Does one verb. The call carries its content; reference and context are given to it when it
    /// is made, so that only a layer that makes it later copies them.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match self.below(verb, reference) {
            Ok(below) => act(&**below.store, &below.reference, context),
            Err(error) => error.on(verb, reference).into(),
        }
    }

    /// [`Store::get`].
    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.around(Verb::Get, reference, context, |inner, on, context| inner.get(on, context))
    }

    /// [`Store::put`].
    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.around(Verb::Put, reference, context, move |inner, on, context| {
            inner.put(on, content, context)
        })
    }

    /// [`Store::post`].
    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let posted = self.around(Verb::Post, reference, context, move |inner, on, context| {
            inner.post(on, content, context)
        });
        match self.up(reference) {
            None => posted,
            Some(up) => posted.map(move |outcome| outcome.renamed(|new| up(&new).unwrap_or(new))),
        }
    }

    /// [`Store::merge`].
    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.around(Verb::Merge, reference, context, move |inner, on, context| {
            inner.merge(on, content, context)
        })
    }

    /// [`Store::delete`].
    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.around(Verb::Delete, reference, context, |inner, on, context| {
            inner.delete(on, context)
        })
    }

    /// [`Store::list`].
    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.around(Verb::List, reference, context, |inner, on, context| inner.list(on, context))
    }

    /// Whether requests to a reverse proxy pass as they are ([`Verbs::relays`]). Only a layer that asks
    /// the inner store once for each verb, and does not touch its answer, may say so.
    fn relays(&self) -> bool {
        false
    }

    /// Whether names below the reference differ from those of the inner store, so that its keys
    /// are not the keys here. A layer that only moves the root answers `false`.
    fn renames_below(&self, reference: &Reference) -> bool {
        self.up(reference).is_some()
    }

    /// [`Store::keys`]: those of the inner store where names are the same, none otherwise.
    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let range = range.clone();
        self.around(Verb::List, reference, context, move |inner, on, context| {
            inner.keys(on, &range, context)
        })
    }

    /// [`Store::appends`].
    fn layer_appends(&self, reference: &Reference) -> bool {
        let below = self.below(Verb::Post, reference);
        below.is_ok_and(|below| below.store.appends(&below.reference))
    }

    /// [`Store::keeps_metadata`].
    fn layer_keeps_metadata(&self, reference: &Reference) -> bool {
        let below = self.below(Verb::Put, reference);
        below.is_ok_and(|below| below.store.keeps_metadata(&below.reference))
    }

    /// [`Store::annotate`].
    fn layer_annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        self.around(Verb::Put, reference, context, move |inner, on, context| {
            inner.annotate(on, attributes, context)
        })
    }

    /// [`Store::presign`].
    fn layer_presign(
        &self,
        reference: &Reference,
        verb: Verb,
        validity: Duration,
        context: &Context,
    ) -> Answer<String> {
        self.around(verb, reference, context, move |inner, on, context| {
            inner.presign(on, verb, validity, context)
        })
    }

    /// [`Store::fetch`].
    fn layer_fetch(
        &self,
        reference: &Reference,
        request: FetchRequest,
        context: &Context,
    ) -> Answer<FetchAnswer> {
        self.around(request.verb(), reference, context, move |inner, on, context| {
            inner.fetch(on, request, context)
        })
    }

    /// [`Store::relocate`], where one inner store has both references.
    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        relocate_below(self, from, to, context)
    }

    /// [`Store::query`].
    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        query_below(self, reference, query, context)
    }

    /// [`Store::watch`].
    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        watch_below(self, reference, context)
    }

    /// [`Store::verbs`].
    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let below = self.below(Verb::Get, reference);
        below.map_or(Verbs::NONE, |below| below.store.verbs(&below.reference))
    }

    /// [`Store::conditions`].
    fn layer_conditions(&self, reference: &Reference) -> Conditions {
        let below = self.below(Verb::Put, reference);
        below.map_or(Conditions::None, |below| below.store.conditions(&below.reference))
    }

    /// Whether the layer keeps something by the names of its root, so that a copy with another root
    /// would find it under other names.
    fn keeps_names(&self) -> bool {
        false
    }

    /// [`Store::confined`]: this layer over the confined inner store. A layer that renames or
    /// stores names is confined at its root alone, and only if that is the root of the inner store.
    /// Elsewhere it would rename paths below the confined root twice.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let Ok(below) = self.below(Verb::Get, reference) else { return Confinement::Impossible };
        let are_roots = reference.name().is_none() && below.reference.name().is_none();
        let are_same = self.up(reference).is_none() && !self.keeps_names();
        match below.store.confined(&below.reference, links) {
            Confinement::By(inner) if are_same || are_roots => {
                self.over(inner).map_or(Confinement::Impossible, Confinement::By)
            }
            Confinement::By(_) => Confinement::Impossible,
            other => other,
        }
    }

    /// [`Tables::insert`].
    fn layer_insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        insert_below(self, reference, records, context)
    }

    /// [`Tables::change_all`]. It is a merge or a delete at the reference.
    fn layer_change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        change_all_below(self, reference, query, change, context)
    }

    /// [`Tables::run`].
    fn layer_run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        run_below(self, reference, statement, parameters, context)
    }

    /// [`Tables::migrate`].
    fn layer_migrate(
        &self,
        reference: &Reference,
        migration: Migration,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.around(Verb::Define, reference, context, move |inner, on, context| {
            inner.with_tables(Verb::Define, on, |tables| tables.migrate(on, migration, context))
        })
    }

    /// [`Tables::snapshot`]. It is about the whole collection, as a listing is.
    fn layer_snapshot(&self, reference: &Reference, context: &Context) -> Answer<Content> {
        self.around(Verb::List, reference, context, |inner, on, context| {
            inner.with_tables(Verb::Get, on, |tables| tables.snapshot(on, context))
        })
    }

    /// [`Tables::back_up`]. It is about the whole collection, as a listing is.
    fn layer_back_up(
        &self,
        reference: &Reference,
        order: BackupOrder,
    ) -> Answer<Rc<dyn ContinuousBackup>> {
        self.around(Verb::List, reference, &Context::default(), move |inner, on, _| {
            inner.with_tables(Verb::Get, on, |tables| tables.back_up(on, order))
        })
    }

    /// [`Tables::vacuum`].
    fn layer_vacuum(&self, reference: &Reference, context: &Context) -> Answer<()> {
        self.around(Verb::Define, reference, context, |inner, on, context| {
            inner.with_tables(Verb::Define, on, |tables| tables.vacuum(on, context))
        })
    }

    /// [`Tables::define`].
    fn layer_define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let shape = shape.clone();
        self.around(Verb::Define, reference, &Context::default(), move |inner, on, _| {
            inner.with_tables(Verb::Define, on, |tables| tables.define(on, &shape))
        })
    }

    /// [`Tables::key_value_store`].
    fn layer_key_value_store(&self, reference: &Reference) -> Answer<Rc<dyn Store>> {
        self.around(Verb::Define, reference, &Context::default(), |inner, on, _| {
            inner.with_tables(Verb::Define, on, |tables| tables.key_value_store(on))
        })
    }

    /// [`Tables::begin`].
    fn layer_begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.around(Verb::Begin, reference, context, move |inner, on, context| {
            inner.with_tables(Verb::Begin, on, |tables| tables.begin(on, isolation, context))
        })
    }

    /// [`Store::as_any`]: `None`, because a layer is not its source.
    fn layer_any(&self) -> Option<&dyn Any> {
        None
    }

    /// [`Store::sources`]: the inner store of the root.
    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        match self.below(Verb::Get, &Reference::default()) {
            Ok(below) => vec![("source".to_string(), below.store.into_owned())],
            Err(_) => Vec::new(),
        }
    }
}

// What a layer does that adds nothing to a verb, for those that add to it.

/// The move of the inner store. Between two stores it would be a copy, which is the caller's.
pub(super) fn relocate_below<L: Layer>(
    layer: &L,
    from: &Reference,
    to: &Reference,
    context: &Context,
) -> Answer<bool> {
    let target = match (layer.below(Verb::Delete, from), layer.below(Verb::Put, to)) {
        (Ok(source), Ok(target)) if Rc::ptr_eq(&source.store, &target.store) => {
            target.reference.into_owned()
        }
        (Ok(_), Ok(_)) => {
            let message = "the two references are in different stores; copy and delete";
            return Error::new(Kind::NotAllowed, message).on(Verb::Put, to).into();
        }
        (Err(error), _) | (_, Err(error)) => return error.on(Verb::Put, to).into(),
    };
    layer.around(Verb::Delete, from, context, move |inner, from, context| {
        inner.relocate(from, &target, context)
    })
}

/// The query of the inner store.
pub(super) fn query_below<L: Layer>(
    layer: &L,
    reference: &Reference,
    query: &Query,
    context: &Context,
) -> Answer<Content> {
    let query = query.clone();
    layer.around(Verb::Query, reference, context, move |inner, on, context| {
        inner.query(on, &query, context)
    })
}

/// The changes of the inner store, with the names of the caller.
pub(super) fn watch_below<L: Layer>(
    layer: &L,
    reference: &Reference,
    context: &Context,
) -> Answer<Changes> {
    let changes = layer
        .around(Verb::Watch, reference, context, |inner, on, context| inner.watch(on, context));
    match layer.up(reference) {
        None => changes,
        Some(up) => renamed(changes, reference, up),
    }
}

/// The insertion into the inner store.
pub(super) fn insert_below<L: Layer>(
    layer: &L,
    reference: &Reference,
    records: Box<dyn Records>,
    context: &Context,
) -> Answer<u64> {
    layer.around(Verb::Post, reference, context, move |inner, on, context| {
        inner.with_tables(Verb::Post, on, |tables| tables.insert(on, records, context))
    })
}

/// All elements of a query changed in the inner store.
pub(super) fn change_all_below<L: Layer>(
    layer: &L,
    reference: &Reference,
    query: &Query,
    change: &BulkChange,
    context: &Context,
) -> Answer<Value> {
    let (query, change, verb) = (query.clone(), change.clone(), change.verb());
    layer.around(verb, reference, context, move |inner, on, context| {
        let change = |tables: &dyn Tables| tables.change_all(on, &query, &change, context);
        inner.with_tables(verb, on, change)
    })
}

/// The statement run by the inner store.
pub(super) fn run_below<L: Layer>(
    layer: &L,
    reference: &Reference,
    statement: &str,
    parameters: Vec<Value>,
    context: &Context,
) -> Answer<Content> {
    let statement = statement.to_string();
    layer.around(Verb::Query, reference, context, move |inner, on, context| {
        inner.with_tables(Verb::Query, on, |tables| tables.run(on, &statement, parameters, context))
    })
}
