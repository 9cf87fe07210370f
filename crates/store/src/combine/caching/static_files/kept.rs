//! In-memory cache of small files, invalidated by changes in the store below.

use crate::{Answer, Body, Changes, Content, Context, Reference, Store};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Task, Poll, Waker};

/// The largest file that is kept.
const FILE: usize = 64 << 10;
/// How many files, and places where none is, are kept; beyond that all are forgotten.
const FILES: usize = 16 << 10;
/// How many bytes are kept; beyond that all are forgotten.
const BYTES: usize = 64 << 20;

/// Cached content of a store with change notifications. Every change clears the cache: changes are
/// rare where caching pays. Each read polls the changes first, so that no task has to wait for
/// them.
#[derive(Default)]
pub(super) struct SiteCache {
    files: RefCell<HashMap<String, Option<Content>>>,
    bytes: Cell<usize>,
    watch: RefCell<SiteWatch>,
    /// How often everything was forgotten.
    forgotten: Cell<u64>,
}

#[derive(Default)]
enum SiteWatch {
    #[default]
    Not,
    Beginning(Answer<Changes>),
    Running(Changes),
    /// The store does not report changes, so nothing is cached.
    Refused,
}

/// A read that has begun, and what had been forgotten by then.
pub(super) struct Ticket(u64);

impl SiteCache {
    /// The cached content of a path, or its cached absence; `None` on a miss.
    pub(super) fn get(&self, store: &Rc<dyn Store>, path: &str) -> Option<Option<Content>> {
        if !self.is_current(store) {
            return None;
        }
        match self.files.borrow().get(path)? {
            Some(content) => content.share().map(Some),
            None => Some(None),
        }
    }

    pub(super) fn ticket(&self) -> Ticket {
        Ticket(self.forgotten.get())
    }

    /// Caches the result of a read unless something changed since it began. Absence is cached only
    /// for paths that this store alone can name, of which there are few.
    pub(super) fn put(
        &self,
        store: &Rc<dyn Store>,
        path: String,
        found: Option<&Content>,
        guessed: bool,
        ticket: Ticket,
    ) {
        if !self.is_current(store) || ticket.0 != self.forgotten.get() {
            return;
        }
        let (size, content) = match found {
            Some(content) => match &content.body {
                Body::Bytes(bytes) if bytes.len() <= FILE => (bytes.len(), content.share()),
                Body::Text(text) if text.len() <= FILE => (text.len(), content.share()),
                _ => return,
            },
            None if guessed => (0, None),
            None => return,
        };
        let size = self.bytes.get() + size + path.len();
        if self.files.borrow().len() >= FILES || size > BYTES {
            self.forget();
            return;
        }
        self.bytes.set(size);
        self.files.borrow_mut().insert(path, content);
    }

    fn forget(&self) {
        self.files.borrow_mut().clear();
        self.bytes.set(0);
        self.forgotten.set(self.forgotten.get() + 1);
    }

    /// Polls the changes. Returns whether the cache is current.
    fn is_current(&self, store: &Rc<dyn Store>) -> bool {
        let mut task = Task::from_waker(Waker::noop());
        let mut watch = self.watch.borrow_mut();
        if let SiteWatch::Not = &*watch {
            *watch = SiteWatch::Beginning(store.watch(&Reference::default(), &Context::default()));
        }
        if let SiteWatch::Beginning(answer) = &mut *watch {
            match Pin::new(answer).poll(&mut task) {
                Poll::Pending => return false,
                Poll::Ready(Ok(changes)) => {
                    self.forget();
                    *watch = SiteWatch::Running(changes);
                }
                Poll::Ready(Err(_)) => *watch = SiteWatch::Refused,
            }
        }
        let SiteWatch::Running(changes) = &mut *watch else { return false };
        loop {
            match changes.as_mut().poll_next(&mut task) {
                Poll::Pending => return true,
                Poll::Ready(Some(Ok(_))) => self.forget(),
                Poll::Ready(_) => {
                    // The store may support watches again.
                    self.forget();
                    *watch = SiteWatch::Not;
                    return false;
                }
            }
        }
    }
}
