//! Key-value stores of SQLite: the suite of all stores, and what only they promise.

use crate::common::key_values::{self, ABILITIES, pattern, put, read};
use crate::common::*;
use futures_util::StreamExt;
use runnel_sql::{OBJECT_CHUNK, REPLACED_TIME, SqliteDatabase, SqliteOptions};
use runnel_store::conformance::check;
use runnel_store::{Content, Kind, Store, Tables};
use std::rc::Rc;

async fn files(database: &SqliteDatabase) -> Rc<dyn Store> {
    database.key_value_store("files").await.unwrap()
}

async fn count(database: &SqliteDatabase, table: &str) -> String {
    let sql = format!("select count(*) as n from {table}");
    let found = database.run(&sql, vec![], &now()).await.unwrap();
    text(found, runnel_store::Form::Json).await
}

#[test]
fn it_is_a_store_as_every_other() {
    run(async {
        let place = Place::new();
        for path in [place.file(), ":memory:".into()] {
            let database = SqliteDatabase::open(path, SqliteOptions::default()).unwrap();
            check(files(&database).await, ABILITIES).await;
            ABILITIES.check_manual("`sqlite:data.db/notes`, `postgres://host/shop/notes`");
            assert_eq!(count(&database, "files").await, r#"[{"n":0}]"#);
        }
    });
}

#[test]
fn content_of_any_length() {
    run(async {
        key_values::lengths(&*files(&Place::new().open()).await).await;
    });
}

#[test]
fn readers_finish_what_they_began() {
    run(async {
        key_values::replaced_while_read(&*files(&Place::new().open()).await).await;
    });
}

#[test]
fn posts_add_to_content_of_any_length() {
    run(async {
        key_values::appends(&*files(&Place::new().open()).await).await;
    });
}

#[test]
fn keys_are_opaque() {
    run(async {
        key_values::odd_keys(&*files(&Place::new().open()).await).await;
    });
}

#[test]
fn an_upload_that_fails_changes_nothing() {
    run(async {
        key_values::failing_upload(&*files(&Place::new().open()).await).await;
    });
}

#[test]
fn it_is_the_same_store_after_opening_again() {
    run(async {
        let place = Place::new();
        let long = pattern(2 * OBJECT_CHUNK);
        {
            let store = files(&place.open()).await;
            put(&*store, "a", "short").await;
            put(&*store, "b", long.clone()).await;
        }
        let database = place.open();
        let store = database.key_value_store("FILES").await.unwrap();
        assert_eq!(read(&*store, "a").await.unwrap(), "short");
        assert!(read(&*store, "b").await.unwrap() == long);
        assert_eq!(store.describe(), format!("key-value store files of {}", database.describe()));
    });
}

#[test]
fn small_content_leaves_no_chunk_behind() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        for text in ["one", "two", ""] {
            put(&*store, "a", text).await;
            put(&*store, "b", text).await;
        }
        assert_eq!(count(&database, "files_chunks").await, r#"[{"n":0}]"#);
        put(&*store, "a", "three").await;
        let moved = store.relocate(&reference("a"), &reference("b"), &now()).await;
        assert!(moved.unwrap());
        assert_eq!(count(&database, "files_chunks").await, r#"[{"n":1}]"#);
        store.delete(&reference("b"), &now()).await.unwrap();
        assert_eq!(count(&database, "files_chunks").await, r#"[{"n":0}]"#);
    });
}

/// What a killed process and long replaced content leave behind is freed by the next opening.
#[test]
fn opening_sweeps_what_nobody_needs() {
    run(async {
        let place = Place::new();
        let long = pattern(40 * OBJECT_CHUNK);
        {
            let store = files(&place.open()).await;
            put(&*store, "replaced", long.clone()).await;
            put(&*store, "replaced", "short").await;
            put(&*store, "kept", long.clone()).await;
        }
        let other = place.other_program();
        let chunks = || -> i64 {
            other.query_row("select count(*) from files_chunks", [], |row| row.get(0)).unwrap()
        };
        assert_eq!(chunks(), 40 + 40 + 1);
        // The time of all of them is over.
        other.execute("update files_unused set free_after = 1", []).unwrap();
        let database = place.open();
        let store = files(&database).await;
        while chunks() > 41 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(chunks(), 41);
        assert!(read(&*store, "kept").await.unwrap() == long);
        assert_eq!(count(&database, "files_unused").await, r#"[{"n":0}]"#);
    });
}

#[test]
fn replaced_content_is_freed_while_the_store_is_open() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tokio::time::pause();
        let store = files(&database).await;
        // The upload has a sweep in a minute, before which its content is deleted.
        put(&*store, "a", pattern(3 * OBJECT_CHUNK)).await;
        tokio::time::sleep(REPLACED_TIME / 2).await;
        store.delete(&reference("a"), &now()).await.unwrap();
        tokio::time::sleep(REPLACED_TIME).await;
        let other = place.other_program();
        let chunks = || -> i64 {
            other.query_row("select count(*) from files_chunks", [], |row| row.get(0)).unwrap()
        };
        assert_eq!(chunks(), 3);
        other.execute("update files_unused set free_after = 1", []).unwrap();
        for _ in 0..1000 {
            if chunks() == 0 {
                return;
            }
            // The event loop's clock jumps on; that of the writer's thread does not.
            tokio::time::sleep(REPLACED_TIME / 4).await;
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("the chunks stay");
    });
}

/// A sweep frees no object that somebody of this process still reads.
#[test]
fn a_sweep_leaves_what_is_read() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        let long = pattern(6 * OBJECT_CHUNK);
        put(&*store, "a", long.clone()).await;
        let content = store.get(&reference("a"), &now()).await.unwrap().unwrap();
        put(&*store, "a", "new").await;
        put(&*store, "gone", long.clone()).await;
        store.delete(&reference("gone"), &now()).await.unwrap();
        place.other_program().execute("update files_unused set free_after = 1", []).unwrap();
        drop(files(&database).await);
        while count(&database, "files_unused").await != r#"[{"n":1}]"# {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(content.read(usize::MAX).await.unwrap() == long);
    });
}

#[test]
fn a_slow_reader_of_freed_content_gets_an_error_and_never_other_content() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        put(&*store, "a", pattern(4 * OBJECT_CHUNK)).await;
        let content = store.get(&reference("a"), &now()).await.unwrap().unwrap();
        let runnel_store::Body::Stream(mut stream, _) = content.body else { panic!("no stream") };
        assert!(stream.next().await.unwrap().is_ok());
        // As if another process had swept.
        place.other_program().execute("delete from files_chunks", []).unwrap();
        put(&*store, "a", vec![1; 4 * OBJECT_CHUNK]).await;
        let error = stream.next().await.unwrap().err().unwrap();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(stream.next().await.is_none());
    });
}

/// What is written while an upload is under way does not wait for it.
#[test]
fn an_upload_holds_up_nobody() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        let piece = bytes::Bytes::from(vec![5; 2 << 20]);
        let chunks = futures_util::stream::iter([Ok(piece)]).chain(futures_util::stream::pending());
        let body = runnel_store::Body::Stream(Box::pin(chunks), None);
        let content = Content { body, ..Content::default() };
        let on = reference("upload");
        let mut upload = store.put(&on, content, &now());
        for number in 0..20 {
            let context = now();
            let other = reference("other");
            let put = store.put(&other, Content::text(number.to_string()), &context);
            tokio::select! {
                _ = &mut upload => panic!("an upload without an end has ended"),
                put = put => assert!(put.is_ok()),
            }
        }
        drop(upload);
        assert_eq!(read(&*store, "upload").await, None);
        assert_eq!(read(&*store, "other").await.unwrap(), "19");
    });
}

#[test]
fn a_transaction_has_rows_and_content() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        let tasks = tasks(&database).await;
        let long = pattern(3 * OBJECT_CHUNK);
        for commit in [false, true] {
            let transaction = database.begin(&reference(""), None, &now()).await.unwrap();
            let inside = runnel_store::Context { transaction: Some(transaction.clone()), ..now() };
            let row = content(r#"{"title":"read it","done":false}"#);
            Store::post(&tasks, &reference(""), row, &inside).await.unwrap();
            let put = store.put(&reference("a"), Content::bytes(long.clone()), &inside);
            put.await.unwrap();
            let found = store.get(&reference("a"), &inside).await.unwrap().unwrap();
            assert!(found.read(usize::MAX).await.unwrap() == long);
            assert_eq!(read(&*store, "a").await, None);
            match commit {
                true => transaction.commit().await.unwrap(),
                false => transaction.roll_back().await.unwrap(),
            }
        }
        assert!(read(&*store, "a").await.unwrap() == long);
        assert_eq!(count(&database, "tasks").await, r#"[{"n":1}]"#);
        assert_eq!(count(&database, "files_chunks").await, r#"[{"n":3}]"#);
    });
}

#[test]
fn rows_and_content_do_not_meet() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let store = files(&database).await;
        put(&*store, "a", "content").await;
        tasks(&database).await;
        assert_eq!(get(&*database, "").await.unwrap(), r#"["tasks"]"#);
        let listed = database.list(&reference(""), &now()).await.unwrap().unwrap();
        assert_eq!(listed.len(), 1);
        for table in ["files", "files_chunks", "files_unused", "Files"] {
            for path in [table.to_string(), format!("{table}/a")] {
                let path = reference(&path);
                let (kind, message) = refused(database.get(&path, &now()).await);
                assert_eq!(kind, Kind::NotAllowed, "{message}");
                assert!(message.contains("key-value store"), "{message}");
                let row = content(r#"{"key":"b","bytes":"x"}"#);
                assert_eq!(refused(database.put(&path, row, &now()).await).0, Kind::NotAllowed);
                assert_eq!(refused(database.delete(&path, &now()).await).0, Kind::NotAllowed);
            }
            let row = content(r#"{"key":"b"}"#);
            let posted = database.post(&reference(table), row, &now()).await;
            assert_eq!(refused(posted).0, Kind::NotAllowed);
        }
        let shape = shape("File", &[("name", runnel_store::FieldType::Text)]);
        let defined = database.define_table(&reference("files"), &shape).await;
        assert_eq!(refused(defined.map(drop)).0, Kind::NotAllowed);
        assert_eq!(read(&*store, "a").await.unwrap(), "content");
    });
}

#[test]
fn names_of_other_tables_are_refused() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let (kind, message) = refused(database.key_value_store("tasks").await.map(drop));
        assert_eq!(kind, Kind::Conflict);
        assert!(message.starts_with("tasks is a table of rows already"), "{message}");
        database.run("create table notes_chunks(id)", vec![], &now()).await.unwrap();
        let (kind, message) = refused(database.key_value_store("notes").await.map(drop));
        assert_eq!(kind, Kind::Conflict, "{message}");
        for wrong in ["", "a b", "a.b", "sqlite_x"] {
            assert_eq!(refused(database.key_value_store(wrong).await.map(drop)).0, Kind::Invalid);
        }
        let tables: &dyn Tables = &*database;
        assert!(tables.key_value_store(&reference("files/")).await.is_ok());
    });
}

#[test]
fn a_database_that_is_only_read_has_its_content() {
    run(async {
        let place = Place::new();
        {
            let store = files(&place.open()).await;
            put(&*store, "a", pattern(2 * OBJECT_CHUNK)).await;
        }
        let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
        let database = SqliteDatabase::open(place.file(), options).unwrap();
        let store = files(&database).await;
        assert!(read(&*store, "a").await.unwrap() == pattern(2 * OBJECT_CHUNK));
        let put = store.put(&reference("a"), Content::text("x"), &now()).await;
        assert_eq!(refused(put).0, Kind::Denied);
    });
}

/// Two programs that write under a condition at the same time: one of them succeeds.
#[test]
fn conditions_hold_between_connections() {
    run(async {
        let place = Place::new();
        let store = files(&place.open()).await;
        put(&*store, "a", "one").await;
        let found = store.get(&reference("a"), &now()).await.unwrap().unwrap();
        let tag = found.entity_tag.unwrap();
        place
            .other_program()
            .execute("update files set entity_tag = 'other' where key = 'a'", [])
            .unwrap();
        let context =
            runnel_store::Context { only_if: Some(runnel_store::Condition::Tag(tag)), ..now() };
        let put = store.put(&reference("a"), Content::text("two"), &context).await;
        assert_eq!(refused(put).0, Kind::Precondition);
        assert_eq!(read(&*store, "a").await.unwrap(), "one");
    });
}
