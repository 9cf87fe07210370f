//! Queries per second in one thread, including the JSON, next to the figures of the original.
//!
//! The data are the 540 books of the original's example. They are not part of the repository:
//! without them the benchmark prints a line and ends. With a query and a number as arguments it
//! repeats that query and prints nothing, to count instructions with a profiler.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support.rs"]
mod support;

use runnel_search::{Request, Search, SearchAnswer};
use std::time::{Duration, Instant};

/// Queries and what the original was measured at with them, in queries per second.
const QUERIES: [(&str, f64); 8] = [
    ("a", 19_189.0),
    ("a* a", 7_001.0),
    ("a* a* a", 3_213.0),
    ("history", 25_269.0),
    ("alan p", 11_979.0),
    ("a a a a", 2_147.0),
    ("histroy~", 12_839.0),
    ("title:history year:1999", f64::NAN),
];

/// How long each measurement takes, and how often it is repeated; the best one counts.
const ROUND: Duration = Duration::from_millis(150);
const ROUNDS: usize = 7;

fn main() {
    let Some(library) = support::library() else { return };
    let search = support::search("books", &library);
    let only = std::env::args().nth(1).filter(|name| !name.starts_with("--"));
    let times = std::env::args().nth(2).and_then(|times| times.parse().ok());
    if let (Some(query), Some(times)) = (&only, times) {
        return run(&search, query, times, &mut SearchAnswer::new(), &mut Vec::new());
    }
    println!("{:<26}{:>14}{:>10}{:>14}{:>8}", "query", "queries/s", "ns", "original", "ratio");
    for (query, original) in QUERIES {
        if only.as_ref().is_some_and(|only| only != query) {
            continue;
        }
        let best = (0..ROUNDS).map(|_| measure(&search, query)).fold(0.0, f64::max);
        let time = 1e9 / best;
        println!("{query:<26}{best:>14.0}{time:>10.0}{original:>14.0}{:>8.0}", best / original);
    }
}

fn run(search: &Search, query: &str, times: usize, answer: &mut SearchAnswer, json: &mut Vec<u8>) {
    let request = Request::new().ids(20);
    for _ in 0..times {
        json.clear();
        search.search_into(std::hint::black_box(query), &request, answer);
        answer.write_json(json);
        std::hint::black_box(&json);
    }
}

fn measure(search: &Search, query: &str) -> f64 {
    let mut answer = SearchAnswer::new();
    let mut json = Vec::new();
    let started = Instant::now();
    let mut queries = 0;
    while started.elapsed() < ROUND {
        run(search, query, 500, &mut answer, &mut json);
        queries += 500;
    }
    f64::from(queries) / started.elapsed().as_secs_f64()
}
