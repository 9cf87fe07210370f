//! What each verb does to rows.

use crate::common::*;
use crate::postgres::support::{count, define, one, open, sql, tasks, with_database};
use runnel_store::{Context, FieldType, Form, Kind, Query, Store, Value};

#[test]
fn rows_are_posted_read_replaced_changed_and_deleted() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let posted = tasks.post(&reference(""), content(r#"{"title":"a"}"#), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "1");
        let row = posted.content.unwrap();
        assert_eq!(row.class.as_deref(), Some("Task"));
        assert_eq!(text(row, Form::Json).await, r#"{"id":1,"done":null,"title":"a"}"#);
        assert!(
            tasks
                .put(&reference("7"), content(r#"{"title":"b"}"#), &now())
                .await
                .unwrap()
                .is_created()
        );
        let done = content(r#"{"done":true,"id":7}"#);
        assert!(!tasks.put(&reference("7"), done, &now()).await.unwrap().is_created());
        assert_eq!(get(&tasks, "7").await.unwrap(), r#"{"id":7,"done":true,"title":null}"#);
        tasks.merge(&reference("7"), content(r#"{"title":"c"}"#), &now()).await.unwrap();
        tasks.merge(&reference("7"), content("{}"), &now()).await.unwrap();
        assert_eq!(
            get(&*database, "tasks/7").await.unwrap(),
            r#"{"id":7,"done":true,"title":"c"}"#
        );
        let names = tasks.list(&reference(""), &now()).await.unwrap().unwrap();
        assert_eq!(names.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["1", "7"]);
        assert!(tasks.delete(&reference("7"), &now()).await.unwrap().is_something());
        assert!(!tasks.delete(&reference("7"), &now()).await.unwrap().is_something());
        assert!(get(&tasks, "7").await.is_none() && get(&tasks, "x").await.is_none());
        assert!(get(&tasks, "01").await.is_none() && get(&*database, "nothing").await.is_none());
        let missing = tasks.merge(&reference("7"), content("{}"), &now()).await;
        assert_eq!(refused(missing).0, Kind::NotFound);
        assert_eq!(refused(tasks.delete(&reference(""), &now()).await).0, Kind::NotAllowed);
        let other = tasks.put(&reference("1"), content(r#"{"id":2}"#), &now()).await;
        assert_eq!(refused(other).0, Kind::Invalid);
        assert_eq!(get(&*database, "").await.unwrap(), r#"["tasks"]"#);
    });
}

#[test]
fn lists_are_posted_as_a_whole() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let three = r#"[{"title":"a\tb\\n"},{"title":null,"done":true},{"done":false}]"#;
        let posted = tasks.post(&reference(""), content(three), &now()).await.unwrap();
        assert_eq!(text(posted.content.unwrap(), Form::Json).await, "3");
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"a\tb\\n"}"#);
        let twice = r#"[{"id":9,"title":"x"},{"id":1,"title":"y"}]"#;
        let (kind, message) = refused(tasks.post(&reference(""), content(twice), &now()).await);
        assert_eq!(
            (kind, message.as_str()),
            (Kind::Conflict, "record 2: another row has the same id")
        );
        let wrong = r#"[{"id":9,"title":"x"},{"id":"x"}]"#;
        let (kind, message) = refused(tasks.post(&reference(""), content(wrong), &now()).await);
        assert!(kind == Kind::Invalid && message.starts_with("record 2: id"), "{message}");
        assert_eq!(count(&database, "tasks").await, Value::Int(3));
    });
}

#[test]
fn numbers_go_on_behind_keys_that_were_given() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        for key in 1..4 {
            let title = content(r#"{"title":"x"}"#);
            tasks.put(&reference(&key.to_string()), title, &now()).await.unwrap();
        }
        let posted = tasks.post(&reference(""), content(r#"{"title":"y"}"#), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "4");
        tasks.post(&reference(""), content(r#"{"id":5}"#), &now()).await.unwrap();
        let list = content(r#"[{"title":"a"},{"title":"b"}]"#);
        tasks.post(&reference(""), list, &now()).await.unwrap();
        assert_eq!(count(&database, "tasks").await, Value::Int(7));
    });
}

#[test]
fn nil_as_the_key_asks_for_a_number() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let row = r#"{"id":null,"title":"a"}"#;
        let posted = tasks.post(&reference(""), content(row), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "1");
        let list = r#"[{"id":null,"title":"b"},{"id":7,"title":"c"},{"title":"d","id":null}]"#;
        tasks.post(&reference(""), content(list), &now()).await.unwrap();
        assert!(!tasks.put(&reference("7"), content(row), &now()).await.unwrap().is_created());
        let rows = get(&tasks, "?fields=id,title").await.unwrap();
        assert_eq!(
            rows,
            r#"[{"id":1,"title":"a"},{"id":2,"title":"b"},{"id":7,"title":"a"},{"id":8,"title":"d"}]"#
        );
        // A class without the key still addresses the rows by it.
        let titles = define(&database, "Task", &[("title", FieldType::Text)]).await;
        assert_eq!(get(&titles, "2").await.unwrap(), r#"{"title":"b"}"#);
        assert!(
            !titles
                .put(&reference("2"), content(r#"{"title":"x"}"#), &now())
                .await
                .unwrap()
                .is_created()
        );
        let posted =
            titles.post(&reference(""), content(r#"{"title":"y"}"#), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "9");
        assert_eq!(text(posted.content.unwrap(), Form::Json).await, r#"{"title":"y"}"#);
        let query = get(&titles, "?id=9").await.unwrap();
        assert_eq!(query, r#"[{"title":"y"}]"#);
    });
}

#[test]
fn what_the_caller_knows_is_not_sent_again() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        tasks.post(&reference(""), content(r#"{"title":"a"}"#), &now()).await.unwrap();
        for path in ["", "1", "?done=0"] {
            let found = tasks.get(&reference(path), &now()).await.unwrap().unwrap();
            let known = runnel_store::Context { known: found.entity_tag, ..now() };
            assert!(known.known.is_some(), "{path}");
            let again = tasks.get(&reference(path), &known).await.unwrap().unwrap();
            assert!(known.knows(&again), "{path}");
        }
        let before = tasks.get(&reference(""), &now()).await.unwrap().unwrap().entity_tag;
        tasks.merge(&reference("1"), content(r#"{"title":"b"}"#), &now()).await.unwrap();
        let after = tasks.get(&reference(""), &now()).await.unwrap().unwrap().entity_tag;
        assert_ne!(before, after);
    });
}

#[test]
fn keys_of_other_kinds() {
    with_database(|url| async move {
        let database = open(&url);
        sql(&database, "create table words(word text primary key, n int)").await;
        let words = database.table("words");
        for word in ["a", "a b", "ß/é", "7"] {
            assert!(
                words
                    .put(&reference(word), content(r#"{"n":1}"#), &now())
                    .await
                    .unwrap()
                    .is_created()
            );
            assert!(get(&words, word).await.is_some(), "{word}");
        }
        let names = words.list(&reference(""), &now()).await.unwrap().unwrap();
        assert_eq!(
            names.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
            ["7", "a", "a b"]
        );
        sql(&database, "create table u(id uuid primary key default gen_random_uuid(), n int)")
            .await;
        let posted = database.table("u").post(&reference(""), content(r#"{"n":3}"#), &now()).await;
        let key = posted.unwrap().reference.unwrap();
        assert!(get(&database.table("u"), key.path()).await.unwrap().ends_with(r#""n":3}"#));
        assert!(get(&database.table("u"), "nonsense").await.is_none());
        sql(&database, "create table heap(n int)").await;
        let heap = database.table("heap");
        heap.post(&reference(""), content(r#"{"n":3}"#), &now()).await.unwrap();
        assert_eq!(get(&heap, "").await.unwrap(), r#"[{"n":3}]"#);
        assert!(get(&heap, "3").await.is_none());
        let put = heap.put(&reference("3"), content(r#"{"n":3}"#), &now()).await;
        assert_eq!(refused(put).0, Kind::NotAllowed);
        sql(&database, "create schema other").await;
        sql(&database, "create table other.things(id int primary key)").await;
        database.table("other.things").put(&reference("1"), content("{}"), &now()).await.unwrap();
        assert_eq!(get(&*database, "other.things").await.unwrap(), r#"[{"id":1}]"#);
    });
}

#[test]
fn constraints_are_worded_for_people() {
    with_database(|url| async move {
        let database = open(&url);
        sql(
            &database,
            "create table t(id int primary key, a text, b int not null default 1, unique (a, b), \
             check (id < 10))",
        )
        .await;
        let table = database.table("t");
        let post = async |row: &str| {
            let posted = table.post(&reference(""), content(row), &now()).await;
            posted.map(drop)
        };
        post(r#"{"id":1,"a":"x"}"#).await.unwrap();
        for (row, kind, words) in [
            (r#"{"id":1}"#, Kind::Conflict, "another row has the same id"),
            (r#"{"id":2,"a":"x"}"#, Kind::Conflict, "another row has the same a and b"),
            (r#"{"id":2,"b":null}"#, Kind::Invalid, "b must have a value"),
            (r#"{"id":11}"#, Kind::Invalid, "t_id_check does not hold"),
            (r#"{"id":3000000000}"#, Kind::Invalid, "out of range"),
            (r#"{"id":1.5}"#, Kind::Invalid, "id holds integers"),
            (r#"{"nope":1}"#, Kind::Invalid, "its columns are id, a, b"),
            (r#"7"#, Kind::Unsupported, "made of a record"),
        ] {
            let (found, message) = refused(post(row).await);
            assert!(found == kind && message.contains(words), "{row}: {found:?} {message}");
        }
    });
}

#[test]
fn statements_of_a_program() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        let run = async |statement: &str, values: Vec<Value>| {
            let content = database.run(statement, values, &now()).await?;
            content.into_value(usize::MAX).await
        };
        let insert = "insert into tasks(title, done) values ($1, $2), ('b', true)";
        let changed = run(insert, vec!["a".into(), Value::Bool(false)]).await.unwrap();
        assert_eq!(changed, Value::Int(2));
        let rows = run("select id, title from tasks where done = $1", vec![true.into()]).await;
        assert_eq!(rows.unwrap(), value(r#"[{"id":2,"title":"b"}]"#));
        let rows = run("update tasks set done = true where id = $1 returning id", vec![1.into()]);
        assert_eq!(rows.await.unwrap(), value(r#"[{"id":1}]"#));
        let list = Value::List(vec![1.into(), 3.into()]);
        let rows = run("select id from tasks where id = any($1)", vec![list]).await.unwrap();
        assert_eq!(rows, value(r#"[{"id":1}]"#));
        for (statement, values, kind) in [
            ("selec 1", vec![], Kind::Invalid),
            ("select 1; select 2", vec![], Kind::Invalid),
            ("select * from nothing", vec![], Kind::Invalid),
            ("select $1::int", vec![], Kind::Invalid),
            ("select $1::int", vec!["x".into()], Kind::Invalid),
            ("select $1::text", vec!["a\0".into()], Kind::Invalid),
            ("select '1'::interval", vec![], Kind::Unsupported),
            ("begin", vec![], Kind::NotAllowed),
            ("select 1/0", vec![], Kind::Invalid),
        ] {
            let (found, message) = refused(run(statement, values).await);
            assert_eq!(found, kind, "{statement}: {message}");
        }
    });
}

#[test]
fn large_results_are_streamed_and_given_back() {
    use futures_util::TryStreamExt;
    with_database(|url| async move {
        let options = runnel_sql::PostgresOptions { max_connections: 1, ..Default::default() };
        let database = runnel_sql::PostgresDatabase::open(&url, options).unwrap();
        sql(&database, "create table big(id int primary key, filler text)").await;
        let fill = "insert into big select i, repeat('x', 100) from generate_series(1, 20000) i";
        sql(&database, fill).await;
        let big = database.table("big");
        let content = big.get(&reference(""), &now()).await.unwrap().unwrap();
        let runnel_store::Body::Lazy(lazy) = &content.body else { panic!() };
        let pieces: Vec<_> = lazy.stream(Form::Json).unwrap().try_collect().await.unwrap();
        assert!(pieces.len() > 10);
        let whole = String::from_utf8(pieces.concat()).unwrap();
        assert_eq!(value(&whole).as_list().unwrap().len(), 20000);
        // The rows were read once; wanted again, the statement runs again.
        assert_eq!(lazy.encode(Form::Json).await.unwrap(), whole.as_bytes());
        assert_eq!(lazy.value().await.unwrap(), value(&whole));
        // Nobody reads this one, and somebody else needs its connection.
        let unread = big.get(&reference(""), &now()).await.unwrap().unwrap();
        assert_eq!(one(&database, "select 1 as one").await, Value::Int(1));
        assert_eq!(text(unread, Form::Csv).await.lines().count(), 20001);
        // A stream that is dropped in the middle gives its connection back too.
        let mut stream = lazy.stream(Form::Csv).unwrap();
        stream.try_next().await.unwrap().unwrap();
        drop(stream);
        assert_eq!(count(&database, "big").await, Value::Int(20000));
    });
}

#[test]
fn tables_that_change_are_looked_at_again() {
    with_database(|url| async move {
        let (database, other) = (open(&url), open(&url));
        let things =
            define(&database, "Thing", &[("id", FieldType::Int), ("a", FieldType::Text)]).await;
        let things_ = database.table("things");
        things.post(&reference(""), content(r#"{"a":"x"}"#), &now()).await.unwrap();
        assert_eq!(get(&things_, "").await.unwrap(), r#"[{"id":1,"a":"x"}]"#);
        sql(&other, "alter table things alter column a type varchar(20)").await;
        assert_eq!(get(&things_, "1").await.unwrap(), r#"{"id":1,"a":"x"}"#);
        sql(&other, "alter table things drop column a").await;
        assert_eq!(get(&things_, "").await.unwrap(), r#"[{"id":1}]"#);
        let query = Query::default();
        assert_eq!(refused(things.query(&reference(""), &query, &now()).await).0, Kind::Conflict);
        sql(&other, "drop table things").await;
        assert!(get(&things_, "").await.is_none());
        assert_eq!(refused(things_.query(&reference(""), &query, &now()).await).0, Kind::NotFound);
    });
}

#[test]
fn lists_are_merged_by_their_keys_all_or_none() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let rows: Vec<_> = (0..80).map(|number| format!(r#"{{"title":"{number}"}}"#)).collect();
        let rows = format!("[{}]", rows.join(","));
        tasks.post(&reference(""), content(&rows), &now()).await.unwrap();
        let merge = async |list: &str, context: &Context| {
            tasks.merge(&reference(""), content(list), context).await.map(drop)
        };
        // More than are pipelined at once, some of them twice: the later one counts.
        let change = |id: usize| format!(r#"{{"id":{id},"title":"new {id}"}}"#);
        let mut list: Vec<_> = (1..=80).rev().map(change).collect();
        list.push(r#"{"done":true,"id":2}"#.into());
        list.push(r#"{"id":3,"title":"last"}"#.into());
        list.push(r#"{"id":4}"#.into());
        merge(&format!("[{}]", list.join(",")), &now()).await.unwrap();
        assert_eq!(get(&tasks, "2").await.unwrap(), r#"{"id":2,"done":true,"title":"new 2"}"#);
        assert_eq!(get(&tasks, "3").await.unwrap(), r#"{"id":3,"done":null,"title":"last"}"#);
        assert_eq!(get(&tasks, "80").await.unwrap(), r#"{"id":80,"done":null,"title":"new 80"}"#);
        let changed = "select count(*) from tasks where title like 'new %' or title = 'last'";
        assert_eq!(one(&database, changed).await, Value::Int(80));
        for (list, kind, message) in [
            (r#"[{"id":1,"title":"y"},{"id":99,"title":"y"}]"#, Kind::NotFound, "with the id 99"),
            (r#"[{"id":1,"title":"y"},{"title":"y"}]"#, Kind::Invalid, "record 2: it has no id"),
            (r#"[{"id":1,"title":"y"},{"id":"x"}]"#, Kind::Invalid, "record 2: id"),
            (r#"{"id":1,"title":"y"}"#, Kind::NotAllowed, "merge changes one row"),
        ] {
            let refusal = refused(merge(list, &now()).await);
            assert!(refusal.0 == kind && refusal.1.contains(message), "{list}: {refusal:?}");
        }
        let begun =
            Store::tables(&*database).unwrap().begin(&reference(""), None, &now()).await.unwrap();
        let inside = Context { transaction: Some(begun.clone()), ..now() };
        merge(r#"[{"id":1,"title":"inside"}]"#, &inside).await.unwrap();
        let gone = merge(r#"[{"id":1,"title":"y"},{"id":99,"title":"y"}]"#, &inside).await;
        assert_eq!(refused(gone).0, Kind::NotFound);
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"new 1"}"#);
        begun.commit().await.unwrap();
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"inside"}"#);
    });
}
