//! Every value comes back as it went in, or is refused.

use crate::common::*;
use proptest::prelude::*;
use runnel_sql::SqliteTable;
use runnel_store::{Content, FieldType, Form, Kind, Store, Value, json};

async fn table(place: &Place) -> SqliteTable {
    let shape = shape(
        "Thing",
        &[
            ("id", FieldType::Int),
            ("float", FieldType::Float),
            ("text", FieldType::Text),
            ("bytes", FieldType::Bytes),
            ("any", FieldType::Any),
        ],
    );
    place.open().define_table(&reference(""), &shape).await.unwrap()
}

async fn there_and_back(table: &SqliteTable, field: &str, value: Value) -> Value {
    let record = Content::value(Value::record([(field, value)]));
    table.put(&reference("1"), record, &now()).await.unwrap();
    let content = table.get(&reference("1"), &now()).await.unwrap().unwrap();
    let row = content.into_value(usize::MAX).await.unwrap();
    let rows = table.get(&reference(""), &now()).await.unwrap().unwrap();
    let Value::List(rows) = rows.into_value(usize::MAX).await.unwrap() else { panic!() };
    assert_eq!(rows, std::slice::from_ref(&row));
    row.get(field).unwrap().clone()
}

#[test]
fn integers_are_exact() {
    run(async {
        let place = Place::new();
        let table = table(&place).await;
        let limits = [i64::MIN, i64::MAX, (1 << 53) + 1, -(1 << 53) - 1, 0];
        for number in limits {
            assert_eq!(there_and_back(&table, "any", Value::Int(number)).await, Value::Int(number));
        }
        for number in limits {
            let path = number.to_string();
            table.put(&reference(&path), content("{}"), &now()).await.unwrap();
            let row = get(&table, &path).await.unwrap();
            assert!(row.starts_with(&format!("{{\"id\":{number},")), "{row}");
            let query = format!("?id={number}&fields=id");
            assert_eq!(get(&table, &query).await.unwrap(), format!("[{{\"id\":{number}}}]"));
        }
    });
}

#[test]
fn what_would_be_changed_is_refused() {
    run(async {
        let place = Place::new();
        let table = table(&place).await;
        let big = "123456789012345678901234567890";
        for (field, value) in [
            ("id", big),
            ("any", big),
            ("text", big),
            ("float", "9007199254740993"),
            ("id", "\"1\""),
            ("id", "1.5"),
            ("text", "5"),
            ("text", "true"),
            ("bytes", "\"x\""),
            ("any", "[1]"),
            ("any", "{\"a\":1}"),
        ] {
            let record = content(&format!("{{\"{field}\":{value}}}"));
            let (kind, message) = refused(table.post(&reference(""), record, &now()).await);
            assert_eq!(kind, Kind::Invalid, "{field} {value}");
            assert!(message.starts_with(field), "{message}");
        }
        assert_eq!(get(&table, "").await.unwrap(), "[]");
    });
}

#[test]
fn text_bytes_and_dates() {
    run(async {
        let place = Place::new();
        let table = table(&place).await;
        for text in ["", "a\0b", "\0", "日本語 \u{1f600}", "007", "2026-11-21T02:29:00Z", "null"]
        {
            for field in ["text", "any"] {
                let value = Value::Text(text.into());
                assert_eq!(there_and_back(&table, field, value.clone()).await, value, "{field}");
            }
        }
        let bytes = Value::Bytes(vec![0, 255, 128, 0].into());
        assert_eq!(there_and_back(&table, "bytes", bytes.clone()).await, bytes);
        assert_eq!(
            get(&table, "").await.unwrap(),
            r#"[{"id":1,"float":null,"text":null,"bytes":"AP+AAA==","any":null}]"#
        );
        let empty = Value::Bytes(Vec::new().into());
        assert_eq!(there_and_back(&table, "any", empty.clone()).await, empty);
        let long = Value::Text("x".repeat(3 << 20));
        assert_eq!(there_and_back(&table, "text", long.clone()).await, long);
    });
}

#[test]
fn text_that_is_no_utf8_is_shown_safely() {
    run(async {
        let place = Place::new();
        place
            .other_program()
            .execute_batch("create table t(a text); insert into t values (cast(x'61ff62' as text))")
            .unwrap();
        let database = place.open();
        assert_eq!(get(&*database, "t").await.unwrap(), "[{\"a\":\"a\u{fffd}b\"}]");
        let rows = database.get(&reference("t"), &now()).await.unwrap().unwrap();
        let csv = text(rows, Form::Csv).await;
        assert_eq!(csv, "a\r\na\u{fffd}b\r\n");
        assert_eq!(get(&*database, "t/1").await.unwrap(), "{\"a\":\"a\u{fffd}b\"}");
    });
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("a number that is not minus zero", |number| {
                !number.is_nan() && (*number != 0.0 || number.is_sign_positive())
            })
            .prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Value::Bytes(bytes.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn rows_are_written_as_their_values_are(values in prop::collection::vec(scalar(), 1..40)) {
        run(async {
            let place = Place::new();
            let table = table(&place).await;
            let rows: Vec<Value> =
                values.iter().map(|value| Value::record([("any", value.clone())])).collect();
            let posted = Content::value(Value::List(rows.clone()));
            table.post(&reference(""), posted, &now()).await.unwrap();
            let found = table.get(&reference("?fields=any"), &now()).await.unwrap().unwrap();
            let json = text(found.share().unwrap(), Form::Json).await;
            let csv = text(found.share().unwrap(), Form::Csv).await;
            let found = found.into_value(usize::MAX).await.unwrap();
            assert_eq!(found, Value::List(rows));
            assert_eq!(json, String::from_utf8(json::text(&found)).unwrap());
            assert_eq!(csv, String::from_utf8(found.encode(Form::Csv)).unwrap());
        });
    }
}
