//! The work budget of searches, and the agreement of facets with searches.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Category, Document, IndexConfig, MAX_QUERY_CHARS, MAX_WORK, Partial, Request, Search,
    SearchAnswer, SearchConfig, SearchIndex, Similarity,
};

/// Letters of the words; few, so that most documents have most beginnings.
const LETTERS: [&str; 4] = ["a", "b", "e", "n"];

/// The word of a number: its digits to the base of the letters.
fn word(mut number: usize) -> String {
    let mut word = String::new();
    while {
        word.push_str(LETTERS[number % LETTERS.len()]);
        number /= LETTERS.len();
        number > 0
    } {}
    word
}

fn document(id: usize) -> Document {
    let words = |count: usize, prime: usize| {
        (1..=count).map(|at| word(id * at * prime % 1_009)).collect::<Vec<_>>().join(" ")
    };
    Document::new(id as i64).with("title", words(6, 7)).with("author", words(3, 13))
}

fn index(name: &str, documents: usize, categories: usize) -> SearchIndex {
    let fields = ["title", "author"];
    let config = (0..categories).fold(IndexConfig::new(name), |config, number| {
        let category = Category::new(format!("c{number}"))
            .from(fields[number % 2])
            .similarity(Similarity::DoubleMetaphone(3))
            .partial(Partial::substring(1, -1));
        config.category(category)
    });
    let mut index = SearchIndex::new(config).unwrap();
    index.load((0..documents).map(document));
    index
}

/// Queries made to be slow.
fn hostile() -> Vec<String> {
    let repeat = |text: &str| text.repeat(MAX_QUERY_CHARS / text.chars().count());
    vec![
        repeat("a "),
        repeat("a* b* e* n* "),
        repeat("a*|b*|e*|n* "),
        repeat("a\u{2026}nnnnn "),
        repeat("c0,c1:a* "),
        repeat("ban~ "),
        repeat("bananab|annanax "),
        format!("a* {}", repeat("!b* ")),
    ]
}

#[test]
fn the_work_of_a_search_is_bounded() {
    let several: Vec<_> = (0..9).map(|number| index(&format!("i{number}"), 300, 4)).collect();
    let several =
        several.into_iter().map(|index| std::sync::Arc::new(std::sync::RwLock::new(index)));
    let config = || SearchConfig::new().typos(2).exclusion('!');
    let searches = [
        Search::over(index("many", 150, 64), config()).unwrap(),
        Search::over(index("large", 3_000, 2), config()).unwrap(),
        Search::new(several.collect(), config()).unwrap(),
    ];
    let mut answer = SearchAnswer::new();
    let mut most = 0;
    let requests = [Request::new(), Request::new().unique(true), Request::new().flat(true)];
    for (number, search) in searches.iter().enumerate() {
        // Not every request with every query: the slowest ones take long without optimisation.
        let requests = requests.iter().cycle().skip(number);
        for (query, request) in hostile().iter().zip(requests) {
            search.search_into(query, request, &mut answer);
            most = most.max(answer.work());
            assert!(answer.work() <= MAX_WORK, "{query}");
            let mut json = Vec::new();
            answer.write_json(&mut json);
            let says = json.ends_with(b",\"incomplete\":true}");
            assert_eq!(says, answer.is_incomplete(), "{query}");
            assert!(says || answer.work() < MAX_WORK, "{query}");
        }
    }
    // Otherwise these queries show nothing.
    assert_eq!(most, MAX_WORK);
}

#[test]
fn ordinary_searches_are_far_from_the_bound() {
    let search = Search::over(index("large", 6_000, 2), SearchConfig::new()).unwrap();
    for query in ["a", "ban* a", "a* b* e"] {
        let answer = search.search(query, &Request::new());
        assert!(answer.total() > 0 && answer.work() < MAX_WORK / 100, "{query}: {}", answer.work());
        assert!(!answer.is_incomplete(), "{query}");
    }
}

#[test]
fn facets_count_what_searches_find() {
    let search = Search::over(index("one", 300, 2), SearchConfig::new().exclusion('!')).unwrap();
    for query in ["", "a", "a* b", "b !a", "nothing", "!a", "a|b n*"] {
        let facets = search.facets("c1", Some(query), 1).unwrap();
        let mut expected = search.facets("c1", None, 1).unwrap();
        for (value, count) in &mut expected {
            let query = format!("{query} c1:{value}\"");
            *count = search.search(&query, &Request::new().ids(1_000).unique(true)).total();
        }
        expected.retain(|(_, count)| *count > 0);
        assert_eq!(facets, expected, "{query}");
    }
}
