//! Shards and mirrors: one store of several.

use futures_util::{StreamExt, stream};
use runnel_store::{
    Answer, Attributes, Body, ChangeKind, Condition, Confinement, Content, Context, Disk, Entry,
    Error, KeyRange, Kind, Layer, MIRRORED_WRITES, Memory, Mirror, MirrorOptions, Outcome,
    Reference, Result, Shard, ShardOptions, Store, Transaction, Verb, list_keys,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;

fn at(path: &str) -> Reference {
    Reference::from_path(path.to_string())
}

fn none() -> Context {
    Context::default()
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

fn memories(count: usize) -> Vec<Rc<dyn Store>> {
    (0..count).map(|_| memory()).collect()
}

fn shard(stores: &[Rc<dyn Store>], segments: Option<usize>) -> Rc<dyn Store> {
    Rc::new(Shard::new(stores.to_vec(), ShardOptions { segments }).unwrap())
}

fn mirror(stores: &[Rc<dyn Store>], writes: Option<usize>) -> Rc<dyn Store> {
    Rc::new(Mirror::new(stores.to_vec(), MirrorOptions { writes }).unwrap())
}

async fn put(store: &Rc<dyn Store>, path: &str, text: &str) -> Result<Outcome> {
    store.put(&at(path), Content::text(text.to_string()), &none()).await
}

async fn read(store: &Rc<dyn Store>, path: &str) -> Option<String> {
    let found = store.get(&at(path), &none()).await.unwrap()?;
    let bytes = found.read(1 << 20).await.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn names(store: &Rc<dyn Store>, path: &str) -> Vec<String> {
    let listed = store.list(&at(path), &none()).await.unwrap();
    listed.unwrap_or_default().into_iter().map(|entry: Entry| entry.name).collect()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// A store whose calls wait, fail while it is away, and create members of their own when posted to.
struct Away {
    source: Rc<dyn Store>,
    fails: Cell<bool>,
    waits: Cell<bool>,
    posts: Cell<u32>,
}

impl Away {
    fn new() -> Rc<Away> {
        let (fails, waits) = (Cell::new(false), Cell::new(false));
        Rc::new(Away { source: memory(), fails, waits, posts: Cell::new(0) })
    }
}

struct Line(Rc<Away>);

impl Layer for Line {
    fn below<'a>(&'a self, _: Verb, on: &'a Reference) -> Result<runnel_store::Below<'a>> {
        Ok(runnel_store::Below::same(&self.0.source, on))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "line".to_string()
    }

    fn around<T: 'static>(
        &self,
        _: Verb,
        on: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if self.0.fails.get() {
            return Error::new(Kind::Unavailable, "the line is down").into();
        }
        if !self.0.waits.get() {
            return act(&*self.0.source, on, context);
        }
        let (away, on, context) = (self.0.clone(), on.clone(), context.clone());
        Answer::later(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            act(&*away.source, &on, &context).await
        })
    }

    fn layer_post(&self, on: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.0.posts.set(self.0.posts.get() + 1);
        let member = on.join(&self.0.posts.get().to_string());
        self.0.source.put(&member, content, context).map(|_| Outcome::posted(member))
    }

    fn layer_confined(&self, _: &Reference, _: bool) -> Confinement {
        Confinement::Impossible
    }
}

fn line(away: &Rc<Away>) -> Rc<dyn Store> {
    Rc::new(Line(away.clone()))
}

#[test]
fn the_stores_are_checked() {
    let same = memory();
    for (stores, problem) in [
        (vec![], "must be from 1 to 64 stores (got 0)"),
        (memories(65), "must be from 1 to 64 stores (got 65)"),
        (
            vec![memory(), same.clone(), same.clone()],
            "the same store twice, as number 2 and number 3",
        ),
    ] {
        let sharded = Shard::new(stores.clone(), ShardOptions::default()).err().unwrap();
        let mirrored = Mirror::new(stores, MirrorOptions::default()).err().unwrap();
        for error in [sharded, mirrored] {
            assert_eq!(error.kind, Kind::Invalid);
            assert!(error.message.contains(problem), "{error}");
        }
    }
    for writes in [0, 3] {
        let options = MirrorOptions { writes: Some(writes) };
        let error = Mirror::new(memories(2), options).err().unwrap();
        assert!(error.message.contains("must be from 1 to 2, the number of its stores"), "{error}");
    }
}

#[test]
fn a_shard_lists_all_stores_in_order_and_in_pages() {
    run(async {
        let stores = memories(4);
        let store = shard(&stores, None);
        let mut expected = Vec::new();
        for number in 0..200 {
            let path = format!("f{}/k{number:03}", number % 3);
            put(&store, &path, "x").await.unwrap();
            expected.push(path);
        }
        expected.sort_unstable();
        for one in &stores {
            assert!(names(one, "f1").await.len() < 67, "one store has everything");
        }
        assert_eq!(names(&store, "").await, ["f0", "f1", "f2"]);
        assert_eq!(names(&store, "f1").await.len(), 67);
        for limit in [1, 7, 199, 200, 1000] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let range = KeyRange { after: after.take(), limit, ..KeyRange::default() };
                let page = list_keys(&store, &at(""), &range, &none()).await.unwrap();
                assert!(page.keys.len() <= limit);
                found.extend(page.keys.into_iter().map(|key| key.name));
                after = found.last().cloned();
                if !page.more {
                    break;
                }
            }
            assert_eq!(found, expected, "pages of {limit}");
        }
        // A folder is only listed, and each of its stores has a part.
        assert!(store.get(&at("f1"), &none()).await.unwrap().is_none());
    });
}

#[test]
fn what_is_not_at_home_is_not_there() {
    run(async {
        let stores = memories(2);
        let store = shard(&stores, None);
        let mut changes = store.watch(&at(""), &none()).await.unwrap();
        for number in 0..20 {
            // In both stores: one of them is no home.
            for one in &stores {
                put(one, &format!("f/{number}"), "left").await.unwrap();
            }
        }
        for number in 0..20 {
            put(&store, &format!("f/{number}"), "new").await.unwrap();
        }
        let mut told = Vec::new();
        while told.len() < 40 {
            let change = changes.next().await.unwrap().unwrap();
            assert_eq!(change.kind, ChangeKind::Changed);
            told.push(change.reference.path().to_string());
        }
        assert_eq!(names(&store, "f").await.len(), 20);
        for number in 0..20 {
            let path = format!("f/{number}");
            assert_eq!(told.iter().filter(|one| **one == path).count(), 2, "{path}");
            store.delete(&at(&path), &none()).await.unwrap();
            assert_eq!(read(&store, &path).await, None);
        }
        let page = list_keys(&store, &at(""), &KeyRange::default(), &none()).await.unwrap();
        assert_eq!((page.keys.len(), page.more), (0, false));
        assert_eq!(names(&store, "f").await, [""; 0]);
    });
}

#[test]
fn a_further_store_gets_its_share_by_a_sync() {
    run(async {
        let stores = memories(3);
        let (old, new) = (shard(&stores[..2], None), shard(&stores, None));
        for number in 0..60 {
            put(&old, &format!("n{number}"), "x").await.unwrap();
        }
        assert!(names(&new, "").await.len() < 60);
        let options = runnel_store::CopyOptions {
            delete_extra: true,
            only_changed: true,
            ..runnel_store::CopyOptions::default()
        };
        let root = at("");
        let report =
            runnel_store::copy(old, &root, new.clone(), &root, options, |_| ()).await.unwrap();
        assert_eq!(report.total.failed, 0);
        let moved = names(&stores[2], "").await.len() as u64;
        assert_eq!((report.total.copied, report.total.unchanged), (moved, 60 - moved));
        assert_eq!(names(&new, "").await.len(), 60);
    });
}

#[test]
fn a_listing_fails_with_one_of_its_stores() {
    run(async {
        let away = Away::new();
        let store = shard(&[line(&away), memory()], None);
        put(&store, "a", "x").await.unwrap();
        put(&store, "b", "x").await.unwrap();
        away.fails.set(true);
        let listed = store.list(&at(""), &none()).await.unwrap_err();
        assert_eq!((listed.kind, listed.verb), (Kind::Unavailable, Some(Verb::List)));
        let range = KeyRange::default();
        assert!(list_keys(&store, &at(""), &range, &none()).await.is_err());
    });
}

#[test]
fn a_post_that_creates_a_member_elsewhere_is_undone() {
    run(async {
        let away = [Away::new(), Away::new()];
        let lines = [line(&away[0]), line(&away[1])];
        let (store, together) = (shard(&lines, None), shard(&lines, Some(1)));
        let mut refused = 0;
        for _ in 0..16 {
            match store.post(&at("list"), Content::text("x"), &none()).await {
                Ok(posted) => {
                    assert!(read(&store, posted.reference.unwrap().path()).await.is_some())
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind, Kind::NotAllowed);
                    assert!(error.message.contains("segments: 1"), "{error}");
                }
            }
        }
        assert!(refused > 0);
        let kept =
            names(&away[0].source, "list").await.len() + names(&away[1].source, "list").await.len();
        assert_eq!(kept, 16 - refused);
        let posted = together.post(&at("other"), Content::text("x"), &none()).await.unwrap();
        assert!(read(&together, posted.reference.unwrap().path()).await.is_some());
    });
}

#[test]
fn what_needs_one_store_is_refused_elsewhere() {
    run(async {
        let store = shard(&memories(2), Some(1));
        let query = runnel_store::Query::default();
        let error = store.query(&at(""), &query, &none()).await.err().unwrap();
        assert_eq!(error.kind, Kind::NotAllowed);
        assert!(error.message.contains("cannot query together"), "{error}");
        let begun = store.tables().unwrap().begin(&at(""), None, &none()).await;
        assert_eq!(begun.err().unwrap().kind, Kind::NotAllowed);
        put(&store, "a/x", "1").await.unwrap();
        assert!(store.relocate(&at("a/x"), &at("a/y"), &none()).await.unwrap());
        assert_eq!(read(&store, "a/y").await.unwrap(), "1");
        let outside = store.get(&at("a/../b"), &none()).await.err().unwrap();
        assert_eq!(outside.kind, Kind::Denied);
    });
}

#[test]
fn a_confined_shard_finds_the_same_keys() {
    run(async {
        let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let disk = |folder: &tempfile::TempDir| {
            std::fs::create_dir(folder.path().join("docs")).unwrap();
            Rc::new(Disk::new(folder.path()).unwrap()) as Rc<dyn Store>
        };
        let stores: Vec<Rc<dyn Store>> = folders.iter().map(disk).collect();
        let store = shard(&stores, None);
        for number in 0..20 {
            put(&store, &format!("docs/{number}"), "x").await.unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", folders[0].path().join("docs/out")).unwrap();
        let Confinement::By(docs) = store.confined(&at("docs"), true) else {
            panic!("not confined")
        };
        for number in 0..20 {
            assert_eq!(read(&docs, &number.to_string()).await.unwrap(), "x");
        }
        let found = docs.get(&at("out"), &none()).await;
        assert!(!matches!(found, Ok(Some(_))), "a link leads outside");
    });
}

#[test]
fn every_write_reaches_all_stores() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let disk: Rc<dyn Store> = Rc::new(Disk::new(folder.path()).unwrap());
        let stores = [disk, memory(), memory()];
        let store = mirror(&stores, None);
        put(&store, "a", "one").await.unwrap();
        let chunks = ["tw", "o"].map(|chunk| Ok(bytes::Bytes::from(chunk)));
        let body = Body::Stream(Box::pin(stream::iter(chunks)), None);
        store.put(&at("b"), Content { body, ..Content::default() }, &none()).await.unwrap();
        store.post(&at("a"), Content::text(" more"), &none()).await.unwrap();
        // Larger than what a disk reads at once, so that the copies are streams.
        put(&store, "large", &"x".repeat(300_000)).await.unwrap();
        let attributes =
            Attributes { media_type: Some("image/x-test".into()), ..Attributes::default() };
        store.annotate(&at("b"), attributes, &none()).await.unwrap();
        put(&store, "c", "gone").await.unwrap();
        store.delete(&at("c"), &none()).await.unwrap();
        put(&store, "d", "moved").await.unwrap();
        assert!(store.relocate(&at("d"), &at("f/e"), &none()).await.unwrap());
        for one in &stores {
            assert_eq!(read(one, "a").await.unwrap(), "one more");
            assert_eq!(read(one, "b").await.unwrap(), "two");
            assert_eq!(read(one, "large").await.unwrap().len(), 300_000);
            assert_eq!(read(one, "f/e").await.unwrap(), "moved");
            assert_eq!(names(one, "").await, ["a", "b", "f", "large"]);
            let context = Context { attributes: true, ..none() };
            let found = one.get(&at("b"), &context).await.unwrap().unwrap();
            assert_eq!(found.media_type.as_deref(), Some("image/x-test"));
        }
    });
}

#[test]
fn a_posted_member_is_copied() {
    run(async {
        let copy = memory();
        let store = mirror(&[line(&Away::new()), copy.clone()], None);
        let posted = store.post(&at("list"), Content::text("x"), &none()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "list/1");
        assert_eq!(read(&copy, "list/1").await.unwrap(), "x");
    });
}

#[test]
fn a_failing_copy_is_an_error_unless_enough_stores_have_a_write() {
    run(async {
        let away = Away::new();
        let stores = [memory(), line(&away), memory()];
        let (all, two) = (mirror(&stores, None), mirror(&stores, Some(2)));
        away.fails.set(true);
        let error = put(&all, "a", "new").await.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
        assert!(error.message.starts_with("2 of 3 stores have it (the line is down)"), "{error}");
        assert!(error.message.contains("`syncTo:`"), "{error}");
        // The others have it.
        assert_eq!(read(&stores[2], "a").await.unwrap(), "new");
        put(&two, "a", "newer").await.unwrap();
        assert_eq!(read(&stores[2], "a").await.unwrap(), "newer");
        away.fails.set(false);
        assert_eq!(read(&stores[1], "a").await, None);
        put(&all, "a", "newest").await.unwrap();
        assert_eq!(read(&stores[1], "a").await.unwrap(), "newest");
    });
}

#[test]
fn the_first_store_decides() {
    run(async {
        let away = Away::new();
        let copy = memory();
        let store = mirror(&[line(&away), copy.clone()], None);
        put(&copy, "a", "only in the copy").await.unwrap();
        let absent = Context { only_if: Some(Condition::Absent), ..none() };
        store.put(&at("a"), Content::text("first"), &absent).await.unwrap();
        assert_eq!(read(&copy, "a").await.unwrap(), "first");
        let again = store.put(&at("a"), Content::text("second"), &absent).await.unwrap_err();
        assert_eq!(again.kind, Kind::Precondition);
        assert_eq!(read(&copy, "a").await.unwrap(), "first");
        // While it is away nothing is written, and the copy is read.
        let tag = store.get(&at("a"), &none()).await.unwrap().unwrap().entity_tag;
        assert!(tag.is_some());
        away.fails.set(true);
        assert_eq!(put(&store, "a", "third").await.unwrap_err().message, "the line is down");
        assert_eq!(names(&store, "").await, ["a"]);
        let known = Context { known: tag, ..none() };
        let found = store.get(&at("a"), &known).await.unwrap().unwrap();
        assert_eq!(found.entity_tag, None);
        assert_eq!(found.read(99).await.unwrap(), "first");
    });
}

/// A transaction of some store.
struct Begun;

impl Transaction for Begun {
    fn commit(&self) -> Answer<()> {
        Answer::ok(())
    }

    fn roll_back(&self) -> Answer<()> {
        Answer::ok(())
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        None
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

#[test]
fn what_one_store_alone_would_keep_is_refused() {
    run(async {
        let away = Away::new();
        let store = mirror(&[line(&away), memory()], None);
        let within = Context { transaction: Some(Rc::new(Begun)), ..none() };
        let written = store.put(&at("a"), Content::text("x"), &within).await.unwrap_err();
        assert_eq!(written.kind, Kind::NotAllowed);
        assert!(written.message.contains("cannot be rolled back"), "{written}");
        // A conflict of the transaction must not be answered by a copy.
        away.fails.set(true);
        assert!(store.get(&at("a"), &within).await.is_err());
        let minute = Duration::from_secs(60);
        let address = store.presign(&at("a"), Verb::Put, minute, &none()).await.unwrap_err();
        assert_eq!(address.kind, Kind::NotAllowed);
        let env: Rc<dyn Store> = Rc::new(runnel_store::Environment::new());
        let store = mirror(&[env, memory()], None);
        let untagged = put(&store, "a", "x").await.unwrap_err();
        assert!(untagged.message.contains("needs entity tags"), "{untagged}");
    });
}

#[test]
fn a_caller_who_goes_away_leaves_no_copy_behind() {
    run(async {
        let away = Away::new();
        away.waits.set(true);
        let copies = [line(&away), memory()];
        let store = mirror(&copies, None);
        let put = store.put(&at("a"), Content::text("x"), &none());
        tokio::task::yield_now().await;
        drop(put);
        while read(&copies[1], "a").await.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(read(&copies[0], "a").await.unwrap(), "x");
        // A stream that the caller still sends fails as a whole.
        let parts = stream::iter([Ok(bytes::Bytes::from("half"))]).chain(stream::pending());
        let body = Body::Stream(Box::pin(parts), None);
        let put = store.put(&at("b"), Content { body, ..Content::default() }, &none());
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(put);
        for _ in 0..20 {
            self::put(&store, "c", "x").await.unwrap();
        }
        assert_eq!(read(&copies[0], "b").await, None);
        assert_eq!(read(&copies[1], "b").await, None);
    });
}

#[test]
fn too_many_writes_are_refused() {
    run(async {
        let away = Away::new();
        away.waits.set(true);
        let store = mirror(&[line(&away), memory()], None);
        let under_way: Vec<_> = (0..MIRRORED_WRITES)
            .map(|number| store.put(&at(&number.to_string()), Content::text("x"), &none()))
            .collect();
        let refused = put(&store, "one more", "x").await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        assert!(refused.message.contains("1024 writes are under way already"), "{refused}");
        for write in under_way {
            write.await.unwrap();
        }
        put(&store, "one more", "x").await.unwrap();
    });
}

/// Mirrors of other workers and processes share nothing but the stores.
#[test]
fn several_mirrors_of_the_same_stores_agree() {
    run(async {
        let away = [Away::new(), Away::new(), Away::new()];
        let stores: Vec<Rc<dyn Store>> = away.iter().map(line).collect();
        away.iter().for_each(|one| one.waits.set(true));
        let mirrors: Vec<Rc<dyn Store>> = (0..4).map(|_| mirror(&stores, None)).collect();
        let seen = RefCell::new(0);
        for round in 0..20 {
            let writes = (0..12).map(|number| {
                let (store, seen) = (mirrors[number % 4].clone(), &seen);
                async move {
                    // Some later than others, so that they cross in many ways.
                    tokio::time::sleep(Duration::from_micros(
                        (number * round * 137) as u64 % 4_000,
                    ))
                    .await;
                    match number % 5 {
                        4 => store.delete(&at("a"), &none()).await.map(drop),
                        _ => put(&store, "a", &format!("{round} {number}")).await.map(drop),
                    }
                    .unwrap();
                    *seen.borrow_mut() += 1;
                }
            });
            futures_util::future::join_all(writes).await;
            let first = read(&stores[0], "a").await;
            assert_eq!(read(&stores[1], "a").await, first, "round {round}");
            assert_eq!(read(&stores[2], "a").await, first, "round {round}");
        }
        assert_eq!(seen.take(), 240);
    });
}
