//! Telling of what is written.

use crate::{
    Answer, Changes, Conditions, Content, Context, Entry, Posted, Query, Records, Reference, Shape,
    Store, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;

type Tell = Rc<dyn Fn(Verb, &Reference)>;

/// Calls a function after each verb that was answered well: after every write, and, where that is
/// asked for, after every get, list, query, watch and begin of a transaction too. Failed verbs are
/// not told. An insertion of many is one post, a migration one define, and a statement a query.
///
/// What is written within a transaction is told when it was answered, not when it is committed.
///
/// The function is called before the caller has the answer. It may use the store itself.
pub struct Log {
    source: Rc<dyn Store>,
    tell: Tell,
    reads: bool,
}

impl Log {
    /// Tells of what is written to `source`.
    pub fn new(source: Rc<dyn Store>, tell: impl Fn(Verb, &Reference) + 'static) -> Self {
        Log { source, tell: Rc::new(tell), reads: false }
    }

    /// Tells of what is read as well.
    pub fn with_reads(mut self) -> Self {
        self.reads = true;
        self
    }

    fn wrote<T: 'static>(&self, verb: Verb, on: &Reference, answer: Answer<T>) -> Answer<T> {
        let (tell, on) = (self.tell.clone(), on.clone());
        answer.map(move |good| {
            tell(verb, &on);
            good
        })
    }

    fn read<T: 'static>(&self, verb: Verb, on: &Reference, answer: Answer<T>) -> Answer<T> {
        if self.reads { self.wrote(verb, on, answer) } else { answer }
    }
}

impl Store for Log {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.read(Verb::Get, reference, self.source.get(reference, context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.wrote(Verb::Put, reference, self.source.put(reference, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.wrote(Verb::Post, reference, self.source.post(reference, content, context))
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.wrote(Verb::Merge, reference, self.source.merge(reference, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.wrote(Verb::Delete, reference, self.source.delete(reference, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.read(Verb::List, reference, self.source.list(reference, context))
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.read(Verb::Query, reference, self.source.query(reference, query, context))
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.wrote(Verb::Post, reference, self.source.insert(reference, records, context))
    }

    /// Told as a query, also where only writes are: nobody knows what a statement writes.
    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let ran = self.source.run(reference, statement, parameters, context);
        self.wrote(Verb::Query, reference, ran)
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.wrote(Verb::Define, reference, self.source.migrate(reference, steps, context))
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.read(Verb::Begin, reference, self.source.begin(reference, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.read(Verb::Watch, reference, self.source.watch(reference, context))
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.wrote(Verb::Define, reference, self.source.define(reference, shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.source.verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.source.conditions(reference)
    }

    fn describe(&self) -> String {
        if self.reads { "log with reads" } else { "log" }.to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source.clone())]
    }
}
