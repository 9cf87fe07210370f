//! A combinator that reports verbs to a function.

use crate::combine::layer::{Below, Layer, relocate_below};
use crate::{Answer, Content, Context, Reference, Result, Store, Value, Verb};
use std::rc::Rc;

type Tell = Rc<dyn Fn(Verb, &Reference)>;

/// Calls a function after each successful verb: after every write and, on request, after every get,
/// list, query, watch and begin of a transaction. Failed verbs are not reported. A bulk insertion
/// counts as one post, a migration as one define, and a statement as a query. Replaced attributes
/// count as a put, and a move as a put of its target after a delete of its source.
///
/// A write within a transaction is reported when it is answered, not when it is committed.
///
/// The function runs before the caller has the answer. It may use the store itself.
pub struct Log {
    source: Rc<dyn Store>,
    tell: Tell,
    reads: bool,
}

impl Log {
    /// Reports writes to `source`.
    pub fn new(source: Rc<dyn Store>, tell: impl Fn(Verb, &Reference) + 'static) -> Self {
        Log { source, tell: Rc::new(tell), reads: false }
    }

    /// Reports reads as well.
    pub fn with_reads(mut self) -> Self {
        self.reads = true;
        self
    }

    /// Calls the function when the answer is a good one.
    fn logged<T: 'static>(&self, verb: Verb, on: &Reference, answer: Answer<T>) -> Answer<T> {
        let (tell, on) = (self.tell.clone(), on.clone());
        answer.map(move |good| {
            tell(verb, &on);
            good
        })
    }
}

impl Layer for Log {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Log { source: inner, tell: self.tell.clone(), reads: self.reads }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        if self.reads { "log with reads" } else { "log" }.to_string()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let answer = act(&*self.source, reference, context);
        let read = matches!(verb, Verb::Get | Verb::List | Verb::Query | Verb::Watch | Verb::Begin);
        if read && !self.reads { answer } else { self.logged(verb, reference, answer) }
    }

    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        self.logged(Verb::Put, to, relocate_below(self, from, to, context))
    }

    /// Logged as a query, also where only writes are logged: a statement may write anything.
    fn layer_run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let ran = self.source.with_tables(Verb::Query, reference, |tables| {
            tables.run(reference, statement, parameters, context)
        });
        self.logged(Verb::Query, reference, ran)
    }
}
