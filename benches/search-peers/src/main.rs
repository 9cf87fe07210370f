//! Searches of titles and authors in this project's engine, in tantivy and in SQLite's FTS5: the same
//! books, the same queries, one after the other in one thread.
//!
//! `latency BOOKS` loads all engines and asks each query of each of them in turn; times are CPU times
//! of the thread. `memory ENGINE BOOKS` loads one of them and says how long that took and what it
//! needs, and has to be a process of its own for that.

#[path = "../../../crates/search/benches/catalogue/mod.rs"]
mod catalogue;
mod fts5;
mod runnel;
mod tantivy_engine;

use catalogue::Catalogue;
use std::path::Path;
use std::time::{Duration, Instant};

/// Documents that a page shows.
const PAGE: usize = 20;
/// Queries of each number of words.
const QUERIES: usize = 1_000;
/// How often each query is asked; the best time counts.
const TIMES: usize = 3;

/// What all engines are asked: the number of documents in which all words are in one of the fields,
/// the last one as the beginning of a word; and the documents of the first page.
trait Engine {
    fn name(&self) -> &'static str;
    /// Answers how many documents were found and how many were shown.
    fn ask(&mut self, words: &[&str]) -> (usize, usize);
    /// Bytes on disk.
    fn on_disk(&self) -> u64;
}

fn engine(name: &str, catalogue: &Catalogue, books: i64, folder: &Path) -> Option<Box<dyn Engine>> {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the index");
    match name {
        "runnel" => Some(Box::new(runnel::Runnel::new(catalogue, books))),
        "tantivy" => Some(Box::new(tantivy_engine::Tantivy::new(catalogue, books, &folder, false))),
        "tantivy-parts" => {
            Some(Box::new(tantivy_engine::Tantivy::new(catalogue, books, &folder, true)))
        }
        "fts5" => Some(Box::new(fts5::Fts5::new(catalogue, books, &folder))),
        _ => None,
    }
}

const ENGINES: [&str; 4] = ["runnel", "tantivy", "tantivy-parts", "fts5"];

fn clock(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Memory of this process in use, and the part of it that is no mapped file, in bytes.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
    };
    (field("VmRSS:"), field("RssAnon:"))
}

/// Bytes of the files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

fn latency(books: i64, folder: &Path) {
    let catalogue = Catalogue::new();
    let mut engines: Vec<Box<dyn Engine>> =
        ENGINES.iter().filter_map(|name| engine(name, &catalogue, books, folder)).collect();
    println!("| words | engine | p50 ms | p99 ms | slowest ms | found |");
    println!("|---|---|---|---|---|---|");
    for words in 1..=3 {
        let mut times = vec![Vec::new(); engines.len()];
        let mut found = vec![0; engines.len()];
        for query in catalogue.queries(QUERIES, words, books, true) {
            let words: Vec<&str> = query.split(' ').collect();
            for (number, engine) in engines.iter_mut().enumerate() {
                let mut best = Duration::MAX;
                for _ in 0..TIMES {
                    let started = clock(rustix::time::ClockId::ThreadCPUTime);
                    let (count, shown) = engine.ask(&words);
                    best = best.min(clock(rustix::time::ClockId::ThreadCPUTime) - started);
                    assert!(shown <= PAGE && shown <= count, "{query}");
                    found[number] = found[number].max(count);
                }
                times[number].push(best);
            }
        }
        for ((engine, mut times), found) in engines.iter().zip(times).zip(found) {
            times.sort();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64();
            println!(
                "| {words} | {} | {:.4} | {:.4} | {:.4} | {found} at most |",
                engine.name(),
                at(0.5) * 1e3,
                at(0.99) * 1e3,
                at(1.0) * 1e3,
            );
        }
    }
}

fn room(name: &str, books: i64, folder: &Path) {
    let catalogue = Catalogue::new();
    let before = memory();
    let started = (Instant::now(), clock(rustix::time::ClockId::ProcessCPUTime));
    let Some(mut engine) = engine(name, &catalogue, books, folder) else {
        return println!("there is no engine {name}; there are {}", ENGINES.join(", "));
    };
    let wall = started.0.elapsed().as_secs_f64();
    let cpu = (clock(rustix::time::ClockId::ProcessCPUTime) - started.1).as_secs_f64();
    let loaded = memory();
    for words in 1..=3 {
        for query in catalogue.queries(QUERIES, words, books, true) {
            engine.ask(&query.split(' ').collect::<Vec<_>>());
        }
    }
    let asked = memory();
    let each = |bytes: u64| bytes / books as u64;
    println!(
        "| {name} | {wall:.1} | {cpu:.1} | {} | {} | {} | {} |",
        each(loaded.0.saturating_sub(before.0)),
        each(asked.0.saturating_sub(before.0)),
        each(asked.1.saturating_sub(before.1)),
        each(engine.on_disk()),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let folder = std::env::temp_dir().join(format!("search-peers-{}", std::process::id()));
    let books = |text: &str| text.parse::<i64>().ok().filter(|books| *books > 0);
    match arguments[..] {
        ["latency", count] if books(count).is_some() => {
            latency(books(count).unwrap_or(1), &folder);
        }
        ["memory", name, count] if books(count).is_some() => {
            room(name, books(count).unwrap_or(1), &folder);
        }
        _ => println!("usage: latency BOOKS | memory {} BOOKS", ENGINES.join("|")),
    }
    let _ = std::fs::remove_dir_all(&folder);
}
