//! A combinator in the hands of the program: what it is made of can change while it is used.

use runnel_store::{
    Answer, Cache, Changes, Conditions, Content, Context, Entry, Posted, Query, Records, Reference,
    Shape, Store, Transaction, Value, Verbs, WriteBack,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// What a combinator is, and what a program may ask of it beside the verbs.
pub(crate) struct Controls {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) cache: Option<Rc<Cache>>,
    pub(crate) write_back: Option<Rc<WriteBack>>,
}

impl Controls {
    pub(crate) fn plain(store: Rc<dyn Store>) -> Self {
        Controls { store, cache: None, write_back: None }
    }
}

/// Stands for a combinator: whoever holds it sees when an option or a source is set later. Verbs
/// under way end with what they began with.
pub(crate) struct Combined {
    current: RefCell<Controls>,
}

impl Combined {
    pub(crate) fn new(controls: Controls) -> Self {
        Combined { current: RefCell::new(controls) }
    }

    /// From the next verb on it is this.
    pub(crate) fn replace(&self, controls: Controls) {
        let before = self.current.replace(controls);
        // Dropped after the borrow: its end may reach this store again.
        drop(before);
    }

    pub(crate) fn cache(&self) -> Option<Rc<Cache>> {
        self.current.borrow().cache.clone()
    }

    pub(crate) fn write_back(&self) -> Option<Rc<WriteBack>> {
        self.current.borrow().write_back.clone()
    }

    /// What it is now.
    pub(crate) fn store(&self) -> Rc<dyn Store> {
        self.current.borrow().store.clone()
    }
}

impl Store for Combined {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.store().get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.store().put(reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.store().post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.store().merge(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.store().delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.store().list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.store().query(reference, query, context)
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.store().insert(reference, records, context)
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.store().run(reference, statement, parameters, context)
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.store().migrate(reference, steps, context)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.store().define(reference, shape)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.store().watch(reference, context)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.store().begin(reference, context)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.store().verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.store().conditions(reference)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self) -> String {
        self.store().describe()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.store().sources()
    }
}
