//! Durability: collections that are killed while they write and read while they are written.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Attribute, AttributeType, Category, Collection, CollectionDefinition, Id, IndexConfig, Partial,
    PendingWrite, Request, SearchConfig, Similarity,
};
use runnel_store::Kind;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The variable that gives the child process its folder.
const FOLDER: &str = "RUNNEL_SEARCH_TEST_FOLDER";

/// Rounds of starting and killing a process.
const KILLS: u64 = 100;

/// The number of identifiers.
const IDS: u64 = 60;

/// The number of unacknowledged writes of a process.
const AHEAD: usize = 8;

fn definition(folder: &Path) -> CollectionDefinition {
    let title = Category::new("title").partial(Partial::substring(1, -1));
    let author = Category::new("author").similarity(Similarity::DoubleMetaphone(3));
    let index = IndexConfig::new("books").category(title).category(author);
    CollectionDefinition { folder: Some(folder.to_owned()), ..CollectionDefinition::new(index) }
}

/// A number that looks random, for a number (SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The write of a number: the identifier, and the record unless it removes.
fn write(number: u64) -> (i64, Option<String>) {
    let random = mixed(number);
    let id = (random % IDS) as i64;
    let put = !(random >> 32).is_multiple_of(4);
    (id, put.then(|| format!("{{\"title\":\"common word{number}\",\"author\":\"peter\"}}")))
}

type Model = BTreeMap<i64, String>;

fn apply(number: u64, model: &mut Model) {
    match write(number) {
        (id, Some(record)) => model.insert(id, record),
        (id, None) => model.remove(&id),
    };
}

/// The child process: writes forever, prints the number of each write and the last acknowledged
/// one, and takes snapshots meanwhile. Without its variable it does nothing.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut out = std::io::stdout();
    let mut say = |word: &str, number: u64| {
        out.write_all(format!("\n{word} {number}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    let books = Collection::open(definition(Path::new(&folder))).unwrap();
    let start = std::env::var(START).unwrap().parse().unwrap();
    let others = books.clone();
    std::thread::spawn(move || {
        loop {
            others.snapshot().unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let mut waiting: VecDeque<(u64, PendingWrite)> = VecDeque::new();
    for number in start.. {
        say("begins", number);
        let pending = match write(number) {
            (id, Some(record)) => books.put(Id::from(id), record.as_bytes()).unwrap(),
            (id, None) => books.remove(&Id::from(id)).unwrap().1,
        };
        waiting.push_back((number, pending));
        if waiting.len() > AHEAD {
            let (number, pending) = waiting.pop_front().unwrap();
            pending.wait().unwrap();
            say("acknowledged", number);
        }
    }
}

/// The first write of a child.
const START: &str = "RUNNEL_SEARCH_TEST_START";

fn child(folder: &Path, start: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durable::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(START, start.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts a child, kills it, and returns the last acknowledged write and the last one begun.
fn killed(folder: &Path, start: u64, round: u64) -> (u64, u64) {
    let mut child = child(folder, start);
    let (mut acknowledged, mut begun) = (start - 1, start - 1);
    // How many lines are read before the kill: each round ends at another point.
    let mut left = 2 + mixed(round) % 300;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The end of what a killed process wrote may be half a line.
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = words.get(1).and_then(|word| word.parse().ok());
        match (words[0], number) {
            ("begins", Some(number)) => begun = number,
            ("acknowledged", Some(number)) => acknowledged = number,
            _ => continue,
        }
        left = left.saturating_sub(1);
        if left == 0 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert_eq!(left, 0, "the child ended before it was killed");
    (acknowledged, begun)
}

#[test]
fn killed_a_hundred_times_it_holds_every_acknowledged_document() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let mut next = 1;
    for round in 0..KILLS {
        let (acknowledged, begun) = killed(folder.path(), next, round);
        let books = Collection::open(definition(folder.path())).unwrap();
        let ids = books.ids(0, usize::MAX);
        let now: Model = ids
            .iter()
            .map(|id| {
                let Id::Integer(number) = id else { panic!() };
                let record = books.document(id).unwrap().to_vec();
                (*number, String::from_utf8(record).unwrap())
            })
            .collect();
        (next..=acknowledged).for_each(|number| apply(number, &mut model));
        next = acknowledged + 1;
        // Writes begun and not acknowledged may be there, in their order.
        while now != model {
            assert!(next <= begun, "round {round}: {now:?} is not {model:?}");
            apply(next, &mut model);
            next += 1;
        }
        let all = Request::new().ids(1_000);
        assert_eq!(books.search("common", &all).total(), model.len());
        for (id, record) in &model {
            let word = record.split(['"', ' ']).find(|word| word.starts_with("word")).unwrap();
            let answer = books.search(&format!("title:{word}\""), &all);
            assert_eq!(answer.ids(), [Id::from(*id)], "{word}");
        }
    }
    assert!(next > 100, "only {next} writes in all rounds");
}

#[test]
fn searches_see_whole_documents_while_they_change() {
    const DOCUMENTS: i64 = 50;
    let folder = tempfile::tempdir().unwrap();
    for folder in [None, Some(folder.path().to_owned())] {
        let kept = folder.is_some();
        let mut definition = definition(Path::new(""));
        definition.folder = folder;
        let books = Collection::open(definition.clone()).unwrap();
        let record = |id: i64, version: u64| {
            format!("{{\"title\":\"common word{id} v{version}\",\"author\":\"v{version}\"}}")
        };
        for id in 0..DOCUMENTS {
            drop(books.put(Id::from(id), record(id, 0).as_bytes()).unwrap());
        }
        let done = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|reader| {
                let (books, done) = (books.clone(), done.clone());
                std::thread::spawn(move || {
                    let all = Request::new().ids(1_000);
                    let mut searches = 0;
                    while !done.load(Ordering::Acquire) {
                        // Documents are replaced all the time, and none is ever missing.
                        let total = books.search("common\"", &all).total();
                        assert_eq!(total, DOCUMENTS as usize);
                        let id = Id::from((searches + reader) % DOCUMENTS);
                        let text = books.document(&id).unwrap();
                        assert!(text.starts_with(b"{\"title\":\"common word"));
                        searches += 1;
                    }
                    searches
                })
            })
            .collect();
        let mut versions = vec![0; DOCUMENTS as usize];
        for number in 1..1_500 {
            let id = (mixed(number) % DOCUMENTS as u64) as i64;
            versions[id as usize] = number;
            let pending = books.put(Id::from(id), record(id, number).as_bytes()).unwrap();
            if number.is_multiple_of(100) {
                pending.wait().unwrap();
            }
            if number.is_multiple_of(500) {
                books.snapshot().unwrap();
            }
        }
        done.store(true, Ordering::Release);
        let searches: i64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(searches > 0);
        let check = |books: &Collection| {
            for (id, version) in versions.iter().enumerate() {
                let expected = record(id as i64, *version);
                let known = books.document(&Id::from(id as i64)).unwrap();
                assert_eq!(known, expected.as_bytes());
                let answer =
                    books.search(&format!("title:v{version}\" word{id}\""), &Request::new());
                assert_eq!(answer.ids(), [Id::from(id as i64)]);
            }
        };
        check(&books);
        drop(books);
        if kept {
            check(&Collection::open(definition).unwrap());
        }
    }
}

#[test]
fn loading_tells_how_far_it_is_and_is_there_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let books = Collection::open(definition(folder.path())).unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let mut loader = books.load().on_progress(move |progress| sender.send(progress).unwrap());
    // So much that a snapshot is made of it; no category has it.
    let notes = "x".repeat(600);
    let mut bytes = 0;
    for number in 0..2_500 {
        let record = format!("{{\"title\":\"common word{number}\",\"notes\":\"{notes}\"}}");
        bytes += record.len() as u64;
        loader.put(Id::from(number), record.as_bytes()).unwrap();
    }
    assert!(loader.put(Id::from(9_999), b"[]").is_err());
    let progress = loader.finish().unwrap();
    assert_eq!((progress.documents, progress.bytes), (2_500, bytes));
    let told: Vec<u64> = told.iter().map(|progress| progress.documents).collect();
    assert_eq!(told, [1_000, 2_000, 2_500]);
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let snapshots = names.filter(|name| name.to_str().unwrap().starts_with("snapshot-"));
    assert_eq!(snapshots.count(), 1);
    assert!(books.document(&Id::from(7)).unwrap().ends_with(b"x\"}"));
    drop(books);
    let books = Collection::open(definition(folder.path())).unwrap();
    assert_eq!(books.ids(0, 3), [0, 1, 2].map(Id::from));
    assert_eq!((books.len(), books.search("common", &Request::new()).total()), (2_500, 2_500));
}

#[test]
fn a_folder_is_for_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = child(folder.path(), 1);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("acknowledged")));
    let error = Collection::open(definition(folder.path())).map(drop).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    child.kill().unwrap();
    child.wait().unwrap();
    Collection::open(definition(folder.path())).unwrap();
}

/// An index with everything that a snapshot has to keep.
fn everything(folder: &Path) -> CollectionDefinition {
    let index = IndexConfig::new("books")
        .phrases(true)
        .category(Category::new("title").partial(Partial::substring(1, -1)))
        .category(Category::new("author").similarity(Similarity::DoubleMetaphone(3)))
        .category(Category::new("year").partial(Partial::None))
        .attribute(Attribute::new("year", AttributeType::Integer))
        .attribute(Attribute::new("author", AttributeType::Text))
        .attribute(Attribute::new("lent", AttributeType::Boolean));
    let search = SearchConfig::new().phrases(true).typos(1);
    let folder = Some(folder.to_owned());
    CollectionDefinition { folder, search, ..CollectionDefinition::new(index) }
}

/// The answers of a collection to many queries, without their durations.
fn answers(books: &Collection) -> Vec<String> {
    let search = books.searching();
    let filters = ["year > 1905", "author = peter and lent = true"];
    let filters = filters.map(|text| search.filter(text).unwrap());
    let order = search.order("-year,author").unwrap();
    let all = Request::new().ids(200);
    let requests = [
        all,
        all.filter(&filters[0]),
        all.filter(&filters[1]),
        all.order(&order),
        all.unique(true),
    ];
    let mut found = Vec::new();
    for query in
        ["a", "a* b", "peter~", "author:petra~ c", "\"abc bcd\"", "1901…1910 d*", "bcda", ""]
    {
        for request in &requests {
            let mut answer = books.search(query, request);
            answer.set_duration(Duration::ZERO);
            found.push(answer.to_json());
        }
    }
    let index = books.index().read().unwrap();
    found.extend(["title", "author", "year"].map(|name| format!("{:?}", index.facets(name, 1))));
    found.push(format!("{:?}", books.ids(0, usize::MAX)));
    found
}

#[test]
fn what_is_read_back_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = 0;
    let mut next = |below: u64| {
        random += 1;
        mixed(random) % below
    };
    for round in 0..6 {
        let books = Collection::open(everything(folder.path())).unwrap();
        for _ in 0..150 {
            let id = Id::from(next(120) as i64);
            if next(4) == 0 {
                drop(books.remove(&id).unwrap());
                continue;
            }
            let mut word = || ["abc", "bcd", "cda", "dab", "a", "bc"][next(6) as usize];
            let title = format!("{} {} {} {}", word(), word(), word(), word());
            let author = ["peter", "petra", "patter", "anna", "ana"][next(5) as usize];
            let (year, lent) = (1900 + next(20), next(2) == 0);
            let record = format!(
                "{{\"title\":\"{title}\",\"author\":[\"{author}\",\"smith\"],\"year\":{year},\"lent\":{lent}}}"
            );
            drop(books.put(id, record.as_bytes()).unwrap());
        }
        if round % 2 == 0 {
            books.snapshot().unwrap();
        }
        let expected = answers(&books);
        drop(books);
        let books = Collection::open(everything(folder.path())).unwrap();
        let read_back = answers(&books);
        for (expected, read_back) in expected.iter().zip(&read_back) {
            assert_eq!(expected, read_back, "round {round}");
        }
    }
}
