//! Refusing to write.

use crate::{
    Answer, Changes, Content, Context, Entry, Error, Kind, Query, Reference, Store, Transaction,
    Value, Verb, Verbs,
};
use std::rc::Rc;

/// A store that can be read, listed, queried and watched; every other verb is
/// [`crate::Kind::NotAllowed`].
pub struct ReadOnly {
    source: Rc<dyn Store>,
}

impl ReadOnly {
    /// A store that cannot be changed by this way.
    pub fn new(source: Rc<dyn Store>) -> Self {
        ReadOnly { source }
    }
}

// The verbs that are not here are refused by the trait itself.
impl Store for ReadOnly {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.source.get(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.source.list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.source.query(reference, query, context)
    }

    fn run(&self, reference: &Reference, _: &str, _: Vec<Value>, _: &Context) -> Answer<Content> {
        refused("a statement may write, and this store is read only", Verb::Query, reference)
    }

    fn begin(&self, reference: &Reference, _: &Context) -> Answer<Rc<dyn Transaction>> {
        refused("nothing could be committed: this store is read only", Verb::Begin, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.source.watch(reference, context)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = self.source.verbs(reference);
        let writing = [Verb::Put, Verb::Post, Verb::Merge, Verb::Delete, Verb::Define, Verb::Begin];
        writing.into_iter().fold(verbs, Verbs::without)
    }

    fn describe(&self) -> String {
        "read only".to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source.clone())]
    }
}

fn refused<T: 'static>(message: &str, verb: Verb, reference: &Reference) -> Answer<T> {
    Error::new(Kind::NotAllowed, message).on(verb, reference).into()
}
