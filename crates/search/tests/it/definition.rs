//! Random definitions: a valid one is filled and searched, an invalid one has an error.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{SearchDefinition, SearchStore, SearchesDefinition};
use runnel_store::{Content, Context, Form, Kind, Reference, Store, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values that may be right or wrong for an option.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        (-1100i64..1100).prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        prop_oneof![
            "[a-z ]{0,8}",
            Just("/[^a-z]/i".to_owned()),
            Just("/(/".to_owned()),
            Just("english".to_owned()),
            Just("title author".to_owned()),
            Just("words".to_owned()),
        ]
        .prop_map(Value::Text),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let record = prop::collection::vec((option_name(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::List),
            record.prop_map(Value::record),
        ]
    })
}

fn option_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "from",
        "to",
        "min",
        "max",
        "amount",
        "constant",
        "range",
        "precision",
        "anchor",
        "km",
        "type",
        "splits",
        "removes",
        "title",
        "x",
        "#",
    ])
    .prop_map(str::to_owned)
}

/// A literal of one of these classes, with numbers for its options.
fn literal(
    classes: &'static [(&'static str, &'static [&'static str])],
) -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        3 => (1i64..40).prop_map(Value::Int),
        1 => (-1000i64..1000).prop_map(Value::Int),
        1 => (0.001f64..1000.0).prop_map(Value::Float),
    ];
    (prop::sample::select(classes), prop::collection::vec(number, 3)).prop_map(
        |((class, names), numbers)| {
            let class = [("#", Value::from(class.to_string()))];
            Value::record(class.into_iter().chain(names.iter().copied().zip(numbers)))
        },
    )
}

/// An option with a value that is usually right.
fn option(
    name: &'static str,
    right: impl Strategy<Value = Value> + 'static,
) -> BoxedStrategy<(&'static str, Value)> {
    prop_oneof![12 => right.boxed(), 1 => any_value().boxed()]
        .prop_map(move |value| (name, value))
        .boxed()
}

fn category() -> impl Strategy<Value = Value> {
    let flag = || any::<bool>().prop_map(Value::Bool);
    let partial = literal(&[
        ("Substring", &["from", "to"]),
        ("Postfix", &["from"]),
        ("Infix", &["min", "max"]),
    ]);
    let similarity =
        literal(&[("DoubleMetaphone", &["amount"]), ("Metaphone", &["amount"]), ("Soundex", &[])]);
    let weight = literal(&[("Logarithmic", &["constant"]), ("Constant", &["constant"])]);
    let options = prop_oneof![
        option("partial", partial),
        option("similarity", similarity),
        option("weight", weight),
        option("tokenize", flag()),
        option("exactFirst", flag()),
        option("qualifiers", "[a-z]{1,3}".prop_map(Value::Text)),
    ];
    prop_oneof![
        4 => prop::collection::vec(options, 0..3).prop_map(Value::record),
        1 => literal(&[("Near", &["range", "precision", "anchor"]), ("Place", &["km", "precision"])]),
    ]
}

fn definition() -> impl Strategy<Value = Value> {
    let text = |texts: &'static [&'static str]| {
        prop::sample::select(texts).prop_map(|text| Value::from(text.to_owned()))
    };
    let count = || (0i64..5).prop_map(Value::Int);
    let flag = || any::<bool>().prop_map(Value::Bool);
    let boosts = (-9i64..9).prop_map(|by| Value::record([("title author", Value::Int(by))]));
    let option = prop_oneof![
        option("removes", text(&["/[^a-z ]/i", "/[aeiou]/", "x"])),
        option("stopwords", text(&["/\\b(and|the)\\b/i", "the"])),
        option("splits", text(&[",", "/[\\s.]+/", "words", "bigrams"])),
        option("normalizes", Just(Value::record([("/m/", Value::from("n"))]))),
        option("rejects", count()),
        option("maxWords", (1i64..4).prop_map(Value::Int)),
        option("caseSensitive", flag()),
        option("substitutes", text(&["west european", "polish"])),
        option("stems", text(&["english", "german", "tamil"])),
        option("language", text(&["english", "german", "french"])),
        option("boosts", boosts),
        option("maxAllocations", count()),
        option("terminateEarly", prop_oneof![flag(), count()]),
        option("ignore", text(&["title", "title author"])),
        option("only", text(&["title", "title author"])),
        option("ignoreUnassigned", flag()),
        option("typos", count()),
        option("phrases", flag()),
        option("keyFormat", text(&["integer", "text"])),
    ];
    let options = prop::collection::vec(option, 0..4);
    (options, category(), category()).prop_map(|(options, title, author)| {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("any{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let own = [("name", Value::from(name)), ("title", title), ("author", author)];
        Value::record(own.into_iter().chain(options))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_definition_can_be_used_or_is_refused(definition in definition()) {
        let store = match SearchStore::open(&definition) {
            Ok(store) => store,
            Err(error) => {
                prop_assert_eq!(error.kind, Kind::Invalid);
                prop_assert!(!error.message.is_empty());
                return Ok(());
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let record = r#"{"title":"Emma and the 17 sailors","author":"1.5","lat":"1","lng":2}"#;
            let at = Reference::from_path("7");
            store.put(&at, Content::text(record), &Context::default()).await.unwrap();
            for query in ["?query=emma", "?query=title:1.5~+%22e%22+a*", "?query=a&facets=title"] {
                let found = store.get(&Reference::parse(query), &Context::default()).await;
                let text = found.unwrap().unwrap().encode(Form::Json).await.unwrap();
                assert!(json::parse(&text).unwrap().get("total").is_some());
            }
            assert!(store.delete(&at, &Context::default()).await.unwrap().is_something());
        });
    }

    #[test]
    fn what_is_no_definition_is_refused(value in any_value()) {
        prop_assert!(SearchDefinition::read(&value).is_err());
        // A search over several needs nothing to be said; what is said has to be right.
        let _ = SearchesDefinition::read(&value);
    }
}

#[test]
fn some_of_them_can_be_used() {
    let runner = &mut proptest::test_runner::TestRunner::deterministic();
    let some = (0..100).filter(|_| {
        let tree = definition().new_tree(runner).unwrap();
        SearchStore::open(&proptest::strategy::ValueTree::current(&tree)).is_ok()
    });
    assert!(some.count() > 10);
}
