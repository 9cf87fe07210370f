//! What is particular to the memory store; the conformance suite checks the rest.

use bytes::Bytes;
use futures_util::stream;
use runnel_store::{
    Answer, Body, Content, Context, Entry, Error, Form, Kind, Lazy, Memory, Metadata, Query,
    Reference, Result, Store, Value,
};
use std::any::Any;
use std::rc::Rc;

fn now<T>(answer: Answer<T>) -> Result<T> {
    match answer {
        Answer::Ready(result) => result,
        Answer::Later(_) => panic!("memory should answer at once"),
    }
}

fn at(path: &str) -> Reference {
    Reference::parse(path)
}

fn put(store: &Memory, path: &str, value: impl Into<Value>) -> bool {
    let put = store.put(&at(path), Content::value(value.into()), &Context::default());
    now(put).unwrap().is_created()
}

fn value(store: &Memory, path: &str) -> Option<Value> {
    let content = now(store.get(&at(path), &Context::default())).unwrap()?;
    Some(now(content.into_value(100)).unwrap())
}

fn names(store: &Memory, path: &str) -> Option<Vec<(String, bool)>> {
    let entries = now(store.list(&at(path), &Context::default())).unwrap()?;
    Some(entries.into_iter().map(|Entry { name, collection }| (name, collection)).collect())
}

fn entries(expected: &[(&str, bool)]) -> Option<Vec<(String, bool)>> {
    Some(expected.iter().map(|(name, collection)| (name.to_string(), *collection)).collect())
}

#[test]
fn the_root_of_a_dictionary_lists_its_keys_until_something_is_put_there() {
    let store = Memory::dictionary();
    assert_eq!(value(&store, "/"), Some(Value::List(vec![])));
    put(&store, "/b/c", 1);
    put(&store, "a", 2);
    assert_eq!(value(&store, ""), Some(Value::List(vec!["a".into(), "b/c".into()])));
    put(&store, "", 3);
    assert_eq!(value(&store, "/"), Some(3.into()));
    assert_eq!(value(&Memory::site(), ""), None);
}

#[test]
fn keys_of_a_dictionary_are_opaque_and_paths_of_a_site_are_not() {
    for (store, same) in [(Memory::dictionary(), false), (Memory::site(), true)] {
        put(&store, "/a/b", 1);
        assert_eq!(value(&store, "a/b"), Some(1.into()));
        assert_eq!(value(&store, "a/b/").is_some(), same);
        assert_eq!(value(&store, "a//b").is_some(), same);
    }
}

#[test]
fn inner_nodes_carry_content_and_children() {
    let store = Memory::site();
    assert!(put(&store, "hi", "Hello"));
    assert_eq!(names(&store, "hi"), None);
    assert!(put(&store, "hi/answer", 42));
    assert!(put(&store, "hi-there", 1));
    assert!(put(&store, "deep/er/still", 1));
    assert!(!put(&store, "hi", "Hello again"));
    assert_eq!(value(&store, "hi"), Some("Hello again".into()));
    assert_eq!(names(&store, ""), entries(&[("deep", true), ("hi", true), ("hi-there", false)]));
    assert_eq!(names(&store, "hi/"), entries(&[("answer", false)]));
    assert_eq!(names(&store, "deep"), entries(&[("er", true)]));
    assert_eq!(names(&store, "none"), None);
    assert!(now(store.delete(&at("hi"), &Context::default())).unwrap().is_something());
    assert_eq!(value(&store, "hi/answer"), Some(42.into()));
    assert_eq!(names(&Memory::site(), "/"), entries(&[]));
}

#[test]
fn nil_deletes_and_empty_content_is_kept() {
    let store = Memory::dictionary();
    put(&store, "a", 1);
    assert!(!put(&store, "a", Value::Nil));
    assert!(now(store.get(&at("a"), &Context::default())).unwrap().is_none());
    assert!(!put(&store, "a", Value::Nil));
    assert!(
        now(store.put(&at("a"), Content::default(), &Context::default())).unwrap().is_created()
    );
    let content = now(store.get(&at("a"), &Context::default())).unwrap().unwrap();
    assert!(matches!(content.body, Body::Empty));
}

#[test]
fn posts() {
    let store = Memory::site();
    let post = |path: &str, content: Content| {
        now(store.post(&at(path), content, &Context::default())).map(|_| ())
    };
    post("list", Content::text("a")).unwrap();
    post("list", Content::value(2.into())).unwrap();
    post("list", Content::default()).unwrap();
    assert_eq!(value(&store, "list"), Some(Value::List(vec!["a".into(), 2.into(), Value::Nil])));
    put(&store, "text", "a");
    post("text", Content::value(1.into())).unwrap();
    post("text", Content::text("b")).unwrap();
    assert_eq!(value(&store, "text"), Some("a1b".into()));
    let bad = post("text", Content::bytes(vec![0xff])).unwrap_err();
    assert_eq!((bad.kind, value(&store, "text")), (Kind::Unsupported, Some("a1b".into())));
    now(store.put(&at("bytes"), Content::bytes("a"), &Context::default())).unwrap();
    post("bytes", Content::bytes(vec![0xff])).unwrap();
    assert_eq!(value(&store, "bytes"), Some(Value::Bytes(Bytes::from_static(b"a\xff"))));
    put(&store, "number", 1);
    let error = post("number", Content::text("a")).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    assert_eq!(error.reference.as_deref(), Some("number"));
}

#[test]
fn merges() {
    let store = Memory::site();
    let merge = |path: &str, value: Value| {
        now(store.merge(&at(path), Content::value(value), &Context::default()))
    };
    put(&store, "a", Value::record([("x", 1.into()), ("y", 2.into())]));
    merge("a", Value::record([("y", Value::Nil), ("z", 3.into())])).unwrap();
    let expected = Value::record([("x", 1.into()), ("y", Value::Nil), ("z", 3.into())]);
    assert_eq!(value(&store, "a"), Some(expected));
    merge("a", 7.into()).unwrap();
    assert_eq!(value(&store, "a"), Some(7.into()));
    assert_eq!(merge("b", 7.into()).unwrap_err().kind, Kind::NotFound);
    assert_eq!(value(&store, "b"), None);
}

#[test]
fn who_knows_the_tag_gets_a_short_answer() {
    let store = Memory::site();
    let get = |known| {
        let context = Context { known, ..Context::default() };
        now(store.get(&at("a"), &context)).unwrap().unwrap()
    };
    put(&store, "a", "one");
    let tag = get(None).entity_tag;
    assert!(tag.as_ref().is_some_and(|tag| !tag.weak));
    let short = get(tag.clone());
    assert!(matches!(short.body, Body::Empty) && short.entity_tag == tag);
    put(&store, "a", "one");
    assert_ne!(get(None).entity_tag, tag);
    assert!(matches!(get(tag).body, Body::Value(_)));
}

#[test]
fn queries_run_over_lists() {
    let store = Memory::site();
    let query = Query { count: true, ..Query::default() };
    let run = |path: &str| now(store.query(&at(path), &query, &Context::default()));
    put(&store, "list", Value::List(vec![1.into(), 2.into()]));
    put(&store, "text", "a");
    assert!(matches!(run("list").unwrap().body, Body::Value(Value::Int(2))));
    assert_eq!(run("text").map(|_| ()).unwrap_err().kind, Kind::Unsupported);
    assert_eq!(run("none").map(|_| ()).unwrap_err().kind, Kind::NotFound);
}

#[tokio::test(flavor = "current_thread")]
async fn streams_are_taken_as_a_whole_or_not_at_all() {
    let store = Memory::site().with_limit(4);
    let content = |parts: Vec<Result<Bytes>>| Content {
        body: Body::Stream(Box::pin(stream::iter(parts)), None),
        ..Content::default()
    };
    let context = Context::default();
    let good = content(vec![Ok("ab".into()), Ok("cd".into())]).with_media_type("text/plain");
    assert!(store.put(&at("a"), good, &context).await.unwrap().is_created());
    let large = content(vec![Ok("abc".into()), Ok("de".into())]);
    let error = store.put(&at("a"), large, &context).await.unwrap_err();
    assert_eq!((error.kind, error.reference.as_deref()), (Kind::TooLarge, Some("a")));
    let broken = content(vec![Ok("x".into()), Err(Error::new(Kind::Unavailable, "gone"))]);
    assert!(store.put(&at("a"), broken, &context).await.is_err());
    drop(store.put(&at("a"), content(vec![Ok("y".into())]), &context));
    let content = store.get(&at("a"), &context).await.unwrap().unwrap();
    assert_eq!(content.media_type.as_deref(), Some("text/plain"));
    assert_eq!(content.read(9).await.unwrap(), "abcd");
}

/// Lazy content of the program is kept as it is, and joined with what is there as plain data.
#[test]
fn lazy_content() {
    struct Rows;
    impl Lazy for Rows {
        fn encode(&self, _: Form) -> Answer<Bytes> {
            Answer::ok("rows".into())
        }
        fn value(&self) -> Answer<Value> {
            Answer::ok(Value::record([("n", 1.into())]))
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }
    let store = Memory::site();
    let context = Context::default();
    let rows = || Content::lazy(Rc::new(Rows));
    now(store.put(&at("a"), rows(), &context)).unwrap();
    let content = now(store.get(&at("a"), &context)).unwrap().unwrap();
    assert_eq!(now(content.encode(Form::Json)).unwrap(), "rows");
    now(store.post(&at("list"), rows(), &context)).unwrap();
    let row = Value::record([("n", 1.into())]);
    assert_eq!(value(&store, "list"), Some(Value::List(vec![row.clone()])));
    put(&store, "record", Value::record([("m", 0.into())]));
    now(store.merge(&at("record"), rows(), &context)).unwrap();
    assert_eq!(value(&store, "record"), Some(Value::record([("m", 0.into()), ("n", 1.into())])));
}

#[test]
fn attributes_are_kept_with_content() {
    for store in [Memory::dictionary(), Memory::named("attributes").unwrap()] {
        let metadata = Metadata::from([("author".into(), "ann".into())]);
        let content = Content {
            metadata: Some(Rc::new(metadata.clone())),
            ..Content::text("hi").with_media_type("text/css")
        };
        now(store.put(&at("a"), content, &Context::default())).unwrap();
        let found = now(store.get(&at("a"), &Context::default())).unwrap().unwrap();
        assert_eq!(found.media_type.as_deref(), Some("text/css"));
        assert_eq!(found.metadata.as_deref(), Some(&metadata));
        let known = Context { known: found.entity_tag.clone(), ..Context::default() };
        let short = now(store.get(&at("a"), &known)).unwrap().unwrap();
        assert_eq!(short.metadata.as_deref(), Some(&metadata));
    }
}
