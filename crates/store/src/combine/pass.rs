//! What is the same for all combinators that hand most verbs to one source.

use crate::{
    Answer, Changes, Conditions, Content, Context, Entry, Posted, Query, Records, Reference, Shape,
    Store, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;

/// A store that does something around the verbs of one source. Each verb goes through
/// [`Pass::call`]; the ones that a combinator changes more have a method of their own.
pub(super) trait Pass {
    /// The store that answers in the end.
    fn source(&self) -> &Rc<dyn Store>;

    /// What it is, for graphs.
    fn name(&self) -> String;

    /// Hands one verb on. The call carries its content; reference and context are given to it when
    /// it is made, so that they are copied only by those who make it later.
    fn call<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let _ = verb;
        act(&**self.source(), reference, context)
    }

    /// [`Store::get`].
    fn pass_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.call(Verb::Get, reference, context, |source, on, context| source.get(on, context))
    }

    /// [`Store::put`].
    fn pass_put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.call(Verb::Put, reference, context, move |source, on, context| {
            source.put(on, content, context)
        })
    }

    /// [`Store::post`].
    fn pass_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Posted> {
        self.call(Verb::Post, reference, context, move |source, on, context| {
            source.post(on, content, context)
        })
    }

    /// [`Store::delete`].
    fn pass_delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.call(Verb::Delete, reference, context, |source, on, context| {
            source.delete(on, context)
        })
    }

    /// [`Store::list`].
    fn pass_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.call(Verb::List, reference, context, |source, on, context| source.list(on, context))
    }

    /// [`Store::watch`].
    fn pass_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.call(Verb::Watch, reference, context, |source, on, context| source.watch(on, context))
    }

    /// [`Store::verbs`].
    fn pass_verbs(&self, reference: &Reference) -> Verbs {
        self.source().verbs(reference)
    }

    /// [`Store::conditions`].
    fn pass_conditions(&self, reference: &Reference) -> Conditions {
        self.source().conditions(reference)
    }
}

impl<P: Pass> Store for P {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.pass_get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.pass_put(reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.pass_post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.call(Verb::Merge, reference, context, move |source, on, context| {
            source.merge(on, content, context)
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.pass_delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.pass_list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let query = query.clone();
        self.call(Verb::Query, reference, context, move |source, on, context| {
            source.query(on, &query, context)
        })
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.call(Verb::Post, reference, context, move |source, on, context| {
            source.insert(on, records, context)
        })
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let statement = statement.to_string();
        self.call(Verb::Query, reference, context, move |source, on, context| {
            source.run(on, &statement, parameters, context)
        })
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.call(Verb::Define, reference, context, move |source, on, context| {
            source.migrate(on, steps, context)
        })
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let shape = shape.clone();
        self.call(Verb::Define, reference, &Context::default(), move |source, on, _| {
            source.define(on, &shape)
        })
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.pass_watch(reference, context)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.call(Verb::Begin, reference, context, |source, on, context| source.begin(on, context))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.pass_verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.pass_conditions(reference)
    }

    fn describe(&self) -> String {
        self.name()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source().clone())]
    }
}
