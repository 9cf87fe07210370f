//! The slowest queries: hostile and random ones on small and large indexes, by CPU time and share
//! of the work budget. The argument is the number of documents of the largest index.
//!
//! Without the library of 540 books, which is not part of the repository, only generated documents
//! are used.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod catalogue;
#[path = "../tests/it/support.rs"]
mod support;

use catalogue::{Book, Catalogue};
use runnel_search::{
    Attribute, AttributeType, Category, Document, Id, IndexConfig, MAX_CATEGORIES, MAX_QUERY_CHARS,
    MAX_WORK, Partial, Request, Search, SearchAnswer, SearchConfig, SearchIndex, Similarity,
};
use std::sync::{Arc, RwLock};
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
        "a zzzzy !s* !t* !e* !a*".to_owned(),
        repeat("!a* "),
        repeat("bananab|annanax|historyx|peterson "),
        repeat("0\u{2026}9 "),
        repeat("a*\u{2026}zzzz*|"),
        "s* t* e*".to_owned(),
        "a*|e*|i*|o*|u*|s*|t* a*|e*|i*|o*|u*|s*|t* 19*".to_owned(),
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

/// The index of made-up books with everything that makes queries slow.
fn books(count: i64, catalogue: &Catalogue) -> SearchIndex {
    let all = || Partial::substring(1, -1);
    let category = |name: &str, qualifier: &str| {
        Category::new(name).partial(all()).qualifiers([name, qualifier])
    };
    let config = IndexConfig::new("books")
        .category(category("title", "t").similarity(Similarity::DoubleMetaphone(3)))
        .category(category("author", "a").similarity(Similarity::Soundex(3)))
        .category(Category::new("year").partial(Partial::None))
        .category(category("publisher", "p").partial(Partial::Infix { min: 3, max: -1 }))
        .category(category("subjects", "s").similarity(Similarity::Metaphone(3)))
        .attribute(Attribute::new("year", AttributeType::Integer));
    let mut index = SearchIndex::new(config).unwrap();
    let document = |book: Book| {
        Document::new(book.id)
            .with("title", book.title)
            .with("author", book.author)
            .with("year", book.year)
            .with("publisher", book.publisher)
            .with("subjects", book.subjects)
    };
    index.load(catalogue.books(count).map(document));
    index
}

/// As many categories as there may be, over few words.
fn wide(count: i64, catalogue: &Catalogue) -> SearchIndex {
    let config = (0..MAX_CATEGORIES).fold(IndexConfig::new("wide"), |config, number| {
        let field = ["title", "author", "subjects"][number % 3];
        config.category(
            Category::new(format!("c{number}")).from(field).partial(Partial::substring(1, -1)),
        )
    });
    let mut index = SearchIndex::new(config).unwrap();
    index.load(catalogue.books(count).map(|book| {
        Document::new(book.id)
            .with("title", book.title)
            .with("author", book.author)
            .with("subjects", book.subjects)
    }));
    index
}

/// CPU time of this thread: other processes do not make a query slow.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn measure(name: &str, search: &Search, request: &Request<'_>) {
    let mut answer = SearchAnswer::new();
    let mut json = Vec::new();
    for (kind, queries) in [("hostile", hostile()), ("random", random(3_000))] {
        let mut times: Vec<(Duration, String, u64)> = queries
            .into_iter()
            .map(|query| {
                let started = cpu_time();
                json.clear();
                search.search_into(&query, request, &mut answer);
                answer.write_json(&mut json);
                (cpu_time() - started, query, answer.work())
            })
            .collect();
        times.sort();
        let middle = times[times.len() / 2].0;
        println!("{name}, {kind}: median {middle:?}, slowest:");
        for (time, query, work) in times.iter().rev().take(5) {
            let share = *work as f64 / MAX_WORK as f64 * 100.0;
            println!(
                "  {time:>12?} {share:>4.0} % {:?}",
                query.chars().take(48).collect::<String>()
            );
        }
    }
}

/// The slowest facets.
fn facets(name: &str, search: &Search) {
    let mut times = Vec::new();
    for query in [None, Some(""), Some("a"), Some("a* s*"), Some("a* s* t*"), Some("a*|s*|t*|e*")] {
        for category in ["title", "author", "year"] {
            let started = cpu_time();
            let values = search.facets(category, query, 1).unwrap().len();
            times.push((cpu_time() - started, query, category, values));
        }
    }
    times.sort();
    println!("{name}, facets, slowest:");
    for (time, query, category, values) in times.iter().rev().take(3) {
        println!("  {time:>12?} {query:?} by {category}: {values} values");
    }
}

fn main() {
    let number = |argument: String| argument.parse().ok();
    let count: i64 = std::env::args().skip(1).find_map(number).unwrap_or(100_000);
    let request = Request::new();
    if let Some(library) = support::library() {
        for name in ["books_range2", "five", "books_unassigned", "books_plainsearch", "weights"] {
            measure(name, &support::search(name, &library), &request);
        }
    }
    let catalogue = Catalogue::new();
    let config = || SearchConfig::new().typos(2).exclusion('!');
    let shared = |index| Arc::new(RwLock::new(index));
    let several = (0..8).map(|_| shared(books(count / 50, &catalogue))).collect();
    measure("8 indexes", &Search::new(several, config()).unwrap(), &request);
    let wide = wide(count / 100, &catalogue);
    measure("64 categories", &Search::over(wide, config()).unwrap(), &request);
    let started = Instant::now();
    let mut index = books(count, &catalogue);
    println!("{count} documents indexed in {:?}", started.elapsed());
    let started = Instant::now();
    for book in catalogue.books(1_000) {
        index.replace(&Document::new(book.id).with("title", book.title).with("year", book.year));
    }
    println!("1,000 documents replaced in {:?}", started.elapsed());
    let search = Search::over(index, config()).unwrap();
    measure("large", &search, &request);
    let plain = Search::new(search.indexes().to_vec(), SearchConfig::new()).unwrap();
    measure("large, once", &plain, &request.unique(true));
    let order = plain.order("-year").unwrap();
    measure("large, one list in order", &plain, &request.flat(true).order(&order));
    let compare = |left: &Id, right: &Id| right.cmp(left);
    measure("large, sorted", &plain, &request.sort_by(&compare));
    let filter = plain.filter("year>1950 and not year=1999").unwrap();
    measure("large, filtered", &plain, &request.filter(&filter));
    facets("large", &plain);
}
