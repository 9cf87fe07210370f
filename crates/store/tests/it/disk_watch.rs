//! What a watch of the disk tells when others change files.

use futures_util::StreamExt;
use runnel_store::{ChangeKind, Changes, Content, Context, Disk, Kind, Reference, Store};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// How long to wait for what must happen.
const PATIENCE: Duration = Duration::from_secs(120);

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn folder() -> (TempDir, Disk) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path()).unwrap();
    (folder, disk)
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

async fn watch(disk: &Disk, path: &str) -> Changes {
    disk.watch(&at(path), &Context::default()).await.unwrap()
}

async fn next(changes: &mut Changes) -> (ChangeKind, String) {
    let change = tokio::time::timeout(PATIENCE, changes.next()).await.unwrap().unwrap().unwrap();
    (change.kind, change.reference.path().to_string())
}

/// All changes up to one at a path, as `changed a/b`, those in a row once. What is lost there may be
/// that change.
async fn up_to(changes: &mut Changes, kind: ChangeKind, path: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let change = next(changes).await;
        let text = format!("{} {}", change.0.name(), change.1);
        if told.last() != Some(&text) {
            told.push(text);
        }
        let lost = change.0 == ChangeKind::Lost && Path::new(path).starts_with(&change.1);
        if lost || change.0 == kind && change.1 == path {
            return told;
        }
    }
}

fn write(folder: &TempDir, path: &str, text: &str) {
    fs::write(folder.path().join(path), text).unwrap();
}

#[test]
fn what_others_write_rename_and_remove_is_told() {
    let (folder, disk) = folder();
    fs::create_dir(folder.path().join("a")).unwrap();
    run(async {
        let mut changes = watch(&disk, "").await;
        write(&folder, "a/x", "1");
        assert_eq!(up_to(&mut changes, ChangeKind::Changed, "a/x").await, ["changed a/x"]);
        fs::rename(folder.path().join("a/x"), folder.path().join("a/y")).unwrap();
        let told = up_to(&mut changes, ChangeKind::Changed, "a/y").await;
        assert!(told.contains(&"deleted a/x".to_string()), "{told:?}");
        fs::remove_file(folder.path().join("a/y")).unwrap();
        up_to(&mut changes, ChangeKind::Deleted, "a/y").await;
        fs::remove_dir(folder.path().join("a")).unwrap();
        up_to(&mut changes, ChangeKind::Deleted, "a").await;
    });
}

#[test]
fn all_that_is_in_a_new_directory_is_told() {
    let (folder, disk) = folder();
    run(async {
        let mut changes = watch(&disk, "").await;
        for round in 0..20 {
            // Made faster than anybody could begin to watch it.
            let deep = folder.path().join(format!("{round}/a/b/c"));
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("x"), "1").unwrap();
            up_to(&mut changes, ChangeKind::Changed, &format!("{round}/a/b/c/x")).await;
            fs::write(deep.join("y"), "1").unwrap();
            up_to(&mut changes, ChangeKind::Changed, &format!("{round}/a/b/c/y")).await;
            fs::remove_dir_all(folder.path().join(round.to_string())).unwrap();
            up_to(&mut changes, ChangeKind::Deleted, &round.to_string()).await;
        }
    });
}

#[test]
fn a_place_may_appear_go_and_appear_again() {
    let (folder, disk) = folder();
    run(async {
        let mut changes = watch(&disk, "a/b/c").await;
        for round in 0..10 {
            fs::create_dir_all(folder.path().join("a/b")).unwrap();
            write(&folder, "a/b/beside", "1");
            write(&folder, "a/b/c", &round.to_string());
            let told = up_to(&mut changes, ChangeKind::Changed, "a/b/c").await;
            // Nothing above it and nothing beside it.
            assert!(told.iter().all(|change| change.ends_with(" a/b/c")), "{told:?}");
            fs::remove_dir_all(folder.path().join("a")).unwrap();
            up_to(&mut changes, ChangeKind::Deleted, "a/b/c").await;
        }
    });
}

#[test]
fn a_directory_that_is_moved_takes_its_files_along() {
    let (folder, disk) = folder();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    write(&folder, "a/b/x", "1");
    run(async {
        let mut above = watch(&disk, "").await;
        let mut below = watch(&disk, "a/b/x").await;
        fs::rename(folder.path().join("a"), folder.path().join("z")).unwrap();
        up_to(&mut above, ChangeKind::Lost, "a").await;
        up_to(&mut below, ChangeKind::Lost, "a/b/x").await;
        up_to(&mut above, ChangeKind::Changed, "z/b/x").await;
        // Where it is now it is watched, and where it was, too.
        write(&folder, "z/b/x", "2");
        up_to(&mut above, ChangeKind::Changed, "z/b/x").await;
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        write(&folder, "a/b/x", "3");
        up_to(&mut below, ChangeKind::Changed, "a/b/x").await;
    });
}

#[test]
fn our_own_temporary_files_are_not_told() {
    let (_folder, disk) = folder();
    run(async {
        let mut changes = watch(&disk, "").await;
        for number in 0..20 {
            let path = format!("{}", number % 3);
            disk.put(&at(&path), Content::text("x"), &Context::default()).await.unwrap();
        }
        disk.put(&at("end"), Content::text("x"), &Context::default()).await.unwrap();
        let told = up_to(&mut changes, ChangeKind::Changed, "end").await;
        let known = ["changed 0", "changed 1", "changed 2", "changed end"];
        assert!(told.iter().all(|change| known.contains(&change.as_str())), "{told:?}");
    });
}

#[test]
fn links_lead_where_reading_leads() {
    let (folder, disk) = folder();
    fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), folder.path().join("out")).unwrap();
    run(async {
        let mut through = watch(&disk, "link").await;
        write(&folder, "real/x", "1");
        up_to(&mut through, ChangeKind::Changed, "link/x").await;
        let refused = disk.watch(&at("out"), &Context::default()).await;
        assert_eq!(refused.err().unwrap().kind, Kind::Denied);
        let refused = disk.watch(&at("../x"), &Context::default()).await;
        assert_eq!(refused.err().unwrap().kind, Kind::Denied);
        // What a link leads to outside is not told either.
        let mut all = watch(&disk, "").await;
        fs::write(outside.path().join("secret"), "1").unwrap();
        symlink("nowhere", folder.path().join("new")).unwrap();
        let told = up_to(&mut all, ChangeKind::Changed, "new").await;
        assert!(told.iter().all(|change| !change.contains("secret")), "{told:?}");
    });
}

#[test]
fn a_machine_is_watched_by_absolute_paths() {
    let (folder, _) = folder();
    let disk = Disk::unconfined();
    let path = folder.path().join("x").to_str().unwrap().to_string();
    run(async {
        let mut changes = watch(&disk, &path).await;
        write(&folder, "y", "1");
        write(&folder, "x", "1");
        assert_eq!(next(&mut changes).await, (ChangeKind::Changed, path));
    });
}

#[test]
fn a_directory_replaced_by_a_file_and_back() {
    let (folder, disk) = folder();
    run(async {
        let mut changes = watch(&disk, "").await;
        let place = folder.path().join("a");
        for _ in 0..10 {
            fs::create_dir(&place).unwrap();
            write(&folder, "a/x", "1");
            up_to(&mut changes, ChangeKind::Changed, "a/x").await;
            fs::remove_dir_all(&place).unwrap();
            fs::write(&place, "1").unwrap();
            up_to(&mut changes, ChangeKind::Changed, "a").await;
            fs::remove_file(&place).unwrap();
        }
        write(&folder, "end", "1");
        up_to(&mut changes, ChangeKind::Changed, "end").await;
    });
}

/// How many entries of a directory of the system read as a text.
fn held(directory: &Path, text: &str) -> usize {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let texts = entries.map(|entry| match fs::read_link(entry.path()) {
        Ok(link) => link.to_string_lossy().into_owned(),
        Err(_) => fs::read_to_string(entry.path().join("comm")).unwrap_or_default(),
    });
    texts.filter(|found| found.trim() == text).count()
}

/// In a process of its own, because the other tests watch, too.
#[test]
fn nothing_is_left_of_watches_that_are_dropped() {
    const CHILD: &str = "RUNNEL_TEST_WATCHES_ALONE";
    if std::env::var_os(CHILD).is_none() {
        let name = "disk_watch::nothing_is_left_of_watches_that_are_dropped";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let (folder, disk) = folder();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let descriptors = Path::new("/proc/self/fd");
    if !descriptors.exists() {
        println!("skipped: this system does not show what a process holds");
        return;
    }
    run(async {
        for _ in 0..200 {
            let (first, second) = (watch(&disk, "a").await, watch(&disk, "a/b").await);
            drop(first);
            assert_eq!(held(descriptors, "anon_inode:inotify"), 1);
            drop(second);
            while held(descriptors, "anon_inode:inotify") > 0
                || held(Path::new("/proc/self/task"), "runnel-watch") > 0
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
}
