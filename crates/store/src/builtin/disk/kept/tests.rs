//! The cache never serves stale files: it detects every kind of change to a file or its path.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Disk, EntityTag, Kind, Reference, Result, Store};
use futures_util::FutureExt;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const HOUR: Duration = Duration::from_secs(3600);

/// A folder with a directory `root` to serve, and one outside of it.
struct Site {
    folder: TempDir,
    disk: Disk,
}

impl Site {
    /// What is kept does not age here, and files count as settled at once. Nothing where temporary
    /// files are on a disk that may hang, of which nothing is kept.
    fn new() -> Option<Site> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/dir/sub")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        let mut disk = Disk::new(folder.path().join("root")).unwrap();
        disk.kept.trusted = HOUR;
        disk.kept.settled = Duration::ZERO;
        let site = Site { folder, disk };
        fs::write(site.at("probe"), "probe").unwrap();
        site.text("probe").unwrap();
        site.is_kept("probe").then_some(site)
    }

    /// The same with a file that is kept. What is answered from memory is `kept`.
    fn keeping(path: &str) -> Option<Site> {
        let site = Site::new()?;
        fs::write(site.at(path), "old").unwrap();
        site.keep(path);
        Some(site)
    }

    fn keep(&self, path: &str) {
        self.text(path).unwrap();
        {
            let mut files = self.disk.kept.files.borrow_mut();
            files.get_mut(path).unwrap().content.body = Body::Bytes("kept".into());
        }
        assert_eq!(self.text(path).unwrap().as_deref(), Some("kept"), "{path}");
    }

    fn is_kept(&self, path: &str) -> bool {
        self.disk.kept.files.borrow().contains_key(path)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn get(&self, path: &str, known: Option<EntityTag>) -> Result<Option<Content>> {
        let context = Context { known, ..Context::default() };
        self.disk.get(&Reference::from_path(path), &context).now_or_never().unwrap()
    }

    fn text(&self, path: &str) -> Result<Option<String>> {
        Ok(self.get(path, None)?.map(|content| match content.body {
            Body::Bytes(bytes) => String::from_utf8(bytes.into()).unwrap(),
            _ => String::new(),
        }))
    }
}

/// Does something to a file until its time is another one.
fn until_noticed(path: &Path, change: impl Fn(&Path)) {
    let time = || {
        let metadata = fs::symlink_metadata(path).unwrap();
        (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
    };
    let before = time();
    while time() == before {
        change(path);
    }
}

#[test]
fn what_is_kept_is_answered_while_its_state_is_the_same() {
    for path in ["a.html", "dir/a.html", "dir/sub/a.html"] {
        let Some(site) = Site::keeping(path) else { return };
        let content = site.get(path, None).unwrap().unwrap();
        assert_eq!(content.media_type.as_deref(), Some("text/html"));
        assert_eq!(content.modified, fs::metadata(site.at(path)).unwrap().modified().ok());
        let tag = content.entity_tag.unwrap();
        assert!(matches!(site.get(path, Some(tag)).unwrap().unwrap().body, Body::Empty));
        let other = site.get(path, Some(EntityTag::strong("other"))).unwrap().unwrap();
        assert!(matches!(other.body, Body::Bytes(_)));
        // Another way to write it is resolved, and answers the file.
        assert_eq!(site.text(&format!("dir/../{path}")).unwrap().as_deref(), Some("old"));
        assert_eq!(site.text(&format!("/{path}")).unwrap().as_deref(), Some("kept"));
    }
}

#[test]
fn every_change_of_a_file_is_seen() {
    type Change = fn(&Path);
    let changes: [(&str, Change, Option<&str>); 9] = [
        ("overwritten", |path| fs::write(path, "new").unwrap(), Some("new")),
        ("emptied", |path| fs::write(path, "").unwrap(), Some("")),
        ("grown", |path| fs::write(path, "older").unwrap(), Some("older")),
        ("touched", touch, Some("old")),
        ("given its old time again", touch_back, Some("old")),
        ("made executable", |path| set_mode(path, 0o755), Some("old")),
        ("deleted and made again", make_again, Some("new")),
        ("given a second name", link, Some("old")),
        ("replaced", replace, Some("new")),
    ];
    for path in ["a", "dir/a", "dir/sub/a"] {
        for (name, change, expected) in changes {
            let Some(site) = Site::keeping(path) else { return };
            until_noticed(&site.at(path), change);
            assert_eq!(site.text(path).unwrap().as_deref(), expected, "{path} {name}");
        }
    }
}

fn touch(path: &Path) {
    fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::now()).unwrap();
}

fn touch_back(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, "OLD").unwrap();
    fs::write(path, "old").unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn make_again(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::write(path, "new").unwrap();
}

fn link(path: &Path) {
    let second = path.with_extension("second");
    let _ = fs::remove_file(&second);
    fs::hard_link(path, second).unwrap();
}

fn replace(path: &Path) {
    let other = path.with_extension("other");
    fs::write(&other, "new").unwrap();
    fs::rename(other, path).unwrap();
}

#[test]
fn a_file_that_goes_or_becomes_something_else_is_not_answered() {
    for path in ["a", "dir/a", "dir/sub/a"] {
        let Some(site) = Site::keeping(path) else { return };
        fs::rename(site.at(path), site.at("moved")).unwrap();
        assert_eq!(site.text(path).unwrap(), None);

        fs::write(site.at(path), "old").unwrap();
        site.keep(path);
        fs::remove_file(site.at(path)).unwrap();
        assert_eq!(site.text(path).unwrap(), None);
        assert!(!site.is_kept(path));

        fs::write(site.at(path), "old").unwrap();
        site.keep(path);
        fs::remove_file(site.at(path)).unwrap();
        assert!(Command::new("mkfifo").arg(site.at(path)).status().unwrap().success());
        assert_eq!(site.text(path).unwrap_err().kind, Kind::Unsupported);
    }
}

#[test]
fn a_file_that_may_not_be_read_any_more_is_not_answered() {
    let Some(site) = Site::keeping("dir/a") else { return };
    until_noticed(&site.at("dir/a"), |path| set_mode(path, 0));
    // Who may read everything reads it anew.
    assert!(!matches!(site.text("dir/a"), Ok(Some(text)) if text == "kept"));
}

#[test]
fn a_file_that_becomes_a_link_is_resolved() {
    for path in ["a", "dir/a", "dir/sub/a"] {
        let Some(site) = Site::keeping(path) else { return };
        // Even to the same file after it was moved away.
        let moved = site.folder.path().join("outside/a");
        fs::rename(site.at(path), &moved).unwrap();
        symlink(&moved, site.at(path)).unwrap();
        assert_eq!(site.text(path).unwrap_err().kind, Kind::Denied, "{path}");

        fs::remove_file(site.at(path)).unwrap();
        fs::write(site.at("inside"), "inside").unwrap();
        symlink(site.at("inside"), site.at(path)).unwrap();
        assert_eq!(site.text(path).unwrap().as_deref(), Some("inside"));
        assert!(!site.is_kept(path), "what is found behind a link is not kept");
    }
}

#[test]
fn a_directory_that_becomes_a_link_is_resolved() {
    for (path, directory) in [("dir/a", "dir"), ("dir/sub/a", "dir"), ("dir/sub/a", "dir/sub")] {
        let Some(site) = Site::keeping(path) else { return };
        // The file keeps its state: what has changed is the way to it.
        let moved = site.folder.path().join("outside/moved");
        fs::rename(site.at(directory), &moved).unwrap();
        symlink(&moved, site.at(directory)).unwrap();
        assert_eq!(site.text(path).unwrap_err().kind, Kind::Denied, "{path}");

        fs::remove_file(site.at(directory)).unwrap();
        assert_eq!(site.text(path).unwrap(), None);
        fs::create_dir_all(site.at(path).parent().unwrap()).unwrap();
        fs::write(site.at(path), "other").unwrap();
        assert_eq!(site.text(path).unwrap().as_deref(), Some("other"));

        fs::rename(site.at(directory), site.at("aside")).unwrap();
        symlink("/", site.at(directory)).unwrap();
        assert!(site.text(path).is_err());
    }
}

#[test]
fn what_this_store_writes_is_seen() {
    let Some(site) = Site::keeping("a") else { return };
    let to = Reference::from_path("a");
    let put = site.disk.put(&to, Content::text("put"), &Context::default());
    put.now_or_never().unwrap().unwrap();
    assert_eq!(site.text("a").unwrap().as_deref(), Some("put"));
    site.keep("a");
    let post = site.disk.post(&to, Content::text(" more"), &Context::default());
    post.now_or_never().unwrap().unwrap();
    assert_eq!(site.text("a").unwrap().as_deref(), Some("put more"));
    site.keep("a");
    let delete = site.disk.delete(&to, &Context::default());
    assert!(delete.now_or_never().unwrap().unwrap().is_something());
    assert_eq!(site.text("a").unwrap(), None);
}

#[test]
fn some_files_are_not_kept() {
    let Some(mut site) = Site::new() else { return };
    fs::write(site.at("empty"), "").unwrap();
    fs::write(site.at("large"), vec![b'x'; (64 << 10) + 1]).unwrap();
    fs::write(site.at("a"), "old").unwrap();
    for path in ["empty", "large", "dir", "missing", "./a", "dir/../a", "dir//sub/../../a", "a/"] {
        site.text(path).unwrap();
        assert!(!site.is_kept(path.trim_start_matches('/')), "{path}");
    }
    site.disk.kept.files.borrow_mut().clear();
    // A later change could come within the same step of the clock.
    site.disk.kept.settled = HOUR;
    site.text("a").unwrap();
    assert!(!site.is_kept("a"), "it was changed just now");
    // Nothing of the whole machine's files is kept.
    let disk = Disk::unconfined();
    let path = site.at("a").to_string_lossy().into_owned();
    disk.get(&Reference::from_path(path), &Context::default()).now_or_never().unwrap().unwrap();
    assert!(disk.kept.files.borrow().is_empty());
}

#[test]
fn nothing_is_kept_for_longer_than_a_moment() {
    let Some(site) = Site::keeping("a") else { return };
    let (kept, quick) = (&site.disk.kept, &site.disk.root.quick);
    assert!(kept.get(quick, "a", &Context::default(), Instant::now()).is_some());
    assert!(kept.get(quick, "a", &Context::default(), Instant::now() + HOUR).is_none());
    assert!(!site.is_kept("a"));
    assert_eq!(ContentCache::default().trusted, Duration::from_secs(1));
}

#[test]
fn what_is_kept_is_bounded() {
    let Some(site) = Site::keeping("a") else { return };
    let metadata = fs::metadata(site.at("a")).unwrap();
    let kept = ContentCache { settled: Duration::ZERO, ..ContentCache::default() };
    let (small, large) = (Content::bytes("x"), Content::bytes(vec![b'x'; 64 << 10]));
    for (content, count) in [(&small, 3 * FILES), (&large, 1_000)] {
        for number in 0..count {
            kept.put(&format!("file {number}"), &metadata, content, false, ReadMoment::now());
            let files = kept.files.borrow();
            assert!(files.len() <= FILES && kept.bytes.get() <= BYTES);
            if number % 997 == 0 {
                let paths: usize = files.keys().map(|path| path.len()).sum();
                let contents = files.values().map(|file| match &file.content.body {
                    Body::Bytes(bytes) => bytes.len(),
                    _ => 0,
                });
                let all = paths + contents.sum::<usize>();
                assert_eq!(kept.bytes.get(), all, "each counts once");
            }
        }
        assert!(!kept.files.borrow().is_empty());
    }
    let paths: Vec<_> = kept.files.borrow().keys().cloned().collect();
    paths.iter().for_each(|path| kept.forget(path));
    assert_eq!(kept.bytes.get(), 0);
}

#[test]
fn times_count_only_when_they_are_past() {
    let of = |modified, changed| Identity {
        device: 1,
        inode: 1,
        mode: 0o100_644,
        length: 1,
        modified: (modified, 0),
        changed: (changed, 0),
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    assert!(of(997, 997).is_settled(now, SETTLED));
    for (modified, changed) in
        [(998, 990), (990, 998), (1_001, 990), (990, 1_001), (-1, 990), (i64::MAX, 990)]
    {
        assert!(!of(modified, changed).is_settled(now, SETTLED), "{modified} {changed}");
    }
}

/// One change of a folder. What cannot be done is not done.
#[derive(Clone, Debug)]
enum Step {
    Write(&'static str),
    Rename(&'static str, &'static str),
    Remove(&'static str),
    Link(&'static str, &'static str),
    SecondName(&'static str, &'static str),
    MakeDirectory(&'static str),
}

const PLACES: [&str; 7] = ["a", "b", "dir", "dir/a", "dir/sub", "dir/sub/a", "../outside/a"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || prop::sample::select(&PLACES[..]);
    let target = prop::sample::select(&["a", "b", "dir", "../outside", "../outside/a", "sub"][..]);
    let step = prop_oneof![
        3 => place().prop_map(Step::Write),
        3 => (place(), place()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => place().prop_map(Step::Remove),
        1 => (target, place()).prop_map(|(target, at)| Step::Link(target, at)),
        1 => (place(), place()).prop_map(|(from, to)| Step::SecondName(from, to)),
        1 => place().prop_map(Step::MakeDirectory),
    ];
    prop::collection::vec(step, 1..25)
}

impl Step {
    /// `length` is unique per file, so that two changes with the same time remain distinct.
    fn take(&self, site: &Site, length: usize) {
        let _ = match self {
            Step::Write(path) => fs::write(site.at(path), "x".repeat(length)),
            Step::Rename(from, to) => fs::rename(site.at(from), site.at(to)),
            Step::Remove(path) => {
                fs::remove_file(site.at(path)).or_else(|_| fs::remove_dir_all(site.at(path)))
            }
            Step::Link(target, path) => symlink(target, site.at(path)),
            Step::SecondName(from, to) => fs::hard_link(site.at(from), site.at(to)),
            Step::MakeDirectory(path) => fs::create_dir(site.at(path)),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A store with the cache and one without it answer alike, after any sequence of changes.
    #[test]
    fn keeping_makes_no_difference(steps in steps()) {
        let Some(site) = Site::new() else { return Ok(()) };
        let mut reading = Disk::new(site.at("")).unwrap();
        reading.kept.settled = Duration::MAX;
        let of = |disk: &Disk, path: &str| {
            let context = Context::default();
            let found = disk.get(&Reference::from_path(path), &context).now_or_never().unwrap();
            let found = found.map_err(|error| error.kind)?;
            Ok::<_, Kind>(found.map(|content| {
                let body = match content.body {
                    Body::Bytes(bytes) => format!("{bytes:?}"),
                    Body::Value(value) => format!("{value:?}"),
                    _ => String::new(),
                };
                (body, content.entity_tag, content.media_type, content.modified)
            }))
        };
        for (number, step) in steps.iter().enumerate() {
            step.take(&site, number + 1);
            for path in PLACES {
                prop_assert_eq!(of(&site.disk, path), of(&reading, path), "{} {:?}", path, step);
            }
        }
        prop_assert!(reading.kept.files.borrow().is_empty());
    }
}
