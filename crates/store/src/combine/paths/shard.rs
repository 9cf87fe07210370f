//! Each key in one of several stores.

use crate::combine::answers::{all_answers, in_order, is_listing, until_error};
use crate::combine::definition::{Combinator, check_stores};
use crate::combine::layer::{Below, Layer, change_all_below, insert_below, relocate_below};
use crate::combine::paths::sequence::all_confined;
use crate::{
    Answer, Body, BulkChange, Change, ChangeKind, Changes, Confinement, Content, Context, Entry,
    Error, Key, KeyPage, KeyRange, Kind, Outcome, Query, Records, Reference, Relative, Result,
    Setting, SettingTable, Store, Value, Verb, decode_segment, list_keys,
};
use futures_util::{StreamExt, future, stream};
use std::rc::Rc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The options of a [`Shard`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardOptions {
    /// How many segments of the path choose the store, so that all below them stays together; all of
    /// them when absent.
    pub segments: Option<usize>,
}

const SETTINGS: SettingTable<ShardOptions> = SettingTable(&[Setting::new(
    "segments",
    "how many first segments of the path choose the store",
    |options: &mut ShardOptions| &mut options.segments,
)
.range(1.0, 64.0)]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Shard",
    aliases: &[],
    help: "keeps each key in one of several stores",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a Shard", &SETTINGS)?;
        Ok(Shard::new(parts.sources.clone(), options)?.into())
    },
};

/// Keeps each key in one of several stores, its home, which a hash of the path chooses.
///
/// The hash is rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit
/// rates", 1998): the home is the store with the greatest XXH3 (64 bits) of the path, seeded with the
/// position of the store, from 0. A further store at the end of the list takes its share of the keys
/// from all others, and no other key moves. The path is its segments without escapes, joined by
/// slashes; with [`ShardOptions::segments`] only that many of them.
///
/// - Verbs on content reach its home, with their conditions. What lies elsewhere is not there: it is
///   not read, listed or reported.
/// - Listings and watches ask all stores, and fail where one fails. A collection itself has no content.
/// - A query, a statement, a transaction, a table or a move is for one store: where a reference and all
///   below it have one home. Elsewhere it is [`Kind::NotAllowed`].
/// - A post that creates a member with another home is undone, and an error.
pub struct Shard {
    stores: Rc<[Rc<dyn Store>]>,
    homes: Rc<Homes>,
}

/// Where keys live.
struct Homes {
    count: usize,
    segments: Option<usize>,
    /// The segments above the root, in a confined copy.
    base: Vec<String>,
}

/// Where a reference lives.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Home {
    store: usize,
    /// Whether all that lies below lives there, too.
    whole: bool,
}

impl Homes {
    fn of(&self, reference: &Reference) -> Result<Home> {
        let mut path = self.base.clone();
        for segment in reference.segments().filter(|segment| *segment != ".") {
            if segment == ".." {
                return Err(Error::new(Kind::Denied, "the path may not contain `..` here"));
            }
            path.push(decode_segment(segment).into_owned());
        }
        let length = path.len();
        path.truncate(self.segments.unwrap_or(length));
        let path = path.join("/");
        let score = |store: &usize| xxh3_64_with_seed(path.as_bytes(), *store as u64);
        let store = (0..self.count).max_by_key(score).unwrap_or_default();
        let whole = self.count == 1 || self.segments.is_some_and(|count| length >= count);
        Ok(Home { store, whole })
    }

    fn is_home(&self, store: usize, reference: &Reference) -> bool {
        self.of(reference).is_ok_and(|home| home.store == store)
    }
}

impl Shard {
    /// Keys are kept in these stores.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: no store, more than 64, or one twice.
    pub fn new(stores: Vec<Rc<dyn Store>>, options: ShardOptions) -> Result<Self> {
        check_stores("a Shard", &stores)?;
        let (count, segments) = (stores.len(), options.segments);
        let homes = Rc::new(Homes { count, segments, base: Vec::new() });
        Ok(Shard { stores: stores.into(), homes })
    }

    /// The store for what is about a reference and all below it.
    fn whole(&self, verb: Verb, reference: &Reference) -> Result<&Rc<dyn Store>> {
        let home = self.homes.of(reference)?;
        match home.whole {
            true => Ok(&self.stores[home.store]),
            false => {
                let message = format!(
                    "what is here is in several stores, which cannot {} together; `segments: 1` keeps \
                     all below a first segment in one of them",
                    verb.name()
                );
                Err(Error::new(Kind::NotAllowed, message))
            }
        }
    }

    /// The stores with their positions.
    fn each(&self) -> impl Iterator<Item = (usize, &Rc<dyn Store>)> {
        self.stores.iter().enumerate()
    }
}

impl Layer for Shard {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let store = match verb {
            Verb::Get | Verb::Put | Verb::Post | Verb::Merge | Verb::Delete => {
                &self.stores[self.homes.of(reference)?.store]
            }
            _ => self.whole(verb, reference)?,
        };
        Ok(Below::same(store, reference))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "shard".to_string()
    }

    /// What a store answers for a collection itself is its part of it, and no content.
    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let home = match self.homes.of(reference) {
            Ok(home) => home,
            Err(error) => return error.on(Verb::Get, reference).into(),
        };
        let store = self.stores[home.store].clone();
        let found = store.get(reference, context);
        if home.whole {
            return found;
        }
        let on = reference.clone();
        found.and_then(move |found| match found {
            Some(content) if matches!(content.body, Body::Value(Value::List(_))) => {
                Answer::later(async move {
                    let is_content = !is_listing(&*store, &on, &content).await?;
                    Ok(is_content.then_some(content))
                })
            }
            found => Answer::ok(found),
        })
    }

    /// A member that is elsewhere than its home could not be found again.
    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let posted = self.around(Verb::Post, reference, context, move |inner, on, context| {
            inner.post(on, content, context)
        });
        let Ok(home) = self.homes.of(reference) else { return posted };
        let (homes, store) = (self.homes.clone(), self.stores[home.store].clone());
        let on = reference.clone();
        let kept = posted.and_then(move |outcome| match &outcome.reference {
            Some(new) if !homes.is_home(home.store, new) => {
                store.delete(new, &Context::default()).and_then(|_| {
                    let message = "a post here creates a member that belongs in another store; put it \
                                   under a name, or keep its collection in one store with `segments: 1`";
                    Error::new(Kind::NotAllowed, message).into()
                })
            }
            _ => Answer::ok(outcome),
        });
        kept.on(Verb::Post, &on)
    }

    /// A move between two stores would be a copy, which is the caller's.
    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        match self.whole(Verb::Put, from) {
            Ok(_) => relocate_below(self, from, to, context),
            Err(error) => error.on(Verb::Put, to).into(),
        }
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        if let Ok(store) = self.whole(Verb::List, reference) {
            return store.list(reference, context);
        }
        let listed = self.each().map(|(at, store)| {
            let (homes, on) = (self.homes.clone(), reference.clone());
            store.list(reference, context).map(move |entries| {
                let is_own =
                    |entry: &Entry| entry.collection || homes.is_home(at, &on.join(&entry.name));
                let own = |entries: Vec<Entry>| entries.into_iter().filter(is_own).collect();
                entries.map(own)
            })
        });
        let all = all_answers(listed.collect()).map(|all: Vec<Option<Vec<Entry>>>| {
            let is_collection = all.iter().any(Option::is_some);
            is_collection.then(|| in_order(all.into_iter().flatten().flatten().collect()))
        });
        all.on(Verb::List, reference)
    }

    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        if let Ok(store) = self.whole(Verb::List, reference) {
            return store.keys(reference, range, context);
        }
        let pages = self.each().map(|(at, store)| {
            let (store, homes) = (store.clone(), self.homes.clone());
            let (on, range, context) = (reference.clone(), range.clone(), context.clone());
            Answer::later(async move { own_keys(&store, at, &homes, &on, range, &context).await })
        });
        let limit = range.page();
        let page = all_answers(pages.collect()).map(move |pages| Some(merged(pages, limit)));
        page.on(Verb::List, reference)
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        if let Ok(store) = self.whole(Verb::Watch, reference) {
            return store.watch(reference, context);
        }
        let watched = self.each().map(|(at, store)| {
            let homes = self.homes.clone();
            let is_own = move |change: &Change| {
                change.kind == ChangeKind::Lost || homes.is_home(at, &change.reference)
            };
            store.watch(reference, context).map(move |changes| -> Changes {
                let own = changes.filter(move |change| {
                    future::ready(!matches!(change, Ok(change) if !is_own(change)))
                });
                Box::pin(own)
            })
        });
        let all = all_answers(watched.collect())
            .map(|all| until_error(Box::pin(stream::select_all(all))));
        all.on(Verb::Watch, reference)
    }

    fn layer_insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        match self.whole(Verb::Post, reference) {
            Ok(_) => insert_below(self, reference, records, context),
            Err(error) => error.on(Verb::Post, reference).into(),
        }
    }

    fn layer_change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        match self.whole(change.verb(), reference) {
            Ok(_) => change_all_below(self, reference, query, change, context),
            Err(error) => error.on(change.verb(), reference).into(),
        }
    }

    /// The home where there is one; elsewhere all stores confined, which choose by the same paths.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let Ok(home) = self.homes.of(reference) else { return Confinement::Impossible };
        if home.whole {
            let store = &self.stores[home.store];
            return match store.confined(reference, links) {
                Confinement::Inherent => {
                    Confinement::By(Rc::new(Relative::new(store.clone(), reference.clone())))
                }
                other => other,
            };
        }
        let mut base = self.homes.base.clone();
        let segments = reference.segments().filter(|segment| *segment != ".");
        base.extend(segments.map(|segment| decode_segment(segment).into_owned()));
        match all_confined(&self.stores, reference, links) {
            Ok(stores) => {
                let (count, segments) = (self.homes.count, self.homes.segments);
                let homes = Rc::new(Homes { count, segments, base });
                Confinement::By(Rc::new(Shard { stores: stores.into(), homes }))
            }
            Err(refused) => refused,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.each().map(|(at, store)| ((at + 1).to_string(), store.clone())).collect()
    }
}

/// The first keys of one store that live there: at most a page.
async fn own_keys(
    store: &Rc<dyn Store>,
    at: usize,
    homes: &Homes,
    reference: &Reference,
    mut range: KeyRange,
    context: &Context,
) -> Result<KeyPage> {
    let mut own = KeyPage::default();
    loop {
        let page = list_keys(store, reference, &range, context).await?;
        range.after = page.keys.last().map(|key| key.name.clone());
        own.more = page.more && range.after.is_some();
        let is_own = |key: &Key| homes.is_home(at, &reference.join(&key.name));
        own.keys.extend(page.keys.into_iter().filter(is_own));
        if !own.more || own.keys.len() >= range.page() {
            return Ok(own);
        }
    }
}

/// The first keys of several pages. Beyond the last key of a page that has more, others may follow.
fn merged(pages: Vec<KeyPage>, limit: usize) -> KeyPage {
    let ends = pages.iter().filter(|page| page.more).filter_map(|page| page.keys.last());
    let end = ends.map(|key| key.name.clone()).min();
    let mut more = pages.iter().any(|page| page.more);
    let mut keys: Vec<Key> = pages.into_iter().flat_map(|page| page.keys).collect();
    keys.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    keys.retain(|key| end.as_ref().is_none_or(|end| key.name <= *end));
    more |= keys.len() > limit;
    keys.truncate(limit);
    KeyPage { keys, more }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn homes(count: usize, segments: Option<usize>) -> Homes {
        Homes { count, segments, base: Vec::new() }
    }

    fn home(homes: &Homes, path: &str) -> usize {
        homes.of(&Reference::from_path(path.to_string())).unwrap().store
    }

    /// Content is found again only as long as these stay what they are.
    #[test]
    fn homes_never_change() {
        let three = homes(3, None);
        let found: Vec<usize> =
            ["", "a", "b", "a/b", "photos/2026/1.jpg"].map(|path| home(&three, path)).into();
        assert_eq!(found, HOMES);
        let same = ["a/b", "/a/b", "a//b/", "./a/./b"].map(|path| home(&three, path));
        assert_eq!(same, [HOMES[3]; 4]);
        assert_eq!(home(&three, "x%2Fy"), home(&three, "x/y"));
        assert!(three.of(&Reference::from_path("a/../b")).is_err());
    }

    const HOMES: [usize; 5] = [2, 0, 2, 2, 1];

    #[test]
    fn a_further_store_takes_only_its_share() {
        let (four, five) = (homes(4, None), homes(5, None));
        let (mut counts, mut moved) = ([0; 5], 0);
        for number in 0..10_000 {
            let path = format!("user/{number}");
            let (before, now) = (home(&four, &path), home(&five, &path));
            counts[now] += 1;
            if before != now {
                assert_eq!(now, 4, "{path} moves between old stores");
                moved += 1;
            }
        }
        assert_eq!(moved, counts[4]);
        assert!(counts.iter().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_a_segment_begins_stays_together() {
        let homes = homes(8, Some(1));
        for number in 0..100 {
            let above = home(&homes, &format!("user{number}"));
            assert_eq!(home(&homes, &format!("user{number}/a/b")), above);
        }
        let whole = |path: &str| homes.of(&Reference::from_path(path.to_string())).unwrap().whole;
        assert_eq!(["", "a", "a/b"].map(whole), [false, true, true]);
    }
}
