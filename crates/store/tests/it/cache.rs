//! What a cache holds, for how long, and who asks the source.

use futures_util::future::join_all;
use runnel_store::{
    Answer, Body, Cache, Changes, Content, Context, Entry, Error, Kind, Memory, Outcome, Reference,
    Store, Value, Verb,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::yield_now;

fn at(path: &str) -> Reference {
    Reference::parse(path)
}

/// A memory store that answers a few turns later and counts what it is asked for.
#[derive(Default)]
struct Slow {
    reads: Cell<usize>,
    fails: RefCell<Option<Error>>,
    unwatched: bool,
    memory: Option<Memory>,
}

impl Slow {
    fn new() -> Rc<Self> {
        Rc::new(Slow { memory: Some(Memory::site()), ..Slow::default() })
    }

    fn memory(&self) -> &Memory {
        self.memory.as_ref().unwrap()
    }

    async fn set(&self, path: &str, text: &str) {
        let content = Content::value(text.into());
        self.memory().put(&at(path), content, &Context::default()).await.unwrap();
    }
}

impl Store for Slow {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.reads.set(self.reads.get() + 1);
        // Read now and answered later, so that it can be old.
        let found = match &*self.fails.borrow() {
            Some(error) => error.clone().into(),
            None => self.memory().get(reference, context),
        };
        Answer::later(async move {
            for _ in 0..3 {
                yield_now().await;
            }
            found.await
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let put = self.memory().put(reference, content, context);
        Answer::later(async move {
            yield_now().await;
            put.await
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.memory().delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.memory().list(reference, context)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        if self.unwatched {
            return Error::not_allowed(Verb::Watch, reference).into();
        }
        self.memory().watch(reference, context)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "slow".to_string()
    }
}

async fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let found = store.get(&at(path), &Context::default()).await.unwrap()?;
    Some(found.into_value(1 << 20).await.unwrap())
}

async fn put(store: &dyn Store, path: &str, text: &str) -> bool {
    let put = store.put(&at(path), Content::value(text.into()), &Context::default());
    put.await.unwrap().is_created()
}

#[tokio::test(flavor = "current_thread")]
async fn many_who_miss_ask_once() {
    let slow = Slow::new();
    slow.set("a", "1").await;
    let store = Cache::in_memory(slow.clone());
    for path in ["a", "missing"] {
        slow.reads.set(0);
        let found = join_all((0..10).map(|_| get(&store, path))).await;
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        assert_eq!(slow.reads.get(), 1, "{path}");
    }
    *slow.fails.borrow_mut() = Some(Error::new(Kind::Unavailable, "down"));
    slow.reads.set(0);
    let context = Context::default();
    let failed = join_all((0..10).map(|_| store.get(&Reference::parse("b"), &context))).await;
    assert!(failed.iter().all(|one| one.as_ref().is_err_and(|it| it.kind == Kind::Unavailable)));
    assert_eq!(slow.reads.get(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn another_asks_when_the_one_who_asked_has_gone() {
    let slow = Slow::new();
    slow.set("a", "1").await;
    let store = Cache::in_memory(slow.clone());
    let context = Context::default();
    let mut first = store.get(&at("a"), &context);
    let mut step = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(&mut first).poll(&mut step).is_pending());
    let second = get(&store, "a");
    let (_, found) = tokio::join!(
        async {
            yield_now().await;
            drop(first);
        },
        second
    );
    assert_eq!((found, slow.reads.get()), (Some("1".into()), 2));
}

#[tokio::test(flavor = "current_thread")]
async fn who_reads_after_a_write_never_joins_a_read_from_before() {
    let slow = Slow::new();
    slow.set("a", "old").await;
    let store = Rc::new(Cache::in_memory(slow.clone()));
    let early = store.clone();
    let (old, new) = tokio::join!(async move { get(&*early, "a").await }, async {
        put(&*store, "a", "new").await;
        get(&*store, "a").await
    });
    assert_eq!((old, new), (Some("old".into()), Some("new".into())));
    assert_eq!(get(&*store, "a").await, Some("new".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn those_used_least_recently_leave() {
    let slow = Slow::new();
    let kept = Rc::new(Memory::site());
    let store = Cache::new(kept.clone(), slow.clone()).with_entries(2);
    for path in ["a", "b", "c"] {
        slow.set(path, path).await;
    }
    for path in ["a", "b", "a", "c"] {
        get(&store, path).await;
    }
    let names = |entries: Vec<Entry>| entries.into_iter().map(|it| it.name).collect::<Vec<_>>();
    let held = kept.list(&at(""), &Context::default()).await.unwrap().unwrap();
    assert_eq!(names(held), ["a", "c"]);
    slow.reads.set(0);
    for path in ["a", "c", "b"] {
        get(&store, path).await;
    }
    assert_eq!(slow.reads.get(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn the_size_is_bounded() {
    let slow = Slow::new();
    let kept = Rc::new(Memory::site());
    let store = Cache::new(kept.clone(), slow.clone()).with_size(10_000);
    let text = "x".repeat(3_000);
    for path in ["a", "b", "c", "d", "e"] {
        slow.set(path, &text).await;
        get(&store, path).await;
    }
    slow.set("large", &"x".repeat(20_000)).await;
    get(&store, "large").await;
    let held = kept.list(&at(""), &Context::default()).await.unwrap().unwrap();
    let held: Vec<_> = held.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(held, ["c", "d", "e"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_old_is_read_again() {
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone()).with_age(Duration::from_secs(60));
    slow.set("a", "1").await;
    get(&store, "a").await;
    slow.set("a", "2").await;
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(get(&store, "a").await, Some("1".into()));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(get(&store, "a").await, Some("2".into()));
    slow.memory().delete(&at("a"), &Context::default()).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(get(&store, "a").await, None);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_stale_is_answered_while_the_source_is_asked_again() {
    let minute = Duration::from_secs(60);
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone()).with_age(minute).with_stale(Some(minute), None);
    let test = async {
        slow.set("a", "1").await;
        get(&store, "a").await;
        slow.set("a", "2").await;
        tokio::time::advance(Duration::from_secs(61)).await;
        // Many ask; the source is asked once, in the background.
        for _ in 0..10 {
            assert_eq!(get(&store, "a").await, Some("1".into()));
        }
        for _ in 0..10 {
            yield_now().await;
        }
        assert_eq!((get(&store, "a").await, slow.reads.get()), (Some("2".into()), 2));
        // Too old.
        slow.set("a", "3").await;
        tokio::time::advance(2 * minute).await;
        assert_eq!(get(&store, "a").await, Some("3".into()));
    };
    tokio::task::LocalSet::new().run_until(test).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_stale_is_answered_where_the_source_fails() {
    let minute = Duration::from_secs(60);
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone()).with_age(minute).with_stale(None, Some(5 * minute));
    let context = Context::default();
    slow.set("a", "1").await;
    get(&store, "a").await;
    tokio::time::advance(minute).await;
    *slow.fails.borrow_mut() = Some(Error::new(Kind::Unavailable, "away"));
    assert_eq!(get(&store, "a").await, Some("1".into()));
    // Never held, or refused rather than failed.
    assert!(store.get(&at("b"), &context).await.is_err());
    *slow.fails.borrow_mut() = Some(Error::new(Kind::Denied, "not for you"));
    assert!(store.get(&at("a"), &context).await.is_err());
    // What the source answers again counts at once.
    *slow.fails.borrow_mut() = None;
    slow.set("a", "2").await;
    assert_eq!(get(&store, "a").await, Some("2".into()));
    *slow.fails.borrow_mut() = Some(Error::new(Kind::Unavailable, "away"));
    tokio::time::advance(6 * minute).await;
    assert!(store.get(&at("a"), &context).await.is_err());
}

#[tokio::test(flavor = "current_thread")]
async fn queries_are_kept_apart_and_forgotten_with_their_path() {
    /// Answers the query itself, and how often it was asked.
    struct Echo(Cell<usize>);
    impl Store for Echo {
        fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
            self.0.set(self.0.get() + 1);
            Answer::ok(Some(Content::text(format!("{reference} {}", self.0.get()))))
        }
        fn put(&self, _: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
            Answer::ok(Outcome::changed())
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "echo".to_string()
        }
    }
    let store = Cache::in_memory(Rc::new(Echo(Cell::new(0))));
    for _ in 0..2 {
        assert_eq!(get(&store, "a?x=1").await, Some("a?x=1 1".into()));
        assert_eq!(get(&store, "a?x=2").await, Some("a?x=2 2".into()));
        assert_eq!(get(&store, "a").await, Some("a 3".into()));
        assert_eq!(get(&store, "b?x=1").await, Some("b?x=1 4".into()));
    }
    put(&store, "a/below", "").await;
    assert_eq!(get(&store, "a?x=1").await, Some("a?x=1 5".into()));
    assert_eq!(get(&store, "b?x=1").await, Some("b?x=1 4".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_put_is_kept_on_request() {
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone()).write_through();
    assert!(put(&store, "a", "1").await);
    assert!(matches!(store.get(&at("a"), &Context::default()), Answer::Ready(Ok(Some(_)))));
    assert_eq!((get(&store, "a").await, slow.reads.get()), (Some("1".into()), 0));
    assert_eq!(get(slow.memory(), "a").await, Some("1".into()));
    store.put(&at("a"), Content::value(Value::Nil), &Context::default()).await.unwrap();
    assert_eq!(get(&store, "a").await, None);
    // Of puts that overlap none is kept: the source knows which came last.
    let context = Context::default();
    let puts = ["2", "3"].map(|text| store.put(&at("a"), Content::value(text.into()), &context));
    join_all(puts).await;
    assert_eq!(get(&store, "a").await, get(slow.memory(), "a").await);
}

#[tokio::test(flavor = "current_thread")]
async fn what_others_write_is_seen_by_watching() {
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone()).watching();
    slow.set("a/b", "1").await;
    slow.set("c", "1").await;
    for _ in 0..3 {
        assert_eq!(get(&store, "a/b").await, Some("1".into()));
        assert_eq!(get(&store, "c").await, Some("1".into()));
    }
    assert_eq!(slow.reads.get(), 2);
    slow.set("a/b", "2").await;
    assert_eq!(get(&store, "a/b").await, Some("2".into()));
    assert_eq!(get(&store, "c").await, Some("1".into()));
    assert_eq!(slow.reads.get(), 3);
    slow.memory().delete(&at("a/b"), &Context::default()).await.unwrap();
    assert_eq!(get(&store, "a/b").await, None);
    // More than a watcher is told: everything counts as changed.
    for number in 0..2000 {
        slow.set(&format!("many/{number}"), "x").await;
    }
    slow.reads.set(0);
    assert_eq!(get(&store, "c").await, Some("1".into()));
    assert_eq!(slow.reads.get(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_during_a_read_is_not_missed() {
    let slow = Slow::new();
    let store = Rc::new(Cache::in_memory(slow.clone()).watching());
    slow.set("a", "1").await;
    let reader = store.clone();
    let (old, ()) = tokio::join!(async move { get(&*reader, "a").await }, slow.set("a", "2"));
    assert_eq!(old, Some("1".into()));
    assert_eq!(get(&*store, "a").await, Some("2".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_is_kept_of_a_source_that_cannot_tell() {
    let memory = Some(Memory::site());
    let slow = Rc::new(Slow { memory, unwatched: true, ..Slow::default() });
    let store = Cache::in_memory(slow.clone()).watching();
    for text in ["1", "2"] {
        slow.set("a", text).await;
        assert_eq!(get(&store, "a").await, Some(text.into()));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn everything_can_be_forgotten() {
    let slow = Slow::new();
    let store = Cache::in_memory(slow.clone());
    for path in ["a", "a/b", "c"] {
        slow.set(path, "1").await;
        get(&store, path).await;
        slow.set(path, "2").await;
    }
    store.invalidate(&at("a")).await.unwrap();
    assert_eq!(get(&store, "a/b").await, Some("2".into()));
    assert_eq!(get(&store, "c").await, Some("1".into()));
    store.invalidate_all().await.unwrap();
    assert_eq!(get(&store, "c").await, Some("2".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn what_was_in_the_cache_before_is_answered() {
    let kept = Rc::new(Memory::site());
    put(&*kept, "a", "kept").await;
    let store = Cache::new(kept, Slow::new());
    assert_eq!(get(&store, "a").await, Some("kept".into()));
    store.invalidate_all().await.unwrap();
    assert_eq!(get(&store, "a").await, None);
}

#[tokio::test(flavor = "current_thread")]
async fn streams_go_to_each_who_asks() {
    struct Streams(Cell<usize>);
    impl Store for Streams {
        fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
            self.0.set(self.0.get() + 1);
            let chunks = futures_util::stream::iter([Ok("abc".into())]);
            let body = Body::Stream(Box::pin(chunks), None);
            Answer::later(async move {
                yield_now().await;
                Ok(Some(Content { body, ..Content::default() }))
            })
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "streams".to_string()
        }
    }
    let streams = Rc::new(Streams(Cell::new(0)));
    let store = Cache::in_memory(streams.clone());
    let found = join_all((0..3).map(|_| get(&store, "a"))).await;
    assert_eq!(found, vec![Some(Value::from("abc")); 3]);
    assert_eq!(streams.0.get(), 3);
}
