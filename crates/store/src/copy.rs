//! Copying a tree from one store to another.

use crate::{
    Answer, Body, Content, Context, Entry, Error, Form, Kind, Reference, Result, Store, Value,
    Verb, json,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashSet;
use std::rc::Rc;

/// How many levels below the reference a copy goes.
pub const COPIED_DEPTH: usize = 64;

/// The maximum number of references in a copy, which fails beyond it.
pub const COPIED_REFERENCES: u64 = 10_000_000;

/// The maximum number of failures in a report; further ones are only counted.
pub const COPY_FAILURES: usize = 100;

/// How many contents are copied at the same time at most.
const MOST_CONCURRENT: usize = 256;

/// How much of two contents without tags is compared, in bytes. Larger ones are copied.
const COMPARED: usize = 8 << 20;

/// What a [`copy`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// Deletes content that exists only in the target, except where a listing of the source failed.
    pub delete_extra: bool,
    /// Contents that are copied at the same time, from 1 to 256.
    pub concurrent: usize,
    /// Skips content that is equal in the target.
    pub only_changed: bool,
}

impl Default for CopyOptions {
    /// Copies everything, eight contents concurrently, and deletes nothing.
    fn default() -> Self {
        CopyOptions { delete_extra: false, concurrent: 8, only_changed: false }
    }
}

/// How far a [`copy`] is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Contents that were written.
    pub copied: u64,
    /// Contents that were the same already.
    pub unchanged: u64,
    /// Contents that were deleted in the target.
    pub deleted: u64,
    /// Contents and listings that failed.
    pub failed: u64,
    /// Bytes that were written, where their number is known.
    pub bytes: u64,
    /// The reference that was done last, as the source names it.
    pub latest: Option<Reference>,
}

/// What a [`copy`] has done.
#[derive(Debug, Default)]
pub struct CopyReport {
    /// All in all.
    pub total: CopyProgress,
    /// The first [`COPY_FAILURES`] that failed, with the reference in the source (in the target
    /// for what could not be deleted).
    pub failures: Vec<(Reference, Error)>,
}

/// Copies the content at a reference and everything below it.
///
/// - Content is streamed where the source streams it. It keeps its media type where the target
///   stores one. Missing content is not copied; a missing source is [`Kind::NotFound`].
/// - A single failure does not end the copy: the report counts and lists it. The copy fails as a
///   whole when the source is unreadable, or beyond [`COPIED_DEPTH`] or [`COPIED_REFERENCES`].
/// - A list of its members is not the content of a collection. Content of the target that is only a
///   collection in the source stays.
/// - `only_changed` compares entity tags first, then known lengths, then the contents; streams of
///   more than 8 MiB are copied. Equal tags count if both are strong: two stores may derive them
///   from the content. Different tags prove nothing, because most stores assign their own.
/// - A target within the source (`a` to `a/copy` of the same store) is excluded from the copy.
///   Copying a reference onto itself is [`Kind::Conflict`]. So is a target above its source with
///   `delete_extra`, which would delete the source.
/// - `progress` is called after each content.
pub fn copy(
    from: Rc<dyn Store>,
    from_ref: &Reference,
    to: Rc<dyn Store>,
    to_ref: &Reference,
    options: CopyOptions,
    progress: impl FnMut(&CopyProgress) + 'static,
) -> Answer<CopyReport> {
    let (from_ref, to_ref) = (from_ref.clone(), to_ref.clone());
    let same_store = Rc::ptr_eq(&from, &to);
    let hole = match within(&from_ref, &to_ref).filter(|_| same_store) {
        Some(below) if below.is_empty() => {
            return conflict("a copy onto itself", &to_ref).into();
        }
        below => below,
    };
    if same_store && options.delete_extra && within(&to_ref, &from_ref).is_some() {
        return conflict("deleting what is extra would delete the source", &to_ref).into();
    }
    let copying = Copying {
        sides: Rc::new(Sides { from, from_ref, to, to_ref, options }),
        hole,
        report: CopyReport::default(),
        seen: 0,
        progress,
    };
    Answer::later(copying.run())
}

fn conflict(message: &str, on: &Reference) -> Error {
    Error::new(Kind::Conflict, message).on(Verb::Put, on)
}

/// The path from one reference to another at or below it.
fn within(above: &Reference, below: &Reference) -> Option<String> {
    let (mut above, mut below) = (above.segments(), below.segments());
    if above.any(|part| below.next() != Some(part)) {
        return None;
    }
    Some(below.collect::<Vec<_>>().join("/"))
}

/// Both sides of a copy.
struct Sides {
    from: Rc<dyn Store>,
    from_ref: Reference,
    to: Rc<dyn Store>,
    to_ref: Reference,
    options: CopyOptions,
}

struct Copying<P> {
    sides: Rc<Sides>,
    /// The path of the target within the source.
    hole: Option<String>,
    report: CopyReport,
    seen: u64,
    progress: P,
}

/// What became of one content.
enum Done {
    Copied(u64),
    Same,
    Missing,
}

impl<P: FnMut(&CopyProgress)> Copying<P> {
    async fn run(mut self) -> Result<CopyReport> {
        let sides = self.sides.clone();
        let root = match sides.list_from("").await {
            Err(error) if error.kind == Kind::NotAllowed => None,
            listed => listed?,
        };
        let (_, own) = Sides::copy_one(sides.clone(), String::new()).await;
        match (own, &root) {
            // What a collection answers itself need not be content.
            (Ok(Done::Missing) | Err(_), Some(_)) => {}
            (Ok(Done::Missing), None) => {
                return Err(self.whole(Kind::NotFound, "there is nothing to copy".to_string()));
            }
            (Err(error), None) => return Err(error),
            (own, _) => self.count("", own),
        }
        if let Some(root) = root {
            self.copy_below(root).await?;
            if sides.options.delete_extra {
                self.delete_extra().await?;
            }
        }
        Ok(self.report)
    }

    async fn copy_below(&mut self, root: Vec<Entry>) -> Result<()> {
        let sides = self.sides.clone();
        let concurrent = sides.options.concurrent.clamp(1, MOST_CONCURRENT);
        let mut under_way = FuturesUnordered::new();
        let mut next = Some(root);
        let mut folders = Vec::new();
        let (mut path, mut depth) = (String::new(), 0);
        while let Some(entries) = next.take() {
            for Entry { name, collection } in entries {
                let below = joined(&path, &name);
                if self.hole.as_ref() == Some(&below) {
                    continue;
                }
                self.seen(depth + usize::from(collection))?;
                if collection {
                    folders.push((below.clone(), depth + 1));
                }
                while under_way.len() >= concurrent {
                    let finished: Option<(String, Result<Done>)> = under_way.next().await;
                    if let Some((path, done)) = finished {
                        self.count(&path, done);
                    }
                }
                under_way.push(Sides::copy_one(sides.clone(), below));
            }
            while next.is_none() {
                let Some(folder) = folders.pop() else { break };
                (path, depth) = folder;
                match sides.list_from(&path).await {
                    Ok(entries) => next = Some(entries.unwrap_or_default()),
                    Err(error) => self.failed(sides.from_ref.join(&path), error),
                }
            }
        }
        while let Some((path, done)) = under_way.next().await {
            self.count(&path, done);
        }
        Ok(())
    }

    /// Counts visited references.
    fn seen(&mut self, depth: usize) -> Result<()> {
        self.seen += 1;
        let message = match (self.seen > COPIED_REFERENCES, depth > COPIED_DEPTH) {
            (true, _) => format!("there are more than {COPIED_REFERENCES} references"),
            (_, true) => format!("there are more than {COPIED_DEPTH} levels"),
            _ => return Ok(()),
        };
        Err(self.whole(Kind::TooLarge, message))
    }

    fn whole(&self, kind: Kind, message: String) -> Error {
        Error::new(kind, message).on(Verb::Get, &self.sides.from_ref)
    }

    fn count(&mut self, path: &str, done: Result<Done>) {
        let total = &mut self.report.total;
        let on = self.sides.from_ref.join(path);
        match done {
            Ok(Done::Missing) => return,
            Ok(Done::Same) => total.unchanged += 1,
            Ok(Done::Copied(bytes)) => {
                total.copied += 1;
                total.bytes += bytes;
            }
            Err(error) => return self.failed(on, error),
        }
        total.latest = Some(on);
        (self.progress)(&self.report.total);
    }

    fn failed(&mut self, on: Reference, error: Error) {
        self.report.total.failed += 1;
        if self.report.failures.len() < COPY_FAILURES {
            self.report.failures.push((on, error));
        }
    }

    /// Deletes what the source does not have, from the leaves up.
    async fn delete_extra(&mut self) -> Result<()> {
        let sides = self.sides.clone();
        // With whether the source has it; visited a second time when all below is gone.
        let mut steps = vec![(String::new(), true, false, 0)];
        while let Some((path, has, visited, depth)) = steps.pop() {
            if visited {
                self.delete(&path).await;
                continue;
            }
            if !has {
                steps.push((path.clone(), has, true, depth));
            }
            let there = sides.to.list(&sides.to_ref.join(&path), &Context::default()).await;
            let there = match there {
                Ok(there) => there.unwrap_or_default(),
                Err(error) => {
                    self.failed(sides.to_ref.join(&path), error);
                    continue;
                }
            };
            // If the source cannot list, nothing counts as extra.
            let here = if has { sides.list_from(&path).await } else { Ok(None) };
            let Ok(here) = here else { continue };
            let here: HashSet<String> =
                here.unwrap_or_default().into_iter().map(|entry| entry.name).collect();
            for Entry { name, collection } in there {
                let (below, has) = (joined(&path, &name), here.contains(&name));
                self.seen(depth + usize::from(collection))?;
                match (collection, has) {
                    (true, _) => steps.push((below, has, false, depth + 1)),
                    (false, true) => {}
                    (false, false) => self.delete(&below).await,
                }
            }
        }
        Ok(())
    }

    async fn delete(&mut self, path: &str) {
        let at = self.sides.to_ref.join(path);
        match self.sides.to.delete(&at, &Context::default()).await {
            Ok(outcome) if outcome.is_something() => {
                self.report.total.deleted += 1;
                self.report.total.latest = Some(at);
                (self.progress)(&self.report.total);
            }
            Ok(_) => {}
            Err(error) => self.failed(at, error),
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}/{name}") }
}

impl Sides {
    async fn list_from(&self, path: &str) -> Result<Option<Vec<Entry>>> {
        self.from.list(&self.from_ref.join(path), &Context::default()).await
    }

    async fn copy_one(self: Rc<Self>, path: String) -> (String, Result<Done>) {
        let done = self.try_copy(&path).await;
        (path, done)
    }

    async fn try_copy(&self, path: &str) -> Result<Done> {
        let (from, to) = (self.from_ref.join(path), self.to_ref.join(path));
        let context = Context { attributes: true, ..Context::default() };
        let Some(content) = self.from.get(&from, &context).await? else {
            return Ok(Done::Missing);
        };
        if let Some(names) = listed_names(&content)
            && let Ok(Some(entries)) = self.from.list(&from, &context).await
            && is_listing(&names, &entries)
        {
            return Ok(Done::Missing);
        }
        let content = match self.options.only_changed {
            true => match self.changed(content, &to).await? {
                Some(content) => content,
                None => return Ok(Done::Same),
            },
            false => content,
        };
        let bytes = length(&content).unwrap_or_default();
        let content = Content { entity_tag: None, modified: None, ..content };
        self.to.put(&to, content, &context).await?;
        Ok(Done::Copied(bytes))
    }

    /// The content, unless the target has the same.
    async fn changed(&self, content: Content, to: &Reference) -> Result<Option<Content>> {
        let known = content.entity_tag.clone().filter(|tag| !tag.weak);
        let context = Context { known, ..Context::default() };
        let Ok(Some(there)) = self.to.get(to, &context).await else { return Ok(Some(content)) };
        let strong = |content: &Content| content.entity_tag.clone().filter(|tag| !tag.weak);
        let same_tag = strong(&there).is_some() && strong(&there) == strong(&content);
        let lengths = (length(&content), length(&there));
        let differ = matches!(lengths, (Some(one), Some(other)) if one != other);
        if same_tag && (!differ || matches!(there.body, Body::Empty)) {
            return Ok(None);
        }
        let large = |length: Option<u64>| length.is_none_or(|length| length > COMPARED as u64);
        let streams = [&content, &there].map(|one| matches!(one.body, Body::Stream(..)));
        if differ || (streams[0] && large(lengths.0)) || (streams[1] && large(lengths.1)) {
            return Ok(Some(content));
        }
        let content = content.collected(COMPARED).await?;
        let copy = content.share().unwrap_or_default();
        let one = copy.read(COMPARED).await;
        let other = there.read(COMPARED).await;
        let same = matches!((one, other), (Ok(one), Ok(other)) if one == other);
        Ok(if same { None } else { Some(content) })
    }
}

/// The length in bytes, where it is known without reading.
fn length(content: &Content) -> Option<u64> {
    match &content.body {
        Body::Empty => Some(0),
        Body::Bytes(bytes) => Some(bytes.len() as u64),
        Body::Text(text) => Some(text.len() as u64),
        Body::Stream(_, length) => *length,
        Body::Value(_) | Body::Lazy(_) => None,
    }
}

/// The elements of content that may be the listing of a collection: a list, or one as JSON, from a server.
fn listed_names(content: &Content) -> Option<Vec<Value>> {
    let is_json = content.media_type.as_deref().is_some_and(|kind| Form::Json.is_media_type(kind));
    match &content.body {
        Body::Value(Value::List(names)) => Some(names.clone()),
        Body::Text(text) if is_json && text.starts_with('[') && text.len() <= COMPARED => {
            json::parse(text.as_bytes()).ok()?.as_list().map(<[Value]>::to_vec)
        }
        _ => None,
    }
}

/// Whether a list has exactly the names, or the paths, of a collection's members.
fn is_listing(names: &[Value], entries: &[Entry]) -> bool {
    let first =
        |value: &Value| value.as_str().and_then(|path| path.split('/').next().map(String::from));
    let listed: Option<HashSet<String>> = names.iter().map(first).collect();
    let entries: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    listed.is_some_and(|listed| listed == entries)
}
