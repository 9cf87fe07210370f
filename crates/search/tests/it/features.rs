//! All features at once, at random: answers are valid and their numbers agree.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Attribute, AttributeType, Category, Document, DocumentField, Highlighter, IndexConfig,
    Language, MAX_WORK, Markers, Partial, Request, Search, SearchAnswer, SearchConfig, SearchIndex,
    SharedIndex, Similarity, Synonyms,
};
use std::sync::{Arc, RwLock};

/// How an index and a search are made.
#[derive(Clone, Debug)]
struct Setup {
    language: Option<&'static str>,
    phrases: (bool, bool),
    fixed: bool,
    synonyms: Vec<(String, String)>,
    typos: usize,
    indexes: usize,
    documents: Vec<(i64, Vec<String>, String, String)>,
    removed: Vec<i64>,
}

fn text() -> impl Strategy<Value = String> {
    let word = "[ab]{1,5}|the|und|\u{6771}\u{4eac}\u{90fd}|\u{e4}b|[A-C]b|1[0-9]";
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

fn setup() -> impl Strategy<Value = Setup> {
    let languages = vec![None, Some("en"), Some("de"), Some("ja"), Some("ru")];
    let value = "-?[0-9]{1,3}|[0-9]\\.[0-9]|19[0-9]{2}-0[1-9]|true|false|x|";
    let document = (0i64..20, prop::collection::vec(text(), 0..3), text(), value);
    (
        prop::sample::select(languages),
        any::<(bool, bool)>(),
        any::<bool>(),
        prop::collection::vec((text(), text()), 0..3),
        0usize..3,
        1usize..3,
        prop::collection::vec(document, 0..25),
        prop::collection::vec(0i64..20, 0..6),
    )
        .prop_map(
            |(language, phrases, fixed, synonyms, typos, indexes, documents, removed)| Setup {
                language,
                phrases,
                fixed,
                synonyms,
                typos,
                indexes,
                documents,
                removed,
            },
        )
}

fn index(setup: &Setup, name: &str) -> SharedIndex {
    let title = Category::new("title")
        .partial(Partial::substring(1, -1))
        .similarity(Similarity::DoubleMetaphone(2));
    let mut config = IndexConfig::new(name)
        .category(title)
        .category(Category::new("text"))
        .phrases(setup.phrases.0)
        .fixed(setup.fixed);
    if let Some(language) = setup.language.and_then(Language::named) {
        config = config.tokenizer(language.indexing());
    }
    for (name, kind) in [
        ("number", AttributeType::Integer),
        ("price", AttributeType::Float),
        ("on", AttributeType::Date),
        ("yes", AttributeType::Boolean),
        ("name", AttributeType::Text),
    ] {
        config = config.attribute(Attribute::new(name, kind).from("value"));
    }
    let mut index = SearchIndex::new(config).unwrap();
    for (id, titles, text, value) in &setup.documents {
        let document = Document::new(*id)
            .with("title", DocumentField::Texts(titles.clone()))
            .with("text", text.as_str())
            .with("value", value.as_str());
        match id % 3 {
            0 => index.append(&document),
            1 => index.replace(&document),
            _ => index.replace_from(&document),
        }
    }
    for id in &setup.removed {
        index.remove(*id);
    }
    Arc::new(RwLock::new(index))
}

fn search(setup: &Setup) -> Search {
    let mut config = SearchConfig::new().phrases(setup.phrases.1).typos(setup.typos);
    if let Some(language) = setup.language.and_then(Language::named) {
        config = config.tokenizer(language.searching());
    }
    let synonyms = setup.synonyms.iter().enumerate();
    let synonyms = synonyms.fold(Synonyms::new(), |all, (number, (one, other))| match number % 2 {
        0 => all.set([one.as_str(), other]),
        _ => all.one_way(one.as_str(), [other.as_str()]),
    });
    let config = config.synonyms(synonyms).exclusion('-').exclusion('!');
    let names = ["one", "two"];
    let indexes = names[..setup.indexes].iter().map(|name| index(setup, name)).collect();
    Search::new(indexes, config).unwrap()
}

fn check(search: &Search, answer: &SearchAnswer, request: &Request<'_>, query: &str) {
    assert!(answer.work() <= MAX_WORK);
    let json: serde_json::Value = serde_json::from_str(&answer.to_json()).unwrap();
    assert_eq!(json["total"], answer.total());
    let counted: usize = answer.allocations().map(|found| found.count()).sum();
    assert_eq!(counted, answer.total());
    assert!(answer.allocations().all(|found| found.ids().len() <= found.count()));
    let flat = search.search(query, &request.flat(true));
    assert!(flat.flat_count().unwrap() <= answer.total().max(flat.total()));
    assert_eq!(json["flat"].is_object(), answer.flat_count().is_some());
    // With each document once, there are as many as in one list of all.
    let once = search.search(query, &request.unique(true).flat(false).ids(1_000));
    assert_eq!(Some(once.total()), flat.flat_count());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn answers_are_valid_whatever_is_asked(
        setup in setup(),
        query in "([ab]{1,3}|the|\u{6771}\u{4eac}\u{90fd}|[ -!\"*~|:]|title:|\u{2026}|1[0-9]){0,12}",
        filter in prop::option::of(
            "(not )?(number|price|on|yes|name|has on) ?((=|<|>=|!=) ?(19|1.5|1990|'x'|true))?( (and|or) yes)?"
        ),
        order in prop::option::of("-?(number|price|on|yes|name)(,-?name)?"),
        ids in -3i64..20,
        offset in -5i64..30,
        unique: bool,
    ) {
        let search = search(&setup);
        let filter = filter.and_then(|text| search.filter(&text).ok());
        let order = order.map(|text| search.order(&text).unwrap());
        let mut request = Request::new().ids(ids).offset(offset).unique(unique);
        if let Some(filter) = &filter {
            request = request.filter(filter);
        }
        if let Some(order) = &order {
            request = request.order(order);
        }
        let answer = search.search(&query, &request);
        check(&search, &answer, &request, &query);
        // A filter and its negation share out all documents.
        if let Some(filter) = &filter
            && setup.indexes == 1
        {
            let all = search.indexes()[0].read().unwrap().len();
            let passing = search.search("", &Request::new().filter(filter)).total();
            prop_assert!(passing <= all);
        }
        let index = search.indexes()[0].read().unwrap();
        let highlighter = Highlighter::new(&index, &answer);
        for (_, titles, text, _) in &setup.documents {
            for text in titles.iter().chain([text]) {
                for field in ["title", "text", "value"] {
                    let matches = highlighter.matches(field, text);
                    prop_assert!(matches.iter().all(|place| text.get(place.clone()).is_some()));
                    highlighter.snippet(field, text, 3, &Markers::default());
                }
            }
        }
    }

    #[test]
    fn a_filter_and_its_negation_share_out_all_documents(
        setup in setup(),
        filter in "(number|price|on|yes|name|has on)( (=|<|>=|!=) (19|1.5|1990|'x'|true|10..20))?",
    ) {
        let setup = Setup { indexes: 1, ..setup };
        let search = search(&setup);
        if let Ok(passing) = search.filter(&filter) {
            let others = search.filter(&format!("not ({filter})")).unwrap();
            let count = |filter| search.search("", &Request::new().filter(filter)).total();
            let all = search.indexes()[0].read().unwrap().len();
            prop_assert_eq!(count(&passing) + count(&others), all);
        }
    }
}
