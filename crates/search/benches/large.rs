//! A million generated books: duration of loading, memory, and duration of queries of one to five
//! words, in CPU time of the thread.
//!
//! The first argument is the number of books. A second one selects a query and a third one its
//! repetitions, for a profiler.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod catalogue;

use catalogue::{Book, Catalogue};
use runnel_search::{
    Category, Document, IndexConfig, Partial, Request, Search, SearchAnswer, SearchConfig,
    SearchIndex,
};
use std::time::Duration;

/// Queries of each number of words.
const QUERIES: usize = 2_000;

fn document(book: Book) -> Document {
    Document::new(book.id)
        .with("title", book.title)
        .with("author", book.author)
        .with("year", book.year)
        .with("publisher", book.publisher)
        .with("subjects", book.subjects)
}

fn config() -> IndexConfig {
    let all = || Partial::substring(1, -1);
    IndexConfig::new("books")
        .category(Category::new("title").partial(all()))
        .category(Category::new("author").partial(all()))
        .category(Category::new("year").partial(Partial::None))
        .category(Category::new("publisher").partial(all()))
        .category(Category::new("subjects").partial(all()))
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Memory of this process that is in use, in bytes; 0 where the system does not tell.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.map_or(0, |number| number.trim().parse::<usize>().unwrap_or(0) * 1024)
}

fn once(search: &Search, query: &str, answer: &mut SearchAnswer, json: &mut Vec<u8>) -> Duration {
    let started = cpu_time();
    json.clear();
    search.search_into(query, &Request::new().ids(20), answer);
    answer.write_json(json);
    cpu_time() - started
}

fn report(name: &str, mut times: Vec<(Duration, String)>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].0.as_secs_f64() * 1e3;
    let (_, slowest) = times.last().unwrap();
    println!(
        "{name:<12}{:>10.3}{:>10.3}{:>10.3}{:>10.3}  {slowest}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let catalogue = Catalogue::new();
    let before = (memory(), cpu_time());
    let mut index = SearchIndex::new(config()).unwrap();
    index.load(catalogue.books(count).map(document));
    let bytes = (memory() - before.0) as f64 / count as f64;
    println!("{count} books in {:.1?} of CPU time, {bytes:.0} bytes each", cpu_time() - before.1);
    let search = Search::over(index, SearchConfig::new()).unwrap();
    let (mut answer, mut json) = (SearchAnswer::new(), Vec::new());
    if let Some(query) = arguments.next() {
        let times = arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1_000);
        let total: Duration =
            (0..times).map(|_| once(&search, &query, &mut answer, &mut json)).sum();
        return println!("{query:?}: {:?} each", total / times);
    }
    println!("{:<12}{:>10}{:>10}{:>10}{:>10}  slowest", "ms", "p50", "p90", "p99", "max");
    for words in 1..=5 {
        let queries = catalogue.queries(QUERIES, words, count, false);
        let mut time = |query: String| (once(&search, &query, &mut answer, &mut json), query);
        report(&format!("{words} words"), queries.into_iter().map(&mut time).collect());
    }
    for query in catalogue.frequent() {
        let times = (0..20).map(|_| once(&search, &query, &mut answer, &mut json));
        let best = times.min().unwrap();
        println!("{query:<30}{best:>12.1?}  {} found", answer.total());
    }
}
