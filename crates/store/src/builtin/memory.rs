//! The memory store: the model that every other store is checked against.

mod kept;
mod table;

use crate::{
    Answer, Attributes, Body, COLLECT_LIMIT, Changes, Condition, Conditions, Content, Context,
    Entry, Error, KeyPage, KeyRange, Kind, Outcome, Query, Reference, Result, Store, Value, Verb,
    Verbs, Watchers, run_query,
};
use kept::{SharedContent, for_all_threads};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use table::{Entries, MemoryTable, SettledObject};

/// The maximum number of [`Memory::named`] stores. A named store lives until the process ends.
pub const NAMED_MEMORIES: usize = 4096;

/// Content by path, in memory.
///
/// All flavours hold content at any path, independent of content below it: `hi` and `hi/answer` can
/// both exist. Content is stored unchanged, with its media type and class; only streams are first
/// read into memory, up to a limit. Text and bytes without a media type get the type for the
/// extension of their key. Every change creates a new strong entity tag, except for lazy content,
/// whose value may vary. A get by a caller who knows the tag returns [`Body::Empty`].
///
/// - Putting nil deletes. Putting empty content stores it.
/// - A post appends an element to a list, and text to text or bytes. Without content at the path,
///   it creates a list of one element. Any other content is a [`Kind::Conflict`].
/// - A merge sets the fields of a record (new fields go to the end) and replaces any other content.
/// - A delete removes the content at the path but not below it, and so does a move.
/// - New attributes ([`Store::annotate`]) leave the content and its entity tag as they are.
/// - Listings answer the time of the last change, and reads that ask for attributes do.
/// - A conditional write ([`Condition`]) is atomic for all threads.
/// - A query runs over a list ([`run_query`]).
/// - A watch reports every change, in order. References are paths without leading slashes. A lazy
///   content that changes its value by itself is not reported.
pub struct Memory {
    storage: Storage,
    watchers: Watchers,
    flavour: Flavour,
    name: Option<Box<str>>,
    limit: usize,
}

#[derive(Clone)]
enum Storage {
    /// Of this thread.
    Own(Rc<RefCell<Entries<Content>>>),
    /// Of all threads.
    SharedContent(Arc<RwLock<Entries<SharedContent>>>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flavour {
    Dictionary,
    Site,
}

/// The named stores of this process.
type Named = BTreeMap<Box<str>, (Arc<RwLock<Entries<SharedContent>>>, Watchers)>;

static NAMED: Mutex<Named> = Mutex::new(BTreeMap::new());

impl Memory {
    /// Keys are opaque: `a`, `a/` and `a//b` are three different ones. Reading the root answers
    /// the list of all keys, unless something was put there.
    pub fn dictionary() -> Self {
        Memory {
            storage: Storage::Own(Rc::default()),
            watchers: Watchers::new(),
            flavour: Flavour::Dictionary,
            name: None,
            limit: COLLECT_LIMIT,
        }
    }

    /// A tree as a web site has it: slashes at the end and doubled ones make no difference.
    pub fn site() -> Self {
        Memory { flavour: Flavour::Site, ..Memory::dictionary() }
    }

    /// The store of a name: the same content for all threads of the process, from the first use of
    /// the name until the process ends. Lazy content is evaluated when it is put: as text if it has
    /// a media type, such as a page, and otherwise as plain data.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] when [`NAMED_MEMORIES`] others have names.
    pub fn named(name: &str) -> Result<Self> {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, watchers) = match named.get(name) {
            Some(there) => there.clone(),
            None if named.len() < NAMED_MEMORIES => {
                let new = <(Arc<RwLock<Entries<SharedContent>>>, Watchers)>::default();
                named.insert(name.into(), new.clone());
                new
            }
            None => {
                let message = format!(
                    "there are {NAMED_MEMORIES} named memories already; use paths within one of them"
                );
                return Err(Error::new(Kind::TooLarge, message));
            }
        };
        let storage = Storage::SharedContent(entries);
        Ok(Memory { storage, watchers, name: Some(name.into()), ..Memory::dictionary() })
    }

    /// Sets the size limit of streams in bytes; the default is [`COLLECT_LIMIT`].
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    fn key<'a>(&self, reference: &'a Reference) -> Cow<'a, str> {
        let path = reference.relative_path();
        if self.flavour == Flavour::Dictionary || !(path.ends_with('/') || path.contains("//")) {
            return Cow::Borrowed(path);
        }
        Cow::Owned(reference.segments().collect::<Vec<_>>().join("/"))
    }

    /// Does a change with content once that is at hand, which it is at once unless it is a stream
    /// or has to be computed.
    fn change<C: 'static, T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Answer<C>,
        context: &Context,
        change: fn(&mut dyn MemoryTable, &str, C) -> Result<T>,
    ) -> Answer<T> {
        let (storage, watchers) = (self.storage.clone(), self.watchers.clone());
        let only_if = context.only_if.clone();
        let key = self.key(reference).into_owned();
        let changed = content.and_then(move |content| {
            storage
                .write(|table| {
                    check(only_if.as_ref(), table, &key)?;
                    let changed = change(table, &key, content)?;
                    tell(&watchers, table, &key);
                    Ok(changed)
                })
                .into()
        });
        changed.on(verb, reference)
    }

    /// Content as it can be kept.
    fn keepable(&self, content: Content) -> Answer<Content> {
        match self.storage {
            Storage::Own(_) => content.collected(self.limit),
            Storage::SharedContent(_) => for_all_threads(content, self.limit),
        }
    }

    /// The object of a program at a reference with its value. It is computed before the table is
    /// locked, because it may run code that uses this store.
    fn settled_object(&self, reference: &Reference) -> Answer<Option<SettledObject>> {
        let held = self.storage.read(|table| table.get(&self.key(reference), None, false));
        match held.map(|held| held.body) {
            Some(Body::Lazy(object)) if object.is_settled() => {
                object.value().map(|value| Some(SettledObject { object, value }))
            }
            _ => Answer::ok(None),
        }
    }

    /// Evaluates lazy content to plain data, so that it can be joined with existing content.
    fn settled(&self, content: Content) -> Answer<Content> {
        match &content.body {
            Body::Lazy(lazy) => {
                lazy.value().map(move |value| Content { body: Body::Value(value), ..content })
            }
            _ => content.collected(self.limit),
        }
    }
}

impl Storage {
    fn read<T>(&self, read: impl FnOnce(&dyn MemoryTable) -> T) -> T {
        match self {
            Storage::Own(entries) => read(&*entries.borrow()),
            // Every change is whole before anything that could panic, so a poisoned lock is none.
            Storage::SharedContent(entries) => {
                read(&*entries.read().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    fn write<T>(&self, write: impl FnOnce(&mut dyn MemoryTable) -> T) -> T {
        match self {
            Storage::Own(entries) => write(&mut *entries.borrow_mut()),
            Storage::SharedContent(entries) => {
                write(&mut *entries.write().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

/// Checks the condition against the current content, under the table's lock.
fn check(only_if: Option<&Condition>, table: &dyn MemoryTable, key: &str) -> Result<()> {
    let Some(condition) = only_if else { return Ok(()) };
    let tag = table.tag(key);
    condition.check(tag.as_ref().map(Option::as_ref))
}

/// Publishes under the table's lock, so that watchers receive changes in order.
fn tell(watchers: &Watchers, table: &dyn MemoryTable, key: &str) {
    if !watchers.is_watched() {
        return;
    }
    let reference = Reference::from_path(key);
    match table.has(key) {
        true => watchers.changed(&reference),
        false => watchers.deleted(&reference),
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Memory {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let key = self.key(reference);
        self.storage.read(|table| {
            if let Some(content) = table.get(&key, context.known.as_ref(), context.attributes) {
                return Answer::ok(Some(content));
            }
            let all = self.flavour == Flavour::Dictionary && key.is_empty();
            Answer::ok(all.then(|| Content::value(Value::List(table.keys()))))
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = Error::refuse_expiry(reference) {
            return error.on(Verb::Put, reference).into();
        }
        let put: fn(&mut dyn MemoryTable, &str, Content) -> Result<Outcome> =
            |table, key, content| table.put(key, content);
        let content = content.of_client(context, None);
        self.change(Verb::Put, reference, self.keepable(content), context, put)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let post: fn(&mut dyn MemoryTable, &str, Content) -> Result<Outcome> =
            |table, key, content| table.post(key, content);
        let content = content.of_client(context, None);
        self.change(Verb::Post, reference, self.settled(content), context, post)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let merge: fn(&mut dyn MemoryTable, &str, (Content, _)) -> Result<Outcome> =
            |table, key, (content, settled)| table.merge(key, content, settled);
        let settled = self.settled_object(reference);
        let fields = self.settled(content);
        let both = settled.and_then(|settled| fields.map(|fields| (fields, settled)));
        self.change(Verb::Merge, reference, both, context, merge)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let key = self.key(reference);
        let deleted = self.storage.write(|table| {
            check(context.only_if.as_ref(), table, &key)?;
            let was_there = table.delete(&key);
            if was_there {
                tell(&self.watchers, table, &key);
            }
            Ok(Outcome::deleted(was_there))
        });
        deleted.map_err(|error: Error| error.on(Verb::Delete, reference)).into()
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        let key = self.key(reference);
        let children = self.storage.read(|table| table.children(&key));
        Answer::ok((key.is_empty() || !children.is_empty()).then_some(children))
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (key, metadata) = (self.key(reference), context.attributes);
        Answer::ok(Some(self.storage.read(|table| table.below(&key, range, metadata))))
    }

    fn appends(&self, _: &Reference) -> bool {
        true
    }

    fn keeps_metadata(&self, _: &Reference) -> bool {
        true
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let key = self.key(reference);
        let annotated = self.storage.write(|table| {
            check(context.only_if.as_ref(), table, &key)?;
            let tag = table.annotate(&key, attributes)?;
            tell(&self.watchers, table, &key);
            Ok(Outcome::changed().with_entity_tag(tag))
        });
        annotated.map_err(|error: Error| error.on(Verb::Put, reference)).into()
    }

    fn relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let (source, target) = (self.key(from), self.key(to));
        let moved = self.storage.write(|table| {
            if !table.has(&source) {
                return Ok(false);
            }
            check(context.only_if.as_ref(), table, &target)?;
            if source != target {
                table.relocate(&source, &target);
                tell(&self.watchers, table, &source);
                tell(&self.watchers, table, &target);
            }
            Ok(true)
        });
        moved.map_err(|error: Error| error.on(Verb::Put, to)).into()
    }

    fn query(&self, reference: &Reference, query: &Query, _: &Context) -> Answer<Content> {
        let Some(content) = self.storage.read(|table| table.get(&self.key(reference), None, false))
        else {
            let missing = Error::new(Kind::NotFound, "there is nothing to query");
            return missing.on(Verb::Query, reference).into();
        };
        let query = query.clone();
        let answer = content.into_value(self.limit).and_then(move |value| match value {
            Value::List(elements) => Answer::Ready(run_query(elements, &query).map(Content::value)),
            other => {
                let message = format!("a query needs a list, and this is {}", other.kind_name());
                Error::new(Kind::Unsupported, message).into()
            }
        });
        answer.on(Verb::Query, reference)
    }

    fn watch(&self, reference: &Reference, _: &Context) -> Answer<Changes> {
        Answer::ok(self.watchers.watch(reference))
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::ALL.without(Verb::Define).without(Verb::Begin)
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }

    crate::without!(presign, fetch, tables, links, as_any, sources);

    fn describe(&self) -> String {
        match (&self.name, self.flavour) {
            (Some(name), _) => format!("memory {name}"),
            (None, Flavour::Dictionary) => "memory dictionary".to_string(),
            (None, Flavour::Site) => "memory site".to_string(),
        }
    }
}
