//! What a cache keeps, and how it forgets.

use super::audience::{Audiences, marked};
use super::flight::{Boarding, Flights};
use super::following::{Extent, SourceFollower};
use super::recency::Recency;
use crate::COLLECT_LIMIT;
use crate::combine::answers::size;
use crate::{Answer, Body, Content, Context, Reference, Result, Store};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How many bytes a cache holds where nothing else was said.
pub const CACHED_BYTES: u64 = 64 << 20;

/// How many contents a cache holds where nothing else was said.
pub const CACHED_ENTRIES: usize = 65_536;

/// What a content costs beside its bytes: its name, its place in tables.
const OVERHEAD: u64 = 128;

/// What every cache of one source and all its users share.
pub(super) struct CacheState {
    pub(super) cache: Rc<dyn Store>,
    pub(super) source: Rc<dyn Store>,
    pub(super) settings: Cell<Settings>,
    pub(super) following: RefCell<Option<SourceFollower>>,
    pub(super) writes_under_way: Cell<u32>,
    pub(super) writes_begun: Cell<u64>,
    pub(super) held: RefCell<Recency>,
    /// Invalidated entries that a slow cache still has to remove.
    leftover: RefCell<Vec<Rc<str>>>,
    pub(super) flights: Flights,
    pub(super) audiences: Audiences,
    /// Contents that are asked for again in the background.
    pub(super) refreshes: Cell<usize>,
    /// The confined copies of this cache, which forget with it.
    parts: RefCell<Vec<Weak<CacheState>>>,
}

#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) bytes: u64,
    pub(super) entries: usize,
    pub(super) age: Option<Duration>,
    /// How long after its age a content is answered while the source is asked again.
    pub(super) while_revalidate: Option<Duration>,
    /// How long after its age a content is answered where the source fails.
    pub(super) if_error: Option<Duration>,
    pub(super) write_through: bool,
    /// Serves only entries that this store knows the cache to hold.
    pub(super) known_only: bool,
}

/// RAII guard of a write.
pub(super) struct Writing {
    shared: Rc<CacheState>,
    /// The same guards for the confined copies.
    _parts: Vec<Writing>,
}

impl Writing {
    pub(super) fn begin(shared: Rc<CacheState>) -> Self {
        shared.writes_under_way.set(shared.writes_under_way.get() + 1);
        shared.writes_begun.set(shared.writes_begun.get() + 1);
        shared.flights.close();
        let parts = shared.parts().into_iter().map(Writing::begin).collect();
        Writing { shared, _parts: parts }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.shared.writes_under_way.set(self.shared.writes_under_way.get() - 1);
        // Reads that began during the write may have the old content.
        self.shared.flights.close();
    }
}

/// The cache key of a reference; `None` if it has none.
pub(super) fn name(reference: &Reference) -> Option<Cow<'_, str>> {
    let path = reference.relative_path();
    if path.contains('?') {
        return None;
    }
    let odd = path.ends_with('/') || path.contains("//");
    Some(match (reference.query(), odd) {
        (None, false) => Cow::Borrowed(path),
        (None, true) => Cow::Owned(normal(reference)),
        (Some(query), _) => Cow::Owned(format!("{}?{query}", normal(reference))),
    })
}

fn normal(reference: &Reference) -> String {
    reference.segments().collect::<Vec<_>>().join("/")
}

/// The reference of a cache key in the cache.
pub(super) fn place<'a>(reference: &'a Reference, name: &str) -> Cow<'a, Reference> {
    if reference.query().is_none() && reference.relative_path() == name {
        return Cow::Borrowed(reference);
    }
    Cow::Owned(Reference::from_path(name))
}

/// Whether content can be kept at all.
pub(super) fn can_be_kept(content: &Content) -> bool {
    match &content.body {
        Body::Bytes(bytes) => bytes.len() <= COLLECT_LIMIT,
        Body::Text(text) => text.len() <= COLLECT_LIMIT,
        Body::Stream(_, length) => length.is_some_and(|length| length <= COLLECT_LIMIT as u64),
        // Putting nil deletes.
        Body::Value(value) => !value.is_nil(),
        Body::Lazy(lazy) => lazy.is_settled(),
        Body::Empty => true,
    }
}

impl CacheState {
    pub(super) fn new(cache: Rc<dyn Store>, source: Rc<dyn Store>) -> Self {
        let settings = Settings {
            bytes: CACHED_BYTES,
            entries: CACHED_ENTRIES,
            age: None,
            while_revalidate: None,
            if_error: None,
            write_through: false,
            known_only: false,
        };
        CacheState {
            cache,
            source,
            settings: Cell::new(settings),
            following: RefCell::default(),
            writes_under_way: Cell::new(0),
            writes_begun: Cell::new(0),
            held: RefCell::default(),
            leftover: RefCell::default(),
            flights: Flights::default(),
            audiences: Audiences::default(),
            refreshes: Cell::new(0),
            parts: RefCell::default(),
        }
    }

    /// A confined copy forgets from now on what this cache forgets.
    pub(super) fn add_part(&self, part: &Rc<CacheState>) {
        let mut parts = self.parts.borrow_mut();
        parts.retain(|part| part.strong_count() > 0);
        parts.push(Rc::downgrade(part));
    }

    fn parts(&self) -> Vec<Rc<CacheState>> {
        self.parts.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    /// Applies the changes since the last call.
    pub(super) fn follow(&self) {
        let mut following = self.following.borrow_mut();
        let Some(following) = &mut *following else { return };
        while let Some((reference, extent)) = following.next(&*self.source) {
            self.changed(&reference, extent);
        }
    }

    /// Invalidates after a change by another program, without waiting for the cache.
    pub(super) fn changed(&self, reference: &Reference, extent: Extent) {
        for part in self.parts() {
            part.changed(reference, extent);
        }
        self.writes_begun.set(self.writes_begun.get() + 1);
        self.flights.close();
        for name in self.let_go(reference, extent) {
            let gone = self.cache.delete(&Reference::from_path(&*name), &Context::default());
            if !matches!(gone, Answer::Ready(Ok(_))) {
                let mut leftover = self.leftover.borrow_mut();
                // Beyond that it stays in the cache, unreachable, until it is replaced.
                if leftover.len() < CACHED_ENTRIES {
                    leftover.push(name);
                }
                self.settings.update(|old| Settings { known_only: true, ..old });
            }
        }
    }

    fn is_told(&self) -> bool {
        self.following.borrow().as_ref().is_none_or(SourceFollower::is_on)
    }

    /// Holds names no longer; answers those that are to be removed from the cache.
    fn let_go(&self, reference: &Reference, extent: Extent) -> Vec<Rc<str>> {
        let mut held = self.held.borrow_mut();
        let path = normal(reference);
        let mut names: Vec<Rc<str>> = Vec::new();
        if extent == Extent::AndBelow {
            let start = if path.is_empty() { String::new() } else { format!("{path}/") };
            names = held.beginning_with(&start);
        }
        let mut above = Some(path.as_str());
        while let Some(path) = above {
            names.push(path.into());
            names.extend(held.beginning_with(&format!("{path}?")));
            above = match path.rsplit_once('/') {
                Some((above, _)) => Some(above),
                None => (!path.is_empty()).then_some(""),
            };
        }
        for name in &names {
            held.remove(name);
            self.audiences.forget(name);
        }
        names
    }

    pub(super) fn forget(&self, reference: &Reference, extent: Extent) -> Answer<()> {
        for part in self.parts() {
            part.changed(reference, extent);
        }
        let names = self.let_go(reference, extent);
        self.remove(names)
    }

    /// Removes contents from the cache.
    pub(super) fn remove(&self, names: Vec<Rc<str>>) -> Answer<()> {
        let mut names = names.into_iter();
        while let Some(name) = names.next() {
            match self.cache.delete(&Reference::from_path(&*name), &Context::default()) {
                Answer::Ready(Ok(_)) => {}
                Answer::Ready(Err(error)) => return error.into(),
                Answer::Later(removed) => {
                    let cache = self.cache.clone();
                    return Answer::later(async move {
                        removed.await?;
                        for name in names {
                            let place = Reference::from_path(&*name);
                            cache.delete(&place, &Context::default()).await?;
                        }
                        Ok(())
                    });
                }
            }
        }
        Answer::ok(())
    }

    /// The entry of a name for the caller. A program without a request has entries of its own where the source may
    /// ask a visitor: what it reads or writes has passed no guard.
    pub(super) fn entry<'a>(
        &self,
        name: &'a str,
        reference: &Reference,
        context: &Context,
    ) -> Cow<'a, str> {
        match context.exchange {
            None if self.source.verbs(reference).asks_visitor() => {
                Cow::Owned(format!("{}program", marked(name)))
            }
            _ => self.audiences.entry(name, context),
        }
    }

    /// Removes the entries of a name that were kept for more visitors than they are for.
    pub(super) async fn narrow(&self, name: &str) -> Result<()> {
        let mut names = self.held.borrow().beginning_with(&marked(name));
        names.push(name.into());
        names.iter().for_each(|name| _ = self.held.borrow_mut().remove(name));
        self.remove(names).await
    }

    /// Reads from the source, or joins a read under way.
    pub(super) async fn miss(
        self: Rc<Self>,
        name: String,
        reference: Reference,
        context: Context,
    ) -> Result<Option<Content>> {
        if self.audiences.is_of_visitor(&name) {
            return self.fill(&name, &reference, &context).await.0;
        }
        let entry = self.entry(&name, &reference, &context);
        let lead = match self.flights.board(&entry).await {
            Boarding::Brought(result) => {
                self.audiences.repeat_headers(&entry, &context);
                return result;
            }
            Boarding::Alone => return self.fill(&name, &reference, &context).await.0,
            Boarding::Lead(lead) => lead,
        };
        let (result, filled) = self.fill(&name, &reference, &context).await;
        let short = matches!(&result, Ok(Some(content)) if context.knows(content));
        lead.land(&result, !short && filled.as_deref() == Some(&*entry));
        result
    }

    /// Reads from the source and keeps the content where that is safe. Beside the result stands the entry of those
    /// who may have it; `None` where it is for this visitor alone.
    async fn fill<'a>(
        &self,
        name: &'a str,
        reference: &Reference,
        context: &Context,
    ) -> (Result<Option<Content>>, Option<Cow<'a, str>>) {
        // A write that is under way now may end before the read does, so it counts as well.
        let (calm, begun) = (self.writes_under_way.get() == 0, self.writes_begun.get());
        let quiet = || {
            self.follow();
            calm && self.writes_begun.get() == begun && self.is_told()
        };
        // Later readers may want the attributes.
        let (recorded, recording) = context.recorded(reference);
        let asking = Context { attributes: true, ..recorded };
        let found = self.source.get(reference, &asking).await;
        let found = match found {
            // Content that is read now may still read the request.
            Ok(Some(content)) if can_be_kept(&content) && !context.knows(&content) && quiet() => {
                content.collected(COLLECT_LIMIT).await.map(Some)
            }
            found => found,
        };
        let (entry, is_narrower) = match &recording {
            Some(recording) => self.audiences.learn(name, recording.audience(), context),
            None => (Some(self.entry(name, reference, context)), false),
        };
        if is_narrower && let Err(error) = self.narrow(name).await {
            return (Err(error), None);
        }
        let content = match found {
            Ok(Some(content)) => content,
            Ok(None) => {
                let gone = entry.as_deref().unwrap_or(name);
                let removed = match quiet() && self.held.borrow_mut().remove(gone) {
                    true => self.remove(vec![gone.into()]).await,
                    false => Ok(()),
                };
                return (removed.map(|()| None), entry);
            }
            error => return (error, entry),
        };
        let Some(entry) = entry else { return (Ok(Some(content)), None) };
        if context.knows(&content) || !can_be_kept(&content) || !quiet() {
            // Content that is made later may read the request then.
            let is_made_later = matches!(content.body, Body::Lazy(_)) && recording.is_some();
            return (Ok(Some(content)), (!is_made_later).then_some(entry));
        }
        let Some(copy) = content.share() else { return (Ok(Some(content)), None) };
        match self.keep(reference, &entry, copy).await {
            Ok(true) => {
                self.audiences
                    .set_headers(&entry, recording.map_or_else(Vec::new, |it| it.headers()));
                // Answered as the cache has it, so that later answers carry the same entity tag.
                match self.cache.get(&place(reference, &entry), context).await {
                    Ok(Some(kept)) => (Ok(Some(kept)), Some(entry)),
                    _ => (Ok(Some(content)), Some(entry)),
                }
            }
            Ok(false) => (Ok(Some(content)), Some(entry)),
            Err(error) => (Err(error), Some(entry)),
        }
    }

    /// Puts content into the cache and evicts entries to make room. Returns whether the cache has
    /// it: not after a write in between.
    pub(super) async fn keep(
        &self,
        reference: &Reference,
        name: &str,
        content: Content,
    ) -> Result<bool> {
        let Settings { bytes, entries, .. } = self.settings.get();
        let size = size(&content) + name.len() as u64 + OVERHEAD;
        if size > bytes || entries == 0 {
            return Ok(false);
        }
        let begun = self.writes_begun.get();
        let leftover = std::mem::take(&mut *self.leftover.borrow_mut());
        let leftover = leftover.into_iter().filter(|old| !self.held.borrow().has(old));
        self.remove(leftover.collect()).await?;
        let put = self.cache.put(&place(reference, name), content, &Context::default());
        let kept = put.await.is_ok();
        self.follow();
        if !kept || self.writes_begun.get() != begun {
            self.remove(vec![name.into()]).await?;
            return Ok(false);
        }
        self.remove(self.hold(name, size)).await?;
        Ok(true)
    }

    /// Holds a name; answers those that have to leave.
    fn hold(&self, name: &str, size: u64) -> Vec<Rc<str>> {
        let Settings { bytes, entries, .. } = self.settings.get();
        let mut held = self.held.borrow_mut();
        held.add(name, size, Instant::now());
        let mut leaving = Vec::new();
        while held.bytes() > bytes || held.len() > entries {
            let oldest = held.remove_oldest();
            oldest.iter().for_each(|name| self.audiences.forget(name));
            leaving.extend(oldest);
        }
        leaving
    }
}
