//! Combinators that look at names and at what is there: ensure, extension, rename, merge.

use futures_util::{FutureExt, StreamExt};
use runnel_store::{
    Answer, Changes, Content, Context, Ensure, Entry, Extension, Kind, Memory, Merge, Outcome,
    Reference, Rename, Store, Value,
};
use std::rc::Rc;
use tokio::task::yield_now;

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn now<T>(answer: Answer<T>) -> runnel_store::Result<T> {
    let Answer::Ready(result) = answer else { panic!("this is answered at once") };
    result
}

fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let found = now(store.get(&at(path), &Context::default())).unwrap()?;
    Some(now(found.into_value(1 << 20)).unwrap())
}

fn put(store: &dyn Store, path: &str, value: impl Into<Value>) {
    now(store.put(&at(path), Content::value(value.into()), &Context::default())).unwrap();
}

fn names(store: &dyn Store, path: &str) -> Vec<String> {
    let entries = now(store.list(&at(path), &Context::default())).unwrap().unwrap();
    let name = |entry: Entry| entry.name + if entry.collection { "/" } else { "" };
    entries.into_iter().map(name).collect()
}

/// What a watcher was told, as `changed a/b`.
fn told(changes: &mut Changes) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Some(change)) = changes.next().now_or_never() {
        let change = change.unwrap();
        told.push(format!("{} {}", change.kind.name(), change.reference.path()));
    }
    told
}

#[test]
fn what_is_missing_is_an_error() {
    let store = Ensure::new(Rc::new(Memory::site()));
    put(&store, "a/b", 1);
    assert_eq!((get(&store, "a/b"), names(&store, "a")), (Some(1.into()), vec!["b".to_string()]));
    let error = now(store.get(&at("x"), &Context::default())).map(|_| ()).unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (Kind::NotFound, "get x: there is nothing here")
    );
    let error = now(store.list(&at("a/b"), &Context::default())).unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert!(!now(store.delete(&at("x"), &Context::default())).unwrap().is_something());
}

#[test]
fn an_ending_is_added_and_taken_off() {
    let below = Rc::new(Memory::site());
    let store = Extension::new(below.clone(), ".json");
    put(&store, "a/b", 1);
    put(&store, "c", 2);
    put(&*below, "notes.txt", 3);
    assert_eq!(get(&*below, "a/b.json"), Some(1.into()));
    assert_eq!((get(&store, "a/b"), get(&store, "notes.txt")), (Some(1.into()), None));
    assert_eq!(names(&store, ""), ["a/", "c"]);
    assert_eq!(names(&store, "a"), ["b"]);
    assert!(now(store.delete(&at("c"), &Context::default())).unwrap().is_something());
    assert_eq!(names(&store, ""), ["a/"]);
}

#[test]
fn changes_are_told_without_the_ending() {
    let below = Rc::new(Memory::site());
    let store = Extension::new(below.clone(), "json");
    let mut all = now(store.watch(&at(""), &Context::default())).unwrap();
    let mut some = now(store.watch(&at("a"), &Context::default())).unwrap();
    put(&store, "a", 1);
    put(&store, "a/b", 1);
    put(&store, "ab", 1);
    now(store.delete(&at("a"), &Context::default())).unwrap();
    put(&*below, "other", 1);
    assert_eq!(
        told(&mut all),
        ["changed a", "changed a/b", "changed ab", "deleted a", "lost other"]
    );
    let mut some = told(&mut some);
    some.sort_unstable();
    // Two changes of one reference in a row are told as one.
    assert_eq!(some, ["changed a/b", "deleted a"]);
}

#[test]
fn parts_have_other_names() {
    let below = Rc::new(Memory::site());
    let store = Rename::prefixes(below.clone(), [("users", "v1/people"), ("users/root", "admin")]);
    let mut changes = now(store.watch(&at("users"), &Context::default())).unwrap();
    put(&store, "users/7", 1);
    put(&store, "users/root", 2);
    put(&store, "usersx", 3);
    assert_eq!(get(&*below, "v1/people/7"), Some(1.into()));
    assert_eq!(get(&*below, "admin"), Some(2.into()));
    assert_eq!(get(&*below, "usersx"), Some(3.into()));
    assert_eq!(names(&store, "users"), ["7"]);
    assert_eq!(told(&mut changes), ["changed users/7"]);
}

#[test]
fn what_is_put_is_added() {
    let store = Merge::new(Rc::new(Memory::site()));
    let list = |numbers: &[i64]| Value::List(numbers.iter().map(|it| Value::Int(*it)).collect());
    put(&store, "list", list(&[1]));
    put(&store, "list", list(&[2, 3]));
    assert_eq!(get(&store, "list"), Some(list(&[1, 2, 3])));
    put(&store, "text", "a");
    put(&store, "text", "b");
    assert_eq!(get(&store, "text"), Some("ab".into()));
    put(&store, "text", list(&[1]));
    assert_eq!(get(&store, "text"), Some(list(&[1])));
    put(&store, "text", 5);
    put(&store, "text", Value::Nil);
    assert_eq!(get(&store, "text"), None);
    for bytes in [vec![0xff_u8], vec![0x00, 0xfe]] {
        now(store.put(&at("bytes"), Content::bytes(bytes), &Context::default())).unwrap();
    }
    assert_eq!(get(&store, "bytes"), Some(Value::Bytes(vec![0xff, 0x00, 0xfe].into())));
    let page = Content::text("<p>").with_media_type("text/html");
    now(store.put(&at("page"), page, &Context::default())).unwrap();
    now(store.put(&at("page"), Content::text("x"), &Context::default())).unwrap();
    let page = now(store.get(&at("page"), &Context::default())).unwrap().unwrap();
    assert_eq!(page.media_type.as_deref(), Some("text/html"));
    assert_eq!(now(page.into_value(99)).unwrap(), "<p>x".into());
}

/// Puts that overlap, and one of them given up, lose nothing.
#[tokio::test(flavor = "current_thread")]
async fn additions_follow_each_other() {
    struct Slow(Rc<Memory>);
    impl Store for Slow {
        fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
            let found = self.0.get(reference, context);
            Answer::later(async move {
                yield_now().await;
                found.await
            })
        }
        fn put(
            &self,
            reference: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            let (memory, on, context) = (self.0.clone(), reference.clone(), context.clone());
            Answer::later(async move {
                yield_now().await;
                memory.put(&on, content, &context).await
            })
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "slow".to_string()
        }
    }
    let memory = Rc::new(Memory::site());
    let store = Merge::new(Rc::new(Slow(memory.clone())));
    let put = |text: &str| store.put(&at("a"), Content::value(text.into()), &Context::default());
    let mut puts: Vec<_> = ["a", "b", "c", "d"].map(put).into();
    drop(puts.remove(1));
    for result in futures_util::future::join_all(puts).await {
        result.unwrap();
    }
    assert_eq!(get(&*memory, "a"), Some("acd".into()));
}
