//! A combinator held by the program: its options and sources can change while it is used.

use runnel_store::{
    Below, CombinedStore, Confinement, Error, Kind, Layer, Reference, Relative, Result, Store, Verb,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// A handle of a combinator: all holders see an option or a source that is set later. A verb under
/// way ends with the options it began with.
pub(crate) struct Combined {
    current: Rc<RefCell<CombinedStore>>,
    /// The part that a confined copy stands for.
    confined: Option<ConfinedPart>,
}

/// A part of a store to which a copy is confined.
struct ConfinedPart {
    root: Reference,
    /// Whether links are followed.
    links: bool,
    /// The store that was confined last, and what it was confined to.
    latest: RefCell<Option<ConfinedSource>>,
}

type ConfinedSource = (Rc<dyn Store>, Rc<dyn Store>);

impl ConfinedPart {
    /// The part of a store; `None` where it cannot be confined, or is missing.
    fn confine(&self, store: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        if let Some((known, confined)) = &*self.latest.borrow()
            && Rc::ptr_eq(known, &store)
        {
            return Some(confined.clone());
        }
        let confined: Rc<dyn Store> = match store.confined(&self.root, self.links) {
            Confinement::By(confined) => confined,
            Confinement::Inherent => Rc::new(Relative::new(store.clone(), self.root.clone())),
            Confinement::Missing | Confinement::Impossible => return None,
        };
        // Dropped after the borrow, as in `Combined::replace`.
        let before = self.latest.replace(Some((store, confined.clone())));
        drop(before);
        Some(confined)
    }
}

impl Combined {
    pub(crate) fn new(combined: CombinedStore) -> Self {
        Combined { current: Rc::new(RefCell::new(combined)), confined: None }
    }

    /// Replaces the combinator from the next verb on.
    pub(crate) fn replace(&self, combined: CombinedStore) {
        let before = self.current.replace(combined);
        // Dropped after the borrow: its end may reach this store again.
        drop(before);
    }

    /// The part that programs control, where it is of this type.
    pub(crate) fn control<T: 'static>(&self) -> Option<Rc<T>> {
        self.current.borrow().control()
    }

    /// The present combinator.
    pub(crate) fn store(&self) -> Rc<dyn Store> {
        self.current.borrow().store.clone()
    }
}

impl Layer for Combined {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let store = self.store();
        let Some(part) = &self.confined else {
            return Ok(Below::found(store, reference.clone()));
        };
        match part.confine(store) {
            Some(confined) => Ok(Below::found(confined, reference.clone())),
            None => {
                let message = "the store was replaced by one that cannot be confined";
                Err(Error::new(Kind::Denied, message).on(verb, reference))
            }
        }
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.store().describe()
    }

    /// A copy that confines what it stands for, also after that was replaced: by a store with links
    /// where the present one has none.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let (root, links) = match &self.confined {
            Some(part) => (part.root.join(reference.path()), links && part.links),
            None => (reference.clone(), links),
        };
        match self.store().confined(&root, links) {
            Confinement::By(_) | Confinement::Inherent => {
                let part = ConfinedPart { root, links, latest: RefCell::default() };
                let current = self.current.clone();
                Confinement::By(Rc::new(Combined { current, confined: Some(part) }))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use runnel_store::{Content, Context, Disk, Memory};
    use std::task::Poll;

    /// Without an event loop a disk does its work at once.
    fn get(store: &Rc<dyn Store>, path: &str) -> Result<Option<Content>> {
        let found = store.get(&Reference::from_path(path), &Context::default());
        let mut step = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(found).poll(&mut step) {
            Poll::Ready(found) => found,
            Poll::Pending => panic!("there is no event loop to wait for"),
        }
    }

    #[test]
    fn a_confined_copy_confines_what_replaces_its_store() {
        let folder = std::env::temp_dir().join(format!("runnel-combined-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plain"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("out")).unwrap();
        let combined = Combined::new(CombinedStore::plain(Rc::new(Memory::site())));
        let Confinement::By(confined) = combined.confined(&Reference::default(), true) else {
            panic!("a memory can be confined");
        };
        assert!(get(&confined, "plain").unwrap().is_none());
        let base = Reference::from_path(folder.to_str().unwrap().to_string());
        let all = Relative::new(Rc::new(Disk::unconfined()), base);
        combined.replace(CombinedStore::plain(Rc::new(all)));
        let plain = get(&confined, "plain").unwrap();
        let out = get(&confined, "out");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(plain.is_some());
        assert_eq!(out.map(|_| ()).unwrap_err().kind, Kind::Denied);
    }
}
