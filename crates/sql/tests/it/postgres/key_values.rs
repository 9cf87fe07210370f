//! Key-value stores of PostgreSQL: the suite of all stores, and what only they promise.

use crate::common::key_values::{self, ABILITIES, pattern, put, read};
use crate::common::{now, reference, refused, shape};
use crate::postgres::support::{open, sql, tasks, with_database};
use runnel_sql::OBJECT_CHUNK;
use runnel_store::conformance::{Abilities, check};
use runnel_store::{FieldType, Kind, Store, Value};

#[test]
fn it_is_a_store_as_every_other() {
    // Changes of one moment may be told as one, and a server has a network before it.
    let abilities = Abilities { watch_in_order: false, watch_overruns: false, ..ABILITIES };
    with_database(|url| async move {
        let database = open(&url);
        check(database.key_value_store("files").await.unwrap(), abilities).await;
    });
}

#[test]
fn content_of_any_length_and_any_key() {
    with_database(|url| async move {
        let database = open(&url);
        key_values::all(&database.key_value_store("files").await.unwrap()).await;
    });
}

#[test]
fn rows_and_content_do_not_meet() {
    with_database(|url| async move {
        let database = open(&url);
        let store = database.key_value_store("files").await.unwrap();
        put(&*store, "a", "content").await;
        tasks(&database).await;
        let names = database.get(&reference(""), &now()).await.unwrap().unwrap();
        let names = names.into_value(usize::MAX).await.unwrap();
        assert_eq!(names, Value::List(vec!["tasks".into()]));
        for path in ["files", "files/a", "files_chunks", "files_unused"] {
            let (kind, message) = refused(database.get(&reference(path), &now()).await);
            assert_eq!(kind, Kind::NotAllowed, "{message}");
            assert_eq!(refused(database.delete(&reference("files/a"), &now()).await).0, kind);
        }
        let shape = shape("File", &[("name", FieldType::Text)]);
        let defined = database.define_table(&reference("files"), &shape).await;
        assert_eq!(refused(defined.map(drop)).0, Kind::NotAllowed);
        let taken = database.key_value_store("tasks").await.map(drop);
        assert_eq!(refused(taken).0, Kind::Conflict);
        assert_eq!(read(&*store, "a").await.unwrap(), "content");
    });
}

/// Two workers on one server, each with connections of its own.
#[test]
fn what_one_worker_writes_the_other_reads() {
    with_database(|url| async move {
        let (first, second) = (open(&url), open(&url));
        let one = first.key_value_store("files");
        let other = second.key_value_store("files");
        let (one, other) = futures_util::future::join(one, other).await;
        let (one, other) = (one.unwrap(), other.unwrap());
        let long = pattern(3 * OBJECT_CHUNK + 1);
        put(&*one, "a", long.clone()).await;
        assert!(read(&*other, "a").await.unwrap() == long);
        other.delete(&reference("a"), &now()).await.unwrap();
        assert_eq!(read(&*one, "a").await, None);
    });
}

#[test]
fn a_write_survives_connections_that_died() {
    with_database(|url| async move {
        let (database, other) = (open(&url), open(&url));
        let store = database.key_value_store("files").await.unwrap();
        put(&*store, "a", "one").await;
        let end = "select pg_terminate_backend(pid, 5000) from pg_stat_activity \
                   where datname = current_database() and pid <> pg_backend_pid()";
        sql(&other, end).await;
        put(&*store, "a", "two").await;
        assert_eq!(read(&*store, "a").await.unwrap(), "two");
    });
}

#[test]
fn sweeping_frees_what_nobody_needs() {
    with_database(|url| async move {
        let database = open(&url);
        let store = database.key_value_store("files").await.unwrap();
        put(&*store, "a", pattern(40 * OBJECT_CHUNK)).await;
        put(&*store, "a", "short").await;
        sql(&database, "update files_unused set free_after = 1").await;
        drop(database.key_value_store("files").await.unwrap());
        let left = "select count(*) as n from files_chunks where object in \
                    (select object from files)";
        loop {
            let all = sql(&database, "select count(*) as n from files_chunks").await;
            if all == sql(&database, left).await {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(read(&*store, "a").await.unwrap(), "short");
    });
}
