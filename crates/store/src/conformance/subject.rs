//! The store under test, with the words that the checks are written in.

use super::abilities::{Abilities, Keeps};
use crate::{
    Answer, Body, ByteStream, Content, Context, Entry, Form, Reference, Result, Store, Value, json,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::cell::Cell;
use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

pub(super) struct Subject {
    pub(super) store: Rc<dyn Store>,
    pub(super) abilities: Abilities,
    check: Cell<&'static str>,
}

pub(super) fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

impl Subject {
    pub(super) fn new(store: Rc<dyn Store>, abilities: Abilities) -> Self {
        Subject { store, abilities, check: Cell::new("") }
    }

    /// Says what is being checked, for messages.
    pub(super) fn checking(&self, what: &'static str) {
        self.check.set(what);
    }

    pub(super) fn fail(&self, what: &str) -> ! {
        panic!("the store `{}` fails at: {}: {what}", self.store.describe(), self.check.get());
    }

    pub(super) fn same<T: PartialEq + Debug>(&self, what: &str, found: T, expected: T) {
        if found != expected {
            self.fail(&format!("{what}: found {found:?}, expected {expected:?}"));
        }
    }

    pub(super) fn is(&self, holds: bool, what: &str) {
        if !holds {
            self.fail(what);
        }
    }

    pub(super) fn good<T>(&self, what: &str, result: Result<T>) -> T {
        result.unwrap_or_else(|error| self.fail(&format!("{what}: {error} ({:?})", error.detail)))
    }

    pub(super) async fn content(&self, path: &str) -> Option<Content> {
        let context = Context { attributes: true, ..Context::default() };
        let found = self.store.get(&at(path), &context).await;
        self.good(&format!("get {path}"), found)
    }

    /// What is at a path, as the value that [`Subject::expected`] gives for what was put.
    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        let content = self.content(path).await?;
        let what = format!("reading {path}");
        if self.abilities.keeps == Keeps::Values {
            return Some(self.good(&what, content.into_value(usize::MAX).await));
        }
        let bytes = self.good(&what, content.read(usize::MAX).await);
        Some(match self.abilities.keeps {
            Keeps::Json => self.good(&what, json::parse(&bytes)),
            _ => bytes.into(),
        })
    }

    /// What a get answers after a value was put.
    pub(super) fn expected(&self, value: &Value) -> Value {
        match self.abilities.keeps {
            Keeps::Values | Keeps::Json => value.clone(),
            Keeps::Text => Value::from(Bytes::from(value.encode(Form::Text))),
        }
    }

    /// A value as bytes, in the form that the store takes.
    pub(super) fn bytes(&self, value: &Value) -> Bytes {
        let json = self.abilities.keeps == Keeps::Json;
        value.encode(if json { Form::Json } else { Form::Text }).into()
    }

    pub(super) async fn put(&self, path: &str, content: Content) -> bool {
        let put = self.store.put(&at(path), content, &Context::default()).await;
        self.good(&format!("put {path}"), put).is_created()
    }

    pub(super) async fn put_text(&self, path: &str, text: &str) -> bool {
        self.put(path, Content::value(text.into())).await
    }

    pub(super) async fn delete(&self, path: &str) -> bool {
        let deleted = self.store.delete(&at(path), &Context::default()).await;
        self.good(&format!("delete {path}"), deleted).is_something()
    }

    pub(super) async fn list(&self, path: &str) -> Option<Vec<Entry>> {
        let listed = self.store.list(&at(path), &Context::default()).await;
        self.good(&format!("list {path}"), listed)
    }

    /// Deletes what a check has put, deepest first.
    pub(super) async fn clean(&self, paths: &[&str]) {
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        for path in paths.iter().rev() {
            self.delete(path).await;
        }
        for path in paths {
            self.same(&format!("get {path} after all was deleted"), self.get(path).await, None);
        }
    }
}

/// A stream of the chunks, without a known length.
pub(super) fn streamed(chunks: Vec<Result<Bytes>>) -> Content {
    of_stream(Box::pin(stream::iter(chunks)))
}

/// A stream of the chunks that then waits for ever.
pub(super) fn unending(chunks: Vec<Bytes>) -> Content {
    let chunks: Vec<Result<Bytes>> = chunks.into_iter().map(Ok).collect();
    of_stream(Box::pin(stream::iter(chunks).chain(stream::pending())))
}

fn of_stream(stream: ByteStream) -> Content {
    Content { body: Body::Stream(stream, None), ..Content::default() }
}

/// Lets an answer work for some turns of the event loop. Answers whether it is done.
pub(super) async fn turns<T>(answer: &mut Answer<T>, turns: usize) -> bool {
    for _ in 0..turns {
        let step = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut *answer).poll(context).is_ready())
        });
        if step.await {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}
