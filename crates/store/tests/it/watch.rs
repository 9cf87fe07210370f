//! What watchers of each store and combinator are told.

use futures_util::{FutureExt, StreamExt};
use runnel_store::{
    Answer, ChangeKind, Changes, Content, Context, Disk, Environment, Error, Json, Kind, Lazy, Log,
    Map, Memory, Outcome, POLLED_DEPTH, Polling, ReadOnly, Reference, Relative, Result, Route,
    Sequence, Store, Value, Verb, Verbs,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

fn now<T>(answer: Answer<T>) -> Result<T> {
    answer.now_or_never().expect("an answer at once")
}

fn watch(store: &dyn Store, path: &str) -> Changes {
    now(store.watch(&at(path), &Context::default())).unwrap()
}

fn put(store: &dyn Store, path: &str, text: &str) {
    let content = Content::value(text.into());
    now(store.put(&at(path), content, &Context::default())).unwrap();
}

fn delete(store: &dyn Store, path: &str) {
    now(store.delete(&at(path), &Context::default())).unwrap();
}

/// What is told by now, as `changed a/b`; `error …` at the end where it ended with one.
fn told(changes: &mut Changes) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Some(change)) = changes.next().now_or_never() {
        told.push(match change {
            Ok(change) => format!("{} {}", change.kind.name(), change.reference),
            Err(error) => format!("error {error}"),
        });
    }
    told
}

#[test]
fn memory_tells_what_it_was_done() {
    let memory = Memory::dictionary();
    let mut changes = watch(&memory, "");
    let context = Context::default();
    put(&memory, "/a", "x");
    now(memory.post(&at("b"), Content::value(1.into()), &context)).unwrap();
    let record = || Content::value(Value::record([("k", Value::Int(1))]));
    now(memory.put(&at("c"), record(), &context)).unwrap();
    now(memory.put(&at("d"), record(), &context)).unwrap();
    now(memory.merge(&at("c"), record(), &context)).unwrap();
    now(memory.put(&at("a"), Content::value(Value::Nil), &context)).unwrap();
    delete(&memory, "b");
    // Nothing happens here, and nothing is told.
    delete(&memory, "b");
    assert!(now(memory.merge(&at("missing"), record(), &context)).is_err());
    assert_eq!(
        told(&mut changes),
        ["changed a", "changed b", "changed c", "changed d", "changed c", "deleted a", "deleted b"]
    );
}

#[test]
fn a_named_memory_is_one_for_all_threads() {
    let here = Memory::named("watch-threads").unwrap();
    let mut changes = watch(&here, "from");
    std::thread::spawn(|| {
        let there = Memory::named("watch-threads").unwrap();
        put(&there, "from/there", "x");
        put(&there, "beside", "x");
    })
    .join()
    .unwrap();
    assert_eq!(told(&mut changes), ["changed from/there"]);
    let found = now(here.get(&at("from/there"), &Context::default())).unwrap().unwrap();
    assert_eq!(now(found.into_value(9)).unwrap(), Value::from("x"));
    let other = Memory::named("watch-other").unwrap();
    assert!(now(other.get(&at("from/there"), &Context::default())).unwrap().is_none());
    assert_eq!(here.describe(), "memory watch-threads");
}

#[test]
fn a_named_memory_wakes_a_watcher_in_another_thread() {
    let (ready, watching) = std::sync::mpsc::channel();
    let watcher = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let memory = Memory::named("watch-wakes").unwrap();
        let mut changes = watch(&memory, "");
        ready.send(()).unwrap();
        runtime.block_on(changes.next()).unwrap().unwrap().reference.path().to_string()
    });
    watching.recv().unwrap();
    put(&Memory::named("watch-wakes").unwrap(), "a", "x");
    assert_eq!(watcher.join().unwrap(), "a");
}

#[test]
fn a_named_memory_computes_what_is_lazy_when_it_is_put() {
    struct Counted(Rc<Cell<usize>>);
    impl Lazy for Counted {
        fn encode(&self, _: runnel_store::Form) -> Answer<bytes::Bytes> {
            Answer::ok("text".into())
        }
        fn value(&self) -> Answer<Value> {
            self.0.set(self.0.get() + 1);
            Answer::ok(Value::Int(self.0.get() as i64))
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }
    let count = Rc::new(Cell::new(0));
    let memory = Memory::named("watch-lazy").unwrap();
    let content =
        Content { class: Some("Task".into()), ..Content::lazy(Rc::new(Counted(count.clone()))) };
    now(memory.put(&at("a"), content, &Context::default())).unwrap();
    for _ in 0..2 {
        let found = now(memory.get(&at("a"), &Context::default())).unwrap().unwrap();
        assert_eq!(found.class.as_deref(), Some("Task"));
        assert_eq!(now(found.into_value(9)).unwrap(), Value::Int(1));
    }
    assert_eq!(count.get(), 1);
}

#[test]
fn the_environment_tells_what_is_changed_through_it() {
    let environment = Environment::new();
    let mut changes = watch(&environment, "");
    put(&environment.clone(), "RUNNEL_TEST_WATCH", "x");
    delete(&environment, "RUNNEL_TEST_WATCH");
    // Two in a row of one reference are one.
    assert_eq!(told(&mut changes), ["deleted RUNNEL_TEST_WATCH"]);
}

#[test]
fn a_relative_store_leaves_its_base_out() {
    let source = memory();
    let relative = Relative::new(source.clone(), at("/base/"));
    let (mut all, mut one) = (watch(&relative, ""), watch(&relative, "a"));
    for path in ["base/a/b", "base/c", "based", "base"] {
        put(&*source, path, "x");
    }
    assert_eq!(told(&mut all), ["changed a/b", "changed c", "changed "]);
    assert_eq!(told(&mut one), ["changed a/b"]);
    let refused = now(relative.watch(&at("../x"), &Context::default()));
    assert_eq!(refused.err().unwrap().kind, Kind::Denied);
}

#[test]
fn a_route_tells_of_all_its_stores_at_the_root() {
    let (first, second, others) = (memory(), memory(), memory());
    let route = Route::by_segment();
    route.mount("a", first.clone());
    route.mount("b", second.clone());
    route.otherwise(others.clone());
    let (mut all, mut one) = (watch(&route, ""), watch(&route, "b/x"));
    put(&*first, "x", "1");
    put(&*second, "x/y", "1");
    put(&*second, "z", "1");
    put(&*others, "c", "1");
    // Covered by the store that is mounted there.
    put(&*others, "a/x", "1");
    let mut found = told(&mut all);
    found.sort();
    assert_eq!(found, ["changed a/x", "changed b/x/y", "changed b/z", "changed c"]);
    assert_eq!(told(&mut one), ["changed b/x/y"]);
    route.mount("c", memory());
    let message = "error watch: the stores mounted here have changed; read and watch again";
    assert_eq!(told(&mut all), [message]);
    assert!(all.next().now_or_never().unwrap().is_none());
    put(&*second, "x/y", "2");
    assert_eq!(told(&mut one), ["changed b/x/y"]);
    route.unmount("b");
    assert_eq!(told(&mut one).len(), 1);
}

#[test]
fn a_route_says_which_store_cannot_tell() {
    struct Silent;
    impl Store for Silent {
        fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
            Answer::ok(None)
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "silent".to_string()
        }
    }
    let route = Route::by_segment();
    route.mount("a", memory());
    route.mount("mute", Rc::new(Silent));
    let error = now(route.watch(&at(""), &Context::default())).err().unwrap();
    assert_eq!((error.kind, error.verb), (Kind::NotAllowed, Some(Verb::Watch)));
    drop(watch(&route, "a"));
    let none = now(route.watch(&at("nothing"), &Context::default()));
    assert_eq!(none.err().unwrap().kind, Kind::NotAllowed);
}

#[test]
fn a_route_by_scheme_keeps_the_scheme() {
    let source = memory();
    let route = Route::by_scheme();
    route.mount("var", source.clone());
    let on = at("a").with_scheme("var");
    let mut changes = now(route.watch(&on, &Context::default())).unwrap();
    put(&*source, "a/b", "1");
    assert_eq!(told(&mut changes), ["changed var:a/b"]);
}

#[test]
fn a_sequence_tells_what_can_be_seen() {
    let (upper, lower) = (memory(), memory());
    put(&*upper, "covered", "1");
    let sequence = Sequence::new(vec![upper.clone(), lower.clone()]);
    let mut changes = watch(&sequence, "");
    put(&*lower, "covered", "2");
    delete(&*lower, "covered");
    assert!(told(&mut changes).is_empty());
    put(&*lower, "a", "2");
    assert_eq!(told(&mut changes), ["changed a"]);
    put(&*upper, "a", "1");
    assert_eq!(told(&mut changes), ["changed a"]);
    // What lies under it shows.
    delete(&*upper, "a");
    assert_eq!(told(&mut changes), ["changed a"]);
    delete(&*lower, "a");
    assert_eq!(told(&mut changes), ["deleted a"]);
}

#[test]
fn a_map_tells_references_as_they_are_above() {
    let source = memory();
    let map = Map::new(source.clone(), "without .txt").references(
        |above| Ok(above.with_path(format!("{}.txt", above.path()))),
        |below| match below.path().strip_suffix(".txt") {
            Some(name) => Ok(below.with_path(name)),
            None => Err(Error::new(Kind::Invalid, "no text")),
        },
    );
    let whole = Map::new(source.clone(), "nothing");
    let mut all = watch(&whole, "");
    let mut one = watch(&map, "a");
    put(&*source, "a.txt", "1");
    put(&*source, "a.txt/odd", "1");
    assert_eq!(told(&mut one), ["changed a", "lost a"]);
    assert_eq!(told(&mut all), ["changed a.txt", "changed a.txt/odd"]);
}

#[test]
fn others_let_changes_pass() {
    let source = memory();
    let logged = Rc::new(Cell::new(0));
    let count = logged.clone();
    let log = Log::new(source.clone(), move |_, _| count.set(count.get() + 1)).with_reads();
    let stores: [Rc<dyn Store>; 4] = [
        Rc::new(Json::up(source.clone())),
        Rc::new(Json::down(source.clone())),
        Rc::new(ReadOnly::new(source.clone())),
        Rc::new(log),
    ];
    let mut watching: Vec<_> = stores.iter().map(|store| watch(&**store, "a")).collect();
    assert_eq!(logged.get(), 1);
    put(&*source, "a", "1");
    for changes in &mut watching {
        assert_eq!(told(changes), ["changed a"]);
    }
    assert!(stores[2].verbs(&at("a")).has(Verb::Watch));
}

/// Memory that cannot tell, counts what it is asked, and fails when it is told to.
struct Asked {
    memory: Memory,
    lists: Rc<Cell<usize>>,
    fails: Rc<Cell<Option<Kind>>>,
}

impl Store for Asked {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.memory.get(reference, context)
    }
    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.memory.put(reference, content, context)
    }
    fn list(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Vec<runnel_store::Entry>>> {
        self.lists.set(self.lists.get() + 1);
        match self.fails.get() {
            Some(kind) => Error::new(kind, "it fails").into(),
            None => self.memory.list(reference, context),
        }
    }
    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get).with(Verb::Put).with(Verb::List)
    }
    runnel_store::without!(links);
    fn describe(&self) -> String {
        "asked".to_string()
    }
}

#[test]
fn polling_shares_rounds_and_stops_when_nobody_watches() {
    let (lists, fails) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    let asked = Asked { memory: Memory::site(), lists: lists.clone(), fails: fails.clone() };
    let polling = Polling::new(Rc::new(asked), Duration::from_secs(10));
    run(async {
        let context = Context::default();
        let mut first = polling.watch(&at(""), &context).await.unwrap();
        let mut second = polling.watch(&at(""), &context).await.unwrap();
        assert_eq!(lists.get(), 1);
        put(&polling, "a", "1");
        let (one, two) = futures_util::future::join(first.next(), second.next()).await;
        for change in [one, two] {
            let change = change.unwrap().unwrap();
            assert_eq!((change.kind, change.reference.path()), (ChangeKind::Changed, "a"));
        }
        // One round for both: the root and what is in it.
        assert_eq!(lists.get(), 3);
        // A temporary failure is left out, and another one ends it.
        fails.set(Some(Kind::Unavailable));
        let failing = tokio::time::timeout(Duration::from_secs(45), first.next()).await;
        assert!(failing.is_err());
        fails.set(Some(Kind::Denied));
        let error = first.next().await.unwrap().err().unwrap();
        assert_eq!((error.kind, error.verb), (Kind::Denied, Some(Verb::Watch)));
        assert!(first.next().await.is_none());
        drop((first, second));
        let asked = lists.get();
        tokio::time::sleep(Duration::from_secs(1000)).await;
        assert_eq!(lists.get(), asked);
    });
}

#[test]
fn polling_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let deep = vec!["a"; POLLED_DEPTH + 2].join("/");
    std::fs::create_dir_all(folder.path().join(deep)).unwrap();
    let disk = Rc::new(Disk::new(folder.path()).unwrap());
    let polling = Polling::new(disk, Duration::from_secs(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(polling.watch(&at(""), &Context::default()));
    assert_eq!(refused.err().unwrap().kind, Kind::TooLarge);
}
