//! Combinators for names and for networks against the laws of a store.

use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Cache, Conditions, Disk, Extension, Limit, LimitOptions, Memory, Mirror, MirrorOptions,
    Reference, Relative, Rename, Retry, RetryOptions, Shard, ShardOptions, Store, Timeout,
    WriteBack, WriteBackOptions,
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

/// Changes of several stores have no common order and no common queue, and a query or a move is for
/// one of them.
const SHARD: Abilities = Abilities {
    query: false,
    relocation: false,
    watch_in_order: false,
    watch_overruns: false,
    ..Abilities::ALL
};

#[test]
fn shard() {
    let shard = |count, segments| {
        let stores = (0..count).map(|_| memory()).collect();
        Rc::new(Shard::new(stores, ShardOptions { segments }).unwrap())
    };
    run(shard(1, None), Abilities::ALL);
    run(shard(2, None), SHARD);
    run(shard(7, None), SHARD);
    run(shard(3, Some(1)), Abilities { query: true, relocation: true, ..SHARD });
    // Everything below one segment.
    let below = Relative::new(shard(5, Some(1)), Reference::from_path("photos"));
    run(Rc::new(below), Abilities::ALL);
}

#[test]
fn mirror() {
    let mirror = |count, writes| {
        let stores = (0..count).map(|_| memory()).collect();
        Rc::new(Mirror::new(stores, MirrorOptions { writes }).unwrap())
    };
    // A write continues when its caller disconnects, so that all copies get it.
    let abilities = Abilities { cancels_at_once: false, ..Abilities::ALL };
    run(mirror(1, None), abilities);
    run(mirror(2, None), abilities);
    run(mirror(3, Some(2)), abilities);
}

const DISKS: Abilities = Abilities {
    keeps: Keeps::Text,
    inner_content: false,
    collections_vanish: false,
    nil_deletes: false,
    posting: Posting::Appends,
    merge: false,
    query: false,
    watch_in_order: false,
    watch_overruns: false,
    ..Abilities::ALL
};

fn disks(count: usize) -> (Vec<tempfile::TempDir>, Vec<Rc<dyn Store>>) {
    let folders: Vec<_> = (0..count).map(|_| tempfile::tempdir().unwrap()).collect();
    let disk =
        |folder: &tempfile::TempDir| Rc::new(Disk::new(folder.path()).unwrap()) as Rc<dyn Store>;
    let stores = folders.iter().map(disk).collect();
    (folders, stores)
}

#[test]
fn mirror_of_disks() {
    let (_folders, stores) = disks(2);
    let mirror = Mirror::new(stores, MirrorOptions::default()).unwrap();
    run(Rc::new(mirror), Abilities { cancels_at_once: false, ..DISKS });
}

#[test]
fn shard_of_disks() {
    let (_folders, stores) = disks(3);
    let shard = Shard::new(stores, ShardOptions { segments: Some(1) }).unwrap();
    run(Rc::new(shard), DISKS);
}
