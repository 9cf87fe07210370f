//! A quick store in front of a slow one.

use crate::{
    Answer, Body, COLLECT_LIMIT, Content, Context, Entry, Memory, Posted, Query, Reference, Result,
    Shape, Store, Verbs,
};
use std::cell::Cell;
use std::rc::Rc;

/// Answers reads from a cache and fills it from a source.
///
/// - Writes go to the source. Before that the cache forgets the reference and everything above it
///   (a listing or a collection may show what is written), so that the next read asks the source:
///   what the source makes of what was put is what counts.
/// - While a write is under way, and when one came in between, what is read is handed on without
///   being kept: a slow read never brings back what a write replaced.
/// - Lazy content, streams of unknown length and contents beyond the limit are not kept, and
///   neither is the answer that something is missing. Make lazy content bytes first
///   ([`super::Json`]) to have it kept.
/// - A cache that fails to answer counts as empty. One that fails to forget fails the write,
///   before the source has seen it.
/// - What another program changes in the source is seen only after [`Cache::invalidate`].
///
/// What is kept carries the entity tag of the cache.
pub struct Cache {
    shared: Rc<Shared>,
}

struct Shared {
    cache: Rc<dyn Store>,
    source: Rc<dyn Store>,
    limit: usize,
    writes_under_way: Cell<u32>,
    writes_begun: Cell<u64>,
}

impl Cache {
    /// Keeps in `cache` what is read from `source`. The cache should keep content at any path and
    /// nothing else, as [`Memory::site`] does.
    pub fn new(cache: Rc<dyn Store>, source: Rc<dyn Store>) -> Self {
        let (writes_under_way, writes_begun) = (Cell::new(0), Cell::new(0));
        let limit = COLLECT_LIMIT;
        Cache { shared: Rc::new(Shared { cache, source, limit, writes_under_way, writes_begun }) }
    }

    /// Keeps in memory what is read from `source`.
    pub fn in_memory(source: Rc<dyn Store>) -> Self {
        Cache::new(Rc::new(Memory::site()), source)
    }

    /// Forgets a reference and everything above it, so that the next read asks the source.
    pub fn invalidate(&self, reference: &Reference) -> Answer<()> {
        self.write(reference, |_| Answer::ok(()))
    }

    fn write<T: 'static>(
        &self,
        reference: &Reference,
        act: impl FnOnce(&dyn Store) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let writing = Writing::begin(self.shared.clone());
        let source = self.shared.source.clone();
        let forgotten = self.shared.forget(reference);
        forgotten.and_then(move |()| act(&*source)).map(move |done| {
            drop(writing);
            done
        })
    }
}

/// A write under way, until it is answered or given up.
struct Writing(Rc<Shared>);

impl Writing {
    fn begin(shared: Rc<Shared>) -> Self {
        shared.writes_under_way.set(shared.writes_under_way.get() + 1);
        shared.writes_begun.set(shared.writes_begun.get() + 1);
        Writing(shared)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.writes_under_way.set(self.0.writes_under_way.get() - 1);
    }
}

impl Shared {
    fn forget(&self, reference: &Reference) -> Answer<()> {
        let mut next = Some(reference.clone());
        while let Some(reference) = next {
            next = reference.parent();
            match self.cache.delete(&reference, &Context::default()) {
                Answer::Ready(Ok(_)) => {}
                Answer::Ready(Err(error)) => return error.into(),
                Answer::Later(forgotten) => {
                    let cache = self.cache.clone();
                    return Answer::later(async move {
                        forgotten.await?;
                        while let Some(reference) = next {
                            cache.delete(&reference, &Context::default()).await?;
                            next = reference.parent();
                        }
                        Ok(())
                    });
                }
            }
        }
        Answer::ok(())
    }

    /// Reads from the source and keeps the content where that is safe.
    async fn fill(
        self: Rc<Self>,
        reference: Reference,
        context: Context,
    ) -> Result<Option<Content>> {
        // A write that is under way now may end before the read does, so it counts as well.
        let (calm, begun) = (self.writes_under_way.get() == 0, self.writes_begun.get());
        let quiet = || calm && self.writes_begun.get() == begun;
        let Some(content) = self.source.get(&reference, &context).await? else { return Ok(None) };
        let keep = match &content.body {
            Body::Empty => !context.knows(&content),
            Body::Bytes(bytes) => bytes.len() <= self.limit,
            Body::Text(text) => text.len() <= self.limit,
            Body::Stream(_, length) => length.is_some_and(|length| length <= self.limit as u64),
            Body::Value(_) => true,
            Body::Lazy(_) => false,
        };
        if !keep || !quiet() {
            return Ok(Some(content));
        }
        let content = content.collected(self.limit).await?;
        let copy = content.share().filter(|_| quiet());
        let Some(copy) = copy else { return Ok(Some(content)) };
        let kept = self.cache.put(&reference, copy, &Context::default()).await.is_ok();
        if !quiet() {
            self.forget(&reference).await?;
        } else if kept && let Ok(Some(kept)) = self.cache.get(&reference, &context).await {
            // Answered as the cache has it, so that later answers carry the same entity tag.
            return Ok(Some(kept));
        }
        Ok(Some(content))
    }
}

impl Store for Cache {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let shared = self.shared.clone();
        let fill = |context| shared.fill(reference.clone(), context);
        match self.shared.cache.get(reference, context) {
            Answer::Ready(Ok(Some(content))) => Answer::ok(Some(content)),
            Answer::Ready(_) => Answer::later(fill(context.clone())),
            Answer::Later(found) => {
                let fill = fill(context.clone());
                Answer::later(async move {
                    match found.await {
                        Ok(Some(content)) => Ok(Some(content)),
                        _ => fill.await,
                    }
                })
            }
        }
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, move |source| source.put(&to, content, &context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, move |source| source.post(&to, content, &context))
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, move |source| source.merge(&to, content, &context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, move |source| source.delete(&to, &context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.shared.source.list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.shared.source.query(reference, query, context)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let (to, shape) = (reference.clone(), shape.clone());
        self.write(reference, move |source| source.define(&to, &shape))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.shared.source.verbs(reference)
    }

    fn describe(&self) -> String {
        "cache".to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let Shared { cache, source, .. } = &*self.shared;
        vec![("cache".to_string(), cache.clone()), ("source".to_string(), source.clone())]
    }
}
