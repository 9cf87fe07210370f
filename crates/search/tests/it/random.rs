//! Random documents, changes and queries: no panic, and a changed index equals a new one.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Boost, Category, Document, Fidelity, Grid, Id, IndexConfig, Language, Partial, Pattern,
    Request, Search, SearchAnswer, SearchConfig, SearchIndex, Similarity, Splitter, Substitution,
    Tokenizer,
};
use std::time::Duration;

/// One category of every kind.
fn config() -> IndexConfig {
    IndexConfig::new("all")
        .category(
            Category::new("title")
                .partial(Partial::substring(1, -1))
                .similarity(Similarity::DoubleMetaphone(3)),
        )
        .category(
            Category::new("author")
                .qualifiers(["a", "by"])
                .partial(Partial::Infix { min: 2, max: -1 })
                .similarity(Similarity::Metaphone(2)),
        )
        .category(Category::new("year").partial(Partial::None).similarity(Similarity::Soundex(2)))
        .category(Category::near("x", Grid::new(2.0, 2, 0.0)))
        .category(
            Category::new("text")
                .from("title")
                .exact_first(true)
                .tokenizer(Tokenizer::new().stems(Language::English.stemmer().unwrap())),
        )
}

fn search_config() -> SearchConfig {
    SearchConfig::new()
        .tokenizer(
            Tokenizer::new()
                .substitutes(Substitution::WestEuropean)
                .stopwords(Pattern::parse(r"/\b(and|the|of)\b/i").unwrap())
                .splits(Splitter::Pattern(Pattern::parse(r"/[\s\/]+/").unwrap())),
        )
        .boost(Boost::new(["title", "author"], 3))
        .boost(Boost::new(["title"], 0.5))
}

fn document(id: i64) -> impl Strategy<Value = Document> {
    let word = "[a-c]{1,3}|peter|petra|stories|story|19[89][0-9]";
    let text = prop::collection::vec(word, 0..4).prop_map(|words| words.join(" "));
    (text.clone(), text, 0..30i32).prop_map(move |(title, author, number)| {
        Document::new(id)
            .with("title", title)
            .with("author", author)
            .with("year", (1980 + number).to_string())
            .with("x", (f64::from(number) / 2.0).to_string())
    })
}

/// A word with markers, meant to find something.
fn query() -> impl Strategy<Value = String> {
    let word = "(title:|a:|by,title:|x:|:|nobody:)?\
        ([a-c]{1,3}|peter|petr|stor|story|198[0-9]|1\\.5\
        |a\u{2026}c|1980\u{2026}1989|a\\|b|peter\\|1985)[*~\"]?";
    prop::collection::vec(word, 1..5).prop_map(|words| words.join(" "))
}

#[derive(Clone, Debug)]
enum Change {
    Add(Document),
    Append(Document),
    Replace(Document),
    Part(Document),
    Remove(i64),
}

fn change() -> impl Strategy<Value = Change> {
    (0..12i64).prop_flat_map(|id| {
        prop_oneof![
            document(id).prop_map(Change::Add),
            document(id).prop_map(Change::Append),
            document(id).prop_map(Change::Replace),
            document(id).prop_map(|whole| {
                let title = whole.field("title").unwrap().clone();
                Change::Part(Document::new(whole.id().clone()).with("title", title))
            }),
            Just(Change::Remove(id)),
        ]
    })
}

/// The answer of a query, without the order of documents and without similar words, which depend
/// on the history of the index.
fn found(search: &Search, query: &str) -> Vec<(String, f64, usize, Vec<Id>)> {
    let answer = search.search(query, &Request::new().ids(10_000));
    let mut rows: Vec<_> = answer
        .allocations()
        .map(|found| {
            let words = found.words().map(|word| format!("{} {}", word.category, word.text));
            (words.collect::<Vec<_>>().join(", "), found.score().value(), found.count(), {
                let mut ids = found.ids().to_vec();
                ids.sort();
                ids
            })
        })
        .collect();
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_index_is_like_a_new_one(
        changes in prop::collection::vec(change(), 0..40),
        queries in prop::collection::vec(query(), 1..8),
    ) {
        let mut changed = SearchIndex::new(config()).unwrap();
        // What each document consists of after the changes.
        let mut documents: Vec<Document> = Vec::new();
        for change in changes {
            match change {
                Change::Add(document) | Change::Append(document)
                    if changed.contains(document.id().clone()) =>
                {
                    // Adding to a document that is there keeps its old words, so that it is not
                    // like any new document; that is what the tests of indexes look at.
                    prop_assert!(changed.len() == documents.len());
                }
                Change::Add(document) => {
                    changed.add(&document);
                    documents.push(document);
                }
                Change::Append(document) => {
                    changed.append(&document);
                    documents.push(document);
                }
                Change::Replace(document) => {
                    changed.replace(&document);
                    documents.retain(|other| other.id() != document.id());
                    documents.push(document);
                }
                Change::Part(part) => {
                    changed.replace_from(&part);
                    let old = documents.iter().position(|other| other.id() == part.id());
                    let mut whole = part;
                    if let Some(old) = old.map(|place| documents.remove(place)) {
                        for name in ["author", "year", "x"] {
                            if let Some(field) = old.field(name) {
                                whole = whole.with(name, field.clone());
                            }
                        }
                    }
                    documents.push(whole);
                }
                Change::Remove(id) => {
                    changed.remove(id);
                    documents.retain(|other| *other.id() != Id::Integer(id));
                }
            }
        }
        prop_assert_eq!(changed.len(), documents.len());
        let mut new = SearchIndex::new(config()).unwrap();
        new.load(documents);
        let mut counts = [changed.facets("title", 1), new.facets("title", 1)];
        counts.iter_mut().for_each(|facets| facets.sort());
        prop_assert_eq!(&counts[0], &counts[1]);
        let changed = Search::over(changed, search_config()).unwrap();
        let new = Search::over(new, search_config()).unwrap();
        for query in queries.iter().filter(|query| !query.contains('~')) {
            prop_assert_eq!(found(&changed, query), found(&new, query), "{}", query);
        }
    }

    #[test]
    fn paging_walks_through_everything(
        documents in prop::collection::vec(document(0), 1..40),
        query in query(),
        page in 1i64..7,
        unique: bool,
    ) {
        let mut index = SearchIndex::new(config()).unwrap();
        for (number, document) in documents.into_iter().enumerate() {
            let numbered = Document::new(number as i64);
            let fields = ["title", "author", "year", "x"];
            index.append(&fields.into_iter().fold(numbered, |numbered, name| {
                numbered.with(name, document.field(name).unwrap().clone())
            }));
        }
        let search = Search::over(index, search_config()).unwrap();
        let request = Request::new().ids(100_000).unique(unique);
        let all = search.search(&query, &request);
        let mut ids = Vec::new();
        // The original's way of paging cannot start in the middle of the second interpretation of a
        // page, so pages are taken from the offset where the last one ended.
        while ids.len() < all.ids().len() {
            let request = request.ids(page).offset(ids.len() as i64);
            let answer = search.search(&query, &request);
            prop_assert!(!answer.ids().is_empty() && answer.ids().len() <= page as usize);
            prop_assert_eq!(answer.total(), all.total());
            ids.extend_from_slice(answer.ids());
        }
        prop_assert_eq!(&ids[..], all.ids());
        if unique {
            let mut once = ids.clone();
            once.sort();
            once.dedup();
            prop_assert_eq!(once.len(), ids.len());
            prop_assert_eq!(all.total(), ids.len());
        }
    }

    #[test]
    fn any_text_can_be_asked_for(
        query: String,
        marked in "[a-c0-9*~\":,|\u{2026} \n\u{e9}\u{4e2d}]{0,60}",
        ids: i64,
        offset: i64,
        unique: bool,
        original: bool,
    ) {
        let fidelity = if original { Fidelity::Original } else { Fidelity::Corrected };
        let mut index = SearchIndex::new(config().fidelity(fidelity)).unwrap();
        for number in 0..30i64 {
            let text = format!("abc a b {} c{}", number % 3, number % 5);
            index.add(&Document::new(number).with("title", text.clone()).with("author", text));
        }
        let search = Search::over(index, search_config().fidelity(fidelity)).unwrap();
        let mut answer = SearchAnswer::new();
        for query in [&query, &marked] {
            for ids in [ids, 5] {
                for offset in [offset, offset % 50] {
                    let request = Request::new().ids(ids).offset(offset).unique(unique);
                    search.search_into(query, &request, &mut answer);
                    answer.set_duration(Duration::ZERO);
                    let json: serde_json::Value =
                        serde_json::from_str(&answer.to_json()).unwrap();
                    prop_assert_eq!(json["total"].as_u64(), Some(answer.total() as u64));
                    // A used answer gives the same as a new one.
                    let mut new = search.search(query, &request);
                    new.set_duration(Duration::ZERO);
                    prop_assert_eq!(new.to_json(), answer.to_json());
                }
            }
            search.facets("title", Some(query), 1).unwrap();
        }
    }

    #[test]
    fn any_document_can_be_indexed(title: String, author: String, x: String) {
        let mut index = SearchIndex::new(config()).unwrap();
        let document = Document::new(x.as_str())
            .with("title", title.clone())
            .with("author", author)
            .with("year", title)
            .with("x", x.clone());
        index.add(&document);
        index.replace(&document);
        prop_assert_eq!(index.len(), 1);
        index.remove(x);
        prop_assert!(index.is_empty() && index.facets("title", 1).is_empty());
    }
}
