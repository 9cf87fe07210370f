//! Other references and other content, by functions.

use crate::combine::answers::{in_order, when_new, without_content};
use crate::combine::layer::{
    Below, Layer, PathUp, change_all_below, insert_below, query_below, run_below, watch_below,
};
use crate::{
    Answer, BulkChange, Changes, Content, Context, Entry, Error, KeyPage, KeyRange, Kind, Outcome,
    Query, Records, Reference, Result, Store, Value, Verb,
};
use std::rc::Rc;

type OfReference = Rc<dyn Fn(&Reference) -> Result<Reference>>;
type OfContent = Rc<dyn Fn(&Reference, Content) -> Answer<Content>>;

/// Maps references to a store and back, and content in both directions. Without a function, they
/// pass unchanged.
///
/// Content keeps its entity tag through a function that leaves it there. A function whose result
/// depends on more than the content should remove the tag. Functions receive the reference as the
/// caller wrote it.
///
/// A change whose reference `up` cannot map is reported as lost at the watched reference. Changes
/// carry no content if there is a function for reading.
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

    /// Maps references: `down` from the caller's to the store's, `up` back again, for listings and
    /// the results of posts. An error is the answer of the verb.
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

    /// Maps the content of puts, posts and merges.
    pub fn writing(mut self, f: impl Fn(&Reference, Content) -> Answer<Content> + 'static) -> Self {
        self.writing = Some(Rc::new(f));
        self
    }

    fn down(&self, reference: &Reference) -> Result<Reference> {
        self.down.as_ref().map_or_else(|| Ok(reference.clone()), |down| down(reference))
    }

    fn write<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        act: impl FnOnce(&dyn Store, &Reference, Content) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let below = match self.down(reference) {
            Ok(below) => below,
            Err(error) => return error.on(verb, reference).into(),
        };
        let Some(writing) = &self.writing else { return act(&*self.source, &below, content) };
        let source = self.source.clone();
        let content = writing(reference, content);
        content.and_then(move |content| act(&*source, &below, content)).on(verb, reference)
    }

    /// What a put or a merge answers is read like what a get answers.
    fn written(&self, answer: Answer<Outcome>, reference: &Reference) -> Answer<Outcome> {
        let Some(reading) = self.reading.clone() else { return answer };
        let on = reference.clone();
        answer.and_then(move |mut outcome| match outcome.content.take() {
            Some(content) => reading(&on, content).map(|content| outcome.with_content(content)),
            None => Answer::ok(outcome),
        })
    }

    fn read(&self, verb: Verb, reference: &Reference, found: Answer<Content>) -> Answer<Content> {
        let Some(reading) = self.reading.clone() else { return found };
        let on = reference.clone();
        found.and_then(move |content| reading(&on, content)).on(verb, reference)
    }
}

impl Layer for Map {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(match &self.down {
            None => Below::same(&self.source, reference),
            Some(down) => Below::at(&self.source, down(reference)?),
        })
    }

    fn up(&self, _: &Reference) -> Option<PathUp> {
        let up = self.up.clone()?;
        Some(Box::new(move |below| up(below).ok()))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Map {
            source: inner,
            name: self.name.clone(),
            down: self.down.clone(),
            up: self.up.clone(),
            reading: self.reading.clone(),
            writing: self.writing.clone(),
        }))
    }

    fn name(&self) -> String {
        format!("map {}", self.name)
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found =
            self.around(Verb::Get, reference, context, |inner, on, context| inner.get(on, context));
        let Some(reading) = self.reading.clone() else { return found };
        let on = reference.clone();
        when_new(found, context, move |content| reading(&on, content)).on(Verb::Get, reference)
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let context = context.clone();
        let put = self.write(Verb::Put, reference, content, move |source, below, content| {
            source.put(below, content, &context)
        });
        self.written(put, reference)
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let (context, up) = (context.clone(), self.up.clone());
        let posted = self.write(Verb::Post, reference, content, move |to, below, content| {
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

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let context = context.clone();
        let merged = self.write(Verb::Merge, reference, content, move |source, below, content| {
            source.merge(below, content, &context)
        });
        self.written(merged, reference)
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let Some(up) = self.up.clone() else { return self.source.list(reference, context) };
        self.around(Verb::List, reference, context, |inner, on, context| {
            let below = on.clone();
            inner.list(on, context).and_then(move |entries| {
                entries.map(|entries| renamed(entries, &below, &up)).transpose().into()
            })
        })
    }

    /// The source's where names are the same, without lengths where contents differ.
    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let page = self.source.keys(reference, range, context);
        if self.reading.is_none() {
            return page;
        }
        page.map(|page| page.map(|page| page.with(|key| key.length = None)))
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        self.read(Verb::Query, reference, query_below(self, reference, query, context))
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let changes = watch_below(self, reference, context);
        if self.reading.is_some() { without_content(changes) } else { changes }
    }

    /// Records pass where content that is written does: a function of content has nothing to say
    /// about single ones.
    fn layer_insert(
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
        insert_below(self, reference, records, context)
    }

    /// Values that are computed in the source do not pass a function of content either.
    fn layer_change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        if self.writing.is_some() && change.verb() == Verb::Merge {
            let message = "rows cannot be changed at once through a store that changes what is \
                           written; merge them one by one";
            return Error::new(Kind::NotAllowed, message).on(Verb::Merge, reference).into();
        }
        change_all_below(self, reference, query, change, context)
    }

    fn layer_run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let ran = run_below(self, reference, statement, parameters, context);
        self.read(Verb::Query, reference, ran)
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
    Ok(in_order(renamed))
}
