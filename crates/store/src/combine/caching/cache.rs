//! A quick store in front of a slow one.

mod audience;
mod fill;
mod flight;
mod following;
mod recency;
mod stale;

use crate::ReadOnly;
use crate::combine::access::guard::{asks_visitor, refuse_guarded};
use crate::combine::definition::{Combinator, CombinatorParts, CombinedStore};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Attributes, BulkChange, Changes, Conditions, Content, Context, Error, Isolation,
    KeyPage, KeyRange, Kind, Memory, Migration, Outcome, Query, Records, Reference, Result,
    Sequence, Setting, SettingKind, SettingTable, Shape, Store, Transaction, Value, Verb,
    guessed_media_type,
};
use fill::{CacheState, Writing, name};
use following::Extent;
use stale::Freshness;

pub use fill::{CACHED_BYTES, CACHED_ENTRIES};

use futures_util::StreamExt;
use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

struct CacheOptions {
    max_size: u64,
    max_entries: usize,
    ttl: Option<Duration>,
    stale_while_revalidate: Option<Duration>,
    stale_if_error: Option<Duration>,
    write_through: bool,
    watch: bool,
    read_only_source: bool,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            max_size: CACHED_BYTES,
            max_entries: CACHED_ENTRIES,
            ttl: None,
            stale_while_revalidate: None,
            stale_if_error: None,
            write_through: false,
            watch: false,
            read_only_source: false,
        }
    }
}

const SETTINGS: SettingTable<CacheOptions> = SettingTable(&[
    Setting::size("maxSize", "about how much is held", |options: &mut CacheOptions| {
        &mut options.max_size
    })
    .was(&["size"]),
    Setting::new("maxEntries", "how many contents are held", |options: &mut CacheOptions| {
        &mut options.max_entries
    })
    .was(&["entries"]),
    Setting::new(
        "ttl",
        "the time to live, after which the source is asked again",
        |options: &mut CacheOptions| &mut options.ttl,
    )
    .was(&["age"]),
    Setting::new(
        "staleWhileRevalidate",
        "how long after the `ttl` a content is answered while the source is asked again",
        |options: &mut CacheOptions| &mut options.stale_while_revalidate,
    ),
    Setting::new(
        "staleIfError",
        "how long after the `ttl` a content is answered where the source fails",
        |options: &mut CacheOptions| &mut options.stale_if_error,
    ),
    Setting::new(
        "writeThrough",
        "whether what is written is kept as well",
        |options: &mut CacheOptions| &mut options.write_through,
    ),
    Setting::new(
        "watch",
        "whether changes of the source are followed",
        |options: &mut CacheOptions| &mut options.watch,
    )
    .was(&["watching"]),
    Setting::apart("cache", "the store that keeps the contents", SettingKind::Store),
    Setting::new(
        "readOnlySource",
        "whether writes stay in the cache",
        |options: &mut CacheOptions| &mut options.read_only_source,
    ),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Cache",
    aliases: &["CachingStore", "MPWCachingStore", "MPWWriteThroughCache", "WriteThroughCache"],
    help: "answers from memory what the source answered before",
    settings: &SETTINGS,
    make,
};

const NOT_ADMITTED: &str = "a Cache with `readOnlySource` takes writes that no handler of its source has \
    admitted; put it in front of a store without handlers";

/// Writes above a source that is only read stay in the cache, or in a memory store before it.
fn make(parts: &CombinatorParts) -> Result<CombinedStore> {
    refuse_guarded(&parts.source()?, "a Cache")?;
    let options = parts.read("a Cache", &SETTINGS)?;
    let read_only = options.read_only_source;
    if read_only && asks_visitor(&parts.source()?) {
        return Err(Error::new(Kind::Denied, NOT_ADMITTED));
    }
    let kept = parts.named("cache").unwrap_or_else(|| Rc::new(Memory::site()));
    // Writes above a read-only source must not be evicted.
    let held = |name| !read_only || parts.has(name);
    let mut cache = Cache::new(kept.clone(), parts.source()?)
        .with_size(if held("maxSize") { options.max_size } else { u64::MAX })
        .with_entries(if held("maxEntries") { options.max_entries } else { usize::MAX });
    let stale = (options.stale_while_revalidate, options.stale_if_error);
    match options.ttl {
        Some(ttl) => cache = cache.with_age(ttl).with_stale(stale.0, stale.1),
        None if stale == (None, None) => {}
        None => {
            let message = "staleWhileRevalidate and staleIfError of a Cache need a ttl";
            return Err(Error::new(Kind::Invalid, message));
        }
    }
    if options.write_through {
        cache = cache.write_through();
    }
    if options.watch {
        cache = cache.watching();
    }
    let cache = Rc::new(cache);
    let store: Rc<dyn Store> = match (read_only, parts.named("cache")) {
        (true, Some(written)) => Rc::new(Sequence::new(vec![written, cache.clone()])),
        (true, None) => Rc::new(Sequence::new(vec![Rc::new(Memory::site()), cache.clone()])),
        (false, _) => cache.clone(),
    };
    Ok(CombinedStore::controlled(store, cache))
}

/// Answers reads from a cache and fills it from a source.
///
/// - Writes go to the source. Each write first invalidates the reference and everything above it,
///   because a listing or a collection may show it. A put or a delete also invalidates everything
///   below. The next read asks the source, which may have changed the content on the way. With
///   [`Cache::write_through`] a put also fills the cache.
/// - A read that overlaps a write is passed on but not cached: a slow read never restores replaced
///   content. A transaction counts as one long write, and reads within it bypass the cache.
/// - Single-flight: concurrent misses of one reference share one read of the source.
/// - The cache holds at most [`CACHED_BYTES`] (the overhead of values is estimated) and
///   [`CACHED_ENTRIES`], and evicts the least recently used entries.
/// - Not cached are lazy content that is not settled ([`crate::Lazy::is_settled`]), streams of
///   unknown length, and contents beyond [`COLLECT_LIMIT`]. Neither are listings, queries and
///   misses. Convert lazy content to bytes first ([`super::Json`]) to have it cached. The size of
///   lazy content is unknown: it counts as an entry only.
/// - References with queries are cached separately. Schemes and extra slashes make no difference.
/// - An answer is for visitors whose requests agree in what its handler read ([`crate::Audience`]).
/// - A failed cache read counts as a miss. A failed invalidation fails the write, before the source
///   sees it.
/// - Changes in the source by other programs are visible after [`Cache::invalidate`], after the age
///   of [`Cache::with_age`], or when a watch of this store reports them. With [`Cache::watching`]
///   they are visible at once.
///
/// Cached content has the cache's entity tag, so a tag cannot be the condition of a write.
pub struct Cache {
    shared: Rc<CacheState>,
}

impl Cache {
    /// Caches reads of `source` in `cache`. The cache should hold content at any path and nothing
    /// else, as [`Memory::site`] does. Existing content of the cache is served too.
    pub fn new(cache: Rc<dyn Store>, source: Rc<dyn Store>) -> Self {
        Cache { shared: Rc::new(CacheState::new(cache, source)) }
    }

    /// Caches reads of `source` in memory.
    pub fn in_memory(source: Rc<dyn Store>) -> Self {
        Cache::new(Rc::new(Memory::site()), source)
    }

    /// Sets the approximate size limit in bytes. Larger content is not cached.
    pub fn with_size(self, bytes: u64) -> Self {
        self.shared.settings.update(|old| fill::Settings { bytes, ..old });
        self
    }

    /// Sets the maximum number of entries.
    pub fn with_entries(self, entries: usize) -> Self {
        self.shared.settings.update(|old| fill::Settings { entries, ..old });
        self
    }

    /// Sets the TTL of entries, by tokio's clock. Entries from before this store's use of the cache
    /// count as expired.
    pub fn with_age(self, age: Duration) -> Self {
        self.shared.settings.update(|old| fill::Settings { age: Some(age), ..old });
        self
    }

    /// Sets how long after their age contents are answered: while the source is asked again in the
    /// background, and where it fails (RFC 5861). At most 64 are asked for again at once.
    pub fn with_stale(
        self,
        while_revalidate: Option<Duration>,
        if_error: Option<Duration>,
    ) -> Self {
        let stale = |old| fill::Settings { while_revalidate, if_error, ..old };
        self.shared.settings.update(stale);
        self
    }

    /// Caches puts as well, once the source has them: for sources that return content unchanged.
    pub fn write_through(self) -> Self {
        self.shared.settings.update(|old| fill::Settings { write_through: true, ..old });
        self
    }

    /// Invalidates entries when the source reports a change, by any writer. Nothing is cached
    /// before the watch begins or while it is down; after an error it is retried each second.
    /// Earlier content of the cache is not served.
    pub fn watching(self) -> Self {
        self.shared.settings.update(|old| fill::Settings { known_only: true, ..old });
        *self.shared.following.borrow_mut() = Some(following::SourceFollower::new());
        self
    }

    /// Forgets a reference, everything above it and everything below it, so that the next read asks
    /// the source.
    pub fn invalidate(&self, reference: &Reference) -> Answer<()> {
        self.write(reference, Extent::AndBelow, |_| Answer::ok(()))
    }

    /// Forgets everything.
    pub fn invalidate_all(&self) -> Answer<()> {
        let settings = self.shared.settings.get();
        self.shared.settings.set(fill::Settings { known_only: true, ..settings });
        self.write(&Reference::default(), Extent::AndBelow, |_| Answer::ok(()))
    }

    fn write<T: 'static>(
        &self,
        reference: &Reference,
        extent: Extent,
        act: impl FnOnce(&dyn Store) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let writing = Writing::begin(self.shared.clone());
        let source = self.shared.source.clone();
        let forgotten = self.shared.forget(reference, extent);
        forgotten.and_then(move |()| act(&*source)).map(move |done| {
            drop(writing);
            done
        })
    }

    fn admits(&self, verb: Verb, reference: &Reference, context: &Context) -> Result<()> {
        let condition = context.only_if.as_ref();
        self.layer_conditions(reference).admit(condition, verb, reference)
    }

    /// A put whose content the cache keeps when nothing else was written meanwhile.
    fn put_through(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let settings = self.shared.settings.get();
        // Where the source asks who reads, what one visitor wrote is not what each may read.
        let entry = name(reference).filter(|name| {
            let asks = || self.shared.source.verbs(reference).asks_visitor();
            context.exchange.is_none() || self.shared.audiences.is_for_all(name) && !asks()
        });
        let entry = entry.map(|name| self.shared.entry(&name, reference, context).into_owned());
        let keep = settings.write_through && context.transaction.is_none();
        let content = content.of_client(context, guessed_media_type(reference.path()));
        let copy = content.share().filter(|copy| keep && fill::can_be_kept(copy));
        let (to, put_to, context) = (reference.clone(), reference.clone(), context.clone());
        let shared = self.shared.clone();
        let begun = shared.writes_begun.get() + 1;
        let put = self.write(reference, Extent::AndBelow, move |source| {
            source.put(&put_to, content, &context)
        });
        let Some((copy, entry)) = copy.zip(entry) else { return put };
        put.and_then(move |outcome| {
            if shared.writes_begun.get() != begun || shared.writes_under_way.get() > 0 {
                return Answer::ok(outcome);
            }
            Answer::later(async move {
                shared.keep(&to, &entry, copy).await?;
                Ok(outcome)
            })
        })
    }
}

impl Layer for Cache {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.shared.source, reference))
    }

    /// A separate read-only cache that shares the invalidations of this one, whose entries may come
    /// from outside the confined part.
    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let part = Rc::new(CacheState::new(Rc::new(Memory::site()), inner));
        part.settings.set(self.shared.settings.get());
        self.shared.add_part(&part);
        Some(Rc::new(ReadOnly::new(Rc::new(Cache { shared: part }))))
    }

    fn name(&self) -> String {
        "cache".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let shared = &self.shared;
        let found = name(reference).filter(|_| context.transaction.is_none());
        let Some(name) = found else { return shared.source.get(reference, context) };
        if context.exchange.as_ref().is_some_and(|exchange| exchange.live().is_some()) {
            // The session of a live page, where another request gets the page itself.
            return shared.source.get(reference, context);
        }
        shared.follow();
        let entry = shared.entry(&name, reference, context);
        let miss = || shared.clone().miss(name.to_string(), reference.clone(), context.clone());
        match shared.freshness(&entry) {
            Freshness::Fresh => {}
            Freshness::Revalidate => shared.revalidate(&name, &entry, reference, context),
            Freshness::IfError => {
                let (name, shared) = (name.to_string(), shared.clone());
                let (reference, context) = (reference.clone(), context.clone());
                return Answer::later(shared.miss_or_stale(name, reference, context));
            }
            Freshness::Missing => return Answer::later(miss()),
        }
        match shared.cache.get(&fill::place(reference, &entry), context) {
            Answer::Ready(Ok(Some(content))) => {
                shared.audiences.repeat_headers(&entry, context);
                Answer::ok(Some(content))
            }
            Answer::Ready(_) => Answer::later(miss()),
            Answer::Later(found) => {
                let (miss, entry, context) = (miss(), entry.to_string(), context.clone());
                let shared = shared.clone();
                Answer::later(async move {
                    match found.await {
                        Ok(Some(content)) => {
                            shared.audiences.repeat_headers(&entry, &context);
                            Ok(Some(content))
                        }
                        _ => miss.await,
                    }
                })
            }
        }
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = self.admits(Verb::Put, reference, context) {
            return error.into();
        }
        self.put_through(reference, content, context)
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = self.admits(Verb::Post, reference, context) {
            return error.into();
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, Extent::AndAbove, move |source| source.post(&to, content, &context))
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = self.admits(Verb::Merge, reference, context) {
            return error.into();
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, Extent::AndAbove, move |source| source.merge(&to, content, &context))
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        if let Err(error) = self.admits(Verb::Delete, reference, context) {
            return error.into();
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, Extent::AndBelow, move |source| source.delete(&to, &context))
    }

    /// The source's. Entity tags of cached content are the cache's, so that the keys have none.
    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let page = self.shared.source.keys(reference, range, context);
        page.map(|page| page.map(|page| page.with(|key| key.entity_tag = None)))
    }

    /// Where both stores do: either may answer a read.
    fn layer_keeps_metadata(&self, reference: &Reference) -> bool {
        let CacheState { cache, source, .. } = &*self.shared;
        cache.keeps_metadata(reference) && source.keeps_metadata(reference)
    }

    fn layer_annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = self.admits(Verb::Put, reference, context) {
            return error.into();
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, Extent::AndAbove, move |source| {
            source.annotate(&to, attributes, &context)
        })
    }

    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        if let Err(error) = self.admits(Verb::Put, to, context) {
            return error.into();
        }
        let (shared, context) = (self.shared.clone(), context.clone());
        let (on, to) = (from.clone(), to.clone());
        self.write(from, Extent::AndBelow, move |_| {
            let forgotten = shared.forget(&to, Extent::AndBelow);
            forgotten.and_then(move |()| shared.source.relocate(&on, &to, &context))
        })
    }

    fn layer_insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(reference, Extent::AndAbove, move |source| {
            source.with_tables(Verb::Post, &to, |tables| tables.insert(&to, records, &context))
        })
    }

    fn layer_change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        let (to, query) = (reference.clone(), query.clone());
        let (change, context) = (change.clone(), context.clone());
        // Other collections may change with it, where keys refer to it.
        self.write(&Reference::default(), Extent::AndBelow, move |source| {
            source.with_tables(change.verb(), &to, |tables| {
                tables.change_all(&to, &query, &change, &context)
            })
        })
    }

    /// Forgets everything, because a statement may write anything.
    fn layer_run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let (to, context) = (reference.clone(), context.clone());
        let statement = statement.to_string();
        self.write(&Reference::default(), Extent::AndBelow, move |source| {
            source.with_tables(Verb::Query, &to, |tables| {
                tables.run(&to, &statement, parameters, &context)
            })
        })
    }

    /// Forgets everything, because steps are statements.
    fn layer_migrate(
        &self,
        reference: &Reference,
        migration: Migration,
        context: &Context,
    ) -> Answer<Vec<String>> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(&Reference::default(), Extent::AndBelow, move |source| {
            source.with_tables(Verb::Define, &to, |tables| tables.migrate(&to, migration, &context))
        })
    }

    fn layer_define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let (to, shape) = (reference.clone(), shape.clone());
        self.write(reference, Extent::AndBelow, move |source| {
            source.with_tables(Verb::Define, &to, |tables| tables.define(&to, &shape))
        })
    }

    fn layer_key_value_store(&self, reference: &Reference) -> Answer<Rc<dyn Store>> {
        let to = reference.clone();
        self.write(reference, Extent::AndBelow, move |source| {
            source.with_tables(Verb::Define, &to, |tables| tables.key_value_store(&to))
        })
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let shared = self.shared.clone();
        self.shared.source.watch(reference, context).map(move |changes| -> Changes {
            // A read that follows a change has to see it.
            Box::pin(changes.inspect(move |change| match change {
                Ok(change) => shared.changed(&change.reference, Extent::of(change.kind)),
                Err(_) => shared.changed(&Reference::default(), Extent::AndBelow),
            }))
        })
    }

    fn layer_begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        let shared = self.shared.clone();
        let begun = self.shared.source.with_tables(Verb::Begin, reference, |tables| {
            tables.begin(reference, isolation, context)
        });
        begun.map(move |inner| {
            let _writing = Writing::begin(shared.clone());
            Rc::new(Pending { inner, _writing, shared }) as Rc<dyn Transaction>
        })
    }

    fn layer_conditions(&self, reference: &Reference) -> Conditions {
        // The tag that a reader has is the cache's, which the source does not know.
        self.shared.source.conditions(reference).min(Conditions::Presence)
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let CacheState { cache, source, .. } = &*self.shared;
        vec![("cache".to_string(), cache.clone()), ("source".to_string(), source.clone())]
    }
}

/// A transaction of the source, during which nothing is cached.
struct Pending {
    inner: Rc<dyn Transaction>,
    _writing: Writing,
    shared: Rc<CacheState>,
}

impl Transaction for Pending {
    /// Invalidates entries from before the transaction; nothing was cached since.
    fn commit(&self) -> Answer<()> {
        let shared = self.shared.clone();
        self.inner.commit().and_then(move |()| {
            let forgotten = shared.forget(&Reference::default(), Extent::AndBelow);
            shared.writes_begun.set(shared.writes_begun.get() + 1);
            forgotten
        })
    }

    fn roll_back(&self) -> Answer<()> {
        self.inner.roll_back()
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        self.inner.outer()
    }

    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
