//! Copying trees between stores.

use runnel_store::{
    Answer, Body, Content, Context, CopyOptions, CopyReport, Disk, Entry, Error, Kind, Memory,
    Reference, Relative, Result, Store, Value, copy,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

async fn put(store: &Rc<dyn Store>, path: &str, text: &str) {
    store.put(&at(path), Content::text(text), &Context::default()).await.unwrap();
}

async fn get(store: &Rc<dyn Store>, path: &str) -> Option<String> {
    let found = store.get(&at(path), &Context::default()).await.unwrap()?;
    Some(String::from_utf8(found.read(99 << 20).await.unwrap().into()).unwrap())
}

async fn names(store: &Rc<dyn Store>, path: &str) -> Vec<String> {
    let entries = store.list(&at(path), &Context::default()).await.unwrap().unwrap_or_default();
    entries.into_iter().map(|entry| entry.name).collect()
}

async fn copied(
    from: &Rc<dyn Store>,
    from_path: &str,
    to: &Rc<dyn Store>,
    to_path: &str,
    options: CopyOptions,
) -> Result<CopyReport> {
    copy(from.clone(), &at(from_path), to.clone(), &at(to_path), options, |_| {}).await
}

/// Copied, unchanged, deleted, failed.
fn figures(report: &CopyReport) -> [u64; 4] {
    let total = &report.total;
    [total.copied, total.unchanged, total.deleted, total.failed]
}

const ALL: CopyOptions = CopyOptions { delete_extra: false, concurrent: 3, only_changed: false };
const SYNC: CopyOptions = CopyOptions { delete_extra: true, concurrent: 3, only_changed: true };

#[tokio::test(flavor = "current_thread")]
async fn a_tree_from_memory_to_a_disk_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Rc<dyn Store> = Rc::new(Disk::new(folder.path()).unwrap());
    let from: Rc<dyn Store> = Rc::new(Memory::dictionary());
    let large = "large ".repeat(300_000);
    for (path, text) in [("a", "1"), ("b/c", "22"), ("b/d/e", "333"), ("large", &large)] {
        put(&from, path, text).await;
    }
    let told = Rc::new(RefCell::new(Vec::new()));
    let tell = told.clone();
    let report = copy(from.clone(), &at(""), disk.clone(), &at("x"), ALL, move |progress| {
        tell.borrow_mut().push(progress.copied);
    });
    let report = report.await.unwrap();
    assert_eq!((figures(&report), report.total.bytes), ([4, 0, 0, 0], 6 + large.len() as u64));
    assert_eq!(*told.borrow(), [1, 2, 3, 4]);
    assert_eq!(std::fs::read_to_string(folder.path().join("x/b/d/e")).unwrap(), "333");
    let back = memory();
    let report = copied(&disk, "x", &back, "y", ALL).await.unwrap();
    assert_eq!(figures(&report), [4, 0, 0, 0]);
    assert_eq!(get(&back, "y/large").await.as_deref(), Some(large.as_str()));
    assert_eq!(names(&back, "y").await, ["a", "b", "large"]);
    assert_eq!(get(&back, "y/b").await, None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_single_content_and_nothing_at_all() {
    let (from, to) = (memory(), memory());
    put(&from, "a", "1").await;
    let report = copied(&from, "a", &to, "b", SYNC).await.unwrap();
    assert_eq!((figures(&report), get(&to, "b").await.as_deref()), ([1, 0, 0, 0], Some("1")));
    let error = copied(&from, "missing", &to, "b", SYNC).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert_eq!(get(&to, "b").await.as_deref(), Some("1"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_second_time_only_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let to: Rc<dyn Store> = Rc::new(Disk::new(folder.path()).unwrap());
    let from = memory();
    for path in ["a", "b", "c/d", "c/e", "gone/f/g"] {
        put(&from, path, "old").await;
    }
    assert_eq!(figures(&copied(&from, "", &to, "", SYNC).await.unwrap()), [5, 0, 0, 0]);
    assert_eq!(figures(&copied(&from, "", &to, "", SYNC).await.unwrap()), [0, 5, 0, 0]);
    put(&from, "a", "new").await;
    put(&from, "b", "longer").await;
    put(&to, "extra/x", "x").await;
    for path in ["c/e", "gone/f/g"] {
        from.delete(&at(path), &Context::default()).await.unwrap();
    }
    let report = copied(&from, "", &to, "", SYNC).await.unwrap();
    // Three contents and the directories `gone`, `gone/f` and `extra`.
    assert_eq!(figures(&report), [2, 1, 6, 0]);
    assert_eq!(names(&to, "").await, ["a", "b", "c"]);
    assert_eq!(names(&to, "c").await, ["d"]);
    assert_eq!(get(&to, "a").await.as_deref(), Some("new"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_copy_within_a_store_ends() {
    let store = memory();
    put(&store, "a/x", "1").await;
    put(&store, "a/b/y", "2").await;
    for _ in 0..2 {
        let report = copied(&store, "a", &store, "a/copy", ALL).await.unwrap();
        assert_eq!(figures(&report), [2, 0, 0, 0]);
    }
    assert_eq!(names(&store, "a/copy").await, ["b", "x"]);
    for (from, to, options) in [("a", "/a/", ALL), ("a/b", "a", SYNC)] {
        let error = copied(&store, from, &store, to, options).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
    }
    assert_eq!(get(&store, "a/b/y").await.as_deref(), Some("2"));
}

/// A store that fails at some names and counts what is read at once.
struct Failing {
    memory: Rc<dyn Store>,
    under_way: Rc<Cell<usize>>,
    most: Cell<usize>,
}

impl Store for Failing {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if reference.path().contains("bad") {
            return Error::new(Kind::Unavailable, "broken").into();
        }
        self.under_way.set(self.under_way.get() + 1);
        self.most.set(self.most.get().max(self.under_way.get()));
        let (found, under_way) = (self.memory.get(reference, context), self.under_way.clone());
        Answer::later(async move {
            tokio::task::yield_now().await;
            under_way.set(under_way.get() - 1);
            found.await
        })
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        if reference.path().contains("closed") {
            return Error::new(Kind::Denied, "closed").into();
        }
        self.memory.list(reference, context)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "failing".to_string()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn single_failures_are_told_and_delete_nothing() {
    let (inner, to) = (memory(), memory());
    for path in ["a", "bad", "closed/x", "d/bad", "d/e", "f", "g", "h"] {
        put(&inner, path, "1").await;
    }
    for path in ["bad", "closed/x", "extra"] {
        put(&to, path, "old").await;
    }
    let failing = Rc::new(Failing { memory: inner, under_way: Rc::default(), most: Cell::new(0) });
    let from: Rc<dyn Store> = failing.clone();
    let report = copied(&from, "", &to, "", SYNC).await.unwrap();
    assert_eq!(figures(&report), [5, 0, 1, 3]);
    let mut failures: Vec<_> =
        report.failures.iter().map(|(on, error)| (on.path(), error.kind)).collect();
    failures.sort_by_key(|(path, _)| *path);
    let expected =
        [("bad", Kind::Unavailable), ("closed", Kind::Denied), ("d/bad", Kind::Unavailable)];
    assert_eq!(failures, expected);
    assert_eq!(get(&to, "closed/x").await.as_deref(), Some("old"));
    assert_eq!(failing.most.get(), 3);
    let error = copied(&from, "bad", &to, "x", ALL).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    let error = copied(&from, "closed", &to, "x", ALL).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
}

#[tokio::test(flavor = "current_thread")]
async fn too_many_levels_are_an_error() {
    let (from, to) = (memory(), memory());
    put(&from, &["x"; 100].join("/"), "1").await;
    let error = copied(&from, "", &to, "", ALL).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::TooLarge);
}

#[tokio::test(flavor = "current_thread")]
async fn values_and_streams_keep_what_they_are() {
    struct Streams(Rc<dyn Store>);
    impl Store for Streams {
        fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
            self.0.get(reference, context).map(|found| {
                let content = found?;
                let Body::Text(text) = &content.body else { return Some(content) };
                let chunks: Vec<_> = text.bytes().map(|byte| Ok(vec![byte].into())).collect();
                let body = Body::Stream(Box::pin(futures_util::stream::iter(chunks)), None);
                Some(Content { body, ..content })
            })
        }
        fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
            self.0.list(reference, context)
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "streams".to_string()
        }
    }
    let inner = memory();
    let page = Content::text("<p>").with_media_type("text/html");
    inner.put(&at("p/page"), page, &Context::default()).await.unwrap();
    let list = Value::List(vec!["page".into(), 2.into()]);
    inner.put(&at("p"), Content::value(list.clone()), &Context::default()).await.unwrap();
    let from: Rc<dyn Store> = Rc::new(Streams(Rc::new(Relative::new(inner, at("p")))));
    let to = memory();
    assert_eq!(figures(&copied(&from, "", &to, "q", ALL).await.unwrap()), [2, 0, 0, 0]);
    let page = to.get(&at("q/page"), &Context::default()).await.unwrap().unwrap();
    assert_eq!(page.media_type.as_deref(), Some("text/html"));
    let found = to.get(&at("q"), &Context::default()).await.unwrap().unwrap();
    assert_eq!(found.into_value(99).await.unwrap(), list);
}
