//! Which files a program reads while it starts: a change of one of them is a change of the program.
//!
//! Told to the supervisor as they are read, so that it also knows those of a program that fails.
//! A file that the program itself writes is no part of it.

use crate::handover;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Posted, Query, Reference, Store, Verbs,
};
use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{any::Any, cell::RefCell};

/// The most files that are followed besides the program itself.
pub(crate) const MOST: usize = 256;

/// The program serves: what it reads from now on is not its start.
static SERVES: AtomicBool = AtomicBool::new(false);

/// The start is over.
pub(crate) fn end_of_start() {
    SERVES.store(true, Ordering::Relaxed);
}

/// The files of the system, and what is read of them.
pub(crate) struct Reads {
    files: Rc<dyn Store>,
    known: RefCell<HashSet<PathBuf>>,
    written: RefCell<HashSet<PathBuf>>,
}

impl Reads {
    /// The store itself, where the program is not watched.
    pub(crate) fn of(files: Rc<dyn Store>) -> Rc<dyn Store> {
        match std::env::var_os(super::VARIABLE).is_some() && handover::is_supervised() {
            true => {
                Rc::new(Reads { files, known: RefCell::default(), written: RefCell::default() })
            }
            false => files,
        }
    }

    fn reads(&self, reference: &Reference) {
        if SERVES.load(Ordering::Relaxed) || self.known.borrow().len() >= MOST {
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
        if !SERVES.load(Ordering::Relaxed) && self.written.borrow().len() < MOST {
            self.written.borrow_mut().insert(path);
        }
    }
}

fn path(reference: &Reference) -> Option<PathBuf> {
    std::path::absolute(reference.path()).ok()
}

impl Store for Reads {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.reads(reference);
        self.files.get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.writes(reference);
        self.files.put(reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.writes(reference);
        self.files.post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.writes(reference);
        self.files.merge(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.writes(reference);
        self.files.delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.files.list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.files.query(reference, query, context)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.files.watch(reference, context)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.files.verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.files.conditions(reference)
    }

    fn confined(&self, reference: &Reference, links: bool) -> Option<Rc<dyn Store>> {
        self.files.confined(reference, links)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.files.as_any()
    }

    fn describe(&self) -> String {
        self.files.describe()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.files.sources()
    }
}
