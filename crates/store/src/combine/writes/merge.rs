//! A combinator whose puts append to the existing content.

use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Body, COLLECT_LIMIT, Content, Context, Error, Kind, Outcome, Reference, Result, Store,
    Text, Value, Verb,
};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use tokio::sync::Mutex;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Merge",
    aliases: &["MergingStore", "MPWMergingStore"],
    help: "merges instead of replacing",
    settings: &NO_SETTINGS,
    make: |parts| Ok(Merge::new(parts.source()?).into()),
};

/// Appends a put to the content in the source: the elements of a list to a list, text to text,
/// bytes to bytes. Without content there, or with content of another kind, the put replaces it. A
/// nil deletes, as in the source.
///
/// Puts of one reference through this store are serialized, so that none is lost; writes by others
/// directly to the source are not. The combined content may have [`COLLECT_LIMIT`] bytes.
pub struct Merge {
    source: Rc<dyn Store>,
    puts: Rc<Puts>,
}

/// The references that are put now, each with a lock and how many hold or want it.
type Puts = RefCell<HashMap<Reference, Rc<(Mutex<()>, Cell<usize>)>>>;

impl Merge {
    /// Appends puts to the content of `source`.
    pub fn new(source: Rc<dyn Store>) -> Self {
        Merge { source, puts: Rc::default() }
    }
}

/// A put under way, or a put in the queue for the lock.
struct Putting {
    puts: Rc<Puts>,
    on: Reference,
    lock: Rc<(Mutex<()>, Cell<usize>)>,
}

impl Putting {
    fn begin(puts: &Rc<Puts>, on: &Reference) -> Self {
        let lock = puts.borrow_mut().entry(on.clone()).or_default().clone();
        lock.1.set(lock.1.get() + 1);
        Putting { puts: puts.clone(), on: on.clone(), lock }
    }
}

impl Drop for Putting {
    fn drop(&mut self) {
        self.lock.1.set(self.lock.1.get() - 1);
        if self.lock.1.get() == 0 {
            self.puts.borrow_mut().remove(&self.on);
        }
    }
}

impl Layer for Merge {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Merge { source: inner, puts: self.puts.clone() }))
    }

    fn name(&self) -> String {
        "merge".to_string()
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let putting = Putting::begin(&self.puts, reference);
        let (source, on) = (self.source.clone(), reference.clone());
        let context = context.clone();
        let reading = Context { known: None, attributes: true, ..context.clone() };
        let mut put = Box::pin(async move {
            // Read before the lock is taken, so that a slow upload does not block other puts.
            let content = content.collected(COLLECT_LIMIT).await?;
            let _turn = putting.lock.0.lock().await;
            let content = match source.get(&on, &reading).await? {
                Some(there) => added(there, content).await?,
                None => content,
            };
            source.put(&on, content, &context).await
        });
        // Stays an answer at once where the source has one.
        let mut step = std::task::Context::from_waker(std::task::Waker::noop());
        let answer = match put.as_mut().poll(&mut step) {
            std::task::Poll::Ready(result) => Answer::Ready(result),
            std::task::Poll::Pending => Answer::Later(put),
        };
        answer.on(Verb::Put, reference)
    }
}

/// What there was with what comes to it, which is no stream.
async fn added(there: Content, new: Content) -> Result<Content> {
    let there = there.collected(COLLECT_LIMIT).await?;
    let (media_type, class) = (there.media_type.clone(), there.class.clone());
    let metadata = new.metadata.clone().or_else(|| there.metadata.clone());
    let body = match (&there.body, &new.body) {
        (Body::Text(_) | Body::Bytes(_), Body::Text(_) | Body::Bytes(_)) => {
            let text = matches!((&there.body, &new.body), (Body::Text(_), Body::Text(_)));
            let (old, more) = (bytes(there).await?, bytes(new).await?);
            let whole = Bytes::from([old, more].concat());
            match Text::from_utf8(whole) {
                Ok(whole) if text => Body::Text(whole),
                Ok(whole) => Body::Bytes(whole.into_bytes()),
                Err(whole) => Body::Bytes(whole),
            }
        }
        _ => {
            let Some(again) = new.share() else { return Ok(new) };
            let old = there.into_value(COLLECT_LIMIT).await?;
            match (old, new.into_value(COLLECT_LIMIT).await?) {
                (Value::List(mut old), Value::List(more)) => {
                    old.extend(more);
                    Body::Value(Value::List(old))
                }
                (Value::Text(old), Value::Text(more)) => Body::Value(Value::Text(old + &more)),
                _ => return Ok(again),
            }
        }
    };
    if length(&body) > COLLECT_LIMIT {
        let message = format!("both contents together have more than {COLLECT_LIMIT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(Content { body, media_type, metadata, class, ..Content::default() })
}

async fn bytes(content: Content) -> Result<Bytes> {
    content.read(COLLECT_LIMIT).await
}

fn length(body: &Body) -> usize {
    match body {
        Body::Bytes(bytes) => bytes.len(),
        Body::Text(text) => text.len(),
        Body::Value(Value::Text(text)) => text.len(),
        // Other values have limits of their own, so a merge holds at most twice those.
        _ => 0,
    }
}
