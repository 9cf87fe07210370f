//! Other references and other content, by functions.

use super::{when_new, without_content};
use crate::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted, Query, Records,
    Reference, Result, Shape, Store, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;

type OfReference = Rc<dyn Fn(&Reference) -> Result<Reference>>;
type OfContent = Rc<dyn Fn(&Reference, Content) -> Answer<Content>>;

/// Changes references on their way to a store and back, and content on its way from and to it.
/// What no function is given for passes unchanged.
///
/// Content keeps its entity tag through a function that leaves it there: one whose answer depends
/// on more than the content should take the tag away. Functions see the reference as the caller
/// wrote it.
///
/// A change whose reference `up` has no answer for is told as lost at the watched reference, and
/// changes carry no content where there is a function for reading.
pub struct Map {
    source: Rc<dyn Store>,
    name: String,
    down: Option<OfReference>,
    up: Option<OfReference>,
    reading: Option<OfContent>,
    writing: Option<OfContent>,
}

impl Map {
    /// Passes everything on, until functions are added. The name is for graphs.
    pub fn new(source: Rc<dyn Store>, name: impl Into<String>) -> Self {
        Map { source, name: name.into(), down: None, up: None, reading: None, writing: None }
    }

    /// Changes references: `down` from the caller's to the store's, `up` back again, for listings
    /// and for what was posted. An error is the answer of the verb.
    pub fn references(
        mut self,
        down: impl Fn(&Reference) -> Result<Reference> + 'static,
        up: impl Fn(&Reference) -> Result<Reference> + 'static,
    ) -> Self {
        self.down = Some(Rc::new(down));
        self.up = Some(Rc::new(up));
        self
    }

    /// Changes what a get or a query answers.
    pub fn reading(mut self, f: impl Fn(&Reference, Content) -> Answer<Content> + 'static) -> Self {
        self.reading = Some(Rc::new(f));
        self
    }

    /// Changes what is put, posted and merged.
    pub fn writing(mut self, f: impl Fn(&Reference, Content) -> Answer<Content> + 'static) -> Self {
        self.writing = Some(Rc::new(f));
        self
    }

    fn below(&self, reference: &Reference) -> Result<Reference> {
        self.down.as_ref().map_or_else(|| Ok(reference.clone()), |down| down(reference))
    }

    fn pass<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&Reference) -> Answer<T>,
    ) -> Answer<T> {
        match self.below(reference) {
            Ok(below) => act(&below),
            Err(error) => error.on(verb, reference).into(),
        }
    }

    fn pass_content<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        act: impl FnOnce(&dyn Store, &Reference, Content) -> Answer<T> + 'static,
    ) -> Answer<T> {
        self.pass(verb, reference, |below| {
            let Some(writing) = &self.writing else { return act(&*self.source, below, content) };
            let (source, below) = (self.source.clone(), below.clone());
            let content = writing(reference, content);
            content.and_then(move |content| act(&*source, &below, content)).on(verb, reference)
        })
    }
}

impl Store for Map {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found = self.pass(Verb::Get, reference, |below| self.source.get(below, context));
        let Some(reading) = self.reading.clone() else { return found };
        let on = reference.clone();
        when_new(found, context, move |content| reading(&on, content)).on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        let context = context.clone();
        self.pass_content(Verb::Put, reference, content, move |source, below, content| {
            source.put(below, content, &context)
        })
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        let (context, up) = (context.clone(), self.up.clone());
        let posted =
            self.pass_content(Verb::Post, reference, content, move |to, below, content| {
                to.post(below, content, &context)
            });
        posted.and_then(move |mut posted| {
            if let (Some(up), Some(new)) = (up, &posted.reference) {
                posted.reference = Some(match up(new) {
                    Ok(new) => new,
                    Err(error) => return error.into(),
                });
            }
            Answer::ok(posted)
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        let context = context.clone();
        self.pass_content(Verb::Merge, reference, content, move |source, below, content| {
            source.merge(below, content, &context)
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.pass(Verb::Delete, reference, |below| self.source.delete(below, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.pass(Verb::List, reference, |below| {
            let listed = self.source.list(below, context);
            let Some(up) = self.up.clone() else { return listed };
            let below = below.clone();
            listed.and_then(move |entries| {
                entries.map(|entries| renamed(entries, &below, &up)).transpose().into()
            })
        })
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let found =
            self.pass(Verb::Query, reference, |below| self.source.query(below, query, context));
        let Some(reading) = self.reading.clone() else { return found };
        let on = reference.clone();
        found.and_then(move |content| reading(&on, content)).on(Verb::Query, reference)
    }

    /// Records pass where content that is written does: a function of content has nothing to say
    /// about single ones.
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        if self.writing.is_some() {
            let message = "records cannot be inserted through a store that changes what is \
                           written; post them one by one";
            return Error::new(Kind::NotAllowed, message).on(Verb::Post, reference).into();
        }
        self.pass(Verb::Post, reference, |below| self.source.insert(below, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let found = self.pass(Verb::Query, reference, |below| {
            self.source.run(below, statement, parameters, context)
        });
        let Some(reading) = self.reading.clone() else { return found };
        let on = reference.clone();
        found.and_then(move |content| reading(&on, content)).on(Verb::Query, reference)
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.pass(Verb::Define, reference, |below| self.source.migrate(below, steps, context))
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.pass(Verb::Begin, reference, |below| self.source.begin(below, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let mut changes =
            self.pass(Verb::Watch, reference, |below| self.source.watch(below, context));
        if let Some(up) = self.up.clone() {
            changes = super::renamed(changes, reference, move |changed| up(changed).ok());
        }
        if self.reading.is_some() { without_content(changes) } else { changes }
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.pass(Verb::Define, reference, |below| self.source.define(below, shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.below(reference).map_or(Verbs::NONE, |below| self.source.verbs(&below))
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let below = self.below(reference);
        below.map_or(Conditions::None, |below| self.source.conditions(&below))
    }

    fn describe(&self) -> String {
        format!("map {}", self.name)
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source.clone())]
    }
}

/// A listing with the names as the caller knows them, in order again.
fn renamed(entries: Vec<Entry>, below: &Reference, up: &OfReference) -> Result<Vec<Entry>> {
    let mut renamed = Vec::with_capacity(entries.len());
    for entry in entries {
        let above = up(&below.join(&entry.name))?;
        if let Some(name) = above.name() {
            renamed.push(Entry { name: name.to_string(), ..entry });
        }
    }
    Ok(super::in_order(renamed))
}
