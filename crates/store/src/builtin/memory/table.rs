//! Content by path, and what the verbs do with it.

use super::kept::StoredContent;
use crate::{
    Attributes, Body, Content, EntityTag, Entry, Error, Form, Key, KeyPage, KeyRange, Kind, Lazy,
    Outcome, Result, Value,
};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys are paths without leading slashes. A tree of maps would make the most frequent verb, a get
/// of a known path, slower, and prefixes of sorted keys are all that listing needs.
pub(super) type Entries<K> = BTreeMap<Box<str>, TableEntry<K>>;

/// Content with the time of its last change. Listings and readers of attributes see it; in answers
/// to other readers it would let caches guess how long the content stays as it is.
pub(super) struct TableEntry<K> {
    content: K,
    changed: SystemTime,
}

impl<K: StoredContent> TableEntry<K> {
    fn new(content: Content) -> Self {
        TableEntry { content: K::keep(content), changed: SystemTime::now() }
    }

    /// When the content was changed, here or where it is from.
    fn modified(&self) -> SystemTime {
        self.content.modified().unwrap_or(self.changed)
    }
}

/// An object of a program and its value, which is computed before the table is locked.
pub(super) struct SettledObject {
    pub(super) object: Rc<dyn Lazy>,
    pub(super) value: Value,
}

impl SettledObject {
    /// The value of an object if it has fields; a conflict if another object was settled.
    fn value_of(settled: Option<Self>, object: &Rc<dyn Lazy>) -> Result<Option<Value>> {
        match settled {
            Some(settled) if std::ptr::addr_eq(&raw const *settled.object, &raw const **object) => {
                Ok(Some(settled.value).filter(|value| matches!(value, Value::Record(_))))
            }
            _ => Err(Error::new(Kind::Conflict, "the content was replaced meanwhile; merge again")),
        }
    }
}

/// Content by path, however it is kept.
pub(super) trait MemoryTable {
    /// The content, without its body for a caller who knows the tag. The time of its last change
    /// is one of the attributes.
    fn get(&self, key: &str, known: Option<&EntityTag>, attributes: bool) -> Option<Content>;
    fn has(&self, key: &str) -> bool;
    /// Whether there is content and its tag, for the check of conditions.
    fn tag(&self, key: &str) -> Option<Option<EntityTag>>;
    fn put(&mut self, key: &str, content: Content) -> Result<Outcome>;
    fn post(&mut self, key: &str, content: Content) -> Result<Outcome>;
    /// Sets fields. `settled` is the value of the object that was there before.
    fn merge(
        &mut self,
        key: &str,
        content: Content,
        settled: Option<SettledObject>,
    ) -> Result<Outcome>;
    fn delete(&mut self, key: &str) -> bool;
    /// Replaces the attributes of content and answers its tag.
    fn annotate(&mut self, key: &str, attributes: Attributes) -> Result<Option<EntityTag>>;
    /// Moves content that is there.
    fn relocate(&mut self, from: &str, to: &str);
    fn keys(&self) -> Vec<Value>;
    fn children(&self, key: &str) -> Vec<Entry>;
    /// One page of the keys below a key, in byte order.
    fn below(&self, key: &str, range: &KeyRange, metadata: bool) -> KeyPage;
}

impl<K: StoredContent> MemoryTable for Entries<K> {
    fn get(&self, key: &str, known: Option<&EntityTag>, attributes: bool) -> Option<Content> {
        let entry = Entries::get(self, key)?;
        let kept = &entry.content;
        let same = known.is_some() && known == kept.entity_tag();
        let mut content = if same { kept.without_body() } else { kept.share() };
        if attributes {
            content.modified = Some(entry.modified());
        }
        Some(content)
    }

    fn has(&self, key: &str) -> bool {
        self.contains_key(key)
    }

    fn tag(&self, key: &str) -> Option<Option<EntityTag>> {
        Some(Entries::get(self, key)?.content.entity_tag().cloned())
    }

    fn put(&mut self, key: &str, mut content: Content) -> Result<Outcome> {
        if matches!(content.body, Body::Value(Value::Nil)) {
            self.remove(key);
            return Ok(Outcome::changed());
        }
        if content.media_type.is_none() && matches!(content.body, Body::Text(_) | Body::Bytes(_)) {
            content.media_type = mime_guess::from_path(key).first_raw().map(Into::into);
        }
        // Lazy content may vary with each read, so it has no tag.
        content.entity_tag = (!matches!(content.body, Body::Lazy(_))).then(next_tag);
        let tag = content.entity_tag.clone();
        let outcome = match self.get_mut(key) {
            Some(place) => {
                *place = TableEntry::new(content);
                Outcome::changed()
            }
            None => {
                self.insert(key.into(), TableEntry::new(content));
                Outcome::created()
            }
        };
        Ok(outcome.with_entity_tag(tag))
    }

    fn post(&mut self, key: &str, content: Content) -> Result<Outcome> {
        let Some(place) = self.get_mut(key) else {
            let list = Value::List(vec![element(content.body)]);
            self.put(key, Content::value(list))?;
            return Ok(Outcome::created());
        };
        change(place, |there| append(&mut there.body, content.body))?;
        Ok(Outcome::changed())
    }

    fn merge(
        &mut self,
        key: &str,
        content: Content,
        settled: Option<SettledObject>,
    ) -> Result<Outcome> {
        let Some(place) = self.get_mut(key) else {
            let message = "there is nothing to merge into; put creates it";
            return Err(Error::new(Kind::NotFound, message));
        };
        let fields = change(place, |there| {
            if let Body::Lazy(object) = &there.body
                && object.is_settled()
                && let Some(value) = SettledObject::value_of(settled, object)?
            {
                there.body = Body::Value(value);
            }
            match (&mut there.body, content.body) {
                (Body::Value(record @ Value::Record(_)), Body::Value(Value::Record(fields))) => {
                    for (name, value) in fields {
                        record.set(name, value);
                    }
                    Ok(None)
                }
                (_, body) => Ok(Some(body)),
            }
        })?;
        match fields {
            None => Ok(Outcome::changed().with_entity_tag(self.tag(key).flatten())),
            Some(body) => self.put(key, Content { body, ..content }),
        }
    }

    fn delete(&mut self, key: &str) -> bool {
        self.remove(key).is_some()
    }

    fn annotate(&mut self, key: &str, attributes: Attributes) -> Result<Option<EntityTag>> {
        let Some(place) = self.get_mut(key) else {
            let message = "there is no content to give attributes to";
            return Err(Error::new(Kind::NotFound, message));
        };
        let content = std::mem::take(&mut place.content).into_content();
        let content = content.with_attributes(attributes);
        let tag = content.entity_tag.clone();
        place.content = K::keep(content);
        Ok(tag)
    }

    fn relocate(&mut self, from: &str, to: &str) {
        if let Some(content) = self.remove(from) {
            self.insert(to.into(), content);
        }
    }

    fn keys(&self) -> Vec<Value> {
        Entries::keys(self).map(|key| Value::from(&**key)).collect()
    }

    /// Found by jumping from child to child over what lies below them.
    fn children(&self, key: &str) -> Vec<Entry> {
        let prefix = if key.is_empty() { String::new() } else { format!("{key}/") };
        let mut found: BTreeMap<&str, bool> = BTreeMap::new();
        let mut from = Bound::Excluded(prefix.clone());
        loop {
            let range = (from.as_ref().map(String::as_str), Bound::Unbounded);
            let Some((path, _)) = self.range::<str, _>(range).next() else { break };
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            match rest.split_once('/') {
                None => {
                    found.entry(rest).or_default();
                    from = Bound::Excluded(path.to_string());
                }
                Some((name, _)) => {
                    if !name.is_empty() {
                        found.insert(name, true);
                    }
                    // `0` follows `/`: the first key behind everything below this child.
                    from = Bound::Included(format!("{prefix}{name}0"));
                }
            }
        }
        let entry = |(name, collection): (&str, bool)| Entry { name: name.to_string(), collection };
        found.into_iter().map(entry).collect()
    }

    fn below(&self, key: &str, range: &KeyRange, metadata: bool) -> KeyPage {
        let prefix = if key.is_empty() { String::new() } else { format!("{key}/") };
        let start = format!("{prefix}{}", range.prefix);
        let after = range.after.as_ref().map(|after| format!("{prefix}{after}"));
        let from = match &after {
            Some(after) if *after >= start => Bound::Excluded(after.as_str()),
            _ => Bound::Included(start.as_str()),
        };
        let below = self.range::<str, _>((from, Bound::Unbounded));
        let below = below.take_while(|(path, _)| path.starts_with(&start));
        let mut below = below.filter(|(path, _)| path.len() > prefix.len());
        let mut page = KeyPage::default();
        for (path, entry) in below.by_ref().take(range.page()) {
            let kept = &entry.content;
            page.keys.push(Key {
                name: path[prefix.len()..].to_string(),
                length: kept.length(),
                entity_tag: kept.entity_tag().cloned(),
                modified: Some(entry.modified()),
                metadata: metadata.then(|| kept.metadata().unwrap_or_default()),
            });
        }
        page.more = below.next().is_some();
        page
    }
}

/// Changes an entry and gives it a new tag. A failed change leaves it as it is.
fn change<K: StoredContent, T>(
    place: &mut TableEntry<K>,
    change: impl FnOnce(&mut Content) -> Result<T>,
) -> Result<T> {
    let mut content = std::mem::take(&mut place.content).into_content();
    let changed = change(&mut content);
    if changed.is_ok() {
        content.entity_tag = Some(next_tag());
        (content.modified, place.changed) = (None, SystemTime::now());
    }
    place.content = K::keep(content);
    changed
}

/// What a body is as an element of a list. Streams and lazy content were resolved before.
fn element(body: Body) -> Value {
    match body {
        Body::Bytes(bytes) => bytes.into(),
        Body::Text(text) => text.into(),
        Body::Value(value) => value,
        Body::Empty | Body::Stream(..) | Body::Lazy(_) => Value::Nil,
    }
}

fn append(body: &mut Body, more: Body) -> Result<()> {
    if let Body::Value(Value::List(elements)) = body {
        elements.push(element(more));
        return Ok(());
    }
    let more = match more {
        Body::Empty => Vec::new(),
        more => element(more).encode(Form::Text),
    };
    match body {
        Body::Value(Value::Text(text)) => text.push_str(utf8(&more)?),
        Body::Text(text) => *text = [text.as_str(), utf8(&more)?].concat().into(),
        Body::Bytes(bytes) => *bytes = [bytes.as_ref(), &more].concat().into(),
        Body::Empty => *body = Body::Bytes(more.into()),
        _ => {
            let message = "what is there is neither a list nor text; put replaces it";
            return Err(Error::new(Kind::Conflict, message));
        }
    }
    Ok(())
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    let message = "only text can be added to text, and this is not UTF-8";
    std::str::from_utf8(bytes).map_err(|_| Error::new(Kind::Unsupported, message))
}

/// A tag that no content of this or an earlier process has: the time the process first needed
/// one, and a number.
fn next_tag() -> EntityTag {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: std::sync::LazyLock<u128> = std::sync::LazyLock::new(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
    });
    EntityTag::strong(format!("{:x}-{:x}", *START, NEXT.fetch_add(1, Ordering::Relaxed)))
}
