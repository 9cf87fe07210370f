//! The memory store: the model that every other store is checked against.

use crate::{
    Answer, Body, COLLECT_LIMIT, Content, Context, EntityTag, Entry, Error, Form, Kind, Posted,
    Query, Reference, Result, Store, Value, Verb, Verbs, run_query,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Content by path, in memory.
///
/// Both flavours keep content at any path, whether or not something lies below it: `hi` and
/// `hi/answer` can both be there. What is put is kept as it is, with its media type and class;
/// only streams are read into memory first, up to a limit. Every change makes a new strong entity
/// tag (not for lazy content, which can answer something else each time), and a get by a caller
/// who knows the tag answers [`Body::Empty`].
///
/// - Putting nil deletes. Putting empty content stores it.
/// - A post adds an element to a list and text to text or bytes; where nothing is it makes a list
///   of the one element. Anything else there is a [`Kind::Conflict`].
/// - A merge sets the fields of a record (a new one goes to the end) and replaces anything else.
/// - A delete removes what is at the path and nothing below it.
/// - A query runs over a list ([`run_query`]).
pub struct Memory {
    shared: Rc<RefCell<Entries>>,
    flavour: Flavour,
    limit: usize,
}

/// Keys are paths without leading slashes. A tree of maps would make the most frequent verb, a get
/// of a known path, slower, and prefixes of sorted keys are all that listing needs.
type Entries = BTreeMap<Box<str>, Content>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flavour {
    Dictionary,
    Site,
}

impl Memory {
    /// Keys are opaque: `a`, `a/` and `a//b` are three different ones. Reading the root answers
    /// the list of all keys, unless something was put there.
    pub fn dictionary() -> Self {
        Memory { shared: Rc::default(), flavour: Flavour::Dictionary, limit: COLLECT_LIMIT }
    }

    /// A tree as a web site has it: slashes at the end and doubled ones make no difference.
    pub fn site() -> Self {
        Memory { flavour: Flavour::Site, ..Memory::dictionary() }
    }

    /// Takes streams of at most so many bytes instead of [`COLLECT_LIMIT`].
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
    fn change<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Answer<Content>,
        change: fn(&mut Entries, &str, Content) -> Result<T>,
    ) -> Answer<T> {
        let (shared, key) = (self.shared.clone(), self.key(reference).into_owned());
        let changed =
            content.and_then(move |content| change(&mut shared.borrow_mut(), &key, content).into());
        changed.on(verb, reference)
    }

    /// Content as plain data where it was lazy, so that it can be joined with what is there.
    fn settled(&self, content: Content) -> Answer<Content> {
        match &content.body {
            Body::Lazy(lazy) => {
                lazy.value().map(move |value| Content { body: Body::Value(value), ..content })
            }
            _ => content.collected(self.limit),
        }
    }
}

impl Store for Memory {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let entries = self.shared.borrow();
        let key = self.key(reference);
        let Some(content) = entries.get(&*key) else {
            let all = self.flavour == Flavour::Dictionary && key.is_empty();
            return Answer::ok(all.then(|| {
                let keys = entries.keys().map(|key| Value::from(&**key)).collect();
                Content::value(Value::List(keys))
            }));
        };
        if context.known.is_some() && context.known == content.entity_tag {
            let short = Content {
                body: Body::Empty,
                media_type: content.media_type.clone(),
                entity_tag: content.entity_tag.clone(),
                modified: content.modified,
                class: content.class.clone(),
            };
            return Answer::ok(Some(short));
        }
        Answer::ok(content.share())
    }

    fn put(&self, reference: &Reference, content: Content, _: &Context) -> Answer<bool> {
        self.change(Verb::Put, reference, content.collected(self.limit), put)
    }

    fn post(&self, reference: &Reference, content: Content, _: &Context) -> Answer<Posted> {
        self.change(Verb::Post, reference, self.settled(content), post)
    }

    fn merge(&self, reference: &Reference, content: Content, _: &Context) -> Answer<()> {
        self.change(Verb::Merge, reference, self.settled(content), merge)
    }

    fn delete(&self, reference: &Reference, _: &Context) -> Answer<bool> {
        Answer::ok(self.shared.borrow_mut().remove(&*self.key(reference)).is_some())
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        let key = self.key(reference);
        let children = children(&self.shared.borrow(), &key);
        Answer::ok((key.is_empty() || !children.is_empty()).then_some(children))
    }

    fn query(&self, reference: &Reference, query: &Query, _: &Context) -> Answer<Content> {
        let found = self.shared.borrow().get(&*self.key(reference)).and_then(Content::share);
        let Some(content) = found else {
            let missing = Error::new(Kind::NotFound, "there is nothing to query");
            return missing.on(Verb::Query, reference).into();
        };
        let query = query.clone();
        let answer = content.into_value(self.limit).and_then(move |value| match value {
            Value::List(elements) => Answer::ok(Content::value(run_query(elements, &query))),
            other => {
                let message = format!("a query needs a list, and this is {}", other.kind_name());
                Error::new(Kind::Unsupported, message).into()
            }
        });
        answer.on(Verb::Query, reference)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::ALL.without(Verb::Define)
    }

    fn describe(&self) -> String {
        match self.flavour {
            Flavour::Dictionary => "memory dictionary".to_string(),
            Flavour::Site => "memory site".to_string(),
        }
    }
}

fn put(entries: &mut Entries, key: &str, mut content: Content) -> Result<bool> {
    if matches!(content.body, Body::Value(Value::Nil)) {
        entries.remove(key);
        return Ok(false);
    }
    // Lazy content can answer something else each time, so no tag can stand for it.
    content.entity_tag = (!matches!(content.body, Body::Lazy(_))).then(next_tag);
    match entries.get_mut(key) {
        Some(place) => {
            *place = content;
            Ok(false)
        }
        None => {
            entries.insert(key.into(), content);
            Ok(true)
        }
    }
}

fn post(entries: &mut Entries, key: &str, content: Content) -> Result<Posted> {
    match entries.get_mut(key) {
        None => {
            let list = Value::List(vec![element(content.body)]);
            put(entries, key, Content::value(list))?;
        }
        Some(place) => {
            append(&mut place.body, content.body)?;
            place.entity_tag = Some(next_tag());
        }
    }
    Ok(Posted::default())
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

fn merge(entries: &mut Entries, key: &str, content: Content) -> Result<()> {
    let Some(place) = entries.get_mut(key) else {
        return Err(Error::new(Kind::NotFound, "there is nothing to merge into; put creates it"));
    };
    match (&mut place.body, content.body) {
        (Body::Value(record @ Value::Record(_)), Body::Value(Value::Record(fields))) => {
            for (name, value) in fields {
                record.set(name, value);
            }
            place.entity_tag = Some(next_tag());
            Ok(())
        }
        (_, body) => put(entries, key, Content { body, ..content }).map(|_| ()),
    }
}

/// The children of a key, found by jumping from child to child over what lies below them.
fn children(entries: &Entries, key: &str) -> Vec<Entry> {
    let prefix = if key.is_empty() { String::new() } else { format!("{key}/") };
    let mut found: BTreeMap<&str, bool> = BTreeMap::new();
    let mut from = Bound::Excluded(prefix.clone());
    loop {
        let range = (from.as_ref().map(String::as_str), Bound::Unbounded);
        let Some((path, _)) = entries.range::<str, _>(range).next() else { break };
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

/// A tag that no content of this or an earlier process has: the time the process first needed
/// one, and a number.
fn next_tag() -> EntityTag {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: std::sync::LazyLock<u128> = std::sync::LazyLock::new(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
    });
    EntityTag::strong(format!("{:x}-{:x}", *START, NEXT.fetch_add(1, Ordering::Relaxed)))
}
