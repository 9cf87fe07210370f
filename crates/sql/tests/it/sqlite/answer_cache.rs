//! Answers are kept while nothing has changed, and never longer.

use crate::common::*;
use bytes::Bytes;
use runnel_sql::SqliteDatabase;
use runnel_store::{Body, Comparison, Content, Filter, Form, Query, Store, Value};

async fn bytes(database: &SqliteDatabase, path: &str) -> (Bytes, String) {
    let content = database.get(&reference(path), &now()).await.unwrap().unwrap();
    let tag = content.entity_tag.clone().unwrap();
    assert!(tag.weak);
    (content.encode(Form::Json).await.unwrap(), tag.text.to_string())
}

fn is_same_memory(left: &Bytes, right: &Bytes) -> bool {
    left.as_ptr() == right.as_ptr() && left.len() == right.len()
}

#[test]
fn the_same_bytes_until_somebody_writes() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let other = place.other_program();
        let insert = "insert into tasks(title) values ('x')";
        let (first, first_tag) = bytes(&database, "tasks").await;
        let (again, again_tag) = bytes(&database, "tasks").await;
        assert!(is_same_memory(&first, &again));
        assert_eq!(first_tag, again_tag);
        for round in 1..6 {
            if round % 2 == 0 {
                other.execute(insert, []).unwrap();
            } else {
                database.run(insert, vec![], &now()).await.unwrap();
            }
            let (fresh, tag) = bytes(&database, "tasks").await;
            assert_eq!(fresh.iter().filter(|byte| **byte == b'{').count(), round);
            assert_ne!(tag, first_tag);
            assert!(is_same_memory(&fresh, &bytes(&database, "tasks").await.0));
        }
    });
}

#[test]
fn different_questions_have_different_answers() {
    run(async {
        let place = Place::new();
        place
            .other_program()
            .execute_batch(
                "create table tasks(id integer primary key, done integer, title text);
                 insert into tasks values (1, 0, 'a'), (2, 1, 'b');",
            )
            .unwrap();
        let database = place.open();
        let seen = tasks(&database).await;
        for _ in 0..2 {
            assert_eq!(
                get(&*database, "tasks?done=1").await.unwrap(),
                r#"[{"id":2,"done":1,"title":"b"}]"#
            );
            assert_eq!(
                get(&*database, "tasks?done=0").await.unwrap(),
                r#"[{"id":1,"done":0,"title":"a"}]"#
            );
            assert_eq!(
                get(&seen, "?done=1").await.unwrap(),
                r#"[{"id":2,"done":true,"title":"b"}]"#
            );
            let rows = seen.get(&reference("?done=1"), &now()).await.unwrap().unwrap();
            assert_eq!(text(rows, Form::Csv).await, "id,done,title\r\n2,true,b\r\n");
        }
    });
}

#[test]
fn rows_are_never_older_than_an_answered_write() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        assert_eq!(get(&tasks, "").await.unwrap(), "[]");
        let before = tasks.get(&reference(""), &now()).await.unwrap().unwrap();
        tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
        let expected = r#"[{"id":1,"done":null,"title":null}]"#;
        assert_eq!(text(before, Form::Json).await, expected);
        // The same after asking whether it should be streamed.
        let rows = tasks.get(&reference("?limit=5"), &now()).await.unwrap().unwrap();
        let Body::Lazy(rows) = rows.body else { panic!("rows are lazy") };
        assert!(rows.stream(Form::Json).is_none());
        assert_eq!(rows.encode(Form::Json).await.unwrap(), expected);
        tasks.delete(&reference("1"), &now()).await.unwrap();
        assert_eq!(rows.encode(Form::Json).await.unwrap(), "[]");
    });
}

#[test]
fn counts_are_kept_too() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let other = place.other_program();
        let open = Filter::Compare("done".into(), Comparison::NotEqual, Value::Bool(true));
        let query = Query { filter: Some(open), count: true, ..Query::default() };
        for number in 0..4 {
            for _ in 0..2 {
                let answer = database.query(&reference("tasks"), &query, &now()).await.unwrap();
                assert_eq!(answer.into_value(0).await.unwrap(), Value::Int(number));
            }
            other.execute("insert into tasks(done) values (0)", []).unwrap();
            other.execute("insert into tasks(done) values (1)", []).unwrap();
        }
    });
}

#[test]
fn what_changes_by_itself_is_not_kept() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let view = "create view chance as select random() as r";
        database.run(view, vec![], &now()).await.unwrap();
        for sql in ["select random() as r", "select r from chance"] {
            let mut found = Vec::new();
            for _ in 0..2 {
                let content: Content = database.run(sql, vec![], &now()).await.unwrap();
                assert!(content.entity_tag.is_none(), "{sql}");
                found.push(text(content, Form::Json).await);
            }
            assert_ne!(found[0], found[1], "{sql}");
        }
        let chance = || get(&*database, "chance");
        assert_ne!(chance().await, chance().await);
        let steady = database.run("select 1 as one", vec![], &now()).await.unwrap();
        assert!(steady.entity_tag.is_some());
        // A view that becomes one of these.
        database.run("create view v as select 1 as r", vec![], &now()).await.unwrap();
        let ask = || database.run("select r from v", vec![], &now());
        assert!(ask().await.unwrap().entity_tag.is_some());
        database.run("drop view v", vec![], &now()).await.unwrap();
        let again = "create view v as select random() as r";
        database.run(again, vec![], &now()).await.unwrap();
        assert!(ask().await.unwrap().entity_tag.is_none());
    });
}

#[test]
fn tables_that_others_change_are_read_as_they_are() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
        let other = place.other_program();
        other.execute_batch("alter table tasks add column owner text default 'me'").unwrap();
        assert_eq!(
            get(&*database, "tasks").await.unwrap(),
            r#"[{"id":1,"done":null,"title":null,"owner":"me"}]"#
        );
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":null}"#);
        let old = database.get(&reference("tasks?limit=9"), &now()).await.unwrap().unwrap();
        other.execute_batch("alter table tasks drop column owner").unwrap();
        assert_eq!(refused(old.encode(Form::Json).await).0, runnel_store::Kind::Invalid);
        assert!(get(&*database, "tasks").await.unwrap().ends_with("\"title\":null}]"));
        other.execute_batch("drop table tasks").unwrap();
        assert_eq!(get(&*database, "tasks").await, None);
        assert_eq!(get(&tasks, "1").await, None);
        other.execute_batch("create table tasks(a); insert into tasks values (5)").unwrap();
        assert_eq!(get(&*database, "tasks").await.unwrap(), r#"[{"a":5}]"#);
        assert_eq!(
            refused(tasks.get(&reference("1"), &now()).await).0,
            runnel_store::Kind::Conflict
        );
    });
}
