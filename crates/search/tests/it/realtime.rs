//! Changes of an index: the order of documents, and the removal of their words.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Category, Document, Fidelity, Id, IndexConfig, KeyFormat, Partial, Request, Search,
    SearchConfig, SearchIndex, SharedIndex, Similarity,
};
use std::sync::{Arc, RwLock};

fn config() -> IndexConfig {
    IndexConfig::new("people")
        .category(Category::new("name").similarity(Similarity::DoubleMetaphone(3)))
        .category(Category::new("city").partial(Partial::substring(1, -1)))
}

fn person(id: i64, name: &str, city: &str) -> Document {
    Document::new(id).with("name", name).with("city", city)
}

fn start(config: IndexConfig) -> (SharedIndex, Search) {
    let index = Arc::new(RwLock::new(SearchIndex::new(config).unwrap()));
    let search = Search::new(vec![index.clone()], SearchConfig::new()).unwrap();
    (index, search)
}

fn ids(search: &Search, query: &str) -> Vec<i64> {
    let answer = search.search(query, &Request::new().ids(100_000));
    let number = |id: &Id| if let Id::Integer(number) = id { *number } else { -1 };
    answer.ids().iter().map(number).collect()
}

#[test]
fn added_documents_come_first_and_appended_ones_last() {
    let (index, search) = start(config());
    index.write().unwrap().add(&person(1, "ann", "bern"));
    index.write().unwrap().add(&person(2, "ann", "bern"));
    index.write().unwrap().append(&person(3, "ann", "basel"));
    assert_eq!(ids(&search, "ann"), [2, 1, 3]);
    assert_eq!(ids(&search, "ann b"), [2, 1, 3]);
    assert_eq!(ids(&search, "city:be"), [2, 1]);
}

#[test]
fn adding_again_adds_words_and_keeps_the_place() {
    let (index, search) = start(config());
    index.write().unwrap().append(&person(1, "ann", "bern"));
    index.write().unwrap().append(&person(2, "ann", "bern"));
    index.write().unwrap().add(&person(2, "ann berta", "basel"));
    assert_eq!(ids(&search, "ann"), [1, 2]);
    assert_eq!(ids(&search, "berta"), [2]);
    // The old words stay, and new ones come first in their lists.
    assert_eq!(ids(&search, "bern"), [1, 2]);
    assert_eq!(ids(&search, "city:b"), [1, 2]);
    assert_eq!(ids(&search, "city:ba"), [2]);
}

#[test]
fn replaced_documents_come_first() {
    let (index, search) = start(config());
    for id in 1..=4 {
        index.write().unwrap().append(&person(id, "ann", "bern"));
    }
    index.write().unwrap().replace(&person(3, "ann", "basel"));
    assert_eq!(ids(&search, "ann"), [3, 1, 2, 4]);
    // Only the name is replaced: it comes first there, and stays where it is in the city.
    index.write().unwrap().replace_from(&Document::new(4).with("name", "ann zoe"));
    assert_eq!(ids(&search, "ann"), [4, 3, 1, 2]);
    assert_eq!(ids(&search, "city:b"), [3, 1, 2, 4]);
    assert_eq!(ids(&search, "zoe city:bern"), [4]);
    // Of lists in different orders the longest counts, here that of the city.
    assert_eq!(ids(&search, "ann city:b"), [3, 1, 2, 4]);
    index.write().unwrap().replace_from(&Document::new(9).with("name", "ann"));
    assert_eq!(ids(&search, "ann"), [9, 4, 3, 1, 2]);
}

#[test]
fn removed_documents_are_gone() {
    for fixed in [false, true] {
        let (index, search) = start(config().fixed(fixed));
        for id in 1..=3 {
            index.write().unwrap().append(&person(
                id,
                "ann",
                if id == 2 { "rome" } else { "bern" },
            ));
        }
        assert!(index.write().unwrap().remove(2));
        assert!(!index.write().unwrap().remove(2));
        assert_eq!(ids(&search, "ann"), [1, 3]);
        assert!(ids(&search, "rome").is_empty() && ids(&search, "r").is_empty());
        let index = index.read().unwrap();
        assert_eq!(index.facets("city", 1), [("bern".to_owned(), 2)]);
        assert!(!index.contains(2) && index.contains(3) && index.len() == 2);
    }
}

#[test]
fn words_that_sound_alike_survive_each_other() {
    for (fidelity, survives) in [(Fidelity::Corrected, true), (Fidelity::Original, false)] {
        let (index, search) = start(config().fidelity(fidelity));
        index.write().unwrap().append(&person(1, "peter", "bern"));
        index.write().unwrap().append(&person(2, "petra", "bern"));
        index.write().unwrap().remove(1);
        assert_eq!(ids(&search, "peter~"), if survives { vec![2] } else { vec![] });
        assert_eq!(ids(&search, "petra"), [2]);
    }
}

#[test]
fn an_index_can_change_for_ever() {
    let (index, search) = start(config());
    for round in 0..60 {
        let mut index = index.write().unwrap();
        for id in 0..100 {
            index.replace(&person(id, "ann", &format!("city{}", round * 7 + id % 3)));
        }
    }
    assert_eq!(index.read().unwrap().len(), 100);
    assert_eq!(ids(&search, "ann"), (0..100).rev().collect::<Vec<_>>());
    assert_eq!(index.read().unwrap().facets("city", 1).len(), 3);
    let half: Vec<i64> = (0..100).filter(|id| id % 3 == 1).rev().collect();
    assert_eq!(ids(&search, "ann city:city414"), half);
}

#[test]
fn identifiers_are_of_the_format_of_the_index() {
    let (index, search) = start(config().key_format(KeyFormat::Text));
    index.write().unwrap().append(&Document::new("  1").with("name", "ann"));
    index.write().unwrap().append(&Document::new(7).with("name", "ann"));
    let answer = search.search("ann", &Request::new());
    assert_eq!(answer.ids(), [Id::from("  1"), Id::from("7")]);
    assert!(answer.to_json().contains(r#",["  1","7"]]]"#));
    assert!(index.write().unwrap().remove("  1"));
    assert!(index.write().unwrap().remove(7));
}

#[test]
fn readers_and_writers_share_an_index() {
    let (index, search) = start(config());
    let search = &search;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0..300 {
                index.write().unwrap().add(&person(id % 50, "ann", "bern"));
                index.write().unwrap().remove(id % 40);
            }
        });
        for _ in 0..2 {
            scope.spawn(move || {
                for _ in 0..300 {
                    let answer = search.search("ann b", &Request::new().ids(100));
                    assert_eq!(answer.ids().len(), answer.total());
                }
            });
        }
    });
    assert_eq!(ids(search, "ann").len(), index.read().unwrap().len());
}
