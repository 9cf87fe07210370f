//! The slowest queries: hostile ones, and random ones, on small and large indexes.
//!
//! The library of 540 books lies outside of the project; without it only made-up documents are
//! used.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use runnel_search::{Answer, Document, Index, MAX_QUERY_CHARS, Request, Search, SearchConfig};
use std::time::{Duration, Instant};

/// Queries made to be slow.
fn hostile() -> Vec<String> {
    let repeat = |text: &str| text.repeat(MAX_QUERY_CHARS / text.chars().count());
    vec![
        repeat("a "),
        repeat("a* "),
        repeat("a|b|c|d|e "),
        repeat("a|"),
        repeat("t:a|s:b|a*|press:u* "),
        repeat("s~ "),
        repeat("history~|peter~ "),
        repeat("a\u{2026}zzzzzzzz "),
        repeat("a1\u{2026}zzzzzzzz "),
        repeat("0\u{2026}99999999999999999999 "),
        repeat("a\u{2026}z|1\u{2026}9 "),
        repeat("\u{fdfa}"),
        repeat("a\u{308}"),
        repeat(":"),
        repeat("title,author:x "),
        repeat(&format!("{}:a ", ["title"; 30].join(","))),
        repeat(&format!("{}:a ", ["t"; 60].join(","))),
        format!("a a a a a a a a {}:a", ["t"; 480].join(",")),
        repeat("a"),
        repeat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa~ "),
        "a* b* c* d* e* f* g* h* i* j* k* l* m* n* o* p* q* r* s* t* u* v* w* x* y* z*".to_owned(),
        "e* n* i* r* a* t* o* s* e n i r a t o s".to_owned(),
    ]
}

/// Random queries from the characters that mean something.
fn random(count: usize) -> Vec<String> {
    const CHARACTERS: &[char] = &[
        'a', 'e', 's', 't', 'h', '1', '9', ' ', ' ', ' ', '*', '~', '"', ':', ',', '|', '\u{2026}',
        '-', '/', '\u{e9}', '\u{df}', '\u{4e2d}', '\u{308}', '\n', '\0',
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    (0..count)
        .map(|_| (0..next(300)).map(|_| CHARACTERS[next(CHARACTERS.len())]).collect())
        .collect()
}

/// Documents of words that are as unevenly common as those of a language.
fn made_up(count: i64) -> impl Iterator<Item = Document> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut word = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let rank = (50_000.0 * ((state % 10_000) as f64 / 10_000.0).powi(3)) as u64;
        let letters = b"etaoinshrd".map(char::from);
        rank.to_string().bytes().map(|digit| letters[usize::from(digit - b'0')]).collect::<String>()
    };
    (0..count).map(move |id| {
        let mut words = |count: usize| (0..count).map(|_| word()).collect::<Vec<_>>().join(" ");
        Document::new(id)
            .with("title", words(8))
            .with("author", words(2))
            .with("year", (1900 + id % 120).to_string())
    })
}

fn measure(name: &str, search: &Search) {
    let mut answer = Answer::new();
    let mut json = Vec::new();
    let request = Request::new();
    for (kind, queries) in [("hostile", hostile()), ("random", random(3_000))] {
        let mut times: Vec<(Duration, String)> = queries
            .into_iter()
            .map(|query| {
                let started = Instant::now();
                json.clear();
                search.search_into(&query, &request, &mut answer);
                answer.write_json(&mut json);
                (started.elapsed(), query)
            })
            .collect();
        times.sort();
        let middle = times[times.len() / 2].0;
        println!("{name}, {kind}: median {middle:?}, slowest:");
        for (time, query) in times.iter().rev().take(4) {
            println!("  {time:>12?}  {:?}", query.chars().take(48).collect::<String>());
        }
    }
}

fn main() {
    if let Some(library) = support::library() {
        for name in ["books_range2", "five", "books_unassigned", "books_plainsearch", "weights"] {
            measure(name, &support::search(name, &library));
        }
    }
    let mut index = Index::new(support::books()).unwrap();
    let started = Instant::now();
    index.load(made_up(100_000));
    println!("100,000 documents indexed in {:?}", started.elapsed());
    let started = Instant::now();
    made_up(1_000).for_each(|document| index.replace(&document));
    println!("1,000 documents replaced in {:?}", started.elapsed());
    measure("large", &Search::over(index, SearchConfig::new()).unwrap());
}
