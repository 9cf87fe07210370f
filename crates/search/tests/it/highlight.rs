//! Highlighting of matches in the texts of documents.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Category, Document, Highlighter, IndexConfig, Language, Markers, Partial, Request, Search,
    SearchConfig, SearchIndex, SharedIndex, Similarity, Splitter, Synonyms, Tokenizer,
};
use std::sync::{Arc, RwLock};

fn search(index: IndexConfig, config: SearchConfig, texts: &[&str]) -> (SharedIndex, Search) {
    let mut index = SearchIndex::new(index).unwrap();
    for (id, text) in (0..).zip(texts) {
        index.append(&Document::new(id).with("title", *text));
    }
    let index = Arc::new(RwLock::new(index));
    let search = Search::new(vec![index.clone()], config).unwrap();
    (index, search)
}

fn plain() -> Markers {
    Markers { before: "[".to_owned(), after: "]".to_owned(), html: false }
}

/// The first text that is given, marked for a query.
fn marked((index, search): &(SharedIndex, Search), query: &str, text: &str) -> String {
    let answer = search.search(query, &Request::new());
    let index = index.read().unwrap();
    let highlighter = Highlighter::new(&index, &answer);
    highlighter.mark("title", text, &plain()).unwrap_or_default()
}

fn english() -> (SharedIndex, Search) {
    let title = Category::new("title")
        .partial(Partial::substring(1, -1))
        .similarity(Similarity::DoubleMetaphone(3));
    let texts = ["The History of Women's rights", "TV, caf\u{e9}s & <New> York's", "1990 mist"];
    search(
        IndexConfig::new("books")
            .tokenizer(Language::English.indexing())
            .category(title)
            .phrases(true),
        SearchConfig::new()
            .tokenizer(Language::English.searching())
            .phrases(true)
            .exclusion('-')
            .typos(2)
            .synonyms(Synonyms::new().set(["television", "tv"]).one_way("nyc", ["new york"])),
        &texts,
    )
}

#[test]
fn words_are_marked_as_what_they_matched() {
    let books = english();
    let (history, tv) = ("The History of Women's rights", "TV, caf\u{e9}s & <New> York's");
    for (query, text, expected) in [
        ("histories", history, "The [History] of Women's rights"),
        ("wom", history, "The History of [Women]'s rights"),
        ("hsitory", history, "The [History] of Women's rights"),
        ("women right", history, "The History of [Women]'s [rights]"),
        ("\"history women\"", history, "The [History] of [Women]'s rights"),
        ("\"women history\"", history, ""),
        ("women -history", history, "The History of [Women]'s rights"),
        ("television", tv, "[TV], caf\u{e9}s & <New> York's"),
        ("cafe", tv, "TV, [caf\u{e9}s] & <New> York's"),
        ("nyc", tv, "TV, caf\u{e9}s & <[New]> [York]'s"),
        ("new nothing", tv, "TV, caf\u{e9}s & <[New]> York's"),
        ("must~", "1990 mist", "1990 [mist]"),
        ("1985\u{2026}1995", "1990 mist", "[1990] mist"),
        ("1985\u{2026}1995|mist", "1990 mist", "[1990] [mist]"),
        ("author:history", history, ""),
        ("", history, ""),
    ] {
        assert_eq!(marked(&books, query, text), expected, "{query}");
    }
}

#[test]
fn texts_are_taken_apart_as_they_were_indexed() {
    let index = IndexConfig::new("books").category(Category::new("title"));
    let spaces = search(index.clone(), SearchConfig::new(), &["C++ (Well-known), turing."]);
    assert_eq!(marked(&spaces, "c++", "C++ (Well-known), turing."), "[C++] (Well-known), turing.");
    assert_eq!(marked(&spaces, "turing.", "C++ turing."), "C++ [turing].");
    let dashes = Tokenizer::new().splits(Splitter::Literal("-".to_owned()));
    let dashes = search(index.clone().tokenizer(dashes), SearchConfig::new(), &["well-known"]);
    assert_eq!(marked(&dashes, "known", "well-known"), "well-[known]");
    let japanese = search(
        index.tokenizer(Language::Japanese.indexing()).phrases(true),
        SearchConfig::new().tokenizer(Language::Japanese.searching()).phrases(true),
        &["\u{6771}\u{4eac}\u{90fd}\u{306e}\u{6b74}\u{53f2}"],
    );
    let text = "\u{6771}\u{4eac}\u{90fd}\u{306e}\u{6b74}\u{53f2}";
    assert_eq!(
        marked(&japanese, "\u{4eac}\u{90fd}\u{306e}", text),
        "\u{6771}[\u{4eac}\u{90fd}\u{306e}]\u{6b74}\u{53f2}"
    );
}

#[test]
fn words_of_a_language_are_marked_in_all_their_forms() {
    for (language, query, text, expected) in [
        (
            "german",
            "haus strasse",
            "Die H\u{e4}user der Stra\u{df}e",
            "Die [H\u{e4}user] der [Stra\u{df}e]",
        ),
        ("german", "haeuser", "H\u{e4}user", "[H\u{e4}user]"),
        ("french", "ete", "L'\u{e9}t\u{e9} dernier", "L'[\u{e9}t\u{e9}] dernier"),
        (
            "russian",
            "\u{435}\u{43b}\u{43a}\u{430}",
            "\u{401}\u{43b}\u{43a}\u{438}!",
            "[\u{401}\u{43b}\u{43a}\u{438}]!",
        ),
        ("english", "the who", "The Who", "[The] [Who]"),
    ] {
        let language = Language::named(language).unwrap();
        let index = IndexConfig::new("x").category(Category::new("title"));
        let index = index.tokenizer(language.indexing());
        let config = SearchConfig::new().tokenizer(language.searching());
        let found = search(index, config, &[text]);
        assert_eq!(marked(&found, query, text), expected, "{query}");
    }
}

#[test]
fn snippets_are_where_the_matches_are() {
    let (index, search) = english();
    let answer = search.search("history women", &Request::new());
    let index = index.read().unwrap();
    let highlighter = Highlighter::new(&index, &answer);
    let snippet = |text: &str, words: usize| highlighter.snippet("title", text, words, &plain());
    let text = "One two history three four five six, women and History seven eight nine.";
    assert_eq!(snippet(text, 5), "\u{2026} six, [women] and [History] seven \u{2026}");
    assert_eq!(
        snippet(text, 50),
        text.replace("women", "[women]")
            .replace("History", "[History]")
            .replace("history", "[history]")
    );
    assert_eq!(snippet("a b c d", 2), "a b \u{2026}");
    assert_eq!(snippet("", 3), "");
    let html = highlighter.snippet("title", "<b>women</b>", 9, &Markers::default());
    assert_eq!(html, "&lt;b&gt;<em>women</em>&lt;/b&gt;");
    assert_eq!(highlighter.snippet("other", "women & men", 1, &plain()), "women \u{2026}");
}

#[test]
fn very_long_texts_are_marked_at_their_start() {
    let (index, search) = english();
    let answer = search.search("women", &Request::new());
    let index = index.read().unwrap();
    let highlighter = Highlighter::new(&index, &answer);
    let text = "women \u{fc}ber ".repeat(60_000);
    let marked = highlighter.mark("title", &text, &plain()).unwrap();
    let count = marked.matches("[women]").count();
    assert!(count > 10_000 && count < 60_000, "{count}");
    assert_eq!(marked.replace(['[', ']'], ""), text);
    assert_eq!(highlighter.mark("title", "women", &plain()), None);
}

proptest! {
    #[test]
    fn nothing_but_marks_is_added(
        text in "([a-c]{1,3}|\u{6771}|\u{4eac}|[ ,.<&-]|\\PC){0,30}",
        query in "([a-c]{1,2}|\u{6771}|\u{4eac}|[ \"*~|:-]){0,10}",
        words in 1usize..6,
    ) {
        for tokenizer in [Tokenizer::new(), Language::English.indexing(), Language::Thai.indexing()] {
            let index = IndexConfig::new("x").category(Category::new("title")).tokenizer(tokenizer);
            let config = SearchConfig::new().phrases(true).exclusion('-').typos(1);
            let (index, search) = search(index.phrases(true), config, &[&text, "abc ab"]);
            let answer = search.search(&query, &Request::new());
            let index = index.read().unwrap();
            let highlighter = Highlighter::new(&index, &answer);
            let markers = Markers { before: "\u{1}".into(), after: "\u{2}".into(), html: false };
            if let Some(marked) = highlighter.mark("title", &text, &markers) {
                prop_assert_eq!(marked.replace(['\u{1}', '\u{2}'], ""), text.clone());
                let depth = marked.chars().try_fold(0, |depth: i32, letter| match letter {
                    '\u{1}' if depth == 0 => Some(1),
                    '\u{2}' if depth == 1 => Some(0),
                    '\u{1}' | '\u{2}' => None,
                    _ => Some(depth),
                });
                prop_assert_eq!(depth, Some(0));
            }
            let snippet = highlighter.snippet("title", &text, words, &markers);
            let snippet = snippet.replace(['\u{1}', '\u{2}'], "");
            let inner = snippet.strip_prefix("\u{2026} ").unwrap_or(&snippet);
            let inner = inner.strip_suffix(" \u{2026}").unwrap_or(inner);
            prop_assert!(text.contains(inner));
        }
    }
}
