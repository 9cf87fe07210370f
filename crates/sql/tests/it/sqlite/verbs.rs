//! What each verb does on a database, a table and a row.

use crate::common::*;
use runnel_sql::{SqliteDatabase, SqliteOptions};
use runnel_store::{
    Answer, ClientContent, Comparison, Content, Context, FieldType, Filter, Form, Kind, Query,
    Store, Tables, Value, Verb,
};

#[test]
fn from_class_to_rows() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        assert_eq!(tasks.name(), "tasks");
        assert_eq!(get(&tasks, "").await.unwrap(), "[]");
        let posted =
            tasks.post(&reference(""), content(r#"{"title":"clean"}"#), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "1");
        let made = posted.content.unwrap();
        assert_eq!(made.class.as_deref(), Some("Task"));
        assert_eq!(text(made, Form::Json).await, r#"{"id":1,"done":null,"title":"clean"}"#);
        assert!(
            tasks
                .put(&reference("7"), content(r#"{"done":true}"#), &now())
                .await
                .unwrap()
                .is_created()
        );
        assert_eq!(
            get(&tasks, "").await.unwrap(),
            r#"[{"id":1,"done":null,"title":"clean"},{"id":7,"done":true,"title":null}]"#
        );
        assert_eq!(get(&tasks, "7").await.unwrap(), r#"{"id":7,"done":true,"title":null}"#);
        assert_eq!(get(&*database, "tasks/7").await, get(&tasks, "/7").await);
        let csv = tasks.get(&reference(""), &now()).await.unwrap().unwrap();
        assert_eq!(text(csv, Form::Csv).await, "id,done,title\r\n1,,clean\r\n7,true,\r\n");
    });
}

#[test]
fn put_replaces_and_merge_changes() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let one = reference("1");
        let whole = || content(r#"{"id":1,"done":false,"title":"a"}"#);
        assert!(tasks.put(&one, whole(), &now()).await.unwrap().is_created());
        tasks.merge(&one, content(r#"{"done":true}"#), &now()).await.unwrap();
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":true,"title":"a"}"#);
        tasks.merge(&one, content("{}"), &now()).await.unwrap();
        assert!(!tasks.put(&one, content(r#"{"title":"b"}"#), &now()).await.unwrap().is_created());
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"b"}"#);
        for missing in ["2", "x"] {
            let answer = tasks.merge(&reference(missing), content("{}"), &now()).await;
            let kind = refused(answer).0;
            assert!(kind == Kind::NotFound || kind == Kind::Invalid, "{kind:?}");
        }
        let other = tasks.put(&one, content(r#"{"id":2}"#), &now()).await;
        assert_eq!(refused(other).0, Kind::Invalid);
        assert_eq!(refused(tasks.put(&reference("x"), whole(), &now()).await).0, Kind::Invalid);
        assert_eq!(get(&tasks, "").await.unwrap(), r#"[{"id":1,"done":null,"title":"b"}]"#);
    });
}

#[test]
fn deleting() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let put = tasks.put(&reference("1"), content("{}"), &now());
        assert!(put.await.unwrap().is_created());
        assert!(!tasks.delete(&reference("2"), &now()).await.unwrap().is_something());
        assert!(!tasks.delete(&reference("one"), &now()).await.unwrap().is_something());
        assert!(tasks.delete(&reference("1"), &now()).await.unwrap().is_something());
        assert!(!tasks.delete(&reference("1"), &now()).await.unwrap().is_something());
        let (kind, message) = refused(tasks.delete(&reference(""), &now()).await);
        assert_eq!(kind, Kind::NotAllowed);
        assert!(message.contains("all rows"), "{message}");
        tasks.put(&reference("1"), content("{}"), &now()).await.unwrap();
        assert!(
            !tasks
                .put(&reference("1"), Content::value(Value::Nil), &now())
                .await
                .unwrap()
                .is_created()
        );
        assert_eq!(get(&tasks, "1").await, None);
    });
}

#[test]
fn many_rows_are_inserted_together_or_not_at_all() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let rows = r#"[{"id":5,"title":"a"},{"title":"b","done":true},{"title":"c","done":false}]"#;
        let posted = tasks.post(&reference(""), content(rows), &now()).await.unwrap();
        assert_eq!(text(posted.content.unwrap(), Form::Json).await, "3");
        assert_eq!(
            get(&tasks, "?fields=id,title").await.unwrap(),
            r#"[{"id":5,"title":"a"},{"id":6,"title":"b"},{"id":7,"title":"c"}]"#
        );
        let twice = tasks.post(&reference(""), content(r#"[{"id":9},{"id":5}]"#), &now()).await;
        assert_eq!(refused(twice), (Kind::Conflict, "another row has the same id".into()));
        assert_eq!(get(&tasks, "9").await, None);
        let wrong = tasks.post(&reference(""), content(r#"[{"id":9},{"name":"x"}]"#), &now()).await;
        let (kind, message) = refused(wrong);
        assert_eq!(kind, Kind::Invalid);
        assert_eq!(
            message,
            "record 2: tasks has no column 'name'; its columns are id, done, title"
        );
        let none = tasks.post(&reference(""), content("[]"), &now()).await.unwrap();
        assert_eq!(text(none.content.unwrap(), Form::Json).await, "0");
    });
}

#[test]
fn rows_from_json_text_and_from_nothing_else() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let json = Content::text(r#"{"title":"x"}"#).with_media_type("application/json");
        tasks.post(&reference(""), json, &now()).await.unwrap();
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"x"}"#);
        let broken = Content::text("{").with_media_type("application/json");
        assert_eq!(refused(tasks.post(&reference(""), broken, &now()).await).0, Kind::Invalid);
        for other in [Content::text("x"), Content::default(), Content::value(Value::Int(1))] {
            let kind = refused(tasks.post(&reference(""), other, &now()).await).0;
            assert_eq!(kind, Kind::Unsupported);
        }
        let empty = tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
        assert_eq!(empty.reference.unwrap().path(), "2");
    });
}

#[test]
fn a_list_has_the_keys_whatever_the_columns_are_called() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let run = |text: &'static str| database.run(text, vec![], &now());
        run("create table paths (id integer primary key, name text)").await.unwrap();
        run("insert into paths (name) values ('a/b'), ('c')").await.unwrap();
        let keys = database.list(&reference("paths"), &now()).await.unwrap().unwrap();
        assert_eq!(keys.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    });
}

#[test]
fn the_database_lists_its_tables() {
    run(async {
        let place = Place::new();
        let database = place.open();
        assert_eq!(get(&*database, "").await.unwrap(), "[]");
        tasks(&database).await;
        database.run("create view open as select * from tasks", vec![], &now()).await.unwrap();
        assert_eq!(get(&*database, "/").await.unwrap(), r#"["open","tasks"]"#);
        let entries = database.list(&reference(""), &now()).await.unwrap().unwrap();
        let names: Vec<_> = entries.iter().map(|one| (one.name.as_str(), one.collection)).collect();
        assert_eq!(names, [("open", true), ("tasks", true)]);
        let post = |path| database.post(&reference(path), content(r#"{"title":"x"}"#), &now());
        assert_eq!(post("tasks").await.unwrap().reference.unwrap().path(), "tasks/1");
        post("tasks").await.unwrap();
        for number in 3..12 {
            assert_eq!(
                post("tasks").await.unwrap().reference.unwrap().path(),
                format!("tasks/{number}")
            );
        }
        let keys = database.list(&reference("tasks"), &now()).await.unwrap().unwrap();
        let keys: Vec<_> = keys.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(keys, ["1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(database.list(&reference("tasks/1"), &now()).await.unwrap(), None);
        assert_eq!(get(&*database, "open/1").await, None);
        assert!(get(&*database, "open").await.unwrap().starts_with(r#"[{"id":1,"#));
        assert_eq!(refused(post("open").await).0, Kind::Invalid);
    });
}

#[test]
fn what_is_not_there() {
    run(async {
        let place = Place::new();
        let database = place.open();
        assert_eq!(get(&*database, "tasks").await, None);
        assert_eq!(get(&*database, "tasks/1").await, None);
        assert_eq!(database.list(&reference("tasks"), &now()).await.unwrap(), None);
        let (kind, message) =
            refused(database.post(&reference("tasks"), content("{}"), &now()).await);
        assert_eq!(
            (kind, message.as_str()),
            (Kind::NotFound, "there is no table tasks; define it with a class")
        );
        let error = database.put(&reference("tasks/1"), content("{}"), &now()).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
        assert_eq!((error.verb, error.reference.as_deref()), (Some(Verb::Put), Some("tasks/1")));
        let query = database.query(&reference("tasks"), &Query::default(), &now()).await;
        assert_eq!(refused(query).0, Kind::NotFound);
        let at_root = [
            refused(database.put(&reference(""), content("{}"), &now()).await).0,
            refused(database.post(&reference(""), content("{}"), &now()).await).0,
            refused(database.delete(&reference(""), &now()).await).0,
        ];
        assert_eq!(at_root, [Kind::NotAllowed; 3]);
    });
}

#[test]
fn a_known_tag_saves_the_content() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        tasks.put(&reference("1"), content("{}"), &now()).await.unwrap();
        for path in ["", "1"] {
            let first = tasks.get(&reference(path), &now()).await.unwrap().unwrap();
            assert!(!is_empty(&first));
            let mut knowing = now();
            knowing.known = first.entity_tag.clone();
            let again = tasks.get(&reference(path), &knowing).await.unwrap().unwrap();
            assert!(is_empty(&again), "{path}");
            assert_eq!(again.entity_tag, first.entity_tag);
            tasks
                .merge(&reference("1"), content(&format!(r#"{{"title":"{path}x"}}"#)), &now())
                .await
                .unwrap();
            let changed = tasks.get(&reference(path), &knowing).await.unwrap().unwrap();
            assert!(!is_empty(&changed), "{path}");
            assert_ne!(changed.entity_tag, first.entity_tag);
        }
    });
}

#[test]
fn a_known_tag_saves_the_rows_of_a_query() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let two = content(r#"[{"title":"a"},{"title":"b"}]"#);
        tasks.post(&reference(""), two, &now()).await.unwrap();
        let equal = |title: &str| Query {
            filter: Some(Filter::Compare("title".into(), Comparison::Equal, title.into())),
            ..Query::default()
        };
        let root = reference("");
        let first = tasks.query(&root, &equal("a"), &now()).await.unwrap();
        let knowing = Context { known: first.entity_tag.clone(), ..now() };
        assert!(knowing.known.is_some());
        assert_eq!(text(first, Form::Json).await, r#"[{"id":1,"done":null,"title":"a"}]"#);
        let again = tasks.query(&root, &equal("a"), &knowing).await.unwrap();
        assert!(is_empty(&again));
        assert_eq!(again.entity_tag, knowing.known);
        // Another question has another tag, and so has the same one after a change.
        assert!(!is_empty(&tasks.query(&root, &equal("b"), &knowing).await.unwrap()));
        tasks.delete(&reference("1"), &now()).await.unwrap();
        let changed = tasks.query(&root, &equal("a"), &knowing).await.unwrap();
        assert!(!is_empty(&changed));
        assert_eq!(text(changed, Form::Json).await, "[]");
    });
}

#[test]
fn reads_are_answered_at_once() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        tasks.put(&reference("1"), content("{}"), &now()).await.unwrap();
        assert!(is_ready(&tasks.get(&reference("1"), &now())));
        let Answer::Ready(Ok(Some(rows))) = tasks.get(&reference(""), &now()) else { panic!() };
        assert!(is_ready(&rows.encode(Form::Json)));
        assert!(is_ready(&tasks.query(&reference(""), &Query::default(), &now())));
    });
}

#[test]
fn tables_of_other_programs() {
    run(async {
        let place = Place::new();
        place
            .other_program()
            .execute_batch(
                "create table tasks(id integer primary key, done integer, title text);
                 insert into tasks values (1, 0, 'a'), (2, 1, 'b');
                 create table words(word text primary key, n integer default 3) without rowid;
                 create table pairs(a, b, primary key (a, b));
                 create table both(a, b, primary key (a, b)) without rowid;",
            )
            .unwrap();
        let database = place.open();
        assert_eq!(
            get(&*database, "tasks").await.unwrap(),
            r#"[{"id":1,"done":0,"title":"a"},{"id":2,"done":1,"title":"b"}]"#
        );
        let seen = tasks(&database).await;
        assert_eq!(
            get(&seen, "?done=true").await.unwrap(),
            r#"[{"id":2,"done":true,"title":"b"}]"#
        );
        let put = |path, json| database.put(&reference(path), content(json), &now());
        assert!(put("words/a/b c", "{}").await.unwrap().is_created());
        assert_eq!(get(&*database, "words/a/b c").await.unwrap(), r#"{"word":"a/b c","n":3}"#);
        put("words/a/b c", r#"{"n":5}"#).await.unwrap();
        assert!(!put("words/a/b c", "{}").await.unwrap().is_created());
        assert_eq!(get(&*database, "words/a/b c").await.unwrap(), r#"{"word":"a/b c","n":3}"#);
        let post = |path, json| database.post(&reference(path), content(json), &now());
        assert_eq!(
            post("pairs", r#"{"a":1,"b":2}"#).await.unwrap().reference.unwrap().path(),
            "pairs/1"
        );
        assert_eq!(get(&*database, "pairs/1").await.unwrap(), r#"{"a":1,"b":2}"#);
        assert!(post("both", r#"{"a":1,"b":2}"#).await.unwrap().reference.is_none());
        assert_eq!(refused(put("both/1", "{}").await).0, Kind::NotAllowed);
        assert_eq!(get(&*database, "both").await.unwrap(), r#"[{"a":1,"b":2}]"#);
    });
}

#[test]
fn classes_and_tables_that_contradict_each_other() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let other = shape("Task", &[("id", FieldType::Int), ("title", FieldType::Int)]);
        let (kind, message) = refused(database.define(&reference(""), &other).await);
        assert_eq!(kind, Kind::Conflict);
        assert!(message.contains("declares title as an integer"), "{message}");
        let elsewhere = database.define(&reference("numbers"), &other).await.unwrap();
        assert_eq!(elsewhere.describe(), "table numbers");
        let grown = shape("Task", &[("id", FieldType::Int), ("owner", FieldType::Text)]);
        let grown = database.define_table(&reference("tasks"), &grown).await.unwrap();
        grown.post(&reference(""), content(r#"{"owner":"me"}"#), &now()).await.unwrap();
        assert_eq!(get(&grown, "").await.unwrap(), r#"[{"id":1,"owner":"me"}]"#);
        assert_eq!(
            get(&*database, "tasks").await.unwrap(),
            r#"[{"id":1,"done":null,"title":null,"owner":"me"}]"#
        );
    });
}

#[test]
fn files_that_are_no_databases() {
    let place = Place::new();
    let open = |path: &std::path::Path| match SqliteDatabase::open(path, SqliteOptions::default()) {
        Ok(_) => panic!("this should not open"),
        Err(error) => error,
    };
    std::fs::write(place.file(), "this is a text and no database at all, whatever its name")
        .unwrap();
    let error = open(&place.file());
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.to_string().ends_with("test.db: the file is not an SQLite database"), "{error}");
    let folder = place.file().parent().unwrap().to_path_buf();
    assert_eq!(open(&folder).kind, Kind::Conflict);
    assert_eq!(open(&folder.join("no/such/x.db")).kind, Kind::NotFound);
    assert_eq!(open(&place.file().join("x.db")).kind, Kind::Conflict);
    assert_eq!(open(std::path::Path::new("")).kind, Kind::Invalid);
}

#[test]
fn options_are_shared_and_reading_only_is_kept() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let reading = SqliteOptions { read_only: true, ..SqliteOptions::default() };
        let Err(error) = SqliteDatabase::open(place.file(), reading.clone()) else { panic!() };
        assert_eq!(error.kind, Kind::Conflict);
        drop(database);
        let database = SqliteDatabase::open(place.file(), reading).unwrap();
        assert_eq!(get(&*database, "tasks").await.unwrap(), "[]");
        let answer = database.post(&reference("tasks"), content("{}"), &now()).await;
        assert_eq!(refused(answer).0, Kind::Denied);
    });
}

#[test]
fn databases_in_memory() {
    run(async {
        let open = |name: &str| SqliteDatabase::open(name, SqliteOptions::default()).unwrap();
        let (one, two) = (open(":memory:"), open(":memory:"));
        tasks(&one).await.post(&reference(""), content("{}"), &now()).await.unwrap();
        assert_eq!(get(&*one, "tasks?fields=id").await.unwrap(), r#"[{"id":1}]"#);
        assert_eq!(get(&*two, "tasks").await, None);
        let (one, two) = (open(":memory:verbs"), open(":memory:verbs"));
        tasks(&one).await.post(&reference(""), content("{}"), &now()).await.unwrap();
        assert_eq!(get(&*two, "tasks?fields=id").await.unwrap(), r#"[{"id":1}]"#);
    });
}

#[test]
fn lists_are_merged_by_their_keys_all_or_none() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let rows = r#"[{"title":"a"},{"title":"b"},{"title":"c"},{"title":"d"}]"#;
        tasks.post(&reference(""), content(rows), &now()).await.unwrap();
        let merge =
            async |list: &str| tasks.merge(&reference(""), content(list), &now()).await.map(drop);
        let commits = database.commits();
        merge(r#"[{"id":1,"title":"x"},{"done":true,"id":2},{"id":3,"title":null},{"id":4}]"#)
            .await
            .unwrap();
        assert_eq!(database.commits() - commits, 1);
        let after = r#"[{"id":1,"done":null,"title":"x"},{"id":2,"done":true,"title":"b"},"#;
        let after = format!(r#"{after}{{"id":3,"done":null,"title":null}},"#);
        let after = format!(r#"{after}{{"id":4,"done":null,"title":"d"}}]"#);
        assert_eq!(get(&tasks, "").await.unwrap(), after);
        for (list, kind, message) in [
            (
                r#"[{"id":1,"title":"y"},{"id":9,"title":"y"}]"#,
                Kind::NotFound,
                "no row with the id 9",
            ),
            (r#"[{"id":1,"title":"y"},{"id":9}]"#, Kind::NotFound, "no row with the id 9"),
            (r#"[{"id":1,"title":"y"},{"title":"y"}]"#, Kind::Invalid, "record 2: it has no id"),
            (r#"[{"id":1,"title":"y"},{"id":null}]"#, Kind::Invalid, "record 2: it has no key"),
            (r#"[{"id":1,"title":"y"},{"id":2,"x":1}]"#, Kind::Invalid, "record 2: tasks has no"),
            (r#"[{"id":1,"title":"y"},7]"#, Kind::Unsupported, "record 2"),
            (r#"{"id":1,"title":"y"}"#, Kind::NotAllowed, "merge changes one row"),
        ] {
            let refusal = refused(merge(list).await);
            assert!(refusal.0 == kind && refusal.1.contains(message), "{list}: {refusal:?}");
            assert_eq!(get(&tasks, "").await.unwrap(), after, "{list}");
        }
        let client = Context { from_client: Some(ClientContent::default()), ..now() };
        let sent = tasks.merge(&reference(""), content(r#"[{"id":1,"title":"y"}]"#), &client).await;
        assert_eq!(refused(sent).0, Kind::NotAllowed);
        assert_eq!(get(&tasks, "").await.unwrap(), after);
    });
}
