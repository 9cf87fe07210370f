//! Collections whose file system fails at any step, and folders with damaged files.
#![allow(clippy::unwrap_used)]

use super::disk_steps::{DiskStep, DiskSteps};
use crate::{
    Category, Collection, CollectionDefinition, Id, IndexConfig, Partial, Request, Similarity,
};
use runnel_store::Kind;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn definition(folder: &Path) -> CollectionDefinition {
    let title = Category::new("title").partial(Partial::substring(1, -1));
    let author = Category::new("author").similarity(Similarity::DoubleMetaphone(3));
    let index = IndexConfig::new("books").category(title).category(author);
    CollectionDefinition { folder: Some(folder.to_owned()), ..CollectionDefinition::new(index) }
}

/// What was put, by identifier.
type Model = BTreeMap<i64, String>;

fn record(number: i64) -> String {
    format!("{{\"title\":\"common word{number}\",\"author\":\"peter{}\"}}", number % 3)
}

fn check(books: &Collection, model: &Model) {
    assert_eq!(books.len(), model.len());
    for (id, record) in model {
        assert_eq!(books.document(&Id::from(*id)).as_deref(), Some(record.as_bytes()), "{id}");
    }
    let all = Request::new().ids(1_000);
    let answer = books.search("common", &all);
    assert_eq!(answer.total(), model.len());
    for record in model.values() {
        let word = record.split(['"', ' ']).find(|word| word.starts_with("word")).unwrap();
        let expected = model.values().filter(|other| other.contains(&format!("{word}\""))).count();
        assert_eq!(books.search(&format!("{word}\""), &all).total(), expected, "{word}");
    }
}

fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}

/// The files whose names begin so, in their order.
fn files(folder: &Path, start: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named =
        |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(start);
    let mut files: Vec<_> = entries.filter(named).collect();
    files.sort();
    files
}

/// Does the same things each time, until the file system fails; what was acknowledged is in the
/// first model, what was tried in the second.
fn scenario(folder: &Path, steps: DiskSteps) -> Vec<Model> {
    let mut states = vec![Model::new()];
    let Ok(books) = Collection::open_with(definition(folder), steps, None) else { return states };
    let mut acknowledged = 0;
    let mut state = Model::new();
    for number in 0..24 {
        let id = number % 7;
        let pending = if number % 5 == 4 {
            books.remove(&Id::from(id)).map(|(_, pending)| pending)
        } else {
            books.put(Id::from(id), record(number).as_bytes())
        };
        let Ok(pending) = pending else { break };
        match number % 5 {
            4 => state.remove(&id),
            _ => state.insert(id, record(number)),
        };
        states.push(state.clone());
        if number % 3 == 0 {
            if pending.wait().is_err() {
                break;
            }
            acknowledged = states.len() - 1;
        }
        if number % 8 == 7 {
            // If it fails, the log stays; nothing depends on it.
            let _ = books.snapshot();
        }
    }
    states.split_off(acknowledged)
}

#[test]
fn whatever_step_fails_what_was_acknowledged_stays() {
    for from in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = taken.clone();
        let steps = DiskSteps::checked(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
            number if number < from => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::StorageFull)),
        });
        let states = scenario(folder.path(), steps);
        let books = Collection::open(definition(folder.path())).unwrap();
        let now: Model = books
            .ids(0, usize::MAX)
            .into_iter()
            .map(|id| {
                let record = books.document(&id).unwrap().to_vec();
                let Id::Integer(number) = id else { panic!() };
                (number, String::from_utf8(record).unwrap())
            })
            .collect();
        assert!(states.contains(&now), "failing from step {from}: {now:?}\n{states:?}");
        check(&books, &now);
        books.put(Id::from(99), record(99).as_bytes()).unwrap().wait().unwrap();
        drop(books);
        let books = Collection::open(definition(folder.path())).unwrap();
        assert!(books.contains(&Id::from(99)));
        if taken.load(Ordering::SeqCst) < from {
            assert!(from > 30, "the scenario has many steps");
            break;
        }
    }
}

#[test]
fn a_log_that_cannot_be_flushed_acknowledges_nothing_more() {
    for failing in [DiskStep::AppendLog, DiskStep::SyncLog] {
        let folder = tempfile::tempdir().unwrap();
        let good = Arc::new(AtomicUsize::new(2));
        let left = good.clone();
        let steps = DiskSteps::checked(move |step| {
            let mut spend = |left: usize| left.checked_sub(1);
            if step == failing
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, &mut spend).is_err()
            {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            Ok(())
        });
        let books = Collection::open_with(definition(folder.path()), steps, None).unwrap();
        for id in 0..2 {
            books.put(Id::from(id), b"{}").unwrap().wait().unwrap();
        }
        let error = books.put(Id::from(2), b"{}").unwrap().wait().unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert!(error.message.contains("the disk is full") && !error.temporary, "{error}");
        good.store(usize::MAX, Ordering::SeqCst);
        // It is not known what the disk has, so nothing is taken until it is opened again.
        assert!(books.put(Id::from(3), b"{}").is_err() && books.flush().is_err());
        assert_eq!(books.search("", &Request::new()).total(), 0);
    }
}

#[test]
fn a_torn_end_is_dropped_wherever_it_is_torn() {
    let folder = tempfile::tempdir().unwrap();
    let books = Collection::open(definition(folder.path())).unwrap();
    let mut lengths = Vec::new();
    for id in 0..3 {
        books.put(Id::from(id), record(id).as_bytes()).unwrap().wait().unwrap();
        lengths.push(files(folder.path(), "log")[0].metadata().unwrap().len());
    }
    drop(books);
    for length in lengths[1]..=lengths[2] {
        let torn = copy(folder.path());
        let log = std::fs::File::options().write(true).open(&files(torn.path(), "log")[0]).unwrap();
        log.set_len(length).unwrap();
        let whole = if length == lengths[2] { 3 } else { 2 };
        let mut model: Model = (0..whole).map(|id| (id, record(id))).collect();
        let books = Collection::open(definition(torn.path())).unwrap();
        check(&books, &model);
        books.put(Id::from(7), record(7).as_bytes()).unwrap().wait().unwrap();
        drop(books);
        model.insert(7, record(7));
        check(&Collection::open(definition(torn.path())).unwrap(), &model);
    }
}

#[test]
fn damage_in_the_middle_is_told_with_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let books = Collection::open(definition(folder.path())).unwrap();
    books.put(Id::from(1), record(1).as_bytes()).unwrap().wait().unwrap();
    books.snapshot().unwrap();
    for id in 2..5 {
        books.put(Id::from(id), record(id).as_bytes()).unwrap().wait().unwrap();
    }
    drop(books);
    let flip = |start: &str, place: usize| {
        let broken = copy(folder.path());
        let path = files(broken.path(), start).remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        let Some(byte) = bytes.get_mut(place) else { return false };
        *byte ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        let error = Collection::open(definition(broken.path())).map(drop).unwrap_err();
        assert!(matches!(error.kind, Kind::Failed | Kind::Unsupported), "{error}");
        assert!(error.message.contains(path.to_str().unwrap()), "{error}");
        true
    };
    let mut place = 0;
    while flip("snapshot", place) {
        place += 7;
    }
    // The last group looks torn; the header and two groups before it are intact.
    let first_two = 32 + 2 * (20 + 4 + 1 + 8 + record(2).len());
    for place in (0..first_two).step_by(5) {
        assert!(flip("log", place));
    }
}

/// The snapshot with a byte changed, and all checksums right again.
fn forged(snapshot: &[u8], place: usize, change: u8) -> Vec<u8> {
    let mut bytes = snapshot.to_vec();
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let end = bytes.len() - 24;
    let table = number(&bytes, end) as usize;
    bytes[place] ^= change;
    for line in (table..end).step_by(24) {
        let (start, length) = (number(&bytes, line) as usize, number(&bytes, line + 8) as usize);
        let checksum = crc32fast::hash(&bytes[start..start + length]);
        bytes[line + 16..line + 20].copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = crc32fast::hash(&bytes[table..end]);
    bytes[end + 8..end + 12].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn wrong_snapshots_with_right_checksums_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let definition = |folder: &Path| {
        let mut definition = definition(folder);
        let attribute = crate::Attribute::new("author", crate::AttributeType::Text);
        definition.index = definition.index.attribute(attribute).phrases(true);
        definition.search = definition.search.phrases(true);
        definition
    };
    let books = Collection::open(definition(folder.path())).unwrap();
    for id in 0..6 {
        drop(books.put(Id::from(id), record(id).as_bytes()).unwrap());
    }
    books.snapshot().unwrap();
    drop(books);
    let path = files(folder.path(), "snapshot").remove(0);
    let snapshot = std::fs::read(&path).unwrap();
    let table = u64::from_le_bytes(*snapshot[snapshot.len() - 24..].first_chunk().unwrap());
    let mut opened = 0;
    for place in (24..table as usize).step_by(11) {
        let change = [1, 0x80, 0xff][place % 3];
        std::fs::write(&path, forged(&snapshot, place, change)).unwrap();
        let Ok(books) = Collection::open(definition(folder.path())) else { continue };
        opened += 1;
        let all = Request::new().ids(100);
        for query in ["common", "w", "peter1~", "word1", "\"common word2\"", "a…z"] {
            books.search(query, &all).to_json();
        }
        let order = books.searching().order("author").unwrap();
        books.search("common", &all.order(&order));
        for id in 0..3 {
            books.document(&Id::from(id));
            drop(books.put(Id::from(id), record(id).as_bytes()).unwrap());
            drop(books.remove(&Id::from(5 - id)).unwrap());
        }
        drop(books);
        // What was written would be a log of its own.
        files(folder.path(), "log").into_iter().for_each(|log| std::fs::remove_file(log).unwrap());
    }
    assert!(opened > 10);
}

#[test]
fn a_changed_definition_indexes_what_is_kept_anew() {
    let folder = tempfile::tempdir().unwrap();
    let books = Collection::open(definition(folder.path())).unwrap();
    for id in 0..5 {
        drop(books.put(Id::from(id), record(id).as_bytes()).unwrap());
    }
    books.snapshot().unwrap();
    drop(books.put(Id::from(5), record(5).as_bytes()).unwrap());
    drop(books);
    let mut changed = definition(folder.path());
    changed.index = changed.index.category(Category::new("whole").from("title"));
    for _ in 0..2 {
        let books = Collection::open(changed.clone()).unwrap();
        assert_eq!(books.search("whole:word5", &Request::new()).total(), 1);
        assert_eq!(books.search("whole:word0", &Request::new()).total(), 1);
        books.snapshot().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut unkept = CollectionDefinition { stored: false, ..definition(folder.path()) };
    let books = Collection::open(unkept.clone()).unwrap();
    drop(books.put(Id::from(1), record(1).as_bytes()).unwrap());
    books.snapshot().unwrap();
    assert_eq!(books.document(&Id::from(1)), None);
    drop(books);
    assert_eq!(
        Collection::open(unkept.clone()).unwrap().search("word1", &Request::new()).total(),
        1
    );
    unkept.index = unkept.index.category(Category::new("other"));
    let error = Collection::open(unkept).map(drop).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
}

#[test]
fn one_folder_is_for_one_collection() {
    let folder = tempfile::tempdir().unwrap();
    let books = Collection::open(definition(folder.path())).unwrap();
    let error = Collection::open(definition(folder.path())).map(drop).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    assert!(error.message.contains("in use"), "{error}");
    drop(books);
    Collection::open(definition(folder.path())).unwrap();
}
