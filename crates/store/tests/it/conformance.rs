//! Each store and combinator against the laws of a store.

use futures_util::{StreamExt, stream};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Answer, Body, Cache, Change, ChangeKind, Changes, Conditions, Content, Context, Disk,
    EntityTag, Entry, Error, Json, KeyPage, KeyRange, Kind, Log, Map, Memory, Outcome, Polling,
    Query, Reference, Relative, Route, Sequence, Store, Value, Verb, Verbs,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

fn run(store: Rc<dyn Store>, abilities: Abilities) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(check(store, abilities));
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

const DISK: Abilities = Abilities {
    keeps: Keeps::Text,
    inner_content: false,
    collections_vanish: false,
    nil_deletes: false,
    posting: Posting::Appends,
    merge: false,
    query: false,
    // What the system tells is looked at later, and how fast it is written is the disk's affair.
    watch_in_order: false,
    watch_overruns: false,
    ..Abilities::ALL
};

#[test]
fn memory_dictionary() {
    run(Rc::new(Memory::dictionary()), Abilities::ALL);
}

#[test]
fn memory_site() {
    run(memory(), Abilities::ALL);
}

#[test]
fn memory_named() {
    let memory = Memory::named("conformance").unwrap();
    run(Rc::new(memory), Abilities::ALL);
    Abilities::ALL.check_manual("`memory:`, `DictStore`");
}

#[test]
fn disk() {
    let folder = tempfile::tempdir().unwrap();
    run(Rc::new(Disk::new(folder.path()).unwrap()), DISK);
}

#[test]
fn disk_without_confinement() {
    let folder = tempfile::tempdir().unwrap();
    let base = Reference::from_path(folder.path().to_str().unwrap());
    // Below a base, the last deletion in a folder takes it away.
    let abilities = Abilities { collections_vanish: true, ..DISK };
    run(Rc::new(Relative::new(Rc::new(Disk::unconfined()), base)), abilities);
    abilities.check_manual("`file:`");
}

#[test]
fn relative() {
    run(Rc::new(Relative::new(memory(), Reference::from_path("/some/base/"))), Abilities::ALL);
}

#[test]
fn json_up() {
    let abilities =
        Abilities { keeps: Keeps::Json, empty: false, media_types: false, ..Abilities::ALL };
    run(Rc::new(Json::up(memory())), abilities);
}

#[test]
fn json_down() {
    // Nil, bytes and the media type have no JSON of their own.
    let abilities = Abilities {
        binary: false,
        empty: false,
        nil_deletes: false,
        posting: Posting::Other,
        merge: false,
        query: false,
        media_types: false,
        ..Abilities::ALL
    };
    run(Rc::new(Json::down(memory())), abilities);
}

#[test]
fn json_there_and_back_over_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Rc::new(Disk::new(folder.path()).unwrap());
    let abilities = Abilities {
        keeps: Keeps::Values,
        binary: false,
        empty: false,
        posting: Posting::Lists,
        merge: true,
        media_types: false,
        ..DISK
    };
    run(Rc::new(Json::down(disk)), abilities);
}

/// A store that cannot be listed, as most on the other side of a network cannot.
#[test]
fn without_listing() {
    struct Unlisted(Memory);
    impl Store for Unlisted {
        fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
            self.0.get(reference, context)
        }
        fn put(
            &self,
            reference: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            self.0.put(reference, content, context)
        }
        fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
            self.0.delete(reference, context)
        }
        fn verbs(&self, _: &Reference) -> Verbs {
            Verbs::NONE.with(Verb::Get).with(Verb::Put).with(Verb::Delete)
        }
        fn conditions(&self, reference: &Reference) -> Conditions {
            self.0.conditions(reference)
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "unlisted".to_string()
        }
    }
    let posting = Posting::Other;
    let abilities = Abilities {
        listing: false,
        posting,
        attributes: false,
        relocation: false,
        merge: false,
        query: false,
        watch: false,
        ..Abilities::ALL
    };
    run(Rc::new(Unlisted(Memory::site())), abilities);
}

#[test]
fn log() {
    run(Rc::new(Log::new(memory(), |_, _| {}).with_reads()), Abilities::ALL);
}

#[test]
fn route() {
    let route = Route::by_segment();
    route.mount("there", memory());
    let mounted = Relative::new(Rc::new(route), Reference::from_path("there"));
    run(Rc::new(mounted), Abilities::ALL);
    let route = Route::by_segment();
    route.mount("there", memory());
    route.otherwise(memory());
    run(Rc::new(route), Abilities::ALL);
    let route = Route::by_scheme();
    route.mount("var", memory());
    let base = Reference::from_path("").with_scheme("var");
    run(Rc::new(Relative::new(Rc::new(route), base)), Abilities::ALL);
}

#[test]
fn map() {
    let map = Map::new(memory(), "below p").references(
        |above| Ok(above.with_path(format!("p/{}", above.relative_path()))),
        |below| Ok(below.with_path(below.path().trim_start_matches("p/"))),
    );
    run(Rc::new(map), Abilities::ALL);
}

#[test]
fn sequence() {
    let conditions = Conditions::None;
    let abilities = Abilities { conditions, relocation: false, ..Abilities::ALL };
    run(Rc::new(Sequence::new(vec![memory(), memory()])), abilities);
    run(Rc::new(Sequence::new(vec![memory()])), Abilities::ALL);
}

/// A store whose changes are found by looking again and again.
#[test]
fn polling() {
    struct Silent(Memory);
    impl Store for Silent {
        fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
            self.0.get(reference, context)
        }
        fn put(
            &self,
            reference: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            self.0.put(reference, content, context)
        }
        fn post(
            &self,
            reference: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            self.0.post(reference, content, context)
        }
        fn merge(
            &self,
            reference: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            self.0.merge(reference, content, context)
        }
        fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
            self.0.delete(reference, context)
        }
        fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
            self.0.list(reference, context)
        }
        fn query(
            &self,
            reference: &Reference,
            query: &Query,
            context: &Context,
        ) -> Answer<Content> {
            self.0.query(reference, query, context)
        }
        fn conditions(&self, reference: &Reference) -> Conditions {
            self.0.conditions(reference)
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "silent".to_string()
        }
    }
    let polling = Polling::new(Rc::new(Silent(Memory::site())), Duration::from_millis(1));
    let abilities = Abilities {
        attributes: false,
        relocation: false,
        watch_in_order: false,
        watch_overruns: false,
        ..Abilities::ALL
    };
    run(Rc::new(polling), abilities);
}

#[test]
fn polling_of_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Rc::new(Disk::new(folder.path()).unwrap());
    run(Rc::new(Polling::new(disk, Duration::from_millis(5))), DISK);
}

#[test]
fn cache_of_memory() {
    let abilities = Abilities { conditions: Conditions::Presence, ..Abilities::ALL };
    run(Rc::new(Cache::in_memory(memory())), abilities);
}

#[test]
fn cache_of_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Rc::new(Disk::new(folder.path()).unwrap());
    let abilities = Abilities { conditions: Conditions::Presence, ..DISK };
    run(Rc::new(Cache::in_memory(disk)), abilities);
}

/// A memory store with one thing wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    MissingIsEmpty,
    MissingDeleteFails,
    AlwaysCreates,
    DeleteTakesWhatIsBelow,
    ListIsNotInOrder,
    ListForgetsCollections,
    LeavesAreListed,
    TagNeverChanges,
    ForgetsMediaType,
    ShortAnswerToAll,
    MergeReplaces,
    MergeCreates,
    NilIsKept,
    PostReplaces,
    StreamsInParts,
    RoundsNumbers,
    IgnoresQuery,
    RefusesWhatItClaims,
    LosesANeighbour,
    TellsNothing,
    TellsEverything,
    TellsTheLastFirst,
    TellsDeletionsAsChanges,
    TellsNoLoss,
    ForgetsToTellOne,
    LosesAPost,
    PutsInHalves,
    IgnoresConditions,
    LooksBeforeItWrites,
    KeysByLevel,
    KeysWithoutEnd,
}

struct Broken {
    memory: Rc<Memory>,
    wrong: Wrong,
}

impl Store for Broken {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let wrong = self.wrong;
        let known = context.known.is_some();
        self.memory.get(reference, context).map(move |found| match (wrong, found) {
            (Wrong::MissingIsEmpty, None) => Some(Content::default()),
            (Wrong::TagNeverChanges, Some(content)) => {
                Some(Content { entity_tag: Some(EntityTag::strong("x")), ..content })
            }
            (Wrong::ForgetsMediaType, Some(content)) => {
                Some(Content { media_type: None, ..content })
            }
            (Wrong::ShortAnswerToAll, Some(content)) if known => {
                Some(Content { body: Body::Empty, ..content })
            }
            (_, found) => found,
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (memory, on, context) = (self.memory.clone(), reference.clone(), context.clone());
        match (self.wrong, content.body) {
            (Wrong::IgnoresConditions, body) => {
                let context = Context { only_if: None, ..context };
                memory.put(&on, Content { body, ..content }, &context)
            }
            (Wrong::LooksBeforeItWrites, body) => Answer::later(async move {
                if let Some(condition) = &context.only_if {
                    let found = memory.get(&on, &context).await?;
                    condition.check(found.as_ref().map(|found| found.entity_tag.as_ref()))?;
                    tokio::task::yield_now().await;
                }
                let context = Context { only_if: None, ..context };
                memory.put(&on, Content { body, ..content }, &context).await
            }),
            (Wrong::LosesANeighbour, body) => {
                if reference.name() == Some("f") {
                    drop(self.memory.delete(&reference.with_path("random/c/e"), &context));
                }
                self.memory.put(reference, Content { body, ..content }, &context)
            }
            (Wrong::PutsInHalves, Body::Value(Value::Text(text))) if text.starts_with("put 1") => {
                Answer::later(async move {
                    let half = Content::value(text[..text.len() / 2].into());
                    memory.put(&on, half, &context).await?;
                    tokio::task::yield_now().await;
                    memory.put(&on, Content::value(text.into()), &context).await
                })
            }
            (Wrong::AlwaysCreates, body) => self
                .memory
                .put(reference, Content { body, ..content }, &context)
                .map(|_| Outcome::created()),
            (Wrong::NilIsKept, Body::Value(Value::Nil)) => {
                self.memory.put(reference, Content::default(), &context)
            }
            (Wrong::RoundsNumbers, Body::Value(Value::Big(digits))) => {
                let rounded = Value::Float(digits.parse().unwrap());
                self.memory.put(reference, Content::value(rounded), &context)
            }
            (Wrong::StreamsInParts, Body::Stream(mut stream, _)) => Answer::later(async move {
                let mut whole = Vec::new();
                memory.put(&on, Content::default(), &context).await?;
                while let Some(chunk) = futures_util::StreamExt::next(&mut stream).await {
                    whole.extend_from_slice(&chunk?);
                    memory.put(&on, Content::bytes(whole.clone()), &context).await?;
                }
                Ok(Outcome::created())
            }),
            (_, body) => self.memory.put(reference, Content { body, ..content }, &context),
        }
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if self.wrong == Wrong::PostReplaces {
            return self.memory.put(reference, content, context).map(|_| Outcome::changed());
        }
        if self.wrong == Wrong::LosesAPost {
            let (memory, on, context) = (self.memory.clone(), reference.clone(), context.clone());
            return Answer::later(async move {
                let there = memory.get(&on, &context).await?.unwrap_or_default();
                let mut elements = match there.into_value(1 << 20).await? {
                    Value::List(elements) => elements,
                    _ => Vec::new(),
                };
                tokio::task::yield_now().await;
                elements.push(content.into_value(1 << 20).await?);
                memory.put(&on, Content::value(Value::List(elements)), &context).await?;
                Ok(Outcome::changed())
            });
        }
        self.memory.post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if self.wrong == Wrong::MergeReplaces {
            let found = self.memory.get(reference, context);
            let (memory, on, context) = (self.memory.clone(), reference.clone(), context.clone());
            return found.and_then(move |found| match found {
                Some(_) => memory.put(&on, content, &context),
                None => Error::new(Kind::NotFound, "missing").into(),
            });
        }
        if self.wrong == Wrong::MergeCreates {
            return self.memory.put(reference, content, context);
        }
        self.memory.merge(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (memory, on, context) = (self.memory.clone(), reference.clone(), context.clone());
        let wrong = self.wrong;
        self.memory.list(reference, &context).and_then(move |below| {
            for entry in below.unwrap_or_default() {
                if wrong == Wrong::DeleteTakesWhatIsBelow {
                    drop(memory.delete(&on.join(&entry.name), &context));
                }
            }
            memory.delete(&on, &context).and_then(move |outcome| {
                match (wrong, outcome.is_something()) {
                    (Wrong::MissingDeleteFails, false) => {
                        Error::new(Kind::NotFound, "missing").into()
                    }
                    _ => Answer::ok(outcome),
                }
            })
        })
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let wrong = self.wrong;
        self.memory.list(reference, context).map(move |listed| match (wrong, listed) {
            (Wrong::LeavesAreListed, None) => Some(Vec::new()),
            (Wrong::ListIsNotInOrder, Some(mut entries)) => {
                entries.reverse();
                Some(entries)
            }
            (Wrong::ListForgetsCollections, Some(mut entries)) => {
                entries.iter_mut().for_each(|entry| entry.collection = false);
                Some(entries)
            }
            (_, listed) => listed,
        })
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let wrong = self.wrong;
        self.memory.keys(reference, range, context).map(move |page| {
            let mut page = page?;
            match wrong {
                // As a walk by names is: the collection `a` before the leaf `a.b`.
                Wrong::KeysByLevel => {
                    page.keys.sort_by(|one, other| one.name.split('/').cmp(other.name.split('/')))
                }
                Wrong::KeysWithoutEnd => page.more = true,
                _ => return None,
            }
            Some(page)
        })
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        match self.wrong {
            Wrong::IgnoresQuery => self.memory.query(reference, &Query::default(), context),
            Wrong::RefusesWhatItClaims => Error::not_allowed(Verb::Query, reference).into(),
            _ => self.memory.query(reference, query, context),
        }
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let wrong = self.wrong;
        if wrong == Wrong::TellsNothing {
            return Answer::ok(Box::pin(stream::pending()));
        }
        let watched = match wrong {
            Wrong::TellsEverything => &Reference::default(),
            _ => reference,
        };
        self.memory.watch(watched, context).map(move |changes| match wrong {
            Wrong::TellsTheLastFirst => Box::pin(changes.ready_chunks(100).flat_map(|mut all| {
                all.reverse();
                stream::iter(all)
            })),
            _ => told_wrong(changes, wrong),
        })
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.memory.conditions(reference)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        format!("{:?}", self.wrong)
    }
}

fn told_wrong(changes: Changes, wrong: Wrong) -> Changes {
    Box::pin(changes.filter_map(move |change| async move {
        let change = change.unwrap();
        match (wrong, change.kind) {
            (Wrong::TellsDeletionsAsChanges, ChangeKind::Deleted) => {
                Some(Ok(Change::changed(change.reference)))
            }
            (Wrong::TellsNoLoss, ChangeKind::Lost) => None,
            (Wrong::ForgetsToTellOne, _) if change.reference.path() == "random/c/e" => None,
            _ => Some(Ok(change)),
        }
    }))
}

/// A suite that lets a broken store pass is worth nothing: each of these has to be caught, by the
/// check that is there for it.
#[test]
fn the_suite_finds_what_is_wrong() {
    let caught = |wrong: Wrong| {
        let store = Rc::new(Broken { memory: Rc::new(Memory::site()), wrong });
        // What is never told is waited for that long.
        let watch_delay = Duration::from_millis(200);
        let (attributes, relocation) = (false, false);
        let abilities = Abilities { watch_delay, attributes, relocation, ..Abilities::ALL };
        let failure = catch_unwind(AssertUnwindSafe(|| run(store, abilities)));
        let message = failure.expect_err(&format!("{wrong:?} was not found"));
        message.downcast_ref::<String>().expect("a message").clone()
    };
    for (wrong, check) in [
        (Wrong::MissingIsEmpty, "what is missing is no error"),
        (Wrong::MissingDeleteFails, "what is missing is no error"),
        (Wrong::LeavesAreListed, "what is missing is no error"),
        (Wrong::KeysByLevel, "keys in byte order"),
        (Wrong::KeysWithoutEnd, "keys in byte order"),
        (Wrong::MergeCreates, "what is missing is no error"),
        (Wrong::RoundsNumbers, "what was put is what the next get answers"),
        (Wrong::ListIsNotInOrder, "ordered bytewise"),
        (Wrong::ListForgetsCollections, "ordered bytewise"),
        (Wrong::TagNeverChanges, "an entity tag"),
        (Wrong::ShortAnswerToAll, "an entity tag"),
        (Wrong::ForgetsMediaType, "the media type"),
        (Wrong::IgnoresQuery, "a query runs"),
        (Wrong::RefusesWhatItClaims, "a query runs"),
        (Wrong::AlwaysCreates, "says which"),
        (Wrong::DeleteTakesWhatIsBelow, "content can lie above"),
        (Wrong::NilIsKept, "putting nil deletes"),
        (Wrong::StreamsInParts, "a stream is put as a whole"),
        (Wrong::PostReplaces, "a post adds"),
        (Wrong::MergeReplaces, "a merge changes the fields"),
        (Wrong::LosesANeighbour, "random operations"),
        (Wrong::TellsNothing, "each change is told"),
        (Wrong::TellsEverything, "beside"),
        (Wrong::TellsTheLastFirst, "in their order"),
        (Wrong::TellsDeletionsAsChanges, "each change is told"),
        (Wrong::TellsNoLoss, "loses changes"),
        (Wrong::ForgetsToTellOne, "random operations"),
        (Wrong::LosesAPost, "posts at the same time"),
        (Wrong::PutsInHalves, "as a whole or not at all"),
        (Wrong::IgnoresConditions, "writing only where something is"),
        (Wrong::LooksBeforeItWrites, "of many who create the same, one succeeds"),
    ] {
        let message = caught(wrong);
        assert!(message.contains(check), "{wrong:?}: {message}");
    }
}
