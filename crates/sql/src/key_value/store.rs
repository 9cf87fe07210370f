//! A key-value store in a database.

use crate::database::table::LIST_LIMIT;
use crate::key_value::backend::{KeyStart, KeyValueBackend};
use crate::key_value::download;
use crate::key_value::entry::{
    EntryWrite, FoundObject, ReplacedObject, StoredAttributes, WriteStamp,
};
use crate::key_value::layout::KEY_LENGTH;
use crate::key_value::open_objects::OpenObjects;
use crate::key_value::sweep::Sweeper;
use crate::key_value::upload::UploadedContent;
use runnel_store::{
    Answer, Attributes, Body, Changes, Conditions, Content, Context, Entry, Error, KeyPage,
    KeyRange, Kind, Outcome, Reference, Result, Store, Value, Verb, Verbs,
};
use std::rc::Rc;
use std::sync::Arc;

/// The most bytes that a post adds at once: it is one transaction.
pub const APPEND_LIMIT: usize = 8 << 20;

/// Bytes by key, in tables of a database.
///
/// - Keys are opaque texts, as in a [`runnel_store::Memory::dictionary`]: `a`, `a/` and `a/b` are three
///   different ones. A key has at most [`KEY_LENGTH`] bytes, and no NUL.
/// - Content is kept as bytes with its media type and metadata; values are kept as text. Without a
///   media type, content has that of its key's extension.
/// - Content of more than one chunk ([`crate::OBJECT_CHUNK`]) is written and read chunk by chunk, in
///   transactions of their own: an upload never holds up other writers, whatever its length. The
///   last transaction switches the key. A put that fails or is dropped changes nothing.
/// - Readers of replaced content read it to its end: in this process always, in others for
///   [`crate::REPLACED_TIME`]; afterwards their stream ends with an error.
/// - A post adds bytes. Every other write is one transaction, which checks its condition.
/// - An answered write is as durable as the rows of the database.
pub(crate) struct KeyValueStore<B: KeyValueBackend>(Rc<StoreInner<B>>);

struct StoreInner<B> {
    backend: Rc<B>,
    objects: Arc<OpenObjects>,
    sweeper: Rc<Sweeper<B>>,
}

impl<B: KeyValueBackend> KeyValueStore<B> {
    /// A store whose tables exist. What killed processes left behind is freed.
    pub(crate) fn open(backend: B) -> Self {
        let backend = Rc::new(backend);
        let objects = OpenObjects::of(&backend.place());
        let sweeper = Sweeper::new(&backend, &objects);
        sweeper.now();
        KeyValueStore(Rc::new(StoreInner { backend, objects, sweeper }))
    }

    /// Asks the backend about the key of a reference.
    fn at<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        ask: impl FnOnce(&StoreInner<B>, String) -> Answer<T>,
    ) -> Answer<T> {
        match key_of(reference) {
            Ok(key) => ask(&self.0, key).on(verb, reference),
            Err(error) => error.on(verb, reference).into(),
        }
    }
}

impl<B: KeyValueBackend> StoreInner<B> {
    fn content(&self, found: FoundObject, context: &Context) -> Result<Content> {
        let FoundObject { entry, bytes } = found;
        let is_known = context.known.as_ref().is_some_and(|known| *known == entry.tag());
        let body = match bytes {
            _ if is_known => Body::Empty,
            Some(bytes) => Body::Bytes(bytes),
            None if entry.length == 0 => Body::Bytes(bytes::Bytes::new()),
            None => download::body(&self.backend, &self.objects, &entry, context),
        };
        entry.content(body)
    }

    async fn put(
        self: Rc<Self>,
        key: String,
        content: Content,
        context: Context,
    ) -> Result<Outcome> {
        let content = content.of_client(&context, None);
        let attributes = StoredAttributes::of(content.attributes());
        let received = UploadedContent::receive(&self.backend, &self.sweeper, content, &context);
        let UploadedContent { content, unfinished } = received.await?;
        let (stamp, only_if) = (WriteStamp::now(), context.only_if.clone());
        let tag = stamp.tag();
        let write = EntryWrite { key, only_if, attributes, stamp, content };
        let replaced = self.backend.put(write, &context).await?;
        if let Some(unfinished) = unfinished {
            unfinished.finish();
        }
        self.replaced(replaced);
        Ok(Outcome::put(replaced.is_none()).with_entity_tag(Some(tag)))
    }

    /// Large objects that were replaced are freed later.
    fn replaced(&self, replaced: Option<ReplacedObject>) {
        if replaced.is_some_and(ReplacedObject::is_large) {
            self.sweeper.later();
        }
    }

    fn delete(self: &Rc<Self>, key: String, context: &Context) -> Answer<bool> {
        let inner = self.clone();
        let deleted = self.backend.delete(key, context.only_if.clone(), WriteStamp::now(), context);
        deleted.map(move |deleted| {
            inner.replaced(deleted);
            deleted.is_some()
        })
    }
}

/// The key of a reference.
fn key_of(reference: &Reference) -> Result<String> {
    let key = reference.relative_path();
    let message = if key.is_empty() {
        "a key-value store has no content of its own; name a key".to_string()
    } else if key.len() > KEY_LENGTH {
        format!("a key has at most {KEY_LENGTH} bytes, and this one has {}", key.len())
    } else if key.contains('\0') {
        "a key cannot hold a NUL character".to_string()
    } else {
        return Ok(key.to_string());
    };
    Err(Error::new(Kind::Invalid, message))
}

/// The beginning of all keys below a reference.
fn prefix_of(reference: &Reference) -> String {
    match reference.relative_path() {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

#[deny(clippy::missing_trait_methods)]
impl<B: KeyValueBackend> Store for KeyValueStore<B> {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        // What cannot be a key is not there.
        let Ok(key) = key_of(reference) else { return Answer::ok(None) };
        let known = context.known.as_ref().filter(|known| !known.weak);
        let known = known.map(|known| known.text.as_str().to_string());
        let (inner, later) = (self.0.clone(), context.clone());
        let found = self.0.backend.find(key, known, context).and_then(move |found| {
            found.map(|found| inner.content(found, &later)).transpose().into()
        });
        found.on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = Error::refuse_expiry(reference) {
            return error.on(Verb::Put, reference).into();
        }
        let (inner, context) = (self.0.clone(), context.clone());
        self.at(Verb::Put, reference, move |_, key| {
            if matches!(content.body, Body::Value(Value::Nil)) {
                return inner.delete(key, &context).map(|_| Outcome::changed());
            }
            Answer::later(inner.put(key, content, context))
        })
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (inner, context) = (self.0.clone(), context.clone());
        self.at(Verb::Post, reference, move |_, key| {
            content.read(APPEND_LIMIT).and_then(move |bytes| {
                let (stamp, only_if) = (WriteStamp::now(), context.only_if.clone());
                let tag = stamp.tag();
                let posted = inner.backend.append(key, bytes, only_if, stamp, &context);
                posted.map(|was_there| Outcome::put(!was_there).with_entity_tag(Some(tag)))
            })
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (inner, context) = (self.0.clone(), context.clone());
        self.at(Verb::Delete, reference, move |_, key| inner.delete(key, &context))
            .map(Outcome::deleted)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let prefix = prefix_of(reference);
        let start = prefix.len();
        let found = self.0.backend.children(prefix, LIST_LIMIT + 1, context);
        let listed = found.and_then(move |keys| {
            if keys.len() > LIST_LIMIT {
                let message = format!(
                    "there are more than {LIST_LIMIT} names here; read them page by page or by prefix"
                );
                return Error::new(Kind::TooLarge, message).into();
            }
            let entries = entries(&keys, start);
            Answer::ok((start == 0 || !entries.is_empty()).then_some(entries))
        });
        listed.on(Verb::List, reference)
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let above = prefix_of(reference);
        let first = format!("{above}{}", range.prefix);
        let after = range.after.as_ref().map(|after| format!("{above}{after}"));
        let start = match after {
            Some(after) if after >= first => KeyStart::After(after),
            // The key that ends in the slash is none below it.
            _ if first == above && !above.is_empty() => KeyStart::After(above.clone()),
            _ => KeyStart::From(first.clone()),
        };
        let limit = range.page();
        let found = self.0.backend.page(start, limit + 1, context.attributes, context);
        let page = found.and_then(move |mut entries| {
            entries.retain(|entry| entry.key.starts_with(&first));
            let more = entries.len() > limit;
            entries.truncate(limit);
            let keys = entries.into_iter().map(|entry| entry.listed(above.len()));
            keys.collect::<Result<_>>().map(|keys| Some(KeyPage { keys, more })).into()
        });
        page.on(Verb::List, reference)
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
        self.at(Verb::Put, reference, |inner, key| {
            let (attributes, only_if) = (StoredAttributes::of(attributes), context.only_if.clone());
            inner.backend.annotate(key, attributes, only_if, context)
        })
    }

    fn relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let Ok(source) = key_of(from) else { return Answer::ok(false) };
        let inner = self.0.clone();
        self.at(Verb::Put, to, |_, target| {
            let (only_if, stamp) = (context.only_if.clone(), WriteStamp::now());
            let moved = inner.backend.relocate(source, target, only_if, stamp, context);
            let inner = inner.clone();
            moved.map(move |(moved, replaced)| {
                inner.replaced(replaced);
                moved
            })
        })
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.0.backend.watch(reference, context).on(Verb::Watch, reference)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        let verbs = [Verb::Get, Verb::Put, Verb::Post, Verb::Delete, Verb::List, Verb::Watch];
        verbs.into_iter().fold(Verbs::NONE, Verbs::with)
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }

    runnel_store::without!(presign, fetch, merge, query, tables, links, as_any, sources);

    fn describe(&self) -> String {
        self.0.backend.describe()
    }
}

/// Children by the first keys of each.
fn entries(keys: &[String], start: usize) -> Vec<Entry> {
    let mut found: std::collections::BTreeMap<&str, bool> = Default::default();
    for rest in keys.iter().filter_map(|key| key.get(start..)) {
        match rest.split_once('/') {
            None if rest.is_empty() => {}
            None => drop(found.entry(rest).or_default()),
            Some(("", _)) => {}
            Some((name, _)) => drop(found.insert(name, true)),
        }
    }
    let entry = |(name, collection): (&str, bool)| Entry { name: name.to_string(), collection };
    found.into_iter().map(entry).collect()
}
