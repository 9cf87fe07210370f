//! A combinator that polls for changes.

use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Body, Change, Changes, Content, Context, Error, Kind, Reference, Result, Setting,
    SettingTable, Store, Verb, Verbs, WAITING_CHANGES,
};
use futures_util::future::{FutureExt, LocalBoxFuture, Shared, WeakShared};
use futures_util::{StreamExt, stream};
use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

/// The maximum number of references in one watch.
pub const POLLED_REFERENCES: usize = 10_000;

/// The maximum number of levels below the watched reference.
pub const POLLED_DEPTH: usize = 64;

/// How much is read, in bytes, of content that has neither an entity tag nor a time of its last
/// change. What follows counts only by its length.
pub const POLLED_CONTENT: usize = 1 << 20;

/// The timeout of a round.
const ROUND: Duration = Duration::from_secs(60);

struct PollingOptions {
    interval: Duration,
}

impl Default for PollingOptions {
    fn default() -> Self {
        PollingOptions { interval: Duration::from_secs(2) }
    }
}

const SETTINGS: SettingTable<PollingOptions> = SettingTable(&[Setting::new(
    "interval",
    "the pause between two rounds",
    |options: &mut PollingOptions| &mut options.interval,
)
.was(&["every"])]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Polling",
    aliases: &[],
    help: "polls a source that cannot report changes",
    settings: &SETTINGS,
    make: |parts| {
        let PollingOptions { interval } = parts.read("a Polling", &SETTINGS)?;
        Ok(Polling::new(parts.source()?, interval).into())
    },
};

/// Polls a store and reports the differences: for stores without change notifications, where
/// polling is affordable.
///
/// - A round gets every reference at and below the watched one and compares entity tags. Without
///   tags it compares times and lengths, and without those the content. In a source that cannot
///   list, it polls the reference alone.
/// - A round begins `every` after the previous one ended, so rounds never overlap; watchers of one
///   reference share them. Polling stops while there are no watchers, or none of them requests the
///   next change.
/// - A change that is reverted between two rounds is not reported. A round reports deletions first
///   and then the rest, in path order. More than [`WAITING_CHANGES`] of them are reported as lost.
/// - A temporary error skips the round; any other error ends the watch. So does exceeding
///   [`POLLED_REFERENCES`] or [`POLLED_DEPTH`] levels.
/// - All other verbs pass. The time is tokio's: watching needs its runtime.
pub struct Polling {
    source: Rc<dyn Store>,
    every: Duration,
    /// The watched references, by path.
    places: PolledReferences,
}

type PolledReferences = Rc<RefCell<BTreeMap<Box<str>, Weak<PolledReference>>>>;

/// A reference with at least one watcher.
struct PolledReference {
    source: Rc<dyn Store>,
    reference: Reference,
    every: Duration,
    latest: RefCell<Rc<Snapshot>>,
    next: RefCell<Option<WeakShared<Round>>>,
}

type Round = LocalBoxFuture<'static, Result<Rc<Snapshot>>>;

/// The state after a round: each path with a hash of the data that identifies its content.
struct Snapshot {
    number: u64,
    found: BTreeMap<String, u64>,
}

impl Polling {
    /// Polls the watched references of `source` every `every`, at least a millisecond.
    pub fn new(source: Rc<dyn Store>, every: Duration) -> Self {
        let every = every.max(Duration::from_millis(1));
        Polling { source, every, places: PolledReferences::default() }
    }

    fn place(&self, reference: &Reference) -> Option<Rc<PolledReference>> {
        let mut places = self.places.borrow_mut();
        places.retain(|_, place| place.strong_count() > 0);
        places.get(reference.to_string().as_str()).and_then(Weak::upgrade)
    }
}

impl PolledReference {
    /// The first snapshot that is newer than the one of a number.
    fn after(self: &Rc<Self>, number: u64) -> Shared<Round> {
        let latest = self.latest.borrow().clone();
        if latest.number > number {
            return std::future::ready(Ok(latest)).boxed_local().shared();
        }
        let mut next = self.next.borrow_mut();
        if let Some(round) = next.as_ref().and_then(WeakShared::upgrade) {
            return round;
        }
        let place = self.clone();
        let round = async move { place.round().await }.boxed_local().shared();
        *next = round.downgrade();
        round
    }

    async fn round(&self) -> Result<Rc<Snapshot>> {
        loop {
            tokio::time::sleep(self.every).await;
            match look(&self.source, &self.reference).await {
                Ok(found) => {
                    let number = self.latest.borrow().number + 1;
                    let snapshot = Rc::new(Snapshot { number, found });
                    *self.latest.borrow_mut() = snapshot.clone();
                    *self.next.borrow_mut() = None;
                    return Ok(snapshot);
                }
                Err(error) if error.temporary => {}
                Err(error) => return Err(error.on(Verb::Watch, &self.reference)),
            }
        }
    }
}

/// The changes of a place, as one watcher sees them.
fn changes(place: Rc<PolledReference>) -> Changes {
    let seen = place.latest.borrow().clone();
    let start = (place, Some(seen), VecDeque::new());
    let changes = stream::unfold(start, |(place, mut seen, mut waiting)| async move {
        loop {
            if let Some(change) = waiting.pop_front() {
                return Some((Ok(change), (place, seen, waiting)));
            }
            // After an error there is nothing more.
            let before = seen?;
            match place.after(before.number).await {
                Ok(snapshot) => {
                    waiting = differences(&place.reference, &before.found, &snapshot.found);
                    seen = Some(snapshot);
                }
                Err(error) => return Some((Err(error), (place, None, waiting))),
            }
        }
    });
    Box::pin(changes.fuse())
}

fn differences(
    reference: &Reference,
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
) -> VecDeque<Change> {
    let mut changes = VecDeque::new();
    let paths = before.keys().filter(|path| !after.contains_key(*path));
    let deleted = paths.map(|path| Change::deleted(reference.join(path)));
    let paths = after.iter().filter(|(path, hash)| before.get(*path) != Some(hash));
    let changed = paths.map(|(path, _)| Change::changed(reference.join(path)));
    for change in deleted.chain(changed) {
        if changes.len() == WAITING_CHANGES {
            return VecDeque::from([Change::lost(reference.clone())]);
        }
        changes.push_back(change);
    }
    changes
}

/// Everything at a reference and below it, within the time for it.
async fn look(source: &Rc<dyn Store>, reference: &Reference) -> Result<BTreeMap<String, u64>> {
    let all = tokio::time::timeout(ROUND, look_at_all(source, reference)).await;
    all.unwrap_or_else(|_| {
        let message = "looking at everything takes too long; watch a smaller part";
        Err(Error::new(Kind::Timeout, message))
    })
}

async fn look_at_all(
    source: &Rc<dyn Store>,
    reference: &Reference,
) -> Result<BTreeMap<String, u64>> {
    let deadline = Some(Instant::now() + ROUND);
    let context = Context { deadline, ..Context::default() };
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), 0)];
    while let Some((path, depth)) = left.pop() {
        let here = reference.join(&path);
        if let Some(content) = source.get(&here, &context).await? {
            found.insert(path.clone(), fingerprint(content).await?);
        }
        let listed = match source.list(&here, &context).await {
            Err(error) if error.kind == Kind::NotAllowed => None,
            listed => listed?,
        };
        let Some(entries) = listed.filter(|entries| !entries.is_empty()) else { continue };
        if depth == POLLED_DEPTH {
            let message = "there are too many levels to look at; watch a smaller part";
            return Err(Error::new(Kind::TooLarge, message));
        }
        if found.len() + left.len() + entries.len() > POLLED_REFERENCES {
            let message = "there are too many references to look at; watch a smaller part";
            return Err(Error::new(Kind::TooLarge, message));
        }
        for entry in entries {
            let below = match path.as_str() {
                "" => entry.name,
                path => format!("{path}/{}", entry.name),
            };
            left.push((below, depth + 1));
        }
    }
    Ok(found)
}

/// A number that other content hardly has.
async fn fingerprint(content: Content) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    if let Some(tag) = &content.entity_tag {
        tag.text.as_str().hash(&mut hasher);
        return Ok(hasher.finish());
    }
    content.modified.hash(&mut hasher);
    content.media_type.hash(&mut hasher);
    match content.body {
        Body::Stream(mut stream, length) => {
            length.hash(&mut hasher);
            let mut left = if content.modified.is_some() { 0 } else { POLLED_CONTENT };
            while left > 0 {
                let Some(chunk) = stream.next().await.transpose()? else { break };
                let part = &chunk[..chunk.len().min(left)];
                // Byte by byte, because chunks may be cut differently next time.
                part.iter().for_each(|byte| hasher.write_u8(*byte));
                left -= part.len();
            }
        }
        body => {
            let whole = Content { body, ..Content::default() }.read(usize::MAX).await?;
            whole.len().hash(&mut hasher);
            hasher.write(&whole[..whole.len().min(POLLED_CONTENT)]);
        }
    }
    Ok(hasher.finish())
}

impl Layer for Polling {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Polling::new(inner, self.every)))
    }

    fn name(&self) -> String {
        format!("polling every {:?}", self.every)
    }

    fn layer_watch(&self, reference: &Reference, _: &Context) -> Answer<Changes> {
        if let Some(place) = self.place(reference) {
            return Answer::ok(changes(place));
        }
        let (source, on, every) = (self.source.clone(), reference.clone(), self.every);
        let places = self.places.clone();
        Answer::later(async move {
            let found = look(&source, &on).await.map_err(|error| error.on(Verb::Watch, &on))?;
            let latest = RefCell::new(Rc::new(Snapshot { number: 0, found }));
            let next = RefCell::new(None);
            let place = Rc::new(PolledReference { source, reference: on, every, latest, next });
            // Of two watches that begin at the same time, later watchers find the second.
            let name = place.reference.to_string().into();
            places.borrow_mut().insert(name, Rc::downgrade(&place));
            Ok(changes(place))
        })
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        self.source.verbs(reference).with(Verb::Watch)
    }
}
