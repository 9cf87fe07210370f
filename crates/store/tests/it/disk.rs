//! What is particular to the disk; the conformance suite checks the rest.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use runnel_store::{
    Answer, Body, Condition, Confinement, Content, Context, Disk, Entry, Error, Kind, Reference,
    Relative, Result, Store, Value,
};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use tempfile::TempDir;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// A folder with a directory `root` to serve and a file outside of it.
fn folder() -> (TempDir, Disk) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("root")).unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let disk = Disk::new(folder.path().join("root")).unwrap();
    (folder, disk)
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn get(disk: &Disk, path: &str) -> Result<Option<Content>> {
    run(disk.get(&at(path), &Context::default()))
}

fn text(disk: &Disk, path: &str) -> Result<Option<String>> {
    run(async {
        match disk.get(&at(path), &Context::default()).await? {
            Some(content) => {
                let bytes = content.read(1 << 20).await?;
                Ok(Some(String::from_utf8(bytes.into()).unwrap()))
            }
            None => Ok(None),
        }
    })
}

fn put(disk: &Disk, path: &str, content: Content) -> Result<bool> {
    run(disk.put(&at(path), content, &Context::default())).map(|put| put.is_created())
}

fn delete(disk: &Disk, path: &str) -> Result<bool> {
    run(disk.delete(&at(path), &Context::default())).map(|gone| gone.is_something())
}

fn kind<T>(result: Result<T>) -> Kind {
    result.map(|_| ()).unwrap_err().kind
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_carry_what_is_known_about_them() {
    let (folder, disk) = folder();
    let path = folder.path().join("root/page.html");
    fs::write(&path, "<p>").unwrap();
    let content = get(&disk, "/page.html").unwrap().unwrap();
    assert_eq!(content.media_type.as_deref(), Some("text/html"));
    assert_eq!(content.modified, fs::metadata(&path).unwrap().modified().ok());
    let tag = content.entity_tag.clone();
    assert!(tag.as_ref().is_some_and(|tag| !tag.weak));
    assert!(matches!(content.body, Body::Bytes(bytes) if bytes == "<p>"));
    let known = Context { known: tag.clone(), ..Context::default() };
    let short = run(disk.get(&at("page.html"), &known)).unwrap().unwrap();
    assert!(matches!(short.body, Body::Empty) && short.entity_tag == tag);
    fs::write(&path, "<b>").unwrap();
    put(&disk, "page.html", Content::text("<b>")).unwrap();
    let changed = run(disk.get(&at("page.html"), &known)).unwrap().unwrap();
    assert!(matches!(changed.body, Body::Bytes(_)) && changed.entity_tag != tag);
}

#[test]
fn directories_are_lists_of_names() {
    let (folder, disk) = folder();
    let root = folder.path().join("root");
    for name in ["b", "a.txt", "Z", "é"] {
        fs::write(root.join(name), "").unwrap();
    }
    fs::create_dir(root.join("a")).unwrap();
    symlink("a", root.join("inside")).unwrap();
    symlink("../..", root.join("outside")).unwrap();
    let expected: Vec<Value> =
        ["Z", "a", "a.txt", "b", "inside", "outside", "é"].map(Value::from).into();
    let content = get(&disk, "").unwrap().unwrap();
    assert!(matches!(content.body, Body::Value(Value::List(names)) if names == expected));
    let entries = run(disk.list(&at("/"), &Context::default())).unwrap().unwrap();
    let collections: Vec<_> = entries.iter().filter(|entry| entry.collection).collect();
    let collection = |name: &str| Entry { name: name.to_string(), collection: true };
    assert_eq!(collections, [&collection("a"), &collection("inside")]);
    assert!(run(disk.list(&at("b"), &Context::default())).unwrap().is_none());
    assert!(run(disk.list(&at("none"), &Context::default())).unwrap().is_none());
}

#[test]
fn large_files_are_streamed_in_bounded_chunks() {
    let (folder, disk) = folder();
    let whole: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    fs::write(folder.path().join("root/large"), &whole).unwrap();
    run(async {
        let content = disk.get(&at("large"), &Context::default()).await.unwrap().unwrap();
        let Body::Stream(mut chunks, length) = content.body else { panic!("not a stream") };
        assert_eq!(length, Some(300_000));
        let mut read = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.unwrap();
            assert!(!chunk.is_empty() && chunk.len() <= 64 << 10);
            read.extend_from_slice(&chunk);
        }
        assert_eq!(read, whole);
    });
}

#[test]
fn a_file_that_becomes_shorter_is_an_error_and_one_that_grows_ends_where_it_was() {
    let (folder, disk) = folder();
    let path = folder.path().join("root/large");
    for (length, good) in [(100_000_u64, false), (300_000, true)] {
        fs::write(&path, vec![b'x'; 200_000]).unwrap();
        let content = get(&disk, "large").unwrap().unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let read = run(content.read(1 << 20).map(|bytes| bytes.len()));
        assert_eq!(read.as_ref().ok(), good.then_some(&200_000), "{read:?}");
    }
}

#[test]
fn special_files_are_refused_and_never_opened() {
    let (folder, disk) = folder();
    // Opening this for reading would wait for a writer for ever.
    let fifo = folder.path().join("root/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert_eq!(kind(get(&disk, "fifo")), Kind::Unsupported);
    assert_eq!(kind(put(&disk, "fifo", Content::text("x"))), Kind::Unsupported);
    assert_eq!(kind(delete(&disk, "fifo")), Kind::Unsupported);
    let post = run(disk.post(&at("fifo"), Content::text("x"), &Context::default()));
    assert_eq!(kind(post), Kind::Unsupported);
    assert_eq!(kind(get(&Disk::unconfined(), "/dev/null")), Kind::Unsupported);
}

#[test]
fn writing_is_whole_or_not_at_all() {
    let (folder, disk) = folder();
    let root = folder.path().join("root");
    assert!(put(&disk, "a/b/c", Content::text("one")).unwrap());
    assert!(!put(&disk, "a/b/c", Content::value(Value::List(vec![1.into()]))).unwrap());
    assert_eq!(text(&disk, "a/b/c").unwrap().as_deref(), Some("[1]"));
    let parts = |last: Result<Bytes>| {
        let parts = vec![Ok(Bytes::from(vec![b'x'; 100_000])), Ok("y".into()), last];
        let body = Body::Stream(Box::pin(stream::iter(parts)), None);
        Content { body, ..Content::default() }
    };
    let broken = || parts(Err(Error::new(Kind::Unavailable, "gone")));
    assert_eq!(kind(put(&disk, "a/b/c", broken())), Kind::Unavailable);
    assert_eq!(kind(put(&disk, "new/d", broken())), Kind::Unavailable);
    assert_eq!(text(&disk, "a/b/c").unwrap().as_deref(), Some("[1]"));
    assert_eq!((names(&root), names(&root.join("a/b"))), (vec!["a".into()], vec!["c".into()]));
    assert!(!put(&disk, "a/b/c", parts(Ok("z".into()))).unwrap());
    let whole = text(&disk, "a/b/c").unwrap().unwrap();
    assert!(whole.len() == 100_002 && whole.ends_with("xyz"));
    assert_eq!(names(&root.join("a/b")), ["c"]);
}

#[test]
fn a_cancelled_put_leaves_the_old_content_and_no_temporary_file() {
    let (folder, disk) = folder();
    put(&disk, "a", Content::text("old")).unwrap();
    run(async {
        let begun = stream::iter([Ok(Bytes::from(vec![b'x'; 2_000_000]))]).chain(stream::pending());
        let content = Content { body: Body::Stream(Box::pin(begun), None), ..Content::default() };
        let mut put = disk.put(&at("a"), content, &Context::default());
        // Driven until the temporary file is there, so that there is something to clean up.
        let root = folder.path().join("root");
        while names(&root).len() < 2 {
            let step = tokio::time::timeout(std::time::Duration::from_millis(5), &mut put).await;
            assert!(step.is_err());
        }
        let listed = disk.list(&at(""), &Context::default()).await.unwrap().unwrap();
        assert_eq!(listed.len(), 1);
        drop(put);
    });
    // The runtime has ended, and with it the work on its blocking pool.
    assert_eq!(names(&folder.path().join("root")), ["a"]);
    assert_eq!(text(&disk, "a").unwrap().as_deref(), Some("old"));
}

#[test]
fn a_put_keeps_who_may_read_and_write() {
    let (folder, disk) = folder();
    let path = folder.path().join("root/a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    put(&disk, "a", Content::text("new")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn directories_are_made_and_removed() {
    let (folder, disk) = folder();
    let make = |path: &str| put(&disk, path, Content::value(Value::Nil));
    assert!(make("a/b/").unwrap());
    assert!(!make("a/b").unwrap());
    assert!(folder.path().join("root/a/b").is_dir());
    put(&disk, "a/file", Content::default()).unwrap();
    assert_eq!(text(&disk, "a/file").unwrap().as_deref(), Some(""));
    assert_eq!(kind(make("a/file")), Kind::Conflict);
    assert_eq!(kind(put(&disk, "a", Content::text("x"))), Kind::Conflict);
    assert_eq!(kind(put(&disk, "new/", Content::text("x"))), Kind::Conflict);
    assert_eq!(kind(put(&disk, "a/file/x", Content::text("x"))), Kind::Conflict);
    assert!(text(&disk, "a/file/x").unwrap().is_none());
    assert!(text(&disk, "a/file/").unwrap().is_none());
    assert!(!delete(&disk, "a/file/x").unwrap());
    assert_eq!(kind(delete(&disk, "a")), Kind::Conflict);
    assert!(delete(&disk, "a/b").unwrap() && delete(&disk, "a/file").unwrap());
    assert!(delete(&disk, "a/").unwrap() && !delete(&disk, "a").unwrap());
    for root in ["", "/", "x/.."] {
        assert_eq!(kind(delete(&disk, root)), Kind::Denied);
    }
}

#[test]
fn posts_append() {
    let (_folder, disk) = folder();
    for part in ["a", "b"] {
        let posted = run(disk.post(&at("deep/log"), Content::text(part), &Context::default()));
        assert!(posted.unwrap().reference.is_none());
    }
    assert_eq!(text(&disk, "deep/log").unwrap().as_deref(), Some("ab"));
    let post = run(disk.post(&at("deep"), Content::text("x"), &Context::default()));
    assert_eq!(kind(post), Kind::Conflict);
}

#[test]
fn links_are_followed_within_the_root_and_denied_outside() {
    let (folder, disk) = folder();
    let root = folder.path().join("root");
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file"), "inside").unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink(root.join("real/file"), root.join("absolute")).unwrap();
    symlink("../secret", root.join("escape")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("../nowhere", root.join("dangling-out")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    assert_eq!(text(&disk, "link/file").unwrap().as_deref(), Some("inside"));
    assert_eq!(text(&disk, "absolute").unwrap().as_deref(), Some("inside"));
    for path in ["escape", "up", "up/secret", "up/root/real/file", "loop"] {
        assert_eq!(kind(get(&disk, path)), Kind::Denied, "{path}");
        assert_eq!(kind(put(&disk, path, Content::text("x"))), Kind::Denied, "{path}");
    }
    // Dots are resolved in the name, before any link is looked at.
    assert!(get(&disk, "up/../secret").unwrap().is_none());
    assert_eq!(kind(put(&disk, "up/new", Content::text("x"))), Kind::Denied);
    assert_eq!(kind(delete(&disk, "up/secret")), Kind::Denied);
    assert!(get(&disk, "dangling").unwrap().is_none());
    assert_eq!(kind(put(&disk, "dangling/x", Content::text("x"))), Kind::Conflict);
    // What a link leads to is written, not the link; one that leads nowhere is replaced.
    put(&disk, "absolute", Content::text("changed")).unwrap();
    assert_eq!(fs::read_to_string(root.join("real/file")).unwrap(), "changed");
    assert!(put(&disk, "dangling-out", Content::text("x")).unwrap());
    assert!(!folder.path().join("nowhere").exists());
    assert!(delete(&disk, "escape").unwrap() && delete(&disk, "link").unwrap());
    assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
    assert!(root.join("real/file").exists());
}

#[test]
fn paths_are_checked() {
    let (_folder, disk) = folder();
    for path in ["..", "../secret", "a/../../secret", "/../secret", "./.././secret"] {
        assert_eq!(kind(get(&disk, path)), Kind::Denied, "{path}");
        assert_eq!(kind(put(&disk, path, Content::text("x"))), Kind::Denied, "{path}");
    }
    assert_eq!(kind(get(&disk, "a\0b")), Kind::Invalid);
    assert_eq!(kind(get(&disk, &"x".repeat(300))), Kind::Invalid);
    put(&disk, "a/./x/../b", Content::text("b")).unwrap();
    assert_eq!(text(&disk, "/a//b").unwrap().as_deref(), Some("b"));
    assert_eq!(kind(Disk::new("/no/such/folder").map(|_| ())), Kind::NotFound);
}

#[test]
fn unconfined_paths_are_absolute_or_relative_to_the_current_directory() {
    let (folder, _) = folder();
    let disk = Disk::unconfined();
    let path = folder.path().join("root/../secret");
    assert_eq!(text(&disk, path.to_str().unwrap()).unwrap().as_deref(), Some("secret"));
    // Tests run in the folder of the package.
    assert!(text(&disk, "Cargo.toml").unwrap().unwrap().contains("runnel-store"));
    assert!(text(&disk, "../store/./Cargo.toml").unwrap().is_some());
    assert!(get(&disk, "/..").unwrap().is_some());
}

/// Without a runtime the work is done at once.
#[test]
fn works_without_a_runtime() {
    let (_folder, disk) = folder();
    let put = disk.put(&at("a"), Content::text("a"), &Context::default());
    assert!(drive(put).unwrap().is_created());
}

fn drive<T>(mut answer: Answer<T>) -> Result<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        let pinned = std::pin::Pin::new(&mut answer);
        if let std::task::Poll::Ready(result) = Future::poll(pinned, &mut context) {
            return result;
        }
    }
}

proptest! {
    // Each case makes a folder and flushes files.
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// No path whatever reads, writes or removes anything outside, through names or links.
    #[test]
    fn nothing_outside_is_ever_touched(
        parts in prop::collection::vec(
            prop::sample::select(
                vec!["..", ".", "", "a", "up", "out", "secret", "root", "a\0", "é"],
            ),
            0..7,
        ),
    ) {
        let (folder, disk) = folder();
        let root = folder.path().join("root");
        fs::create_dir(root.join("a")).unwrap();
        symlink("..", root.join("a/up")).unwrap();
        symlink("../..", root.join("a/out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        let path = parts.join("/");
        let read = text(&disk, &path);
        prop_assert!(read.is_err() || read.is_ok_and(|text| text.as_deref() != Some("secret")));
        let _ = put(&disk, &path, Content::text("changed"));
        let _ = run(disk.post(&at(&path), Content::text("changed"), &Context::default()));
        let _ = delete(&disk, &path);
        prop_assert_eq!(names(folder.path()), ["root", "secret"]);
        prop_assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
    }
}

/// What was confined without links does not follow them when it is confined once more.
#[test]
fn refused_links_stay_refused() {
    let (folder, disk) = folder();
    std::fs::write(folder.path().join("root/a"), "a").unwrap();
    std::os::unix::fs::symlink("a", folder.path().join("root/link")).unwrap();
    let confined = |store: &dyn Store, links| match store.confined(&at(""), links) {
        Confinement::By(store) => store,
        _ => panic!("a disk can be confined"),
    };
    let get = |store: &dyn Store, path| run(store.get(&at(path), &Context::default()));
    let without = confined(&disk, false);
    for (store, follows) in
        [(confined(&disk, true), true), (confined(&*without, true), false), (without, false)]
    {
        assert!(get(&*store, "a").unwrap().is_some());
        assert_eq!(get(&*store, "link").is_ok(), follows);
    }
}

#[test]
fn a_deletion_takes_the_empty_folders_of_the_store_away() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let at = |path: &str| folder.path().join(path);
        let base = Reference::from_path(at("data").to_string_lossy().into_owned());
        let store = Relative::new(Rc::new(Disk::unconfined()), base);
        let (plain, text) = (Context::default(), || Content::text("x"));
        for path in ["a/b/one", "a/b/two", "c/d/e", "top"] {
            store.put(&Reference::parse(path), text(), &plain).await.unwrap();
        }
        let delete = async |path: &str| {
            store.delete(&Reference::parse(path), &plain).await.unwrap().is_something()
        };
        assert!(delete("a/b/one").await && at("data/a/b").is_dir());
        assert!(delete("a/b/two").await && !at("data/a").exists());
        assert!(!delete("a/b/two").await);
        std::os::unix::fs::symlink(at("data/c/d"), at("data/link")).unwrap();
        assert!(delete("link/e").await && at("data/c/d").is_dir(), "a link leads elsewhere");
        assert!(delete("c/d").await && !at("data/c").exists());
        assert!(
            delete("link").await && delete("top").await && at("data").is_dir(),
            "the root stays"
        );
        // A file by itself has no store around it.
        let disk = Disk::unconfined();
        let alone = Reference::from_path(at("alone/x").to_string_lossy().into_owned());
        disk.put(&alone, text(), &plain).await.unwrap();
        assert!(disk.delete(&alone, &plain).await.unwrap().is_something());
        assert!(at("alone").is_dir());
    });
}

#[test]
fn writers_in_folders_that_deletions_take_away_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().to_string_lossy().into_owned();
    let threads = (0..4).map(|number: usize| {
        let base = base.clone();
        std::thread::spawn(move || {
            run(async {
                let store = Relative::new(Rc::new(Disk::unconfined()), Reference::from_path(base));
                let plain = Context::default();
                for round in 0..60 {
                    let path = Reference::parse(&format!("a/b/c/{number}"));
                    let moved = Reference::parse(&format!("a/d/{number}"));
                    match round % 3 {
                        0 => store.put(&path, Content::text("x"), &plain).await.map(drop).unwrap(),
                        1 => store.post(&path, Content::text("x"), &plain).await.map(drop).unwrap(),
                        _ => {
                            let new = Context { only_if: Some(Condition::Absent), ..plain.clone() };
                            store.put(&path, Content::text("x"), &new).await.map(drop).unwrap();
                        }
                    }
                    assert!(store.relocate(&path, &moved, &plain).await.unwrap());
                    assert!(store.get(&moved, &plain).await.unwrap().is_some(), "{number} {round}");
                    assert!(store.delete(&moved, &plain).await.unwrap().is_something());
                    // The moved file left its folder behind.
                    let _ = store.delete(&Reference::parse("a/b/c"), &plain).await;
                }
            });
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
