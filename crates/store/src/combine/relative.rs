//! A store seen from one of its references: the result of `ref:… asScheme`.

use super::renamed;
use crate::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted, Query, Records,
    Reference, Result, Shape, Store, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;

/// The part of a store below a base reference: `a/b` here is `BASE/a/b` there.
///
/// References cannot leave the base: one with a part `..` is [`Kind::Denied`], whether or not it
/// would lead out, because stores below differ in what such a part means to them. The query of a
/// reference goes along; where it has none, that of the base does.
pub struct Relative {
    source: Rc<dyn Store>,
    base: Reference,
}

impl Relative {
    /// What lies below `base` in `source`.
    pub fn new(source: Rc<dyn Store>, base: Reference) -> Self {
        Relative { source, base }
    }

    fn below(&self, reference: &Reference) -> Result<Reference> {
        if reference.segments().any(|part| part == "..") {
            return Err(Error::new(Kind::Denied, "the path may not contain `..` here"));
        }
        let below = self.base.join(reference.path());
        Ok(match reference.query() {
            Some(query) => below.with_query(query),
            None => below,
        })
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
}

impl Store for Relative {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.pass(Verb::Get, reference, |below| self.source.get(below, context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.pass(Verb::Put, reference, |below| self.source.put(below, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        let base = self.base.clone();
        self.pass(Verb::Post, reference, |below| self.source.post(below, content, context)).map(
            move |posted| Posted {
                reference: posted.reference.map(|new| above(&base, new)),
                ..posted
            },
        )
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.pass(Verb::Merge, reference, |below| self.source.merge(below, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.pass(Verb::Delete, reference, |below| self.source.delete(below, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.pass(Verb::List, reference, |below| self.source.list(below, context))
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.pass(Verb::Query, reference, |below| self.source.query(below, query, context))
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.pass(Verb::Post, reference, |below| self.source.insert(below, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let run = |below: &Reference| self.source.run(below, statement, parameters, context);
        self.pass(Verb::Query, reference, run)
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
        let base = self.base.clone();
        let changes = self.pass(Verb::Watch, reference, |below| self.source.watch(below, context));
        renamed(changes, reference, move |changed| below_base(&base, changed))
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

    fn confined(&self, reference: &Reference, links: bool) -> Option<Rc<dyn Store>> {
        self.source.confined(&self.below(reference).ok()?, links)
    }

    fn describe(&self) -> String {
        format!("relative {}", self.base)
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source.clone())]
    }
}

/// The reference of something new, seen from the base; unchanged where it lies elsewhere.
fn above(base: &Reference, new: Reference) -> Reference {
    below_base(base, &new).unwrap_or(new)
}

/// What lies below the base, seen from there.
fn below_base(base: &Reference, reference: &Reference) -> Option<Reference> {
    let base = base.relative_path().trim_end_matches('/');
    let rest = reference.relative_path().strip_prefix(base)?;
    let below = base.is_empty() || rest.is_empty() || rest.starts_with('/');
    below.then(|| reference.with_path(rest.trim_start_matches('/')))
}
