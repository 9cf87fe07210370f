//! The process environment as a store.

use runnel_store::{
    Answer, Content, Context, Environment, Kind, Reference, Result, Store, Value, Verb,
};

fn now<T>(answer: Answer<T>) -> Result<T> {
    match answer {
        Answer::Ready(result) => result,
        Answer::Later(_) => panic!("the environment should answer at once"),
    }
}

fn get(store: &Environment, name: &str) -> Option<Value> {
    let content = now(store.get(&Reference::from_path(name), &Context::default())).unwrap()?;
    Some(now(content.into_value(1000)).unwrap())
}

fn put(store: &Environment, name: &str, content: Content) -> Result<bool> {
    let put = store.put(&Reference::from_path(name), content, &Context::default());
    now(put).map(|put| put.is_created())
}

fn names(store: &Environment) -> Vec<String> {
    let entries = now(store.list(&Reference::default(), &Context::default())).unwrap().unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn changes_lie_over_what_was_inherited() {
    let store = Environment::new();
    let clone = store.clone();
    assert_eq!(get(&store, "CARGO_PKG_NAME"), Some("runnel-store".into()));
    assert!(!put(&store, "CARGO_PKG_NAME", Content::text("changed")).unwrap());
    assert!(put(&store, "RUNNEL_NEW", Content::value(7.into())).unwrap());
    assert_eq!(get(&clone, "CARGO_PKG_NAME"), Some("changed".into()));
    assert_eq!(get(&clone, "/RUNNEL_NEW"), Some("7".into()));
    // The process itself is left alone: its other threads may be reading.
    assert_eq!(std::env::var("CARGO_PKG_NAME").as_deref(), Ok("runnel-store"));
    assert!(!put(&store, "CARGO_PKG_NAME", Content::value(Value::Nil)).unwrap());
    assert_eq!(get(&store, "CARGO_PKG_NAME"), None);
    let pair = |name: &str, value: Option<&str>| (name.to_string(), value.map(str::to_string));
    let expected = [pair("CARGO_PKG_NAME", None), pair("RUNNEL_NEW", Some("7"))];
    assert_eq!(clone.overlay(), expected);
}

#[test]
fn listing_and_deleting() {
    let store = Environment::new();
    put(&store, "RUNNEL_A", Content::text("a")).unwrap();
    let listed = names(&store);
    assert!(listed.is_sorted() && listed.contains(&"RUNNEL_A".to_string()));
    assert!(listed.contains(&"CARGO_PKG_NAME".to_string()));
    let all = Value::List(listed.into_iter().map(Value::Text).collect());
    assert_eq!(get(&store, ""), Some(all));
    let delete = |name: &str| {
        let gone = store.delete(&Reference::from_path(name), &Context::default());
        now(gone).map(|gone| gone.is_something())
    };
    assert!(delete("RUNNEL_A").unwrap() && delete("CARGO_PKG_NAME").unwrap());
    assert!(!delete("RUNNEL_A").unwrap() && !delete("no such").unwrap());
    assert!(!names(&store).contains(&"CARGO_PKG_NAME".to_string()));
    let leaf = store.list(&Reference::from_path("RUNNEL_A"), &Context::default());
    assert!(now(leaf).unwrap().is_none());
}

#[test]
fn what_the_system_cannot_hold_is_refused() {
    let store = Environment::new();
    let kind = |result: Result<bool>| result.unwrap_err().kind;
    for name in ["", "a=b", "a\0"] {
        assert_eq!(kind(put(&store, name, Content::text("x"))), Kind::Invalid, "{name:?}");
    }
    assert_eq!(get(&store, "a=b"), None);
    assert_eq!(kind(put(&store, "A", Content::text("a\0"))), Kind::Unsupported);
    assert_eq!(kind(put(&store, "A", Content::bytes(vec![0xff]))), Kind::Unsupported);
    assert_eq!(kind(put(&store, "A", Content::text("x".repeat(200_000)))), Kind::TooLarge);
    assert!(store.overlay().is_empty());
    assert!(!store.verbs(&Reference::default()).has(Verb::Put));
}
