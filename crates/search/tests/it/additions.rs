//! Additions to the original: typo tolerance and excluded words.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Category, Document, IndexConfig, Partial, Request, Search, SearchAnswer, SearchConfig,
    SearchIndex, Similarity,
};

fn search(config: SearchConfig) -> Search {
    let mut index = SearchIndex::new(
        IndexConfig::new("books")
            .category(
                Category::new("title")
                    .partial(Partial::substring(1, -1))
                    .similarity(Similarity::DoubleMetaphone(3)),
            )
            .category(Category::new("author").partial(Partial::substring(1, -1))),
    )
    .unwrap();
    for (id, title, author) in [
        (1, "history of women", "peter mayer"),
        (2, "history of education", "petra miller"),
        (3, "education today", "peter smith"),
        (4, "women today", "alan history"),
    ] {
        index.append(&Document::new(id).with("title", title).with("author", author));
    }
    Search::over(index, config).unwrap()
}

/// The interpretations as text: words and documents.
fn rows(answer: &SearchAnswer) -> Vec<String> {
    let row = |found: runnel_search::Allocation<'_>| {
        let words: Vec<String> = found
            .words()
            .map(|word| format!("{} {} {}", word.category, word.original, word.text))
            .collect();
        format!("{}: {} of {}", words.join(", "), found.ids().len(), found.count())
    };
    answer.allocations().map(row).collect()
}

fn ask(search: &Search, query: &str) -> Vec<String> {
    rows(&search.search(query, &Request::new()))
}

#[test]
fn a_word_that_nobody_knows_is_taken_for_the_nearest() {
    let tolerant = search(SearchConfig::new().typos(2));
    let rows = ask(&tolerant, "histroy women");
    assert_eq!(
        rows,
        [
            "title histroy history, title women women: 1 of 1",
            "author histroy history, title women women: 1 of 1"
        ]
    );
    assert_eq!(
        ask(&tolerant, "author:histroy* wom"),
        ["author author:histroy* history, title wom wom: 1 of 1"]
    );
    assert!(ask(&tolerant, "\"histroy\"").is_empty(), "what is quoted is meant as it is");
    assert!(ask(&search(SearchConfig::new()), "histroy women").is_empty());
    assert!(ask(&tolerant, "xyzzyplugh").is_empty());
}

#[test]
fn documents_of_excluded_words_are_left_out() {
    let search = search(SearchConfig::new().exclusion('!'));
    assert_eq!(ask(&search, "today"), ["title today today: 2 of 2"]);
    assert_eq!(ask(&search, "today !women"), ["title today today: 1 of 1"]);
    assert_eq!(ask(&search, "!women today"), ["title today today: 1 of 1"]);
    assert_eq!(ask(&search, "today !author:women"), ["title today today: 2 of 2"]);
    assert_eq!(ask(&search, "today !wom"), ["title today today: 2 of 2"]);
    assert_eq!(ask(&search, "today !wom*"), ["title today today: 1 of 1"]);
    assert!(ask(&search, "today !women !education").is_empty());
    assert_eq!(ask(&search, "!women"), [": 2 of 2"], "all the others");
    assert_eq!(ask(&search, "!women !education"), Vec::<String>::new());
    assert_eq!(ask(&search, "history !smith !petra|mayer"), ["author history history: 1 of 1"]);
    let once = search.search("history !mayer", &Request::new().unique(true));
    assert_eq!(once.total(), 2);
    assert_eq!(search.facets("author", Some("today !women"), 1).unwrap().len(), 2);
}
