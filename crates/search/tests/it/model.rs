//! The engine against a model: a scan of all documents for every interpretation of random queries.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Boost, Category, Document, Id, IndexConfig, Partial, Request, Search, SearchConfig, SearchIndex,
};

const CATEGORIES: [&str; 3] = ["title", "author", "year"];

/// The words of a document, by category.
type Words = [Vec<String>; 3];

/// An interpretation: categories, score, documents.
type Found = (Vec<&'static str>, f64, Vec<i64>);

fn documents() -> impl Strategy<Value = Vec<Words>> {
    let words = || prop::collection::vec("[ab]{1,3}|c|[bc]a", 0..4);
    prop::collection::vec([words(), words(), words()], 1..90)
}

fn boosts() -> Vec<(Vec<&'static str>, f64)> {
    vec![(vec!["title", "author"], 3.0), (vec!["title"], 1.0), (vec!["year", "title"], -0.5)]
}

fn matches(words: &[String], category: usize, word: &str, partial: bool) -> bool {
    // The last category has no partial words.
    let partial = partial && category < 2;
    words.iter().any(|known| if partial { known.starts_with(word) } else { known == word })
}

/// The documents that have a word in a category.
fn having(documents: &[Words], category: usize, word: &str, partial: bool) -> Vec<i64> {
    let has = |words: &Words| matches(&words[category], category, word, partial);
    (0..).zip(documents).filter(|(_, words)| has(words)).map(|(id, _)| id).collect()
}

fn expected(documents: &[Words], words: &[(String, bool)]) -> Vec<Found> {
    let mut all: Vec<Found> = vec![(Vec::new(), 0.0, (0..documents.len() as i64).collect())];
    for (word, partial) in words {
        let mut next = Vec::new();
        for (names, score, ids) in &all {
            for (category, name) in CATEGORIES.into_iter().enumerate() {
                let having = having(documents, category, word, *partial);
                if having.is_empty() {
                    continue;
                }
                let weight = ((having.len() as f64).ln() * 1000.0).round() / 1000.0;
                let ids = ids.iter().copied().filter(|id| having.contains(id)).collect();
                next.push(([&names[..], &[name]].concat(), score + weight, ids));
            }
        }
        all = next;
    }
    for (names, score, _) in &mut all {
        let mut collapsed = names.clone();
        collapsed.dedup();
        let boost = boosts().into_iter().find(|(names, _)| *names == collapsed);
        *score += boost.map_or(0.0, |(_, by)| by);
    }
    all.sort_by(|left, right| right.1.total_cmp(&left.1));
    all
}

fn search(documents: &[Words]) -> Search {
    let prefixes = || Partial::substring(1, -1);
    let config = IndexConfig::new("model")
        .category(Category::new("title").partial(prefixes()))
        .category(Category::new("author").partial(prefixes()))
        .category(Category::new("year").partial(Partial::None));
    let mut index = SearchIndex::new(config).unwrap();
    index.load((0..).zip(documents).map(|(id, words)| {
        let document = Document::new(Id::Integer(id));
        CATEGORIES
            .iter()
            .zip(words)
            .fold(document, |document, (name, words)| document.with(*name, words.join(" ")))
    }));
    let config = boosts()
        .into_iter()
        .fold(SearchConfig::new(), |config, (names, by)| config.boost(Boost::new(names, by)));
    Search::over(index, config).unwrap()
}

fn marker(partial: bool) -> &'static str {
    if partial { "*" } else { "\"" }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_interpretation_is_found(
        documents in documents(),
        words in prop::collection::vec(("[ab]{1,2}|c|ba", any::<bool>()), 1..5),
        ids in 0i64..30,
        offset in 0i64..40,
    ) {
        let search = search(&documents);
        let query: Vec<String> =
            words.iter().map(|(word, partial)| word.clone() + marker(*partial)).collect();
        let answer = search.search(&query.join(" "), &Request::new().ids(ids).offset(offset));
        let expected = expected(&documents, &words);
        prop_assert_eq!(answer.considered(), expected.len());
        let total: usize = expected.iter().map(|(_, _, ids)| ids.len()).sum();
        prop_assert_eq!(answer.total(), total);
        // Without the paging of each interpretation, the page is a part of all documents in order.
        let all: Vec<i64> = expected.iter().flat_map(|(_, _, ids)| ids).copied().collect();
        let page = all.iter().skip(offset as usize).take(ids as usize);
        let page: Vec<Id> = page.map(|id| Id::Integer(*id)).collect();
        prop_assert_eq!(answer.ids(), page);
        let found: Vec<(Vec<&str>, f64, usize)> = answer
            .allocations()
            .map(|found| {
                let names = found.words().map(|word| word.category).collect();
                (names, found.score().value(), found.count())
            })
            .collect();
        let expected: Vec<(Vec<&str>, f64, usize)> = expected
            .into_iter()
            .filter(|(_, _, ids)| !ids.is_empty())
            .map(|(names, score, ids)| (names, score, ids.len()))
            .collect();
        prop_assert_eq!(found, expected);
    }
}
