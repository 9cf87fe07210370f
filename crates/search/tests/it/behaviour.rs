//! Behaviour beyond the recorded cases, and the limits of searches.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Boost, Category, Document, Fidelity, Id, IndexConfig, Language, MAX_INTERPRETATIONS, Partial,
    Pattern, Request, Score, Search, SearchConfig, SearchIndex, SharedIndex, Splitter, Tokenizer,
    Weight,
};
use std::sync::{Arc, RwLock};

fn filled(config: IndexConfig, documents: &[(i64, &str, &str)]) -> SharedIndex {
    let mut index = SearchIndex::new(config).unwrap();
    index.load(documents.iter().map(|(id, title, author)| {
        Document::new(*id).with("title", *title).with("author", *author)
    }));
    Arc::new(RwLock::new(index))
}

fn books() -> IndexConfig {
    let all = || Partial::substring(1, -1);
    IndexConfig::new("books")
        .category(Category::new("title").partial(all()))
        .category(Category::new("author").partial(all()))
}

const BOOKS: [(i64, &str, &str); 4] =
    [(1, "anna", "anna"), (2, "anna", "berta"), (3, "carla", "anna"), (4, "anna", "anna")];

fn ids(search: &Search, query: &str, request: &Request<'_>) -> Vec<i64> {
    let answer = search.search(query, request);
    let number = |id: &Id| if let Id::Integer(number) = id { *number } else { -1 };
    answer.ids().iter().map(number).collect()
}

#[test]
fn unique_documents_are_shown_and_counted_once_on_every_page() {
    let search = |fidelity| {
        let config = SearchConfig::new().fidelity(fidelity);
        Search::new(vec![filled(books(), &BOOKS)], config).unwrap()
    };
    let corrected = search(Fidelity::Corrected);
    let request = Request::new().ids(2).unique(true);
    assert_eq!(ids(&corrected, "anna", &request), [1, 2]);
    assert_eq!(ids(&corrected, "anna", &request.offset(2)), [4, 3]);
    assert_eq!(corrected.search("anna", &request.ids(0)).total(), 4);
    // The original leaves out only what it shows, so that its total depends on the page.
    let original = search(Fidelity::Original);
    assert_eq!(original.search("anna", &request.ids(0)).total(), 6);
    assert_eq!(original.search("anna", &request.ids(20)).total(), 4);
}

#[test]
fn a_document_of_two_indexes_is_shown_once_if_asked_for() {
    let other = IndexConfig::new("more").category(Category::new("title"));
    let indexes = vec![filled(books(), &BOOKS), filled(other, &[(1, "anna", ""), (9, "anna", "")])];
    let search = Search::new(indexes, SearchConfig::new()).unwrap();
    let request = Request::new().unique(true);
    assert_eq!(ids(&search, "anna", &request), [1, 2, 4, 3, 9]);
    assert!(search.facets("title", Some("anna"), 1).is_err());
    let names = search.search("anna", &Request::new());
    let names: Vec<&str> = names.allocations().map(|found| found.identifier()).collect();
    assert_eq!(names, ["books", "books", "more"]);
}

#[test]
fn documents_can_be_sorted_within_interpretations() {
    let search = Search::new(vec![filled(books(), &BOOKS)], SearchConfig::new()).unwrap();
    let descending = |left: &Id, right: &Id| right.cmp(left);
    let request = Request::new().sort_by(&descending);
    assert_eq!(ids(&search, "anna", &request), [4, 2, 1, 4, 3, 1]);
    assert_eq!(ids(&search, "anna", &request.ids(2).offset(1)), [2, 1]);
    assert_eq!(ids(&search, "anna anna", &request), [4, 2, 1, 4, 1, 4, 1, 4, 3, 1]);
    assert_eq!(ids(&search, "anna", &request.unique(true)), [4, 2, 1, 3]);
}

#[test]
fn exact_words_can_come_first() {
    let documents = [(1, "catalog", ""), (2, "cat", ""), (3, "cats", ""), (4, "cat", "")];
    let title = || Category::new("title").partial(Partial::substring(1, -1));
    for (first, expected) in [(false, [1, 2, 3, 4]), (true, [2, 4, 1, 3])] {
        let config = IndexConfig::new("books").category(title().exact_first(first));
        let search = Search::new(vec![filled(config, &documents)], SearchConfig::new()).unwrap();
        assert_eq!(ids(&search, "cat", &Request::new()), expected);
        assert_eq!(ids(&search, "cat\"", &Request::new()), [2, 4]);
        let answer = search.search("cat", &Request::new());
        assert_eq!(answer.allocations().next().unwrap().score(), Score::float(1.386));
    }
}

#[test]
fn stems_find_inflected_words_unless_quoted() {
    let stemming = Tokenizer::new().stems(Language::English.stemmer().unwrap());
    let config = IndexConfig::new("books")
        .tokenizer(stemming)
        .category(Category::new("title").partial(Partial::None));
    let documents = [(1, "short stories", ""), (2, "story", ""), (3, "historical", "")];
    let search = Search::new(vec![filled(config, &documents)], SearchConfig::new()).unwrap();
    assert_eq!(ids(&search, "story", &Request::new()), [1, 2]);
    assert_eq!(ids(&search, "stories", &Request::new()), [1, 2]);
    assert!(ids(&search, "stories\"", &Request::new()).is_empty());
    let answer = search.search("Stories", &Request::new());
    let word = answer.allocations().next().unwrap().words().next().unwrap();
    assert_eq!((word.original, word.text), ("stories", "stories"));
    assert_eq!(search.facets("title", Some("stories"), 1).unwrap().len(), 2);
}

#[test]
fn integers_stay_integers() {
    let config = IndexConfig::new("books")
        .category(Category::new("title").weight(Weight::Constant(2.into())));
    let config_search = SearchConfig::new().boost(Boost::new(["title"], 3));
    let search = Search::new(vec![filled(config, &BOOKS)], config_search).unwrap();
    assert!(search.search("anna", &Request::new()).to_json().contains(r#"["books",5,3,"#));
    // A word that is not there weighs as much, and finds nothing.
    let nothing = search.search("nobody", &Request::new());
    assert_eq!((nothing.considered(), nothing.total(), nothing.allocations().count()), (1, 0, 0));
}

#[test]
fn interpretations_beyond_the_limit_are_the_worst() {
    let mut config = IndexConfig::new("many");
    for number in 0..6 {
        let category = Category::new(format!("c{number}"));
        config = config.category(category.from("title").weight(Weight::Constant(number.into())));
    }
    let search = Search::new(vec![filled(config, &BOOKS)], SearchConfig::new()).unwrap();
    let answer = search.search("anna anna anna anna anna anna", &Request::new().ids(0));
    assert_eq!(answer.considered(), MAX_INTERPRETATIONS);
    let scores: Vec<f64> = answer.allocations().map(|found| found.score().value()).collect();
    assert_eq!(scores[0], 30.0);
    assert!(scores.is_sorted_by(|left, right| left >= right));
    // Of the 46,656 combinations, more than half have at least half of the highest score.
    assert!(scores.last().is_some_and(|score| *score >= 15.0));
}

#[test]
fn large_ranges_are_answered_from_the_index() {
    let documents = [(1, "7", ""), (2, "1999", ""), (3, "1000000", ""), (4, "x", "")];
    let config = IndexConfig::new("n").category(Category::new("title").partial(Partial::None));
    let search = Search::new(vec![filled(config, &documents)], SearchConfig::new()).unwrap();
    assert_eq!(ids(&search, "1\u{2026}99999999999999999999", &Request::new()), [1, 2, 3]);
    assert_eq!(ids(&search, "8\u{2026}1000000", &Request::new()), [2, 3]);
    assert_eq!(ids(&search, "a\u{2026}zzzzzzzzzz", &Request::new()), [4]);
    assert!(ids(&search, "9\u{2026}1", &Request::new()).is_empty());
}

#[test]
fn mistakes_in_configurations_are_explained() {
    let message = |config| SearchIndex::new(config).unwrap_err().to_string();
    assert!(message(IndexConfig::new("empty")).contains("empty has no categories"));
    let twice = IndexConfig::new("x").category(Category::new("a")).category(Category::new("a"));
    assert!(message(twice).contains("two categories a"));
    assert!(Search::new(Vec::new(), SearchConfig::new()).is_err());
    let index = filled(books(), &BOOKS);
    let error = Search::new(vec![index.clone(), index], SearchConfig::new()).unwrap_err();
    assert!(error.message().contains("books twice"));
}

#[test]
fn categories_can_have_a_tokenizer_of_their_own() {
    let commas = Tokenizer::new().splits(Splitter::Pattern(Pattern::parse("/,/").unwrap()));
    let config = IndexConfig::new("tags")
        .category(Category::new("title").tokenizer(commas))
        .category(Category::new("author"));
    let documents = [(1, "big cat,small dog", "big cat")];
    let index = filled(config, &documents);
    let facets = index.read().unwrap().facets("title", 1);
    assert_eq!(facets, [("big cat".to_owned(), 1), ("small dog".to_owned(), 1)]);
    let words = Document::new(2).with("title", vec!["big cat".to_owned()]);
    index.write().unwrap().append(&words);
    assert_eq!(index.read().unwrap().facets("title", 2), [("big cat".to_owned(), 2)]);
}

#[test]
fn a_hostile_document_does_not_fill_the_memory() {
    let infix = Partial::Infix { min: 1, max: -1 };
    let config = IndexConfig::new("x").category(Category::new("title").partial(infix));
    let mut index = SearchIndex::new(config).unwrap();
    let word = |number: usize| format!("{number}{} ", "\u{fc}".repeat(250));
    let text: String = (0..60).map(word).chain(["last".to_owned()]).collect();
    index.add(&Document::new(1).with("title", text));
    let search = Search::over(index, SearchConfig::new()).unwrap();
    assert_eq!(ids(&search, "\u{fc}\u{fc}", &Request::new()), [1]);
    assert_eq!(ids(&search, "last\"", &Request::new()), [1]);
    assert!(ids(&search, "las", &Request::new()).is_empty());
}
