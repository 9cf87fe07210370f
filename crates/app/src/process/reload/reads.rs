//! Which files a program reads while it starts: a change of one of them is a change of the program.
//!
//! Told to the supervisor as they are read, so that it also knows those of a program that fails.
//! A file that the program itself writes is no part of it.

use crate::process::handover;
use runnel_store::{Answer, Below, Context, Layer, Reference, Result, Store, Verb};
use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::{any::Any, cell::RefCell};

/// The most files that are followed besides the program itself.
pub(crate) const MOST: usize = 256;

/// The files of the system, and what is read of them.
pub(crate) struct Reads {
    files: Rc<dyn Store>,
    known: RefCell<HashSet<PathBuf>>,
    written: RefCell<HashSet<PathBuf>>,
}

impl Reads {
    /// The store itself, where the program is not watched.
    pub(crate) fn of(files: Rc<dyn Store>) -> Rc<dyn Store> {
        match std::env::var_os(super::fault::VARIABLE).is_some() && handover::is_supervised() {
            true => {
                Rc::new(Reads { files, known: RefCell::default(), written: RefCell::default() })
            }
            false => files,
        }
    }

    fn reads(&self, reference: &Reference) {
        if handover::has_started() || self.known.borrow().len() >= MOST {
            return;
        }
        let Some(path) = path(reference).filter(|path| path.is_file()) else { return };
        if !self.written.borrow().contains(&path) && self.known.borrow_mut().insert(path.clone()) {
            handover::tell("reads", &path);
        }
    }

    fn writes(&self, reference: &Reference) {
        let Some(path) = path(reference) else { return };
        if self.known.borrow_mut().remove(&path) {
            handover::tell("writes", &path);
        }
        if !handover::has_started() && self.written.borrow().len() < MOST {
            self.written.borrow_mut().insert(path);
        }
    }
}

fn path(reference: &Reference) -> Option<PathBuf> {
    std::path::absolute(reference.path()).ok()
}

impl Layer for Reads {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.files, reference))
    }

    /// A confined folder is served and not part of the program.
    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(inner)
    }

    fn name(&self) -> String {
        self.files.describe()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match verb {
            Verb::Get => self.reads(reference),
            Verb::Put | Verb::Post | Verb::Merge | Verb::Delete => self.writes(reference),
            Verb::List | Verb::Query | Verb::Define | Verb::Watch | Verb::Begin => {}
        }
        act(&*self.files, reference, context)
    }

    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        self.writes(from);
        self.writes(to);
        self.files.relocate(from, to, context)
    }

    fn layer_any(&self) -> Option<&dyn Any> {
        self.files.as_any()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.files.sources()
    }
}
