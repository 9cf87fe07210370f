//! Where the disk keeps attributes, and when a file loses them.

use runnel_store::{
    Attributes, Content, Context, CopyOptions, Disk, Kind, Memory, Metadata, Reference, Store, copy,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

/// Attributes with one that is so long.
fn attributes(length: usize) -> Attributes {
    let long = ("long".to_string(), "v".repeat(length));
    let metadata: Metadata = [("colour".to_string(), "blue".to_string()), long].into();
    Attributes { media_type: Some("image/x-test".into()), metadata: Some(Rc::new(metadata)) }
}

/// Attributes that fit into a file on every file system that has a place for them.
const SHORT: usize = 10;

/// Attributes that do not.
const LONG: usize = 20_000;

struct Site {
    folder: TempDir,
    disk: Disk,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path()).unwrap();
        Site { folder, disk }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, text: &str, attributes: Attributes) {
        let content = Content::text(text.to_string()).with_attributes(attributes);
        run(self.disk.put(&at(path), content, &Context::default())).unwrap();
    }

    fn attributes(&self, path: &str) -> Attributes {
        let context = Context { attributes: true, ..Context::default() };
        run(self.disk.get(&at(path), &context)).unwrap().unwrap().attributes()
    }

    fn annotate(&self, path: &str, attributes: Attributes) {
        run(self.disk.annotate(&at(path), attributes, &Context::default())).unwrap();
    }

    fn relocate(&self, from: &str, to: &str) -> bool {
        run(self.disk.relocate(&at(from), &at(to), &Context::default())).unwrap()
    }

    /// The names of files beside in a folder.
    fn beside(&self, folder: &str) -> Vec<String> {
        let names = self.path(folder).read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| name.ends_with(".attributes")).collect()
    }
}

#[test]
fn a_plain_get_does_without() {
    let site = Site::new();
    site.put("a.txt", "text", attributes(SHORT));
    for _ in 0..2 {
        let plain = run(site.disk.get(&at("a.txt"), &Context::default())).unwrap().unwrap();
        assert_eq!(plain.media_type.as_deref(), Some("text/plain"));
        assert_eq!(plain.metadata, None);
        assert_eq!(site.attributes("a.txt"), attributes(SHORT));
    }
    site.annotate("a.txt", attributes(SHORT + 1));
    assert_eq!(site.attributes("a.txt"), attributes(SHORT + 1));
}

/// A checksum or an entity tag among them would be wrong.
#[test]
fn a_file_that_another_program_has_changed_has_none() {
    for length in [SHORT, LONG] {
        let site = Site::new();
        for path in ["edited", "replaced", "touched", "moved"] {
            site.put(path, "text", attributes(length));
        }
        fs::write(site.path("edited"), "edit").unwrap();
        fs::write(site.path("other"), "text").unwrap();
        fs::rename(site.path("other"), site.path("replaced")).unwrap();
        let file = fs::File::options().append(true).open(site.path("touched")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(99)).unwrap();
        for path in ["edited", "replaced", "touched"] {
            assert_eq!(site.attributes(path).metadata, None, "{path}");
        }
        fs::rename(site.path("moved"), site.path("elsewhere")).unwrap();
        assert_eq!(site.attributes("elsewhere"), attributes(length));
    }
}

#[test]
fn long_attributes_are_in_a_file_that_is_never_seen() {
    let site = Site::new();
    site.put("dir/a", "text", attributes(LONG));
    assert_eq!(site.beside("dir").len(), 1, "the file system has room for them; raise LONG");
    let listed = run(site.disk.list(&at("dir"), &Context::default())).unwrap().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    // Each way to lose the file or its long attributes takes the file beside away.
    site.put("dir/a", "other", attributes(LONG));
    assert_eq!(site.beside("dir").len(), 1);
    site.annotate("dir/a", attributes(SHORT));
    assert_eq!((site.beside("dir").len(), site.attributes("dir/a")), (0, attributes(SHORT)));
    site.annotate("dir/a", attributes(LONG));
    assert_eq!((site.beside("dir").len(), site.attributes("dir/a")), (1, attributes(LONG)));
    site.annotate("dir/a", Attributes::default());
    assert_eq!((site.beside("dir").len(), site.attributes("dir/a").metadata), (0, None));
    site.put("dir/a", "text", attributes(LONG));
    run(site.disk.delete(&at("dir/a"), &Context::default())).unwrap();
    run(site.disk.delete(&at("dir"), &Context::default())).unwrap();
    assert!(!site.path("dir").exists(), "nothing is left of it");
}

#[test]
fn a_move_takes_them_along() {
    for length in [SHORT, LONG] {
        let site = Site::new();
        site.put("from/a", "one", attributes(length));
        site.put("to/b", "two", attributes(LONG + 1));
        assert!(site.relocate("from/a", "to/b"));
        assert_eq!(site.attributes("to/b"), attributes(length));
        assert!(site.relocate("to/b", "to/c"));
        assert_eq!(site.attributes("to/c"), attributes(length));
        let beside = usize::from(length == LONG);
        assert_eq!((site.beside("from").len(), site.beside("to").len()), (0, beside));
        assert!(!site.relocate("from/a", "to/c"));
    }
}

#[test]
fn a_folder_is_not_moved_as_content() {
    let site = Site::new();
    site.put("dir/a", "text", Attributes::default());
    for (from, to) in [("dir", "x"), ("dir/a", "dir")] {
        let moved = run(site.disk.relocate(&at(from), &at(to), &Context::default()));
        assert_eq!(moved.map_err(|error| error.kind), Err(Kind::Conflict), "{from} to {to}");
    }
}

/// What another program leaves behind when it removes a file goes when it is a day old.
#[test]
fn leftovers_are_removed_by_listings() {
    let site = Site::new();
    site.put("gone", "text", attributes(LONG));
    site.put("stays", "text", attributes(LONG));
    fs::remove_file(site.path("gone")).unwrap();
    for name in site.beside("") {
        let file = fs::File::options().append(true).open(site.path(&name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(90_000)).unwrap();
    }
    run(site.disk.list(&at(""), &Context::default())).unwrap();
    assert_eq!(site.beside("").len(), 1);
    assert_eq!(site.attributes("stays"), attributes(LONG));
}

#[test]
fn a_file_without_the_right_to_write_keeps_its_permissions() {
    let site = Site::new();
    site.put("a", "text", Attributes::default());
    fs::set_permissions(site.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    site.put("a", "other", attributes(SHORT));
    assert_eq!(site.attributes("a"), attributes(SHORT));
    assert_eq!(fs::metadata(site.path("a")).unwrap().mode() & 0o777, 0o444);
}

#[test]
fn too_many_are_refused_and_leave_the_old_file() {
    let site = Site::new();
    site.put("a", "old", attributes(SHORT));
    let content = Content::text("new").with_attributes(attributes(70_000));
    let put = run(site.disk.put(&at("a"), content, &Context::default()));
    assert_eq!(put.err().map(|error| error.kind), Some(Kind::TooLarge));
    assert_eq!(site.attributes("a"), attributes(SHORT));
    assert_eq!(site.path("").read_dir().unwrap().count(), 1, "and no temporary file");
}

#[test]
fn copies_keep_them() {
    let site = Site::new();
    site.put("from/a", "text", attributes(LONG));
    let (disk, memory): (Rc<dyn Store>, Rc<dyn Store>) =
        (Rc::new(Disk::new(site.folder.path()).unwrap()), Rc::new(Memory::site()));
    let options = CopyOptions::default();
    run(async {
        let there = at("there");
        copy(disk.clone(), &at("from"), memory.clone(), &there, options, |_| {}).await.unwrap();
        copy(memory, &there, disk, &at("back"), options, |_| {}).await.unwrap();
    });
    assert_eq!(site.attributes("back/a"), attributes(LONG));
}

#[test]
fn a_name_that_tells_no_type_has_the_one_that_was_put() {
    let site = Site::new();
    for name in ["avatar", "text.txt"] {
        site.put(name, "text", attributes(SHORT));
        // The second read may come from memory.
        for _ in 0..2 {
            let read = run(site.disk.get(&at(name), &Context::default())).unwrap().unwrap();
            let expected = if name == "avatar" { "image/x-test" } else { "text/plain" };
            assert_eq!(read.media_type.as_deref(), Some(expected), "{name}");
            assert_eq!(read.metadata, None, "a plain reader did not ask");
        }
        let known = run(site.disk.get(&at(name), &Context::default())).unwrap().unwrap().entity_tag;
        let context = Context { known, ..Context::default() };
        let short = run(site.disk.get(&at(name), &context)).unwrap().unwrap();
        assert_eq!(short.media_type.as_deref() == Some("image/x-test"), name == "avatar");
    }
    fs::write(site.path("avatar"), "changed").unwrap();
    let read = run(site.disk.get(&at("avatar"), &Context::default())).unwrap().unwrap();
    assert_eq!(read.media_type, None);
}
