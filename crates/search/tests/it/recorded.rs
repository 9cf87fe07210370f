//! Recorded answers of the original engine against those of this one, character by character.
//!
//! The cases are in `tests/cases` at the root. Most of them search a library of 540 books that is
//! not part of the repository: without it they are left out, with a line that says how many. The
//! variable `RUNNEL_SEARCH_CASES` names another file of cases.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use crate::support;
use runnel_search::{
    Category, Document, Fidelity, Id, Request, Search, SearchAnswer, SearchConfig, SearchIndex,
    leading_integer,
};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

/// The JSON of an answer with the duration as it is in the recorded ones.
fn json(mut answer: SearchAnswer) -> String {
    answer.set_duration(Duration::ZERO);
    answer.to_json().replace("\"duration\":0.0,", "\"duration\":0,")
}

/// A parameter that may be a number, a text, null or missing.
fn integer(value: &Value, default: i64) -> i64 {
    match value {
        Value::Null => default,
        Value::String(text) => leading_integer(text),
        number => number.as_f64().unwrap() as i64,
    }
}

fn request(case: &Value) -> Request<'static> {
    Request::new()
        .ids(integer(&case["ids"], 20))
        .offset(integer(&case["offset"], 0))
        .unique(case["unique"].as_bool().unwrap_or(false))
}

fn id(value: &Value) -> Id {
    match value {
        Value::String(text) => Id::from(text.as_str()),
        number => Id::from(number.as_i64().unwrap()),
    }
}

/// Applies a change of the index, as in `["add", 7, "Anna", "Bern"]`.
fn apply(search: &Search, change: &Value) {
    let mut index = search.indexes()[0].write().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let document = || {
        let document = Document::new(id(&change[1])).with("name", text(&change[2]));
        document.with("city", text(&change[3]))
    };
    match change[0].as_str().unwrap() {
        "<<" => index.append(&document()),
        "add" | "unshift" => index.add(&document()),
        "replace" => index.replace(&document()),
        "remove" => {
            index.remove(id(&change[1]));
        }
        "replace_from" => {
            let fields = change[1].as_object().unwrap();
            let mut document = Document::new(id(&fields["id"]));
            for (name, value) in fields.iter().filter(|(name, _)| *name != "id") {
                document = document.with(name, text(value));
            }
            index.replace_from(&document);
        }
        other => panic!("the change {other} is not known to this test"),
    }
}

/// The initial documents of the index of changes, for a selection of cases without the first one,
/// which adds them.
fn start(search: &Search) {
    for change in [
        serde_json::json!(["add", 1, "Florian Hanke", "melbourne"]),
        serde_json::json!(["add", 2, "Peter Hanke", "zurich"]),
        serde_json::json!(["add", 3, "Peter Mayhew", "melbourne"]),
    ] {
        apply(search, &change);
    }
}

#[test]
fn every_recorded_case() {
    let library = support::library();
    let text = std::fs::read_to_string(support::cases()).unwrap();
    let mut searches: HashMap<String, Search> = HashMap::new();
    let (mut compared, mut left_out, mut different) = (0, 0, Vec::new());
    for case in support::lines(&text) {
        let config = case["config"].as_str().unwrap();
        if library.is_none() && config != "rt" {
            left_out += 1;
            continue;
        }
        let new = !searches.contains_key(config);
        let search = searches
            .entry(config.to_owned())
            .or_insert_with(|| support::search(config, library.as_deref().unwrap_or_default()));
        let changes = case["ops"].as_array();
        if new && config == "rt" && changes.is_none_or(Vec::is_empty) {
            start(search);
        }
        changes.into_iter().flatten().for_each(|change| apply(search, change));
        let query = case["query"].as_str().unwrap_or_default();
        let answer = search.search(query, &request(&case));
        let considered = answer.considered();
        let got = json(answer);
        // Where the original fails on a query, this engine finds nothing.
        let expected = match case["raw_originals_kept"].as_str().or(case["raw"].as_str()) {
            Some(expected) => expected,
            None if case.get("error").is_some() => {
                r#"{"allocations":[],"offset":0,"duration":0,"total":0}"#
            }
            None => panic!("case {} has neither an answer nor an error", case["n"]),
        };
        compared += 1;
        let same_effort = case["allocations_considered"].as_u64().is_none_or(|expected| {
            usize::try_from(expected) == Ok(considered) || case.get("error").is_some()
        });
        if got != expected || !same_effort {
            different.push(format!(
                "{} {config} {query:?}\n  got      {got} ({considered})\n  \
                 expected {expected} ({})",
                case["n"], case["allocations_considered"]
            ));
        }
    }
    assert!(compared > 0, "the file of cases is empty");
    assert!(
        different.is_empty(),
        "{} of {compared} cases differ:\n{}",
        different.len(),
        different[..different.len().min(12)].join("\n")
    );
    if left_out > 0 {
        eprintln!("left out: {left_out} recorded cases that search the library of books");
    }
    eprintln!("{compared} recorded cases are the same");
}

#[test]
fn the_finished_index() {
    let Some(text) = support::data("index-books.json") else { return };
    let Some(library) = support::library() else { return };
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let mut index = SearchIndex::new(support::books()).unwrap();
    index.load(library);
    for category in ["title", "author", "year"] {
        let recorded = recorded[category]["exact"]["inverted"].as_object().unwrap();
        let facets = index.facets(category, 1);
        let expected: Vec<(String, usize)> = recorded
            .iter()
            .map(|(word, ids)| (word.clone(), ids.as_array().unwrap().len()))
            .collect();
        assert_eq!(facets, expected, "{category}");
    }
    let search = Search::over(index, SearchConfig::new()).unwrap();
    for category in ["title", "author"] {
        for (bundle, marker) in [("exact", "\""), ("partial", "*")] {
            let recorded = &recorded[category][bundle];
            for (word, ids) in recorded["inverted"].as_object().unwrap() {
                let query = format!("{category}:{word}{marker}");
                let answer = search.search(&query, &Request::new().ids(1_000));
                let found = answer.allocations().next().unwrap();
                let expected: Vec<Id> = ids.as_array().unwrap().iter().map(id).collect();
                assert_eq!(found.ids(), expected, "{query}");
                assert_eq!(found.score().value(), recorded["weights"][word].as_f64().unwrap());
            }
        }
    }
    let similar = recorded["title"]["exact"]["similarity"].as_object();
    let similar = similar.or(recorded["title"]["similarity"].as_object()).unwrap();
    for words in similar.values() {
        for word in words.as_array().unwrap() {
            let query = format!("{}~", word.as_str().unwrap());
            let answer = search.search(&query, &Request::new());
            let mut found: Vec<&str> = answer
                .allocations()
                .flat_map(|found| found.words())
                .map(|word| word.text)
                .collect();
            let mut expected: Vec<&str> =
                words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{query}");
        }
    }
}

#[test]
fn facets() {
    let Some(text) = support::data("facet-cases.jsonl") else { return };
    let Some(library) = support::library() else { return };
    let search = support::search("books", &library);
    for case in support::lines(&text) {
        let call = case["call"].as_str().unwrap();
        let arguments = call.split_once("(:").unwrap().1.trim_end_matches(')');
        let category = arguments.split(',').next().unwrap();
        let filter =
            arguments.split_once("filter: \"").map(|(_, rest)| rest.split('"').next().unwrap());
        let at_least = arguments
            .split_once("at_least: ")
            .map_or(0, |(_, rest)| leading_integer(rest) as usize);
        let found = search.facets(category, filter, at_least).unwrap();
        let got = if arguments.contains("counts: false") {
            found.iter().map(|(value, _)| Value::from(value.as_str())).collect::<Value>()
        } else {
            serde_json::to_value(&found).unwrap()
        };
        assert_eq!(got, case["result"], "{call}");
    }
}

#[test]
fn numbers_near_each_other() {
    let Some(text) = support::data("geo-cases.jsonl") else { return };
    let mut cases = support::lines(&text);
    let first = cases.next().unwrap();
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    let documents: Vec<Document> = first["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let fields = row.as_object().unwrap().iter().filter(|(name, _)| *name != "id");
            fields.fold(Document::new(id(&row["id"])), |document, (name, value)| {
                document.with(name, plain(value))
            })
        })
        .collect();
    let mut searches: HashMap<String, Search> = HashMap::new();
    let mut compared = 0;
    for case in cases {
        let grid_of = |key: &str| plain(&case[key]);
        let near = case["kind"] == "ranged_category";
        let name = if near {
            ["range", "precision", "anchor"].map(grid_of).join(" ")
        } else {
            format!("g{}{}", grid_of("km"), grid_of("precision"))
        };
        let search = searches.entry(name.clone()).or_insert_with(|| {
            let config = if near {
                support::places(&name, [Category::near("x", support::grid(&case))])
            } else {
                let km = case["km"].as_f64().unwrap();
                let precision = case["precision"].as_u64().unwrap() as u32;
                support::places(&name, Category::place("lat", "lng", km, precision))
            };
            let mut index = SearchIndex::new(config.fidelity(Fidelity::Original)).unwrap();
            documents.iter().for_each(|document| index.append(document));
            Search::over(index, SearchConfig::new()).unwrap()
        });
        let query = case["query"].as_str().unwrap();
        let answer = search.search(query, &Request::new());
        compared += 1;
        if near {
            let expected: Vec<Id> = case["ids"].as_array().unwrap().iter().map(id).collect();
            assert_eq!(answer.ids(), expected, "{case}");
        } else {
            assert_eq!(json(answer), case["raw"].as_str().unwrap(), "{case}");
        }
    }
    assert!(compared > 0);
}

#[test]
fn codes_by_sound() {
    use runnel_search::Similarity::{DoubleMetaphone, Metaphone, Soundex};
    let Some(text) = support::data("phonetics.csv") else { return };
    let mut different = Vec::new();
    for row in &support::csv(&text)[1..] {
        for (strategy, expected) in
            [(DoubleMetaphone(3), &row[1]), (Metaphone(3), &row[2]), (Soundex(3), &row[3])]
        {
            let got = strategy.encode(&row[0]).unwrap();
            if got != *expected {
                different.push(format!("{strategy:?} {}: {got} for {expected}", row[0]));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{} codes differ:\n{}",
        different.len(),
        different[..different.len().min(40)].join("\n")
    );
}
