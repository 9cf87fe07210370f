//! A scheme: many servers behind one store, each reached by the references that name it.

use crate::address::without_password;
use futures_util::StreamExt;
use runnel_store::{
    Answer, Change, Changes, Conditions, Content, Context, Entry, Error, Posted, Reference, Result,
    Store, Verb, Verbs,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Servers that one scheme keeps connections to. When there are more, the one that was not used
/// for the longest time is given up; it is connected again when it is needed.
pub const SERVERS: usize = 64;

/// Names that a listing may have. A longer one is [`runnel_store::Kind::TooLarge`].
pub const LISTING_LIMIT: usize = 100_000;

/// The store of a reference, and what the reference is called there.
pub(crate) struct Found {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) inner: Reference,
    /// What stands before the inner path in the reference.
    pub(crate) prefix: String,
}

/// How a scheme finds the store of a reference.
pub(crate) trait Find {
    /// # Errors
    /// [`runnel_store::Kind::Invalid`] when the reference does not say where.
    fn find(&self, reference: &Reference) -> Result<Found>;
}

/// The stores that are open, the one used last at the end.
pub(crate) struct Open<K, S>(RefCell<Vec<(K, Rc<S>)>>);

impl<K: PartialEq, S> Open<K, S> {
    pub(crate) fn new() -> Self {
        Open(RefCell::default())
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
pub(crate) struct Scheme<F> {
    pub(crate) name: &'static str,
    pub(crate) find: F,
}

impl<F: Find> Scheme<F> {
    /// Does a verb at the place that the reference means. Errors name the reference as it was
    /// written, without a password.
    fn at<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(Found) -> Answer<T>,
    ) -> Answer<T> {
        let shown = without_password(reference).to_string();
        let named = move |mut error: Error| {
            error.verb = Some(verb);
            error.reference = Some(shown);
            error
        };
        match self.find.find(reference).map(act) {
            Ok(Answer::Ready(result)) => Answer::Ready(result.map_err(named)),
            Ok(Answer::Later(future)) => Answer::later(async move { future.await.map_err(named) }),
            Err(error) => named(error).into(),
        }
    }
}

impl<F: Find> Store for Scheme<F> {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.at(Verb::Get, reference, |at| at.store.get(&at.inner, context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.at(Verb::Put, reference, |at| at.store.put(&at.inner, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.at(Verb::Post, reference, |at| {
            let prefix = at.prefix;
            at.store.post(&at.inner, content, context).map(move |posted| {
                let outside = |inner: Reference| outside(&prefix, &inner);
                Posted { reference: posted.reference.map(outside), ..posted }
            })
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.at(Verb::Merge, reference, |at| at.store.merge(&at.inner, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.at(Verb::Delete, reference, |at| at.store.delete(&at.inner, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.at(Verb::List, reference, |at| at.store.list(&at.inner, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.at(Verb::Watch, reference, |at| {
            let prefix = at.prefix;
            at.store.watch(&at.inner, context).map(move |changes| {
                let told = changes.map(move |change| {
                    let change = change?;
                    Ok(Change { reference: outside(&prefix, &change.reference), ..change })
                });
                Box::pin(told) as Changes
            })
        })
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.find.find(reference).map_or(Verbs::NONE, |at| at.store.verbs(&at.inner))
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let found = self.find.find(reference);
        found.map_or(Conditions::None, |at| at.store.conditions(&at.inner))
    }

    fn describe(&self) -> String {
        self.name.to_string()
    }
}

fn outside(prefix: &str, inner: &Reference) -> Reference {
    inner.with_path(format!("{prefix}{}", inner.relative_path()))
}
