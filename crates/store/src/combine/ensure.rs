//! What is missing is an error.

use super::pass::Pass;
use crate::{Answer, Content, Context, Entry, Error, Kind, Reference, Store, Verb};
use std::rc::Rc;

/// Answers [`Kind::NotFound`] where a get or a list of the source answers that nothing is there.
/// Deleting what is missing stays no error.
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

impl Pass for Ensure {
    fn source(&self) -> &Rc<dyn Store> {
        &self.source
    }

    fn name(&self) -> String {
        "ensure".to_string()
    }

    fn pass_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found = self.source.get(reference, context);
        there(found, Verb::Get, reference, "there is nothing here")
    }

    fn pass_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let found = self.source.list(reference, context);
        there(found, Verb::List, reference, "there is no collection here")
    }
}
