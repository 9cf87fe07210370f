//! What a listing of all files sees of the disk: changes at once, and links as reads follow them.

use proptest::prelude::*;
use runnel_store::{
    Attributes, Content, Context, Disk, Key, KeyRange, Metadata, Reference, Store, encode_segment,
    list_keys,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::rc::Rc;
use std::time::Duration;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn disk(folder: &tempfile::TempDir) -> Rc<dyn Store> {
    Rc::new(Disk::new(folder.path()).unwrap())
}

/// All keys of a range, page by page.
fn keys(store: &Rc<dyn Store>, range: &KeyRange) -> Vec<String> {
    let (mut range, mut keys) = (range.clone(), Vec::new());
    loop {
        let page = run(list_keys(store, &at(""), &range, &Context::default())).unwrap();
        keys.extend(page.keys.into_iter().map(|key: Key| key.name));
        if !page.more {
            return keys;
        }
        range.after = keys.last().cloned();
    }
}

/// What a killed writer has left goes when all keys are listed, at any depth.
#[test]
fn temporary_files_of_killed_writers_go_after_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    let left = |name: &str, age: u64| {
        let file = fs::File::create(deep.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
    };
    left(".runnel-1-2-3.part", 4_000);
    left(".runnel-1-2-4.part", 60 * 50);
    left(".runnel-1-2-5.part", 4_000);
    let held = fs::File::open(deep.join(".runnel-1-2-5.part")).unwrap();
    held.try_lock().unwrap();
    left("old", 90_000);
    assert_eq!(keys(&disk(&folder), &KeyRange::default()), ["a/b/c/old"]);
    assert!(!deep.join(".runnel-1-2-3.part").exists());
    // They may be under way: one is young, the other one is locked by its writer.
    assert!(deep.join(".runnel-1-2-4.part").exists());
    assert!(deep.join(".runnel-1-2-5.part").exists());
    drop(held);
    // A directory that nobody lists is swept by the first put.
    let put = disk(&folder);
    run(put.put(&Reference::from_path("a/b/c/new"), Content::text("x"), &Context::default()))
        .unwrap();
    assert!(!deep.join(".runnel-1-2-5.part").exists());
}

/// A directory that is large enough to be cached is never listed as it was before.
#[test]
fn a_large_folder_is_listed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: usize| format!("{number:05}");
    let mut expected: BTreeSet<String> = (0..2_500).map(name).collect();
    for name in &expected {
        fs::File::create(folder.path().join(name)).unwrap();
    }
    let disk = disk(&folder);
    for step in 0..6 {
        // Long enough to be cached, in every second step.
        std::thread::sleep(Duration::from_millis(if step % 2 == 0 { 150 } else { 0 }));
        for _ in 0..2 {
            let listed = keys(&disk, &KeyRange::default());
            assert!(listed.iter().eq(expected.iter()), "step {step}");
        }
        let (new, gone) = (format!("{step}-new"), name(step * 100));
        fs::File::create(folder.path().join(&new)).unwrap();
        fs::remove_file(folder.path().join(&gone)).unwrap();
        expected.insert(new);
        expected.remove(&gone);
    }
}

#[test]
fn links_are_listed_where_reads_follow_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("dir")).unwrap();
    fs::write(root.join("dir/a"), "a").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    symlink("dir", root.join("dir.link")).unwrap();
    symlink("dir/a", root.join("file")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("../secret", root.join("outside")).unwrap();
    fs::write(root.join(".runnel-1-2-3.part"), "a put").unwrap();
    let disk: Rc<dyn Store> = Rc::new(Disk::new(&root).unwrap());
    assert_eq!(keys(&disk, &KeyRange::default()), ["dir.link/a", "dir/a", "file"]);
}

#[test]
fn attributes_are_listed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(&folder);
    let metadata: Rc<Metadata> = Rc::new([("tag".to_string(), "7".to_string())].into());
    let attributes = Attributes { media_type: None, metadata: Some(metadata.clone()) };
    let content = Content::text("text").with_attributes(attributes);
    run(disk.put(&at("a/b"), content, &Context::default())).unwrap();
    fs::write(folder.path().join("plain"), "text").unwrap();
    for wanted in [false, true] {
        let context = Context { attributes: wanted, ..Context::default() };
        let page = run(disk.keys(&at(""), &KeyRange::default(), &context)).unwrap().unwrap();
        let listed: Vec<_> = page.keys.into_iter().map(|key| (key.name, key.metadata)).collect();
        let (own, none) = (wanted.then(|| metadata.clone()), wanted.then(Rc::default));
        assert_eq!(listed, [("a/b".to_string(), own), ("plain".to_string(), none)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same as all paths, sorted as bytes.
    #[test]
    fn keys_are_sorted_paths(
        paths in prop::collection::btree_set("[ab.0%~-]{1,3}(/[ab.2-]{1,2}){0,3}", 1..40),
        prefix in "[ab]?[.-]?",
        after in prop::option::of("[ab0.-]{1,2}(/[ab])?"),
        limit in 1_usize..7,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = BTreeSet::new();
        for path in paths {
            let file = folder.path().join(&path);
            let names = path.split('/').all(|name| !matches!(name, "." | ".."));
            let above = file.parent().unwrap();
            if names && fs::create_dir_all(above).is_ok() && fs::File::create(&file).is_ok() {
                let names: Vec<_> = path.split('/').map(encode_segment).collect();
                expected.insert(names.join("/"));
            }
        }
        let range = KeyRange { prefix, after, limit };
        expected.retain(|path| range.admits(path));
        prop_assert_eq!(keys(&disk(&folder), &range), expected.into_iter().collect::<Vec<_>>());
    }
}
