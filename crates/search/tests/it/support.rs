//! The recorded cases, and the configurations of their recording.
#![allow(clippy::unwrap_used, clippy::print_stderr, dead_code, clippy::approx_constant)]

use runnel_search::Fidelity::Original;
use runnel_search::{
    Boost, Category, Document, Grid, IndexConfig, KeyFormat, Partial, Pattern, Rejection, Score,
    Search, SearchConfig, SearchIndex, SharedIndex, Similarity, Splitter, Substitution, Tokenizer,
    Weight,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// The file of recorded cases: `RUNNEL_SEARCH_CASES`, or the one of the repository.
pub(crate) fn cases() -> PathBuf {
    let repository =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/search.jsonl");
    std::env::var_os("RUNNEL_SEARCH_CASES").map_or_else(repository, PathBuf::from)
}

/// A recorded file beside the cases. The library and the index of it are not part of the
/// repository: they are read from `../shared/cases`, and without them their tests are left out.
pub(crate) fn data(name: &str) -> Option<String> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/search.jsonl");
    let text = [cases(), shared]
        .iter()
        .filter_map(|file| file.parent())
        .map(|folder| folder.join("search-data").join(name))
        .find_map(|path| std::fs::read_to_string(path).ok());
    if text.is_none() {
        eprintln!("left out: search-data/{name} is not part of the repository");
    }
    text
}

/// The lines of a file of JSON values.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap())
}

/// Rows of comma-separated values, quoted as in RFC 4180.
pub(crate) fn csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let row = rows.last_mut().unwrap();
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                row.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            '\r' if !quoted => {}
            _ => row.last_mut().unwrap().push(character),
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}

/// The documents of the library.
pub(crate) fn library() -> Option<Vec<Document>> {
    let fields = ["title", "author", "year", "publisher", "subjects"];
    let document = |row: Vec<String>| {
        let mut row = row.into_iter();
        let document = Document::new(row.next().unwrap());
        fields
            .into_iter()
            .zip(row)
            .fold(document, |document, (name, text)| document.with(name, text))
    };
    Some(csv(&data("library.csv")?).into_iter().map(document).collect())
}

/// A pattern written with its slashes.
pub(crate) fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap()
}

/// The tokenizer of the index of books.
pub(crate) fn books_indexing() -> Tokenizer {
    Tokenizer::new()
        .removes(pattern(r#"/[^a-z0-9\s\/\-\_\:\"\&\.]/i"#))
        .stopwords(pattern(r"/\b(and|the|of|it|in|for)\b/i"))
        .splits(Splitter::Pattern(pattern(r#"/[\s\/\-\_\:\"\&\.]/"#)))
}

/// The tokenizer of the search for books, with other characters let through.
pub(crate) fn books_searching(also: &str) -> Tokenizer {
    let removes = format!(r#"/[^\p{{L}}\p{{N}}\s\/\-\_\&\.\"\~\*\:\,|{also}]/i"#);
    Tokenizer::new()
        .removes(pattern(&removes))
        .stopwords(pattern(r"/\b(and|the|of|it|in|for)\b/i"))
        .splits(Splitter::Pattern(pattern(r"/[\s\/\-\&]+/")))
}

fn app() -> Tokenizer {
    books_searching("").substitutes(Substitution::WestEuropean)
}

fn books_boosts(config: SearchConfig) -> SearchConfig {
    config.boost(Boost::new(["title", "author"], 3)).boost(Boost::new(["title"], 1))
}

fn loaded(config: IndexConfig, documents: &[Document]) -> SharedIndex {
    let mut index = SearchIndex::new(config.fidelity(Original)).unwrap();
    index.load(documents.iter().cloned());
    Arc::new(RwLock::new(index))
}

/// The index of books.
pub(crate) fn books() -> IndexConfig {
    let all = || Partial::substring(1, -1);
    IndexConfig::new("books")
        .tokenizer(books_indexing())
        .category(Category::new("title").partial(all()).similarity(Similarity::DoubleMetaphone(3)))
        .category(Category::new("author").partial(all()))
        .category(Category::new("year").partial(Partial::None))
}

fn five() -> IndexConfig {
    IndexConfig::new("five")
        .tokenizer(books_indexing())
        .category(
            Category::new("title")
                .qualifiers(["t", "title", "titre"])
                .partial(Partial::substring(1, -1))
                .similarity(Similarity::DoubleMetaphone(3)),
        )
        .category(
            Category::new("author")
                .qualifiers(["a", "author"])
                .partial(Partial::substring(-2, -1))
                .similarity(Similarity::Soundex(2)),
        )
        .category(Category::new("year").qualifiers(["y", "year", "annee"]).partial(Partial::None))
        .category(
            Category::new("press")
                .from("publisher")
                .partial(Partial::Infix { min: 3, max: -1 })
                .similarity(Similarity::Metaphone(3)),
        )
        .category(Category::new("subjects").qualifiers(["s"]).partial(Partial::postfix(4)))
}

fn weights() -> IndexConfig {
    let length = Weight::Function(Arc::new(|word| Score::integer(word.chars().count() as i64)));
    IndexConfig::new("weights")
        .tokenizer(books_indexing())
        .category(
            Category::new("title")
                .weight(Weight::Logarithmic(1.into()))
                .partial(Partial::substring(2, -2)),
        )
        .category(
            Category::new("author")
                .weight(Weight::Constant(3.14.into()))
                .partial(Partial::substring(1, -1)),
        )
        .category(Category::new("year").weight(length).partial(Partial::None))
}

fn people() -> IndexConfig {
    IndexConfig::new("people")
        .identifier("folk")
        .key_format(KeyFormat::Text)
        .tokenizer(books_indexing())
        .category(Category::new("name").from("author").partial(Partial::substring(1, -1)))
        .category(Category::new("year").partial(Partial::None))
}

fn realtime() -> IndexConfig {
    IndexConfig::new("rt")
        .category(Category::new("name").similarity(Similarity::DoubleMetaphone(3)))
        .category(Category::new("city").partial(Partial::substring(1, -1)))
}

fn defaults() -> IndexConfig {
    IndexConfig::new("defaults")
        .category(Category::new("title"))
        .category(Category::new("author"))
        .category(Category::new("year"))
}

/// The search of a configuration of the recorded cases. The texts of `configs.json` describe what
/// is built here.
pub(crate) fn search(name: &str, documents: &[Document]) -> Search {
    let new = || SearchConfig::new().fidelity(Original);
    let standard = || books_boosts(new().tokenizer(app()));
    let on_books = |config: SearchConfig| (vec![loaded(books(), documents)], config);
    let (indexes, config) = match name {
        "books" => on_books(standard()),
        "books_max1" => on_books(standard().max_allocations(1)),
        "books_max2" => on_books(standard().max_allocations(2)),
        "books_early0" => on_books(standard().terminate_early(0)),
        "books_early1" => on_books(standard().terminate_early(1)),
        "books_unassigned" => on_books(standard().ignore_unassigned(true)),
        "books_ignore_author" => on_books(standard().ignore("author")),
        "books_ignore_author_title" => on_books(standard().ignore_list(["author", "title"])),
        "books_only_title_author" => on_books(standard().only(["title", "author"])),
        "books_only_two" => on_books(standard().only(["title"]).only(["author", "title"])),
        "books_maxwords2" => on_books(standard().tokenizer(app().max_words(2))),
        "books_casesens" => on_books(standard().tokenizer(app().case_sensitive(true))),
        "books_reject" => on_books(standard().tokenizer(app().rejects(Rejection::ShorterThan(3)))),
        "books_normalize" => {
            let pair = |from, to: &str| (pattern(from), to.to_owned());
            let tokenizer =
                books_searching("$").substitutes(Substitution::WestEuropean).normalizes(vec![
                    pair(r"/\A\$(\w+)\z/i", r"\1 dollars"),
                    pair(r"/hist\z/", "history"),
                    pair(r"/biol\z/", "biology"),
                ]);
            on_books(standard().tokenizer(tokenizer))
        }
        "books_range" => {
            let tokenizer = books_searching("\u{2026}").substitutes(Substitution::WestEuropean);
            on_books(standard().tokenizer(tokenizer))
        }
        "books_range2" => on_books(standard().tokenizer(books_searching("\u{2026}"))),
        "books_boost2" => on_books(
            standard()
                .boost(Boost::new(["author", "title"], 7.5))
                .boost(Boost::new(["author"], -2))
                .boost(Boost::new(["title", "year"], 0.25)),
        ),
        "books_split" => {
            // The original splits the separator by the query instead of the other way round.
            let split = |text: &str| ",".split(text).map(str::to_owned).collect();
            on_books(new().tokenizer(Tokenizer::new().splits(Splitter::Function(Arc::new(split)))))
        }
        "books_noboost" => on_books(new().tokenizer(app())),
        "books_plainsearch" => on_books(new()),
        "defaults" => (vec![loaded(defaults(), documents)], new()),
        "five" => (vec![loaded(five(), documents)], new().tokenizer(app())),
        "weights" => (vec![loaded(weights(), documents)], new().tokenizer(app())),
        "two" => (
            vec![loaded(books(), documents), loaded(people(), documents)],
            new()
                .tokenizer(app())
                .boost(Boost::new(["name"], 0.5))
                .boost(Boost::new(["title", "author"], 3)),
        ),
        "rt" => (vec![loaded(realtime(), &[])], new()),
        _ => panic!("the configuration {name} is not known to this test"),
    };
    Search::new(indexes, config).unwrap()
}

/// The index of places that the cases of numbers near each other were recorded with.
pub(crate) fn places(name: &str, categories: impl IntoIterator<Item = Category>) -> IndexConfig {
    let config = IndexConfig::new(name).category(Category::new("name"));
    categories.into_iter().fold(config, IndexConfig::category)
}

/// A grid of a recorded case.
pub(crate) fn grid(case: &Value) -> Grid {
    let number = |key: &str| case[key].as_f64().unwrap();
    Grid::new(number("range"), number("precision") as u32, number("anchor"))
}
