//! A layer as a store: each method is that of the layer.

use crate::combine::layer::Layer;
use crate::{
    Answer, Attributes, BackupOrder, BulkChange, Changes, Conditions, Confinement, Content,
    Context, ContinuousBackup, Entry, FetchAnswer, FetchRequest, GroupMember, GroupOptions,
    Isolation, KeyPage, KeyRange, Migration, Outcome, Query, QueueEnd, Queues, Records, Reference,
    Shape, Store, Tables, Transaction, Value, Verb, Verbs,
};
use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Store for L {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.layer_get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.layer_put(reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.layer_post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.layer_merge(reference, content, context)
    }

    fn readmit(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        guards: u32,
        context: &Context,
    ) -> Answer<()> {
        self.around(verb, reference, context, move |inner, on, context| {
            inner.readmit(verb, on, content, guards, context)
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.layer_delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.layer_list(reference, context)
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        match self.renames_below(reference) {
            true => Answer::ok(None),
            false => self.layer_keys(reference, range, context),
        }
    }

    fn appends(&self, reference: &Reference) -> bool {
        self.layer_appends(reference)
    }

    fn keeps_metadata(&self, reference: &Reference) -> bool {
        self.layer_keeps_metadata(reference)
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        self.layer_annotate(reference, attributes, context)
    }

    fn presign(
        &self,
        reference: &Reference,
        verb: Verb,
        validity: Duration,
        context: &Context,
    ) -> Answer<String> {
        self.layer_presign(reference, verb, validity, context)
    }

    fn fetch(
        &self,
        reference: &Reference,
        request: FetchRequest,
        context: &Context,
    ) -> Answer<FetchAnswer> {
        self.layer_fetch(reference, request, context)
    }

    fn relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        self.layer_relocate(from, to, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.layer_query(reference, query, context)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.layer_watch(reference, context)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = self.layer_verbs(reference);
        if self.relays() { verbs } else { verbs.without_relay() }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.layer_conditions(reference)
    }

    fn confined(&self, reference: &Reference, links: bool) -> Confinement {
        self.layer_confined(reference, links)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.layer_any()
    }

    fn describe(&self) -> String {
        self.name()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.layer_sources()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Tables for L {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.layer_insert(reference, records, context)
    }

    fn change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        self.layer_change_all(reference, query, change, context)
    }

    fn explain(
        &self,
        reference: &Reference,
        query: &Query,
        plan: bool,
        context: &Context,
    ) -> Answer<Value> {
        let query = query.clone();
        self.around(Verb::Query, reference, context, move |inner, on, context| {
            let explain = |tables: &dyn Tables| tables.explain(on, &query, plan, context);
            inner.with_tables(Verb::Query, on, explain)
        })
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.layer_run(reference, statement, parameters, context)
    }

    fn migrate(
        &self,
        reference: &Reference,
        migration: Migration,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.layer_migrate(reference, migration, context)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.layer_define(reference, shape)
    }

    fn key_value_store(&self, reference: &Reference) -> Answer<Rc<dyn Store>> {
        self.layer_key_value_store(reference)
    }

    fn snapshot(&self, reference: &Reference, context: &Context) -> Answer<Content> {
        self.layer_snapshot(reference, context)
    }

    fn back_up(
        &self,
        reference: &Reference,
        order: BackupOrder,
    ) -> Answer<Rc<dyn ContinuousBackup>> {
        self.layer_back_up(reference, order)
    }

    fn vacuum(&self, reference: &Reference, context: &Context) -> Answer<()> {
        self.layer_vacuum(reference, context)
    }

    fn begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.layer_begin(reference, isolation, context)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Queues for L {
    fn take(
        &self,
        reference: &Reference,
        end: QueueEnd,
        wait: Duration,
        context: &Context,
    ) -> Answer<Option<Content>> {
        self.around(Verb::Delete, reference, context, move |inner, on, context| {
            inner.with_queues(Verb::Delete, on, |queues| queues.take(on, end, wait, context))
        })
    }

    fn join(
        &self,
        reference: &Reference,
        group: &GroupOptions,
        context: &Context,
    ) -> Answer<Rc<dyn GroupMember>> {
        let group = group.clone();
        self.around(Verb::Watch, reference, context, move |inner, on, context| {
            inner.with_queues(Verb::Watch, on, |queues| queues.join(on, &group, context))
        })
    }

    fn disband(&self, reference: &Reference, group: &str, context: &Context) -> Answer<bool> {
        let group = group.to_string();
        self.around(Verb::Delete, reference, context, move |inner, on, context| {
            inner.with_queues(Verb::Delete, on, |queues| queues.disband(on, &group, context))
        })
    }
}
