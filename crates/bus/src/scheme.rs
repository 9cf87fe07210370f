//! A scheme: many servers behind one store, each reached by the references that name it.

use crate::address::without_password;
use runnel_store::{Answer, Below, Context, Error, Layer, PathUp, Reference, Result, Store, Verb};
use std::cell::RefCell;
use std::rc::Rc;

/// The most servers that one scheme keeps connections to. Beyond that, the least recently used
/// connection closes, and opens again when it is needed.
pub const SERVERS: usize = 64;

/// Names that a listing may have. A longer one is [`runnel_store::Kind::TooLarge`].
pub const LISTING_LIMIT: usize = 100_000;

/// The store of a reference, and what the reference is called there.
pub(crate) struct ResolvedServer {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) inner: Reference,
    /// What stands before the inner path in the reference.
    pub(crate) prefix: String,
}

/// How a scheme finds the store of a reference.
pub(crate) trait FindServer {
    /// # Errors
    /// [`runnel_store::Kind::Invalid`] when the reference does not say where.
    fn find(&self, reference: &Reference) -> Result<ResolvedServer>;
}

/// The stores that are open, the one used last at the end.
pub(crate) struct OpenServers<K, S>(RefCell<Vec<(K, Rc<S>)>>);

impl<K: PartialEq, S> OpenServers<K, S> {
    pub(crate) fn new() -> Self {
        OpenServers(RefCell::default())
    }

    /// The store of a key, opened if it is not.
    pub(crate) fn get(&self, key: K, open: impl FnOnce() -> Result<Rc<S>>) -> Result<Rc<S>> {
        let mut stores = self.0.borrow_mut();
        if let Some(at) = stores.iter().position(|(known, _)| *known == key) {
            stores[at..].rotate_left(1);
        } else {
            let store = open()?;
            if stores.len() >= SERVERS {
                stores.remove(0);
            }
            stores.push((key, store));
        }
        stores.last().map(|(_, store)| store.clone()).ok_or_else(|| {
            Error::new(runnel_store::Kind::Failed, "a store that was opened is gone")
        })
    }
}

/// The store of a scheme.
pub(crate) struct BusScheme<F> {
    pub(crate) name: &'static str,
    pub(crate) find: F,
}

impl<F: FindServer + 'static> Layer for BusScheme<F> {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let found = self.find.find(reference)?;
        Ok(Below::found(found.store, found.inner))
    }

    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let prefix = self.find.find(reference).ok()?.prefix;
        Some(Box::new(move |inner| {
            Some(inner.with_path(format!("{prefix}{}", inner.relative_path())))
        }))
    }

    fn renames_below(&self, _: &Reference) -> bool {
        false
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        self.name.to_string()
    }

    /// Errors name the reference as it was written, without a password.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let shown = without_password(reference).to_string();
        let named = move |mut error: Error| {
            error.verb = Some(verb);
            error.reference = Some(shown);
            error
        };
        match self.find.find(reference).map(|at| act(&*at.store, &at.inner, context)) {
            Ok(Answer::Ready(result)) => Answer::Ready(result.map_err(named)),
            Ok(Answer::Later(future)) => Answer::later(async move { future.await.map_err(named) }),
            Err(error) => named(error).into(),
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}
