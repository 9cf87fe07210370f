//! Combinators for names and for networks against the laws of a store.

use runnel_store::conformance::{Abilities, check};
use runnel_store::{
    Cache, Conditions, Extension, Limit, LimitOptions, Memory, Reference, Relative, Rename, Retry,
    RetryOptions, Store, Timeout, WriteBack, WriteBackOptions,
};
use std::rc::Rc;
use std::time::Duration;

fn run(store: Rc<dyn Store>, abilities: Abilities) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, check(store, abilities));
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

#[test]
fn extension() {
    run(Rc::new(Extension::new(memory(), "json")), Abilities::ALL);
}

#[test]
fn rename() {
    let renamed = Rename::prefixes(memory(), [("", "below/p")]);
    run(Rc::new(renamed), Abilities::ALL);
    let renamed = Rename::prefixes(memory(), [("a", "b")]);
    run(Rc::new(Relative::new(Rc::new(renamed), Reference::from_path("a"))), Abilities::ALL);
}

#[test]
fn timeout() {
    run(Rc::new(Timeout::new(memory(), Duration::from_secs(60))), Abilities::ALL);
}

#[test]
fn retry() {
    run(
        Rc::new(Retry::new(
            memory(),
            RetryOptions { retry_posts: true, ..RetryOptions::default() },
        )),
        Abilities::ALL,
    );
}

#[test]
fn limit() {
    let options = LimitOptions { max_concurrent: Some(1), ..LimitOptions::default() };
    run(Rc::new(Limit::new(memory(), options)), Abilities::ALL);
    let options = LimitOptions {
        rate: Some(1e6),
        burst: 1000,
        max_concurrent: None,
        ..LimitOptions::default()
    };
    run(Rc::new(Limit::new(memory(), options)), Abilities::ALL);
}

#[test]
fn caches_with_options() {
    let abilities = Abilities { conditions: Conditions::Presence, ..Abilities::ALL };
    run(Rc::new(Cache::in_memory(memory()).write_through()), abilities);
    run(Rc::new(Cache::in_memory(memory()).watching()), abilities);
    let small = Cache::in_memory(memory()).with_entries(3).with_size(4096);
    run(Rc::new(small.with_age(Duration::from_millis(1))), abilities);
}

#[test]
fn write_back() {
    // What is pending has no tag yet, and what changed and changed back is never told.
    let abilities = Abilities {
        entity_tags: false,
        conditions: Conditions::Presence,
        watch_in_order: false,
        watch_overruns: false,
        ..Abilities::ALL
    };
    for (delay, pending) in [(0, 2), (2, 1000)] {
        let delay = Duration::from_millis(delay);
        let options =
            WriteBackOptions { delay, max_pending: pending, exact: true, ..Default::default() };
        run(Rc::new(WriteBack::new(memory(), options)), abilities);
    }
}
