//! A combinator in the hands of the program: what it is made of can change while it is used.

use runnel_store::{
    Below, Cache, Confinement, Error, Kind, Layer, Reference, Result, Store, Verb, WriteBack,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// What a combinator is, and what a program may ask of it beside the verbs.
pub(crate) struct Controls {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) cache: Option<Rc<Cache>>,
    pub(crate) write_back: Option<Rc<WriteBack>>,
}

impl Controls {
    pub(crate) fn plain(store: Rc<dyn Store>) -> Self {
        Controls { store, cache: None, write_back: None }
    }
}

/// Stands for a combinator: whoever holds it sees when an option or a source is set later. Verbs
/// under way end with what they began with.
pub(crate) struct Combined {
    current: Rc<RefCell<Controls>>,
    /// In a confined copy, whether links within the store are followed.
    confined: Option<bool>,
}

impl Combined {
    pub(crate) fn new(controls: Controls) -> Self {
        Combined { current: Rc::new(RefCell::new(controls)), confined: None }
    }

    /// From the next verb on it is this.
    pub(crate) fn replace(&self, controls: Controls) {
        let before = self.current.replace(controls);
        // Dropped after the borrow: its end may reach this store again.
        drop(before);
    }

    pub(crate) fn cache(&self) -> Option<Rc<Cache>> {
        self.current.borrow().cache.clone()
    }

    pub(crate) fn write_back(&self) -> Option<Rc<WriteBack>> {
        self.current.borrow().write_back.clone()
    }

    /// What it is now.
    pub(crate) fn store(&self) -> Rc<dyn Store> {
        self.current.borrow().store.clone()
    }
}

impl Layer for Combined {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let store = self.store();
        let Some(links) = self.confined else { return Ok(Below::found(store, reference.clone())) };
        match store.confined(&Reference::default(), links) {
            Confinement::By(confined) => Ok(Below::found(confined, reference.clone())),
            Confinement::Inherent => Ok(Below::found(store, reference.clone())),
            Confinement::Missing | Confinement::Impossible => {
                let message = "the store was replaced by one that cannot be confined";
                Err(Error::new(Kind::Denied, message).on(verb, reference))
            }
        }
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        self.store().describe()
    }

    /// A copy that confines what it stands for, also after that was replaced.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        match self.store().confined(reference, links) {
            Confinement::By(_) if reference.name().is_none() => {
                let current = self.current.clone();
                Confinement::By(Rc::new(Combined { current, confined: Some(links) }))
            }
            other => other,
        }
    }

    fn layer_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.store().sources()
    }
}
