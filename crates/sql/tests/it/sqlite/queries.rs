//! A query over a table answers what the same query over the same values in memory answers.

use crate::common::*;
use proptest::prelude::*;
use runnel_sql::SqliteTable;
use runnel_store::{
    Comparison, Content, FieldType, Filter, Form, Kind, Query, Sort, Store, Value, run_query,
};

const FIELDS: [&str; 5] = ["id", "count", "share", "name", "any"];

fn any_shape() -> runnel_store::Shape {
    shape(
        "Thing",
        &[
            ("id", FieldType::Int),
            ("count", FieldType::Int),
            ("share", FieldType::Float),
            ("name", FieldType::Text),
            ("any", FieldType::Any),
        ],
    )
}

fn text() -> impl Strategy<Value = String> {
    let letters =
        prop::sample::select(vec!["a", "A", "ab", "%", "_", "ß", "\0", "7", "\u{10ffff}"]);
    prop::collection::vec(letters, 0..4).prop_map(|parts| parts.concat())
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![-3..4_i64, Just(i64::MAX), Just(i64::MIN), Just((1 << 53) + 1)]
}

fn float() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, 0.5, -1.0, 2.0, 1e300, 9_007_199_254_740_992.0, f64::INFINITY])
}

/// Whatever a column without a type can hold.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        integer().prop_map(Value::Int),
        float().prop_map(Value::Float),
        text().prop_map(Value::Text),
        prop::collection::vec(0..3_u8, 0..3).prop_map(|bytes| Value::Bytes(bytes.into())),
    ]
}

fn record() -> impl Strategy<Value = Value> {
    let nil = |value: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Nil), 4 => value];
    (
        nil(integer().prop_map(Value::Int).boxed()),
        nil(float().prop_map(Value::Float).boxed()),
        nil(text().prop_map(Value::Text).boxed()),
        scalar(),
    )
        .prop_map(|(count, share, name, any)| {
            Value::record([("count", count), ("share", share), ("name", name), ("any", any)])
        })
}

fn literal() -> impl Strategy<Value = Value> {
    let digits = ["9223372036854775808", "-99999999999999999999", "0009", "100000000000000000000"];
    prop_oneof![
        6 => scalar(),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Float(f64::NAN)),
        1 => Just(Value::List(vec![])),
        1 => prop::sample::select(digits.to_vec()).prop_map(|digits| Value::Big(digits.into())),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    let field = || prop::sample::select(FIELDS.to_vec()).prop_map(str::to_string);
    let comparison = prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let leaf = prop_oneof![
        3 => (field(), comparison, literal())
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
    let field = || prop::sample::select(FIELDS.to_vec()).prop_map(str::to_string);
    let sort =
        (field(), any::<bool>()).prop_map(|(field, descending)| Sort::by_field(field, descending));
    (
        prop::option::weighted(0.8, filter()),
        prop::collection::vec(sort, 0..3),
        prop::option::of(0..6_u64),
        0..4_u64,
        prop::sample::subsequence(FIELDS.to_vec(), 0..4),
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

async fn ask(table: &SqliteTable, query: &Query) -> Value {
    let content = table.query(&reference(""), query, &now()).await.unwrap();
    content.into_value(usize::MAX).await.unwrap()
}

/// NULL, 1.0 and 1 are different as values, and a float column turns no 1 into anything else.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (left, right) => left == right,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn tables_answer_as_memory_does(
        records in prop::collection::vec(record(), 0..12),
        queries in prop::collection::vec(query(), 8),
    ) {
        run(async {
            let place = Place::new();
            let database = place.open();
            let table = database.define_table(&reference(""), &any_shape()).await.unwrap();
            let rows = Content::value(Value::List(records));
            table.post(&reference(""), rows, &now()).await.unwrap();
            database.run("create index by_count on things(count)", vec![], &now()).await.unwrap();
            database.run("create index by_name on things(name)", vec![], &now()).await.unwrap();
            let Value::List(all) = ask(&table, &Query::default()).await else { panic!() };
            for query in queries {
                let found = ask(&table, &query).await;
                let expected = run_query(all.clone(), &query).unwrap();
                assert!(same(&found, &expected), "{query:?}\n{found:?}\n{expected:?}\n{all:?}");
            }
        });
    }
}

#[test]
fn the_query_of_a_reference() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
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
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        tasks.post(&reference(""), content(r#"{"title":"kept"}"#), &now()).await.unwrap();
        for evil in [
            "title\" from tasks; drop table tasks; --",
            "id) from tasks where (1",
            "1; delete from tasks",
            "title' or '1'='1",
            "*",
            "rowid",
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
                let answer = tasks.query(&reference(""), &query, &now()).await;
                assert_eq!(refused(answer).0, Kind::Invalid, "{evil:?}");
            }
            let row = Value::record([(name.clone(), Value::Int(1))]);
            let answer = tasks.post(&reference(""), Content::value(row), &now()).await;
            assert_eq!(refused(answer).0, Kind::Invalid, "{evil:?}");
            // As a value it is only text.
            let title =
                Filter::Compare("title".into(), Comparison::Equal, Value::Text(name.clone()));
            let query = Query { filter: Some(title), count: true, ..Query::default() };
            assert_eq!(ask(&tasks, &query).await, Value::Int(0));
            assert!(database.get(&reference(evil), &now()).await.is_ok(), "{evil:?}");
        }
        assert_eq!(get(&tasks, "").await.unwrap(), r#"[{"id":1,"done":null,"title":"kept"}]"#);
        let odd = shape("Odd", &[("a \"b\" ; --", FieldType::Any)]);
        let odd =
            database.define_table(&reference("t\"; drop table tasks; --"), &odd).await.unwrap();
        odd.post(&reference(""), content(r#"{"a \"b\" ; --":1}"#), &now()).await.unwrap();
        assert_eq!(get(&odd, "").await.unwrap(), r#"[{"a \"b\" ; --":1}]"#);
    });
}

#[test]
fn statements_of_a_program() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let ask = |sql: &'static str, parameters: Vec<Value>| {
            let answer = database.run(sql, parameters, &now());
            async move {
                let content = answer.await?;
                Ok::<_, runnel_store::Error>(crate::common::text(content, Form::Json).await)
            }
        };
        let insert = "insert into tasks(done, title) values (?1, ?2)";
        assert_eq!(ask(insert, vec![Value::Bool(true), "a".into()]).await.unwrap(), "1");
        assert_eq!(
            ask("select title, done, done + 1 as n from tasks where title = ?", vec!["a".into()])
                .await
                .unwrap(),
            r#"[{"title":"a","done":true,"n":2}]"#
        );
        assert_eq!(
            ask("insert into tasks(title) values ('b'), ('c') returning id, done", vec![])
                .await
                .unwrap(),
            r#"[{"id":2,"done":null},{"id":3,"done":null}]"#
        );
        assert_eq!(ask("update tasks set done = 0", vec![]).await.unwrap(), "3");
        assert_eq!(ask("create table other(x)", vec![]).await.unwrap(), "0");
        assert_eq!(ask("delete from tasks where id > 9", vec![]).await.unwrap(), "0");
        for (wrong, kind) in [
            ("select 1; select 2", Kind::Invalid),
            ("select 1; drop table tasks", Kind::Invalid),
            ("selec 1", Kind::Invalid),
            ("select * from nowhere", Kind::Invalid),
            ("select \"nothing\"", Kind::Invalid),
            ("select ?", Kind::Invalid),
            ("", Kind::Invalid),
            ("-- nothing", Kind::Invalid),
            ("begin", Kind::NotAllowed),
            ("commit", Kind::NotAllowed),
            ("pragma journal_mode = delete", Kind::NotAllowed),
            ("attach 'x.db' as x", Kind::NotAllowed),
            ("create temp table x(a)", Kind::NotAllowed),
            ("select load_extension('x')", Kind::Invalid),
            ("vacuum", Kind::Invalid),
        ] {
            let error = ask(wrong, vec![]).await;
            assert_eq!(refused(error).0, kind, "{wrong}");
        }
        assert_eq!(ask("select 1 as one;", vec![]).await.unwrap(), r#"[{"one":1}]"#);
        let big = vec![Value::Big("99999999999999999999".into())];
        assert_eq!(refused(ask("select ?", big).await).0, Kind::Invalid);
    });
}
