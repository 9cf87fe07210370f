//! Collections of generated books: memory of the index, duration of loading, snapshot and opening,
//! and size of the files.
//!
//! The argument is the number of books. Durations are wall-clock time, since several threads work.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod catalogue;

use catalogue::{Book, Catalogue};
use runnel_search::{
    Category, Collection, CollectionDefinition, Document, Id, IndexConfig, Partial, Request,
    SearchIndex,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn config() -> IndexConfig {
    let all = || Partial::substring(1, -1);
    IndexConfig::new("books")
        .category(Category::new("title").partial(all()))
        .category(Category::new("author").partial(all()))
        .category(Category::new("year").partial(Partial::None))
}

fn document(book: Book) -> Document {
    Document::new(book.id)
        .with("title", book.title)
        .with("author", book.author)
        .with("year", book.year)
}

fn record(book: &Book) -> Vec<u8> {
    let json = serde_json::json!({ "title": book.title, "author": book.author, "year": book.year });
    json.to_string().into_bytes()
}

/// Memory of this process that is in use and its own, in bytes; 0 where the system does not tell.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.map_or(0.0, |number| number.trim().parse::<f64>().unwrap_or(0.0) * 1024.0)
}

fn report(name: &str, started: Instant) {
    println!("{name:<28}{:>10.2} s", started.elapsed().as_secs_f64());
}

/// The size of all files in a folder, in bytes.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers = arguments.iter().filter_map(|argument| argument.parse().ok());
    let count: usize = numbers.max().unwrap_or(100_000);
    let folder = tempfile::tempdir().unwrap();
    match &arguments[..] {
        [phase, _, folder] => run(phase, count, folder.into()),
        // Each phase in a process of its own, so that its memory is its own.
        _ => ["index", "load", "open"].into_iter().for_each(|phase| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([phase, &count.to_string()]).arg(folder.path());
            assert!(command.status().unwrap().success());
        }),
    }
}

fn run(phase: &str, count: usize, folder: PathBuf) {
    let catalogue = Catalogue::new();
    let before = memory();
    let started = Instant::now();
    let each = |what: &str| {
        println!("{what:<28}{:>10.0} bytes", (memory() - before) / count as f64);
    };
    if phase == "index" {
        let mut index = SearchIndex::new(config()).unwrap();
        index.load(catalogue.books(count as i64).map(document));
        report("index alone", started);
        return each("each document in it");
    }
    let definition = CollectionDefinition {
        folder: Some(folder.clone()),
        ..CollectionDefinition::new(config())
    };
    let books = Collection::open(definition).unwrap();
    if phase == "open" {
        report("opening", started);
        assert_eq!(books.len(), count);
        return each("each document opened");
    }
    let mut loader = books.load();
    for book in catalogue.books(count as i64) {
        loader.put(Id::from(book.id), &record(&book)).unwrap();
    }
    loader.finish().unwrap();
    report("loading, with a snapshot", started);
    let started = Instant::now();
    let during = books.clone();
    let snapshot = std::thread::spawn(move || during.snapshot().unwrap());
    let (mut slowest, mut writes) = (Duration::ZERO, 0);
    while !snapshot.is_finished() {
        let start = Instant::now();
        drop(books.put(Id::from(1), b"{\"title\":\"once more\"}").unwrap());
        books.search("once", &Request::new());
        slowest = slowest.max(start.elapsed());
        writes += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    snapshot.join().unwrap();
    report("another snapshot", started);
    println!("{:<28}{slowest:>10.2?}, of {writes}", "slowest write and search");
    each("each document, loaded");
    drop(books);
    println!("{:<28}{:>10.0} bytes", "each document in files", size(&folder) as f64 / count as f64);
}
