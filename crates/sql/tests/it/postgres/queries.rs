//! A query over a table answers what the same query over the same values in memory answers.

use crate::common::*;
use crate::postgres::support::{define, open, sql, with_database};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use runnel_sql::PostgresTable;
use runnel_store::{
    Comparison, Content, FieldType, Filter, Kind, Query, Sort, Store, Value, run_query,
};

const FIELDS: [(&str, FieldType); 7] = [
    ("id", FieldType::Int),
    ("count", FieldType::Int),
    ("share", FieldType::Float),
    ("name", FieldType::Text),
    ("flag", FieldType::Bool),
    ("bytes", FieldType::Bytes),
    ("any", FieldType::Any),
];

fn names() -> Vec<&'static str> {
    FIELDS.iter().map(|(name, _)| *name).collect()
}

fn text() -> impl Strategy<Value = String> {
    let letters =
        prop::sample::select(vec!["a", "A", "ab", "%", "_", "ß", "\\", "7", "\u{10ffff}"]);
    prop::collection::vec(letters, 0..4).prop_map(|parts| parts.concat())
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![-3..4_i64, Just(i64::MAX), Just(i64::MIN), Just((1 << 53) + 1)]
}

fn float() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, 0.5, -1.0, 2.0, 1e15, 9_007_199_254_740_992.0, -2.5])
}

fn bytes() -> impl Strategy<Value = Value> {
    prop::collection::vec(0..3_u8, 0..3).prop_map(|bytes| Value::Bytes(bytes.into()))
}

/// Whatever a column without a type can hold.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        integer().prop_map(Value::Int),
        float().prop_map(Value::Float),
        text().prop_map(Value::Text),
    ]
}

fn record() -> impl Strategy<Value = Value> {
    let nil = |value: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Nil), 4 => value];
    (
        nil(integer().prop_map(Value::Int).boxed()),
        nil(float().prop_map(Value::Float).boxed()),
        nil(text().prop_map(Value::Text).boxed()),
        nil(any::<bool>().prop_map(Value::Bool).boxed()),
        nil(bytes().boxed()),
        scalar(),
    )
        .prop_map(|(count, share, name, flag, bytes, any)| {
            Value::record([
                ("count", count),
                ("share", share),
                ("name", name),
                ("flag", flag),
                ("bytes", bytes),
                ("any", any),
            ])
        })
}

fn literal() -> impl Strategy<Value = Value> {
    let digits = ["9223372036854775808", "-99999999999999999999", "0009", "100000000000000000000"];
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];
    prop_oneof![
        6 => scalar(),
        1 => bytes(),
        1 => text().prop_map(|text| Value::Text(format!("{text}\0"))),
        1 => prop::sample::select(odd.to_vec()).prop_map(Value::Float),
        1 => Just(Value::List(vec![])),
        1 => prop::sample::select(digits.to_vec()).prop_map(|digits| Value::Big(digits.into())),
    ]
}

fn field() -> impl Strategy<Value = String> {
    prop::sample::select(names()).prop_map(str::to_string)
}

fn filter() -> impl Strategy<Value = Filter> {
    let comparison = prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let leaf = prop_oneof![
        4 => (field(), comparison, literal())
            .prop_map(|(field, by, value)| Filter::Compare(field, by, value)),
        1 => (field(), text()).prop_map(|(field, text)| Filter::Prefix(field, text)),
        1 => (field(), text()).prop_map(|(field, text)| Filter::Suffix(field, text)),
        1 => (field(), text()).prop_map(|(field, text)| Filter::Contains(field, text)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Filter::All),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Filter::Any),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

fn query() -> impl Strategy<Value = Query> {
    let sort =
        (field(), any::<bool>()).prop_map(|(field, descending)| Sort::by_field(field, descending));
    (
        prop::option::weighted(0.8, filter()),
        prop::collection::vec(sort, 0..3),
        prop::option::of(0..6_u64),
        0..4_u64,
        prop::sample::subsequence(names(), 0..4),
        any::<bool>(),
    )
        .prop_map(|(filter, sort, limit, offset, fields, count)| Query {
            filter,
            sort,
            limit,
            offset,
            fields: fields.into_iter().map(str::to_string).collect(),
            count,
            ..Query::default()
        })
}

async fn ask(table: &PostgresTable, query: &Query) -> runnel_store::Result<Value> {
    let content = table.query(&reference(""), query, &now()).await?;
    content.into_value(usize::MAX).await
}

#[test]
fn tables_answer_as_memory_does() {
    with_database(|url| async move {
        let database = open(&url);
        let table = define(&database, "Thing", &FIELDS).await;
        let config = Config { failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new(config);
        let cases = (prop::collection::vec(record(), 0..12), prop::collection::vec(query(), 12));
        for _ in 0..80 {
            let (records, queries) = cases.new_tree(&mut runner).unwrap().current();
            sql(&database, "truncate things restart identity").await;
            let rows = Content::value(Value::List(records));
            table.post(&reference(""), rows, &now()).await.unwrap();
            let Value::List(all) = ask(&table, &Query::default()).await.unwrap() else { panic!() };
            for query in queries {
                let expected = run_query(all.clone(), &query).unwrap();
                match ask(&table, &query).await {
                    Ok(found) => {
                        assert_eq!(found, expected, "{query:?}\n{all:?}");
                    }
                    // What cannot be translated says so, and the caller does it over the rows.
                    Err(error) => assert_eq!(error.kind, Kind::NotAllowed, "{query:?}: {error}"),
                }
            }
        }
    });
}

#[test]
fn the_query_of_a_reference() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = crate::postgres::support::tasks(&database).await;
        let rows = r#"[{"done":false,"title":"b"},{"done":true,"title":"a&b"},{"title":"B"}]"#;
        tasks.post(&reference(""), content(rows), &now()).await.unwrap();
        for (query, ids) in [
            ("?done=0", "[1]"),
            ("?done=true&fields=id", "[2]"),
            ("?title=a%26b", "[2]"),
            ("?id=1&id=3", "[1,3]"),
            ("?sort=title", "[3,2,1]"),
            ("?sort=-id&limit=2", "[3,2]"),
            ("?sort=-id&limit=2&offset=2", "[1]"),
            ("?TITLE=b", "[1]"),
        ] {
            let query = format!("{query}&fields=id");
            let rows = get(&tasks, &query).await.unwrap();
            let found = rows.replace(r#"{"id":"#, "").replace('}', "");
            assert_eq!(found, ids, "{query}");
        }
        for wrong in ["?limit=many", "?owner=me", "?sort=owner", "?fields=owner", "?id=x"] {
            let (kind, message) = refused(tasks.get(&reference(wrong), &now()).await);
            assert_eq!(kind, Kind::Invalid, "{wrong}");
            assert!(!wrong.contains("owner") || message.ends_with("id, done, title"), "{message}");
        }
    });
}

#[test]
fn names_are_never_sql() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = crate::postgres::support::tasks(&database).await;
        tasks.post(&reference(""), content(r#"{"title":"kept"}"#), &now()).await.unwrap();
        for evil in [
            "title\" from tasks; drop table tasks; --",
            "id) from tasks where (1",
            "*",
            "ctid",
            "\0",
            "",
        ] {
            let name = evil.to_string();
            let queries = [
                Query { fields: vec![name.clone()], ..Query::default() },
                Query { sort: vec![Sort::by_field(name.clone(), true)], ..Query::default() },
                Query {
                    filter: Some(Filter::Contains(name.clone(), "x".into())),
                    ..Query::default()
                },
            ];
            for query in queries {
                assert_eq!(refused(ask(&tasks, &query).await).0, Kind::Invalid, "{evil:?}");
            }
            let row = Value::record([(evil, Value::Int(1))]);
            let posted = tasks.post(&reference(""), Content::value(row), &now()).await;
            assert_eq!(refused(posted).0, Kind::Invalid, "{evil:?}");
            assert!(evil.is_empty() || get(&database.table(evil), "").await.is_none(), "{evil:?}");
        }
        assert_eq!(get(&tasks, "?fields=title").await.unwrap(), r#"[{"title":"kept"}]"#);
    });
}

#[test]
fn decimals_and_moments_compare_by_what_they_stand_for() {
    with_database(|url| async move {
        let database = open(&url);
        let fields =
            [("id", FieldType::Int), ("price", FieldType::Decimal), ("due", FieldType::Date)];
        let things = define(&database, "Thing", &fields).await;
        let rows = r#"[{"price":"9.50","due":"2026-01-01T00:00:00Z"},
                       {"price":"10","due":"2026-06-01T12:00:00+02:00"}, {"price":null}]"#;
        things.post(&reference(""), content(rows), &now()).await.unwrap();
        for (query, ids) in [
            ("?price=9.5", "[1]"),
            ("?sort=-price", "[2,1,3]"),
            ("?due=2026-06-01T10:00:00Z", "[2]"),
            ("?sort=due", "[3,1,2]"),
        ] {
            let rows = get(&things, &format!("{query}&fields=id")).await.unwrap();
            assert_eq!(rows.replace(r#"{"id":"#, "").replace('}', ""), ids, "{query}");
        }
        let less = Filter::Compare("price".into(), Comparison::Less, Value::Int(10));
        let query = Query { filter: Some(less), count: true, ..Query::default() };
        assert_eq!(ask(&things, &query).await.unwrap(), Value::Int(1));
        let search = Filter::Contains("due".into(), "2026".into());
        let query = Query { filter: Some(search), ..Query::default() };
        assert_eq!(refused(ask(&things, &query).await).0, Kind::NotAllowed);
    });
}
