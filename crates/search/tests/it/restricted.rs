//! Filters, orders, excluded words and flat lists against a scan of all documents.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Attribute, AttributeType, Category, Document, Id, IndexConfig, Partial, Request, Search,
    SearchAnswer, SearchConfig, SearchIndex,
};
use std::cmp::Ordering;
use std::sync::{Arc, RwLock};

/// A document: words, a year or none, publishers, whether it is available.
#[derive(Clone, Debug)]
struct Book {
    title: Vec<String>,
    author: Vec<String>,
    year: Option<i64>,
    publishers: Vec<String>,
    available: Option<bool>,
}

fn book() -> impl Strategy<Value = Book> {
    let words = || prop::collection::vec("[ab]{1,2}|c", 0..4);
    (
        words(),
        words(),
        prop::option::of(1990i64..1996),
        prop::collection::vec("[xyXY]", 0..3),
        any::<Option<bool>>(),
    )
        .prop_map(|(title, author, year, publishers, available)| Book {
            title,
            author,
            year,
            publishers,
            available,
        })
}

/// A filter as text, and what it means.
#[derive(Clone, Debug)]
enum Condition {
    Year(&'static str, i64),
    Years(i64, i64),
    Publisher(String),
    Publishers(Vec<String>),
    Available,
    HasYear,
    Not(Box<Condition>),
    Both(Box<Condition>, Box<Condition>),
    Either(Box<Condition>, Box<Condition>),
}

fn condition() -> impl Strategy<Value = Condition> {
    let year = || 1989i64..1997;
    let leaf = prop_oneof![
        (prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]), year())
            .prop_map(|(sign, year)| Condition::Year(sign, year)),
        (year(), year()).prop_map(|(from, to)| Condition::Years(from, to)),
        "[xyXZ]".prop_map(Condition::Publisher),
        prop::collection::vec("[xyXZ]", 1..3).prop_map(Condition::Publishers),
        Just(Condition::Available),
        Just(Condition::HasYear),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let pair = || (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|part| Condition::Not(Box::new(part))),
            pair().prop_map(|(left, right)| Condition::Both(Box::new(left), Box::new(right))),
            pair().prop_map(|(left, right)| Condition::Either(Box::new(left), Box::new(right))),
        ]
    })
}

impl Condition {
    fn text(&self) -> String {
        match self {
            Condition::Year(sign, year) => format!("year {sign} {year}"),
            Condition::Years(from, to) => format!("year={from}..{to}"),
            Condition::Publisher(name) => format!("by = '{name}'"),
            Condition::Publishers(names) => format!("by in ('{}')", names.join("', '")),
            Condition::Available => "available".to_owned(),
            Condition::HasYear => "has year".to_owned(),
            Condition::Not(part) => format!("not ({})", part.text()),
            Condition::Both(left, right) => format!("({}) and ({})", left.text(), right.text()),
            Condition::Either(left, right) => format!("({}) or ({})", left.text(), right.text()),
        }
    }

    fn passes(&self, book: &Book) -> bool {
        match self {
            Condition::Year(sign, year) => match (sign, book.year) {
                (&"!=", found) => found != Some(*year),
                (_, None) => false,
                (&"=", Some(found)) => found == *year,
                (&"<", Some(found)) => found < *year,
                (&"<=", Some(found)) => found <= *year,
                (&">", Some(found)) => found > *year,
                (_, Some(found)) => found >= *year,
            },
            Condition::Years(from, to) => {
                book.year.is_some_and(|year| (*from..=*to).contains(&year))
            }
            Condition::Publisher(name) => book.publishers.contains(name),
            Condition::Publishers(names) => book.publishers.iter().any(|one| names.contains(one)),
            Condition::Available => book.available == Some(true),
            Condition::HasYear => book.year.is_some(),
            Condition::Not(part) => !part.passes(book),
            Condition::Both(left, right) => left.passes(book) && right.passes(book),
            Condition::Either(left, right) => left.passes(book) || right.passes(book),
        }
    }
}

fn document(id: i64, book: &Book) -> Document {
    let mut document = Document::new(Id::Integer(id))
        .with("title", book.title.join(" "))
        .with("author", book.author.join(" "))
        .with("publisher", book.publishers.clone());
    if let Some(year) = book.year {
        document = document.with("year", year.to_string());
    }
    if let Some(available) = book.available {
        document = document.with("available", available.to_string());
    }
    document
}

fn config() -> IndexConfig {
    IndexConfig::new("books")
        .category(Category::new("title").partial(Partial::substring(1, -1)))
        .category(Category::new("author").partial(Partial::substring(1, -1)))
        .attribute(Attribute::new("year", AttributeType::Integer))
        .attribute(Attribute::new("by", AttributeType::Text).from("publisher"))
        .attribute(Attribute::new("available", AttributeType::Boolean))
}

/// A search over the books with numbers from 0 on, some of which went and came back in between.
fn search(books: &[Book], moved: &[usize]) -> Search {
    let mut index = SearchIndex::new(config()).unwrap();
    index.load((0..).zip(books).map(|(id, book)| document(id, book)));
    for place in moved {
        let place = place % books.len();
        index.remove(place as i64);
        index.append(&document(place as i64, &books[place]));
    }
    let config = SearchConfig::new().exclusion('!').exclusion('-');
    Search::over(index, config).unwrap()
}

/// The books in the order of the index.
fn places(books: &[Book], moved: &[usize]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..books.len()).collect();
    for place in moved.iter().map(|place| place % books.len()) {
        places.retain(|other| *other != place);
        places.push(place);
    }
    places
}

fn orders() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["year", "-year", "by,-year", "-by", "-available,year", "available"])
}

/// How two books compare in an order.
fn compare(order: &str, left: &Book, right: &Book) -> Ordering {
    fn by<T: Ord>(left: Option<T>, right: Option<T>, down: bool) -> Ordering {
        match (left, right) {
            (Some(left), Some(right)) if down => right.cmp(&left),
            (Some(left), Some(right)) => left.cmp(&right),
            (left, right) => left.is_none().cmp(&right.is_none()),
        }
    }
    let publisher = |book: &Book| {
        let first = book.publishers.first()?;
        Some((first.to_lowercase(), first.clone()))
    };
    for key in order.split(',') {
        let (name, down) = match key.strip_prefix('-') {
            Some(name) => (name, true),
            None => (key, false),
        };
        let order = match name {
            "year" => by(left.year, right.year, down),
            "by" => by(publisher(left), publisher(right), down),
            _ => by(left.available, right.available, down),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// The documents of an answer, as numbers.
fn numbers<'a>(ids: impl IntoIterator<Item = &'a Id>) -> Vec<i64> {
    let number = |id: &Id| match id {
        Id::Integer(number) => *number,
        Id::Text(_) => -1,
    };
    ids.into_iter().map(number).collect()
}

/// Each interpretation: categories and all its documents.
fn rows(answer: &SearchAnswer) -> Vec<(Vec<&str>, usize, Vec<i64>)> {
    let row = |found: runnel_search::Allocation<'_>| (found.count(), numbers(found.ids()));
    let names = answer.allocations().map(|found| found.words().map(|word| word.category).collect());
    let rows = answer.allocations().map(row);
    names.zip(rows).map(|(names, (count, ids))| (names, count, ids)).collect()
}

/// Whether an answer has these documents as one list, in an order.
fn check_flat(
    answer: &SearchAnswer,
    order: &str,
    books: &[Book],
    expected: &[i64],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(answer.flat_count(), Some(expected.len()));
    let mut listed = numbers(answer.flat().map(|(_, id)| id));
    for pair in listed.windows(2) {
        let [left, right] = [pair[0], pair[1]].map(|id| &books[id as usize]);
        prop_assert!(compare(order, left, right).is_le());
    }
    listed.sort_unstable();
    prop_assert_eq!(listed, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_passes_is_found_in_order(
        books in prop::collection::vec(book(), 1..60),
        moved in prop::collection::vec(0usize..60, 0..6),
        words in prop::collection::vec("[ab]{1,2}|c", 0..3),
        without in prop::collection::vec("[ab]{1,2}|c", 0..2),
        condition in condition(),
        order in orders(),
    ) {
        let search = search(&books, &moved);
        let mut query: Vec<String> = words.iter().map(|word| format!("{word}\"")).collect();
        query.extend(without.iter().enumerate().map(|(at, word)| format!("{}{word}", b"!-"[at % 2] as char)));
        let filter = search.filter(&condition.text()).unwrap();
        let by = search.order(order).unwrap();
        let request = Request::new().ids(1_000).filter(&filter).order(&by);
        let answer = search.search(&query.join(" "), &request);
        let left: Vec<usize> = places(&books, &moved)
            .into_iter()
            .filter(|place| {
                let book = &books[*place];
                let excluded = without
                    .iter()
                    .any(|word| book.title.contains(word) || book.author.contains(word));
                condition.passes(book) && !excluded
            })
            .collect();
        let mut found = Vec::new();
        for (names, count, ids) in rows(&answer) {
            let mut expected: Vec<usize> = left
                .iter()
                .copied()
                .filter(|place| {
                    names.iter().zip(&words).all(|(name, word)| {
                        let book = &books[*place];
                        if *name == "title" { &book.title } else { &book.author }.contains(word)
                    })
                })
                .collect();
            expected.sort_by(|a, b| compare(order, &books[*a], &books[*b]));
            let expected: Vec<i64> = expected.into_iter().map(|place| place as i64).collect();
            prop_assert_eq!(count, ids.len());
            prop_assert_eq!(&ids, &expected);
            found.extend(ids);
        }
        prop_assert_eq!(answer.total(), found.len());
        found.sort_unstable();
        found.dedup();
        let mut expected: Vec<i64> = left
            .iter()
            .filter(|place| {
                let book = &books[**place];
                words.iter().all(|word| book.title.contains(word) || book.author.contains(word))
            })
            .map(|place| *place as i64)
            .collect();
        expected.sort_unstable();
        prop_assert_eq!(&found, &expected, "all that pass are in some interpretation");
        // The same as one list.
        let flat = search.search(&query.join(" "), &request.flat(true));
        prop_assert_eq!(flat.total(), answer.total());
        check_flat(&flat, order, &books, &expected)?;
    }

    #[test]
    fn pages_of_any_size_are_together_the_whole(
        books in prop::collection::vec(book(), 1..60),
        words in prop::collection::vec("[ab]{1,2}|c", 0..3),
        condition in prop::option::of(condition()),
        order in prop::option::of(orders()),
        unique: bool,
        flat: bool,
        size in 1i64..25,
    ) {
        let search = search(&books, &[]);
        let query = words.join(" ");
        let filter = condition.map(|condition| search.filter(&condition.text()).unwrap());
        let order = order.map(|order| search.order(order).unwrap());
        let mut request = Request::new().unique(unique).flat(flat);
        if let Some(filter) = &filter {
            request = request.filter(filter);
        }
        if let Some(order) = &order {
            request = request.order(order);
        }
        let ids = |answer: &SearchAnswer| {
            if flat { numbers(answer.flat().map(|(_, id)| id)) } else { numbers(answer.ids()) }
        };
        let whole = search.search(&query, &request.ids(100_000));
        let mut pages = Vec::new();
        let total = if flat { whole.flat_count().unwrap() } else { whole.total() };
        for offset in (0..=total as i64).step_by(size as usize) {
            let page = search.search(&query, &request.ids(size).offset(offset));
            prop_assert_eq!(page.total(), whole.total());
            prop_assert_eq!(page.flat_count(), whole.flat_count());
            prop_assert!(ids(&page).len() <= size as usize);
            pages.extend(ids(&page));
        }
        prop_assert_eq!(pages.len(), total);
        prop_assert_eq!(pages, ids(&whole));
    }
}

fn library() -> Search {
    let mut index = SearchIndex::new(
        IndexConfig::new("books")
            .category(Category::new("title"))
            .attribute(Attribute::new("year", AttributeType::Integer))
            .attribute(Attribute::new("price", AttributeType::Float))
            .attribute(Attribute::new("on", AttributeType::Date))
            .attribute(Attribute::new("lat", AttributeType::Float))
            .attribute(Attribute::new("lng", AttributeType::Float)),
    )
    .unwrap();
    for (id, title, year, price, on, lat, lng) in [
        (1, "alan", "1983", "9.5", "1983-11-01", "47.37", "8.54"),
        (2, "alan", "1990", "10", "1990-05-17T10:30:00+02:00", "46.95", "7.45"),
        (3, "alan", "", "-1.25", "", "-33.87", "151.21"),
    ] {
        index.append(
            &Document::new(id)
                .with("title", title)
                .with("year", year)
                .with("price", price)
                .with("on", on)
                .with("lat", lat)
                .with("lng", lng),
        );
    }
    Search::over(index, SearchConfig::new()).unwrap()
}

#[test]
fn every_type_is_compared_as_what_it_is() {
    let search = library();
    for (filter, expected) in [
        ("price > 9.75", &[2][..]),
        ("price = 10.0", &[2]),
        ("price < 0", &[3]),
        ("price = -2..9.5", &[1, 3]),
        ("on < 1990-05-17T08:30:00.1Z", &[1, 2]),
        ("on < 1990-05-17T08:30:00Z", &[1]),
        ("on >= 1984", &[2]),
        ("year > 9223372036854775806", &[]),
        ("year < -9223372036854775808", &[]),
        ("year >= -9223372036854775808", &[1, 2]),
        ("not has year", &[3]),
        ("distance(lat, lng, 47.37, 8.54) < 94", &[1]),
        ("distance(lat, lng, 47.37, 8.54) <= 96", &[1, 2]),
        ("distance(lat, lng, 47.37, 8.54) > 16500", &[3]),
    ] {
        let filter_read = search.filter(filter).unwrap();
        let answer = search.search("alan", &Request::new().filter(&filter_read));
        assert_eq!(numbers(answer.ids()), expected, "{filter}");
        let everything = search.search("", &Request::new().filter(&filter_read));
        assert_eq!(numbers(everything.ids()), expected, "{filter}");
    }
    assert_eq!(search.search("", &Request::new()).total(), 0);
}

#[test]
fn mistakes_name_what_was_perhaps_meant() {
    let search = library();
    for (filter, place, part) in [
        ("yaer >= 1990", 1, "did you mean year?"),
        ("not (price = 1 or publisher = 'x')", 19, "there are"),
        ("year = 'old'", 8, "an integer like 1990"),
        ("year = 1990.5", 8, "an integer"),
        ("on = 1990-13", 6, "a date like"),
        ("distance(lat, year, 1, 2) < 3", 15, "not a float"),
    ] {
        let error = search.filter(filter).unwrap_err();
        assert_eq!(error.place(), place, "{filter}: {error}");
        assert!(error.message().contains(part), "{filter}: {error}");
    }
    let error = search.order("-year, title").unwrap_err();
    assert_eq!(
        error.to_string().split(';').next(),
        Some("at character 8: there is no attribute title")
    );
}

#[test]
fn several_indexes_are_filtered_and_sorted_together() {
    let shop = |name: &str, books: &[(i64, &str, &str)]| {
        let mut index = SearchIndex::new(
            IndexConfig::new(name)
                .category(Category::new("title"))
                .attribute(Attribute::new("year", AttributeType::Integer))
                .attribute(Attribute::new("by", AttributeType::Text)),
        )
        .unwrap();
        for (id, year, by) in books {
            let document = Document::new(*id).with("title", "alan");
            index.append(&document.with("year", *year).with("by", *by));
        }
        Arc::new(RwLock::new(index))
    };
    let search = Search::new(
        vec![
            shop("old", &[(1, "1950", "m"), (2, "1960", "z")]),
            shop("new", &[(11, "1955", "b"), (12, "2000", "x"), (2, "1961", "a")]),
        ],
        SearchConfig::new(),
    )
    .unwrap();
    let filter = search.filter("year < 1990").unwrap();
    for (order, expected) in [("year", [1, 11, 2]), ("-by", [1, 11, 2]), ("by", [2, 11, 1])] {
        let order = search.order(order).unwrap();
        let request = Request::new().filter(&filter).order(&order).flat(true);
        let answer = search.search("alan", &request);
        assert_eq!(answer.total(), 4);
        assert_eq!(answer.flat_count(), Some(3), "one identifier is one document");
        assert_eq!(numbers(answer.flat().map(|(_, id)| id)), expected);
        let everything = search.search("", &request);
        assert_eq!((everything.total(), everything.flat_count()), (4, Some(3)));
    }
    let order = search.order("year").unwrap();
    let answer = search.search("alan", &Request::new().ids(1).flat(true).order(&order));
    let json = answer.to_json();
    assert!(json.ends_with(",\"flat\":{\"count\":4,\"ids\":[[\"old\",1]]}}"), "{json}");
}

#[test]
fn what_passes_follows_every_write() {
    let index = Arc::new(RwLock::new(SearchIndex::new(config()).unwrap()));
    let search = Search::new(vec![index.clone()], SearchConfig::new()).unwrap();
    let filter = search.filter("year >= 1990").unwrap();
    let book = |year| Book {
        title: vec!["a".to_owned()],
        author: Vec::new(),
        year: Some(year),
        publishers: Vec::new(),
        available: None,
    };
    let ask = || numbers(search.search("", &Request::new().filter(&filter)).ids());
    assert_eq!(ask(), [] as [i64; 0]);
    index.write().unwrap().append(&document(1, &book(1990)));
    assert_eq!((ask(), ask()), (vec![1], vec![1]));
    index.write().unwrap().append(&document(2, &book(1991)));
    assert_eq!((ask(), ask()), (vec![1, 2], vec![1, 2]));
    index.write().unwrap().replace_from(&Document::new(1).with("year", "1980"));
    assert_eq!((ask(), ask()), (vec![2], vec![2]));
    index.write().unwrap().remove(2);
    assert_eq!((ask(), ask()), (vec![], vec![]));
    index.write().unwrap().replace(&document(1, &book(1999)));
    assert_eq!((ask(), ask()), (vec![1], vec![1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn facets_count_what_passes(
        books in prop::collection::vec(book(), 1..40),
        word in prop::option::of("[ab]{1,2}|c"),
        condition in condition(),
    ) {
        let search = search(&books, &[]);
        let filter = search.filter(&condition.text()).unwrap();
        let query = word.as_ref().map(|word| format!("{word}\""));
        let found = search.facets_passing("author", query.as_deref(), Some(&filter), 1).unwrap();
        let mut expected = std::collections::BTreeMap::new();
        for book in books.iter().filter(|book| condition.passes(book)) {
            let has = |word: &String| book.title.contains(word) || book.author.contains(word);
            if word.as_ref().is_none_or(has) {
                let mut values = book.author.clone();
                values.sort();
                values.dedup();
                values.into_iter().for_each(|value| *expected.entry(value).or_insert(0) += 1);
            }
        }
        let found: std::collections::BTreeMap<String, usize> = found.into_iter().collect();
        prop_assert_eq!(found, expected);
    }
}
