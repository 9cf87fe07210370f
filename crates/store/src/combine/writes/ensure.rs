//! A combinator that turns missing content into an error.

use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer};
use crate::{Answer, Content, Context, Entry, Error, Kind, Reference, Result, Store, Verb};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Ensure",
    aliases: &["EnsureNonNilStore", "MPWEnsureNonNilStore"],
    help: "a missing value is an error",
    settings: &NO_SETTINGS,
    make: |parts| Ok(Ensure::new(parts.source()?).into()),
};

/// Answers [`Kind::NotFound`] to a get or a list of missing content. Deleting missing content is
/// not an error.
pub struct Ensure {
    source: Rc<dyn Store>,
}

impl Ensure {
    /// What `source` has, or an error.
    pub fn new(source: Rc<dyn Store>) -> Self {
        Ensure { source }
    }
}

fn there<T: 'static>(
    found: Answer<Option<T>>,
    verb: Verb,
    on: &Reference,
    message: &'static str,
) -> Answer<Option<T>> {
    let there = found.and_then(move |found| match found {
        Some(found) => Answer::ok(Some(found)),
        None => Error::new(Kind::NotFound, message).into(),
    });
    there.on(verb, on)
}

impl Layer for Ensure {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Ensure::new(inner)))
    }

    fn name(&self) -> String {
        "ensure".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found = self.source.get(reference, context);
        there(found, Verb::Get, reference, "there is nothing here")
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let found = self.source.list(reference, context);
        there(found, Verb::List, reference, "there is no collection here")
    }
}
