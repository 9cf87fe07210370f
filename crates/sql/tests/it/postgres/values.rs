//! Values come back as they were stored, and what would not is refused.

use crate::common::*;
use crate::postgres::support::{define, one, open, sql, with_database};
use runnel_store::{Content, FieldType, Form, Kind, Store, Value, json};

#[test]
fn every_type_of_a_class_comes_back() {
    with_database(|url| async move {
        let database = open(&url);
        let things = define(
            &database,
            "Thing",
            &[
                ("id", FieldType::Int),
                ("i", FieldType::Int),
                ("f", FieldType::Float),
                ("b", FieldType::Bool),
                ("t", FieldType::Text),
                ("y", FieldType::Bytes),
                ("d", FieldType::Decimal),
                ("m", FieldType::Date),
                ("a", FieldType::Any),
            ],
        )
        .await;
        let moment = "2026-11-21T05:30:00.000001Z";
        let digits = format!("-{}.{}0", "9".repeat(80), "1".repeat(40));
        let rows = [
            ("i", Value::Int(i64::MIN)),
            ("i", Value::Int(i64::MAX)),
            ("i", Value::Int((1 << 53) + 1)),
            ("f", Value::Float(0.1)),
            ("f", Value::Float(5e-324)),
            ("f", Value::Float(-1.797_693_134_862_315_7e308)),
            ("f", Value::Float(f64::INFINITY)),
            ("b", Value::Bool(false)),
            ("t", Value::Text("ß\u{10ffff}\\N\t\n\r\"".into())),
            ("t", Value::Text(String::new())),
            ("y", Value::Bytes((0..=255).collect::<Vec<u8>>().into())),
            ("y", Value::Bytes(vec![].into())),
            ("d", Value::Text("12.30".into())),
            ("d", Value::Text("0.00000000010".into())),
            ("d", Value::Text(digits)),
            ("m", Value::Text(moment.into())),
            ("m", Value::Text("0001-01-01T00:00:00Z".into())),
            ("a", Value::Big("123456789012345678901234567890".into())),
            ("a", json::parse(br#"{"":true,"x":[1,2.5,null,"y"]}"#).unwrap()),
            ("a", Value::Text("{not json".into())),
            ("a", Value::Int(i64::MIN)),
            ("a", Value::Nil),
        ];
        for (way, list) in [("one", false), ("list", true)] {
            for (name, value) in &rows {
                let record = Value::record([(*name, value.clone())]);
                let content = if list { Value::List(vec![record]) } else { record };
                things.post(&reference(""), Content::value(content), &now()).await.unwrap();
                let key = one(&database, "select max(id) from things").await.as_i64().unwrap();
                let found = things.get(&reference(&key.to_string()), &now()).await.unwrap();
                let row = found.unwrap().into_value(usize::MAX).await.unwrap();
                assert_eq!(row.get(name), Some(value), "{way} {name}");
                let rows = things.get(&reference(&format!("?id={key}")), &now()).await.unwrap();
                let text = text(rows.unwrap(), Form::Json).await;
                let parsed = json::parse(text.as_bytes()).unwrap();
                let expected = match value {
                    Value::Bytes(_) | Value::Float(f64::INFINITY) => continue,
                    value => value,
                };
                assert_eq!(parsed.as_list().unwrap()[0].get(name), Some(expected), "{text}");
            }
        }
    });
}

#[test]
fn what_would_change_is_refused() {
    with_database(|url| async move {
        let database = open(&url);
        let fields = [
            ("id", FieldType::Int),
            ("t", FieldType::Text),
            ("d", FieldType::Decimal),
            ("m", FieldType::Date),
            ("a", FieldType::Any),
            ("f", FieldType::Float),
        ];
        let things = define(&database, "Thing", &fields).await;
        for (name, value) in [
            ("t", Value::Text("a\0b".into())),
            ("t", Value::Int(7)),
            ("d", Value::Float(12.3)),
            ("d", Value::Text("twelve".into())),
            ("m", Value::Text("2026-11-21".into())),
            ("m", Value::Text("2026-11-21T05:30:00.0000001Z".into())),
            ("a", Value::Bytes(vec![1].into())),
            ("a", Value::List(vec!["a\0".into()])),
            ("f", Value::Float(f64::NAN)),
            ("f", Value::Int((1 << 53) + 1)),
            ("id", Value::Big("9223372036854775808".into())),
        ] {
            let record = Value::record([(name, value.clone())]);
            let posted = things.post(&reference(""), Content::value(record), &now()).await;
            let (kind, message) = refused(posted);
            assert!(kind == Kind::Invalid && message.starts_with(name), "{value:?}: {message}");
        }
    });
}

#[test]
fn types_of_postgres_are_shown() {
    with_database(|url| async move {
        let database = open(&url);
        sql(&database, "create type mood as enum ('sad', 'happy')").await;
        sql(&database, "create type pair as (a int, b text)").await;
        sql(
            &database,
            "create table shown(id int primary key, s smallint, r real, c char(3), v varchar(9), \
             u uuid, day date, clock time, stamp timestamp, span interval, net inet, \
             words text[], grid int[][], m mood, p pair, j json)",
        )
        .await;
        sql(
            &database,
            "insert into shown values (1, -7, 0.1, 'ab', 'cd', \
             '00000000-0000-0000-0000-00000000000a', '2026-11-21', '05:30:00.5', \
             '2026-11-21 05:30:00', '1 day 2 hours', '10.0.0.1/8', '{a,\"b,c\",null}', \
             '{{1,2},{3,4}}', 'happy', '(1,x)', '{\"a\" : 1}')",
        )
        .await;
        let expected = "[{\"id\":1,\"s\":-7,\"r\":0.1,\"c\":\"ab \",\"v\":\"cd\",\
             \"u\":\"00000000-0000-0000-0000-00000000000a\",\"day\":\"2026-11-21\",\
             \"clock\":\"05:30:00.5\",\"stamp\":\"2026-11-21T05:30:00\",\"span\":\"P1DT2H\",\
             \"net\":\"10.0.0.1/8\",\"words\":[\"a\",\"b,c\",null],\"grid\":[[1,2],[3,4]],\
             \"m\":\"happy\",\"p\":\"(1,x)\",\"j\":{\"a\" : 1}}]";
        assert_eq!(get(&*database, "shown").await.unwrap(), expected);
        let rows = sql(&database, "select words, grid, m, p from shown").await;
        let expected =
            r#"[{"words":["a","b,c",null],"grid":[[1,2],[3,4]],"m":"happy","p":{"a":1,"b":"x"}}]"#;
        assert_eq!(rows, value(expected));
        let shown = database.table("shown");
        let change =
            content(r#"{"words":["x\"y",null],"m":"sad","span":"P2D","day":"2000-01-01"}"#);
        shown.merge(&reference("1"), change, &now()).await.unwrap();
        let rows = sql(&database, "select words, m, span::text, day from shown").await;
        assert_eq!(
            rows,
            value(r#"[{"words":["x\"y",null],"m":"sad","span":"P2D","day":"2000-01-01"}]"#)
        );
        for (query, rows) in [("?m=sad", 1), ("?day=2000-01-01", 1), ("?net=10.0.0.2", 0)] {
            let found = value(&get(&shown, query).await.unwrap());
            assert_eq!(found.as_list().unwrap().len(), rows, "{query}");
        }
        assert_eq!(refused(shown.get(&reference("?m=angry"), &now()).await).0, Kind::Invalid);
    });
}

#[test]
fn rows_as_csv() {
    with_database(|url| async move {
        let database = open(&url);
        sql(&database, "create table c(id int primary key, t text, b bytea, j jsonb)").await;
        let rows =
            "insert into c values (1, 'a,\"b\"', '\\x00ff', '{\"a\":1}'), (2, '', null, null)";
        sql(&database, rows).await;
        let rows = database.get(&reference("c"), &now()).await.unwrap().unwrap();
        assert_eq!(
            text(rows, Form::Csv).await,
            "id,t,b,j\r\n1,\"a,\"\"b\"\"\",AP8=,\"{\"\"a\"\": 1}\"\r\n2,\"\",,\r\n"
        );
    });
}
