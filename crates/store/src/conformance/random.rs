//! Random lists of operations, on the store and on the memory store beside it.

use super::chance::Random;
use super::subject::{Subject, at, streamed};
use super::watch::WatchFollower;
use super::{Keeps, Posting};
use crate::{Change, ChangeKind, Content, Context, Entry, Kind, Memory, Result, Store, Value};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// How many operations there are in a list.
const OPERATIONS: usize = 40;

/// Paths at which content is put, and those above them. In stores with content at inner nodes it
/// is put at both.
const LEAVES: [&str; 7] =
    ["a.txt", "random/b", "random/c-d", "random/c/e", "random/c/f", "random/c/g/h", "random-i"];
const INNER: [&str; 3] = ["random", "random/c", "random/c/g"];

pub(super) async fn check(subject: &Subject) {
    subject.checking("random operations");
    for seed in 0..subject.abilities.random_lists {
        let mut run = Run {
            subject,
            model: Memory::site(),
            collections: BTreeSet::new(),
            random: Random(seed),
            done: Vec::new(),
        };
        let following = match subject.abilities.watch {
            true => Some(WatchFollower::begin(subject, "").await),
            false => None,
        };
        for _ in 0..OPERATIONS {
            run.step().await;
            run.compare().await;
        }
        if let Some(following) = following {
            run.follow(following).await;
        }
        run.clean().await;
    }
}

struct Run<'a> {
    subject: &'a Subject,
    model: Memory,
    /// The collections that are there although the model has none, where they do not vanish.
    collections: BTreeSet<String>,
    random: Random,
    done: Vec<String>,
}

impl Run<'_> {
    /// One operation on both, with the same answer.
    async fn step(&mut self) {
        let abilities = self.subject.abilities;
        let inner = abilities.inner_content && self.random.below(3) == 0;
        let path = if inner { self.random.of(&INNER) } else { self.random.of(&LEAVES) };
        let structured = abilities.keeps != Keeps::Text;
        match self.random.below(10) {
            0..=3 => self.put(path).await,
            4 => self.put_bytes(path).await,
            5 if abilities.nil_deletes => {
                self.change(path, "put nil", Content::value(Value::Nil)).await;
            }
            6 if structured && abilities.posting == Posting::Lists => self.post(path).await,
            7 if structured && abilities.merge => self.merge(path).await,
            _ => self.delete(path).await,
        }
    }

    async fn put(&mut self, path: &'static str) {
        let value = self.random.value(3);
        self.change(path, &format!("put {value:?}"), Content::value(value)).await;
    }

    /// Puts bytes or a stream of them. The model gets what the store should make of them.
    async fn put_bytes(&mut self, path: &'static str) {
        let value = self.random.value(1);
        let bytes = self.subject.bytes(&value);
        let modelled = match self.subject.abilities.keeps {
            Keeps::Json => Content::value(value.clone()),
            _ => Content::bytes(bytes.clone()),
        };
        let content = if self.random.below(2) == 0 {
            Content::bytes(bytes)
        } else {
            let middle = self.random.below(bytes.len() as u64 + 1) as usize;
            let chunks: Vec<Bytes> = vec![bytes.slice(..middle), bytes.slice(middle..)];
            streamed(chunks.into_iter().map(Ok).collect())
        };
        self.done.push(format!("put {path} bytes of {value:?}"));
        let expected = self.model.put(&at(path), modelled, &Context::default()).await;
        let found = self.subject.store.put(&at(path), content, &Context::default()).await;
        self.agree(found.map(|it| it.effect), expected.map(|it| it.effect));
        self.note_collections(path);
    }

    async fn change(&mut self, path: &'static str, what: &str, content: Content) {
        self.done.push(format!("{what} at {path}"));
        let copy = content.share().unwrap_or_default();
        let expected = self.model.put(&at(path), copy, &Context::default()).await;
        let found = self.subject.store.put(&at(path), content, &Context::default()).await;
        self.agree(found.map(|it| it.effect), expected.map(|it| it.effect));
        if self.model_value(path).await.is_some() {
            self.note_collections(path);
        }
    }

    async fn post(&mut self, path: &'static str) {
        let value = self.random.value(1);
        self.done.push(format!("post {value:?} to {path}"));
        let content = || Content::value(value.clone());
        let (on, context) = (at(path), Context::default());
        let expected = self.model.post(&on, content(), &context).await;
        let found = self.subject.store.post(&on, content(), &context).await;
        self.agree(found.map(|_| ()), expected.map(|_| ()));
        self.note_collections(path);
    }

    async fn merge(&mut self, path: &'static str) {
        let value = self.random.value(2);
        if value.is_nil() {
            return;
        }
        self.done.push(format!("merge {value:?} into {path}"));
        let content = || Content::value(value.clone());
        let (on, context) = (at(path), Context::default());
        let expected = self.model.merge(&on, content(), &context).await;
        let found = self.subject.store.merge(&on, content(), &context).await;
        self.agree(found.map(|it| it.effect), expected.map(|it| it.effect));
    }

    async fn delete(&mut self, path: &'static str) {
        self.done.push(format!("delete {path}"));
        let (on, context) = (at(path), Context::default());
        let expected = self.model.delete(&on, &context).await;
        let found = self.subject.store.delete(&on, &context).await;
        self.agree(found.map(|it| it.effect), expected.map(|it| it.effect));
    }

    fn note_collections(&mut self, path: &str) {
        if !self.subject.abilities.collections_vanish {
            let above = path.match_indices('/').map(|(at, _)| path[..at].to_string());
            self.collections.extend(above);
        }
    }

    /// Both did it with the same answer, or both failed with the same kind.
    fn agree<T: PartialEq + std::fmt::Debug>(&self, found: Result<T>, expected: Result<T>) {
        let kind = |result: Result<T>| -> std::result::Result<T, Kind> {
            result.map_err(|error| error.kind)
        };
        let (found, expected) = (kind(found), kind(expected));
        if found != expected {
            self.fail(&format!("found {found:?}, expected {expected:?}"));
        }
    }

    /// Everything that can be seen is the same in both.
    async fn compare(&self) {
        for path in LEAVES.iter().chain(&INNER) {
            if !self.subject.abilities.inner_content && INNER.contains(path) {
                continue;
            }
            let expected = self.model_value(path).await;
            // What a collection without content of its own answers is open: nothing, the names
            // in it, a page that lists them.
            if expected.is_none() && self.expected_entries(path).await.is_some() {
                continue;
            }
            let found = self.subject.get(path).await;
            if found != expected {
                self.fail(&format!("get {path}: found {found:?}, expected {expected:?}"));
            }
        }
        let listed = INNER.iter().chain(&["", "a.txt"]);
        for path in listed.filter(|_| self.subject.abilities.listing) {
            let expected = self.expected_entries(path).await;
            let mut found = self.subject.list(path).await;
            if path.is_empty() {
                // What is beside ours at the root, and whether an empty one is there, is open.
                found.get_or_insert_default().retain(|entry| {
                    LEAVES.contains(&entry.name.as_str()) || INNER.contains(&entry.name.as_str())
                });
            }
            if found != expected {
                self.fail(&format!("list {path}: found {found:?}, expected {expected:?}"));
            }
        }
    }

    /// A follower that reads every reported reference again ends with the store's content. Without a
    /// guaranteed order a change may come after the marker, from another source of the store.
    async fn follow(&self, mut following: WatchFollower<'_>) {
        let mut seen = BTreeMap::new();
        for change in following.all("random-end").await {
            self.apply(&change, &mut seen).await;
        }
        while let Some((path, expected)) = self.unseen(&seen).await {
            let found = seen.get(path);
            let problem =
                format!("who follows the changes has {found:?} at {path}, expected {expected:?}");
            if self.subject.abilities.watch_in_order {
                self.fail(&problem);
            }
            let change = following.next(&problem).await;
            self.apply(&change, &mut seen).await;
        }
    }

    /// Reads what a change is about.
    async fn apply(&self, change: &Change, seen: &mut BTreeMap<&'static str, Value>) {
        let changed = change.reference.relative_path().trim_end_matches('/');
        let lost = change.kind == ChangeKind::Lost;
        for path in LEAVES.into_iter().chain(INNER) {
            let below = path.strip_prefix(changed);
            let concerned = match below {
                Some("") => true,
                Some(rest) => lost && (changed.is_empty() || rest.starts_with('/')),
                None => false,
            };
            if !concerned {
                continue;
            }
            match change.kind {
                ChangeKind::Deleted => drop(seen.remove(path)),
                _ => match self.subject.get(path).await {
                    Some(value) => drop(seen.insert(path, value)),
                    None => drop(seen.remove(path)),
                },
            }
        }
    }

    /// A path of which a follower has something else than is there, and what that is.
    async fn unseen(
        &self,
        seen: &BTreeMap<&'static str, Value>,
    ) -> Option<(&'static str, Option<Value>)> {
        for path in LEAVES.into_iter().chain(INNER) {
            let expected = self.model_value(path).await;
            // A collection may have content that is not ours: see `compare`.
            let is_open = expected.is_none() && INNER.contains(&path);
            if !is_open && seen.get(path) != expected.as_ref() {
                return Some((path, expected));
            }
        }
        None
    }

    async fn model_value(&self, path: &str) -> Option<Value> {
        let content = now(self.model.get(&at(path), &Context::default()).await)?;
        if self.subject.abilities.keeps == Keeps::Text {
            return Some(now(content.read(usize::MAX).await).into());
        }
        Some(now(content.into_value(usize::MAX).await))
    }

    async fn expected_entries(&self, path: &str) -> Option<Vec<Entry>> {
        let mut entries = now(self.model.list(&at(path), &Context::default()).await);
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        for collection in &self.collections {
            if collection == path {
                entries.get_or_insert_default();
            }
            let name = collection.strip_prefix(&prefix).filter(|name| !name.contains('/'));
            if let Some(name) = name {
                let entries = entries.get_or_insert_default();
                if !entries.iter().any(|entry| entry.name == name) {
                    entries.push(Entry { name: name.to_string(), collection: true });
                }
            }
        }
        if let Some(entries) = &mut entries {
            entries.sort();
        }
        entries
    }

    async fn clean(&self) {
        for path in LEAVES.iter().chain(INNER.iter().rev()) {
            self.subject.delete(path).await;
        }
    }

    fn fail(&self, what: &str) -> ! {
        let done = self.done.join("\n  ");
        self.subject.fail(&format!("{what}\nafter these operations:\n  {done}\n"));
    }
}

/// What the memory store answers, which does not fail where this is used.
fn now<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("the memory store failed: {error}"))
}
