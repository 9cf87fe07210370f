//! Refusing to write.

use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Conditions, Content, Context, Error, Kind, Reference, Result, Store, Value, Verb, Verbs,
};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "ReadOnly",
    aliases: &["ReadOnlyStore", "MPWReadOnlyStore"],
    help: "rejects writes",
    settings: &NO_SETTINGS,
    make: |parts| Ok(ReadOnly::new(parts.source()?).into()),
};

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

impl Layer for ReadOnly {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(ReadOnly::new(inner)))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "read only".to_string()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match verb {
            Verb::Get | Verb::List | Verb::Query | Verb::Watch => {
                act(&*self.source, reference, context)
            }
            Verb::Begin => {
                refused("nothing could be committed: this store is read only", verb, reference)
            }
            Verb::Put | Verb::Post | Verb::Merge | Verb::Delete | Verb::Define => {
                Error::not_allowed(verb, reference).into()
            }
        }
    }

    fn layer_run(
        &self,
        reference: &Reference,
        _: &str,
        _: Vec<Value>,
        _: &Context,
    ) -> Answer<Content> {
        refused("a statement may write, and this store is read only", Verb::Query, reference)
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let verbs = self.source.verbs(reference);
        let writing = [Verb::Put, Verb::Post, Verb::Merge, Verb::Delete, Verb::Define, Verb::Begin];
        writing.into_iter().fold(verbs, Verbs::without)
    }

    fn layer_conditions(&self, _: &Reference) -> Conditions {
        Conditions::None
    }
}

fn refused<T: 'static>(message: &str, verb: Verb, reference: &Reference) -> Answer<T> {
    Error::new(Kind::NotAllowed, message).on(verb, reference).into()
}
