//! What is particular to each combinator; the conformance suite checks the rest.

use bytes::Bytes;
use futures_util::stream;
use runnel_store::{
    Answer, Body, Cache, Content, Context, EntityTag, Entry, Error, Json, Kind, Log, Map, Memory,
    Outcome, Query, ReadOnly, Reference, Relative, Result, Route, Sequence, Store, Value, Verb,
    Verbs, draw_graph,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn now<T>(answer: Answer<T>) -> Result<T> {
    match answer {
        Answer::Ready(result) => result,
        Answer::Later(_) => panic!("this should be answered at once"),
    }
}

fn at(path: &str) -> Reference {
    Reference::parse(path)
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

async fn put(store: &dyn Store, path: &str, value: impl Into<Value>) {
    let content = Content::value(value.into());
    store.put(&at(path), content, &Context::default()).await.unwrap();
}

async fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let content = store.get(&at(path), &Context::default()).await.unwrap()?;
    Some(content.into_value(1 << 20).await.unwrap())
}

async fn names(store: &dyn Store, path: &str) -> Vec<String> {
    let entries = store.list(&at(path), &Context::default()).await.unwrap().unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

fn failed<T>(result: Result<T>) -> Error {
    result.map(|_| ()).unwrap_err()
}

/// Answers each post with what was posted, at a reference below; remembers what it was asked.
#[derive(Default)]
struct Echo {
    asked: RefCell<Vec<String>>,
}

impl Store for Echo {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        self.asked.borrow_mut().push(reference.to_string());
        Answer::ok(None)
    }
    fn post(&self, reference: &Reference, content: Content, _: &Context) -> Answer<Outcome> {
        let reference = Some(reference.join("7"));
        Answer::ok(Outcome { reference, content: Some(content), ..Outcome::created() })
    }
    runnel_store::without!(links);
    fn describe(&self) -> String {
        "echo".to_string()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn relative_stays_below_its_base() {
    let source = memory();
    put(&*source, "base/a", 1).await;
    put(&*source, "secret", 2).await;
    let store = Relative::new(source.clone(), at("/base/"));
    assert_eq!(get(&store, "/a").await, Some(1.into()));
    assert_eq!(names(&store, "").await, ["a"]);
    for path in ["..", "../secret", "a/../../secret", "x/.."] {
        let context = Context::default();
        let error = failed(store.get(&at(path), &context).await);
        assert_eq!((error.kind, error.reference.as_deref()), (Kind::Denied, Some(path)));
        let denied = store.put(&at(path), Content::text("x"), &context).await;
        assert_eq!(failed(denied).kind, Kind::Denied);
        assert_eq!(failed(store.delete(&at(path), &context).await).kind, Kind::Denied);
        assert_eq!(store.verbs(&at(path)), Verbs::NONE);
    }
    assert_eq!(get(&*source, "secret").await, Some(2.into()));
}

#[tokio::test(flavor = "current_thread")]
async fn relative_carries_scheme_and_query() {
    let echo = Rc::new(Echo::default());
    let base = Reference::parse("//host/api?key=1").with_scheme("http");
    let store = Relative::new(echo.clone(), base);
    get(&store, "a/b").await;
    get(&store, "a?x=2").await;
    get(&store, "").await;
    let expected = ["http://host/api/a/b?key=1", "http://host/api/a?x=2", "http://host/api?key=1"];
    assert_eq!(*echo.asked.borrow(), expected);
    let posted = store.post(&at("a"), Content::text("x"), &Context::default()).await.unwrap();
    assert_eq!(posted.reference.unwrap().path(), "a/7");
}

#[tokio::test(flavor = "current_thread")]
async fn json_up_serves_values_as_json_and_parses_what_is_written() {
    let source = memory();
    let store = Json::up(source.clone()).with_class("Task");
    let context = Context::default();
    let body = Content::bytes(r#"{"id":1,"big":123456789012345678901}"#);
    assert!(now(store.put(&at("a"), body, &context)).unwrap().is_created());
    let kept = now(source.get(&at("a"), &context)).unwrap().unwrap();
    assert_eq!(kept.class.as_deref(), Some("Task"));
    let record =
        Value::record([("id", Value::Int(1)), ("big", Value::Big("123456789012345678901".into()))]);
    assert!(matches!(kept.body, Body::Value(value) if value == record));
    let read = now(store.get(&at("a"), &context)).unwrap().unwrap();
    assert_eq!(read.media_type.as_deref(), Some("application/json"));
    assert_eq!(read.entity_tag, kept.entity_tag);
    let expected = r#"{"id":1,"big":123456789012345678901}"#;
    assert!(matches!(&read.body, Body::Bytes(bytes) if bytes == expected));
    // Who knows it gets the short answer, not JSON of nothing.
    let known = Context { known: kept.entity_tag, ..Context::default() };
    let short = now(store.get(&at("a"), &known)).unwrap().unwrap();
    assert!(matches!(short.body, Body::Empty));
    now(store.merge(&at("a"), Content::text(r#"{"id":2}"#), &context)).unwrap();
    let merged = get(&*source, "a").await.unwrap();
    assert_eq!(merged.get("id"), Some(&Value::Int(2)));
    now(store.post(&at("list"), Content::bytes("[1]"), &context)).unwrap();
    let inner = Value::List(vec![Value::List(vec![1.into()])]);
    assert_eq!(get(&*source, "list").await, Some(inner));
    assert_eq!(names(&store, "").await, ["a", "list"]);
    assert!(now(store.delete(&at("a"), &context)).unwrap().is_something());
}

#[tokio::test(flavor = "current_thread")]
async fn json_up_refuses_what_is_no_json() {
    let source = memory();
    let store = Json::up(source.clone()).with_limit(20);
    let put = |content: Content| store.put(&at("a"), content, &Context::default());
    let error = failed(put(Content::bytes("{\n\"a\" 1}")).await);
    assert_eq!((error.kind, error.verb), (Kind::Invalid, Some(Verb::Put)));
    assert!(error.message.contains("line 2, column 5"), "{error}");
    assert_eq!(failed(put(Content::default()).await).kind, Kind::Invalid);
    let long = Bytes::from("[1,2,3,4,5,6,7,8,9,10]");
    let parts = stream::iter([Ok(long)]);
    let body = Body::Stream(Box::pin(parts), None);
    let large = Content { body, ..Content::default() };
    assert_eq!(failed(put(large).await).kind, Kind::TooLarge);
    assert_eq!(names(&*source, "").await.len(), 0);
    // A program that writes through it hands over values, which are not parsed.
    put(Content::value("no json".into())).await.unwrap();
    assert_eq!(get(&*source, "a").await, Some("no json".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn json_passes_what_is_json_already() {
    let source = memory();
    let context = Context::default();
    let text = Content::text("[1, 2]").with_media_type("application/ld+json");
    source.put(&at("a"), text, &context).await.unwrap();
    let store = Json::up(source);
    let read = store.get(&at("a"), &context).await.unwrap().unwrap();
    assert_eq!(read.media_type.as_deref(), Some("application/ld+json"));
    assert_eq!(read.read(100).await.unwrap(), "[1, 2]");
}

#[tokio::test(flavor = "current_thread")]
async fn json_down_gives_values_to_a_program() {
    let source = memory();
    let store = Json::down(source.clone()).with_class("Task");
    let record = Value::record([("id", Value::Int(1))]);
    put(&store, "a", record.clone()).await;
    let context = Context::default();
    let kept = source.get(&at("a"), &context).await.unwrap().unwrap();
    assert_eq!(kept.media_type.as_deref(), Some("application/json"));
    assert!(matches!(&kept.body, Body::Bytes(bytes) if bytes == r#"{"id":1}"#));
    let read = store.get(&at("a"), &context).await.unwrap().unwrap();
    assert_eq!((read.class.as_deref(), read.entity_tag), (Some("Task"), kept.entity_tag));
    assert!(matches!(read.body, Body::Value(value) if value == record));
    source.put(&at("b"), Content::text("{"), &context).await.unwrap();
    let error = failed(store.get(&at("b"), &context).await);
    assert_eq!((error.kind, error.verb), (Kind::Invalid, Some(Verb::Get)));
    let posted = Json::down(Rc::new(Echo::default()));
    let posted = posted.post(&at("a"), Content::value(record), &context).await.unwrap();
    assert!(matches!(posted.content.unwrap().body, Body::Value(Value::Record(_))));
}

#[tokio::test(flavor = "current_thread")]
async fn log_tells_of_writes_and_of_reads_when_asked() {
    for reads in [false, true] {
        let told = Rc::new(RefCell::new(Vec::new()));
        let (source, to) = (memory(), told.clone());
        let store = Log::new(source, move |verb, reference| {
            to.borrow_mut().push(format!("{} {reference}", verb.name()));
        });
        let store = if reads { store.with_reads() } else { store };
        put(&store, "a", 1).await;
        get(&store, "a").await;
        let context = Context::default();
        assert!(store.merge(&at("none"), Content::value(1.into()), &context).await.is_err());
        store.post(&at("list"), Content::value(1.into()), &context).await.unwrap();
        store.delete(&at("a"), &context).await.unwrap();
        let all = ["put a", "get a", "post list", "delete a"];
        let expected: Vec<_> =
            all.into_iter().filter(|told| reads || !told.starts_with("get")).collect();
        assert_eq!(*told.borrow(), expected);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn read_only_refuses_to_write() {
    let source = memory();
    put(&*source, "a", 1).await;
    let store = ReadOnly::new(source);
    assert_eq!(get(&store, "a").await, Some(1.into()));
    assert_eq!(names(&store, "").await, ["a"]);
    let context = Context::default();
    let refused = store.put(&at("a"), Content::text("x"), &context).await;
    assert_eq!(failed(refused).kind, Kind::NotAllowed);
    assert_eq!(failed(store.delete(&at("a"), &context).await).kind, Kind::NotAllowed);
    assert_eq!(
        failed(store.post(&at("a"), Content::text("x"), &context).await).kind,
        Kind::NotAllowed
    );
    let verbs = store.verbs(&at("a"));
    assert!(verbs.has(Verb::Get) && verbs.has(Verb::Query) && !verbs.has(Verb::Delete));
}

#[tokio::test(flavor = "current_thread")]
async fn map_changes_references_and_content() {
    let source = memory();
    let refuse = || Error::new(Kind::Invalid, "no such name");
    let store = Map::new(source.clone(), "txt")
        .references(
            move |above| match above.name() {
                Some("bad") => Err(refuse()),
                Some(_) => Ok(above.with_path(format!("{}.txt", above.path()))),
                None => Ok(above.clone()),
            },
            |below| Ok(below.with_path(below.path().trim_end_matches(".txt"))),
        )
        .reading(|_, content| {
            content.read(99).map(|text| Content::bytes([&text[..], b"!"].concat()))
        })
        .writing(|on, content| {
            let path = on.path().to_string();
            content.read(99).map(move |text| {
                Content::text(format!("{path}={}", String::from_utf8_lossy(&text)))
            })
        });
    put(&store, "b", "x").await;
    put(&store, "a-b", "y").await;
    assert_eq!(names(&*source, "").await, ["a-b.txt", "b.txt"]);
    assert_eq!(names(&store, "").await, ["a-b", "b"]);
    assert_eq!(get(&store, "b").await, Some("b=x!".into()));
    let error = failed(store.get(&at("bad"), &Context::default()).await);
    assert_eq!((error.kind, error.reference.as_deref()), (Kind::Invalid, Some("bad")));
    assert_eq!(store.verbs(&at("bad")), Verbs::NONE);
    let posting = Map::new(Rc::new(Echo::default()), "txt").references(
        |above| Ok(above.with_path(format!("below/{}", above.path()))),
        |below| Ok(below.with_path(below.path().trim_start_matches("below/"))),
    );
    let posted = posting.post(&at("a"), Content::text("x"), &Context::default()).await.unwrap();
    assert_eq!(posted.reference.unwrap().path(), "a/7");
}

#[tokio::test(flavor = "current_thread")]
async fn route_chooses_by_the_first_part_of_the_path() {
    let (tasks, rest) = (memory(), memory());
    let store = Route::by_segment();
    let context = Context::default();
    assert!(store.mount("tasks", tasks.clone()).is_none());
    put(&store, "/tasks/a/b", 1).await;
    put(&store, "tasks", 2).await;
    assert_eq!(
        (get(&*tasks, "a/b").await, get(&*tasks, "").await),
        (Some(1.into()), Some(2.into()))
    );
    assert_eq!(get(&store, "other/a").await, None);
    let refused = store.put(&at("other/a"), Content::text("x"), &context).await;
    assert_eq!(failed(refused).kind, Kind::NotAllowed);
    assert!(!store.delete(&at("other/a"), &context).await.unwrap().is_something());
    store.otherwise(rest.clone());
    put(&store, "other/a", 3).await;
    put(&*rest, "tasks", 4).await;
    assert_eq!(get(&*rest, "other/a").await, Some(3.into()));
    let entry = |name: &str| Entry { name: name.to_string(), collection: true };
    let listed = store.list(&at("/"), &context).await.unwrap().unwrap();
    assert_eq!(listed, [entry("other"), entry("tasks")]);
    store.mount("echo", Rc::new(Echo::default()));
    let posted = store.post(&at("/echo/x"), Content::text("x"), &context).await.unwrap();
    assert_eq!(posted.reference.unwrap().path(), "echo/x/7");
    assert_eq!(store.names(), ["echo", "tasks"]);
    assert!(store.unmount("tasks").is_some() && store.store("tasks").is_none());
    assert_eq!(get(&store, "tasks").await, Some(4.into()));
}

#[tokio::test(flavor = "current_thread")]
async fn route_chooses_by_the_scheme() {
    let (var, file) = (memory(), memory());
    let store = Route::by_scheme();
    store.otherwise(var.clone());
    store.mount("file", file.clone());
    put(&*var, "a", 1).await;
    put(&*file, "a", 2).await;
    let read = |reference: Reference| now(store.get(&reference, &Context::default())).unwrap();
    let value = |content: Option<Content>| now(content.unwrap().into_value(9)).unwrap();
    assert_eq!(value(read(at("a"))), 1.into());
    assert_eq!(value(read(at("a").with_scheme("file"))), 2.into());
    assert_eq!(value(read(at("a").with_scheme("unknown"))), 1.into());
}

#[tokio::test(flavor = "current_thread")]
async fn sequence_reads_from_the_first_that_has_it() {
    let (settings, defaults) = (memory(), memory());
    put(&*defaults, "a", 1).await;
    put(&*defaults, "b/c", Value::List(vec![1.into()])).await;
    let store = Sequence::new(vec![settings.clone(), defaults.clone()]);
    assert_eq!(get(&store, "a").await, Some(1.into()));
    put(&store, "a", 2).await;
    put(&store, "b", 3).await;
    assert_eq!(
        (get(&store, "a").await, get(&*defaults, "a").await),
        (Some(2.into()), Some(1.into()))
    );
    let context = Context::default();
    let listed = store.list(&at(""), &context).await.unwrap().unwrap();
    let entry = |name: &str, collection| Entry { name: name.to_string(), collection };
    assert_eq!(listed, [entry("a", false), entry("b", true)]);
    assert!(store.list(&at("a"), &context).await.unwrap().is_none());
    let count = Query { count: true, ..Query::default() };
    let counted = store.query(&at("b/c"), &count, &context).await.unwrap();
    assert!(matches!(counted.body, Body::Value(Value::Int(1))));
    assert!(store.delete(&at("a"), &context).await.unwrap().is_something());
    assert_eq!(get(&store, "a").await, Some(1.into()));
    let none = Sequence::new(vec![]);
    assert_eq!(get(&none, "a").await, None);
    assert_eq!(
        failed(none.put(&at("a"), Content::text("x"), &context).await).kind,
        Kind::NotAllowed
    );
}

/// A store that answers later, counts reads, and waits in the middle of each verb.
struct Slow {
    memory: Rc<Memory>,
    reads: Rc<Cell<u32>>,
}

impl Slow {
    fn new() -> Self {
        Slow { memory: Rc::new(Memory::site()), reads: Rc::default() }
    }
}

impl Store for Slow {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.reads.set(self.reads.get() + 1);
        let found = self.memory.get(reference, context);
        Answer::later(async move {
            tokio::task::yield_now().await;
            found.await
        })
    }
    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (memory, reference, context) =
            (self.memory.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            tokio::task::yield_now().await;
            memory.put(&reference, content, &context).await
        })
    }
    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.memory.delete(reference, context)
    }
    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.memory.list(reference, context)
    }
    runnel_store::without!(links);
    fn describe(&self) -> String {
        "slow".to_string()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn cache_asks_the_source_once() {
    let slow = Slow::new();
    let (source, reads) = (slow.memory.clone(), slow.reads.clone());
    let store = Cache::in_memory(Rc::new(slow));
    put(&*source, "a/b", 1).await;
    for _ in 0..3 {
        assert_eq!(get(&store, "a/b").await, Some(1.into()));
    }
    assert_eq!(reads.get(), 1);
    let context = Context::default();
    let content = store.get(&at("a/b"), &context).await.unwrap().unwrap();
    let known = Context { known: content.entity_tag, ..Context::default() };
    let short = now(store.get(&at("a/b"), &known)).unwrap().unwrap();
    assert!(matches!(short.body, Body::Empty));
    assert_eq!(get(&store, "none").await, None);
    assert_eq!(get(&store, "none").await, None);
    assert_eq!(reads.get(), 3);
}

#[tokio::test(flavor = "current_thread")]
async fn cache_forgets_what_is_written_and_everything_above() {
    let slow = Slow::new();
    let (source, reads) = (slow.memory.clone(), slow.reads.clone());
    let store = Cache::in_memory(Rc::new(slow));
    for path in ["", "a", "a/b", "c"] {
        put(&*source, path, 1).await;
        assert_eq!(get(&store, path).await, Some(1.into()));
    }
    put(&store, "a/b", 2).await;
    put(&*source, "c", 2).await;
    reads.set(0);
    assert_eq!(get(&store, "a/b").await, Some(2.into()));
    assert_eq!((get(&store, "a").await, get(&store, "").await), (Some(1.into()), Some(1.into())));
    assert_eq!(reads.get(), 3);
    assert_eq!(get(&store, "c").await, Some(1.into()));
    now(store.invalidate(&at("c"))).unwrap();
    assert_eq!(get(&store, "c").await, Some(2.into()));
    assert!(store.delete(&at("c"), &Context::default()).await.unwrap().is_something());
    assert_eq!(get(&store, "c").await, None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_read_that_overlaps_a_write_is_not_kept() {
    let slow = Slow::new();
    let source = slow.memory.clone();
    let store = Cache::in_memory(Rc::new(slow));
    put(&*source, "a", "old").await;
    // The read has the old content in hand when the write is done.
    let context = Context::default();
    let reading = store.get(&at("a"), &context);
    let writing = store.put(&at("a"), Content::value("new".into()), &context);
    let (read, written) = tokio::join!(reading, writing);
    assert!(!written.unwrap().is_created());
    assert!(matches!(read.unwrap().unwrap().body, Body::Value(Value::Text(text)) if text == "old"));
    assert_eq!(get(&store, "a").await, Some("new".into()));
    // A write that is given up may have happened: nothing read in the meantime is kept.
    let mut writing = store.put(&at("a"), Content::value("newer".into()), &context);
    let mut step = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(&mut writing).poll(&mut step).is_pending());
    assert_eq!(get(&store, "a").await, Some("new".into()));
    drop(writing);
    put(&*source, "a", "newer").await;
    assert_eq!(get(&store, "a").await, Some("newer".into()));
}

#[tokio::test(flavor = "current_thread")]
async fn cache_passes_what_it_cannot_keep() {
    struct Streams;
    impl Store for Streams {
        fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
            let length = reference.path().parse().ok();
            let body = Body::Stream(Box::pin(stream::iter([Ok("abc".into())])), length);
            Answer::ok(Some(Content { body, ..Content::default() }))
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "streams".to_string()
        }
    }
    let cache = memory();
    let store = Cache::new(cache.clone(), Rc::new(Streams));
    assert_eq!(get(&store, "unknown").await, Some("abc".into()));
    assert_eq!(get(&store, "3").await, Some("abc".into()));
    assert_eq!(names(&*cache, "").await, ["3"]);
}

#[test]
fn a_graph_shows_what_a_store_is_made_of() {
    let json = Rc::new(Json::down(Rc::new(Memory::dictionary())));
    let store = Cache::in_memory(Rc::new(Relative::new(json, at("a"))));
    let expected = "cache\n├─ cache: memory site\n└─ source: relative a\n   \
                    └─ source: json down\n      └─ source: memory dictionary\n";
    assert_eq!(draw_graph(&store), expected);
    let route = Route::by_segment();
    route.mount("a", Rc::new(ReadOnly::new(memory())));
    route.otherwise(memory());
    let expected = "route by path\n├─ /a: read only\n│  └─ source: memory site\n\
                    └─ otherwise: memory site\n";
    assert_eq!(draw_graph(&route), expected);
}

/// Stores that contain themselves are drawn to a limit, however often they do.
#[test]
fn a_graph_ends() {
    let route = Rc::new(Route::by_segment());
    for name in ["a", "b", "c"] {
        route.mount(name, route.clone());
    }
    let drawn = draw_graph(&*route);
    assert!(drawn.contains('…') && drawn.len() < 1 << 20);
    // Taken apart again, or it would never be freed.
    for name in ["a", "b", "c"] {
        assert!(route.unmount(name).is_some());
    }
}

#[test]
fn contexts_know_only_short_answers() {
    let tag = EntityTag::strong("1");
    let context = Context { known: Some(tag.clone()), ..Context::default() };
    let short = Content { entity_tag: Some(tag.clone()), ..Content::default() };
    assert!(context.knows(&short));
    assert!(!context.knows(&Content { entity_tag: Some(tag), ..Content::text("x") }));
    assert!(!Context::default().knows(&Content::default()));
}
