//! Transactions: all or nothing, seen by nobody else before, and gone when they are dropped.

use crate::common::*;
use runnel_sql::{SqliteDatabase, SqliteOptions, SqliteTable, Synchronous};
use runnel_store::{Context, Kind, Query, Store, Tables, Transaction, Value, Verb};
use std::rc::Rc;
use std::time::Duration;

async fn begin(store: &dyn Store, around: &Context) -> (Rc<dyn Transaction>, Context) {
    let transaction = store
        .tables_for(Verb::Begin, &reference(""))
        .unwrap()
        .begin(&reference(""), None, around)
        .await
        .unwrap();
    let context = Context { transaction: Some(transaction.clone()), ..Context::default() };
    (transaction, context)
}

async fn post(table: &SqliteTable, title: &str, context: &Context) {
    let row = content(&format!(r#"{{"title":"{title}"}}"#));
    Store::post(table, &reference(""), row, context).await.unwrap();
}

async fn titles(table: &SqliteTable, context: &Context) -> String {
    let rows = Store::get(table, &reference("?fields=title"), context).await.unwrap().unwrap();
    text(rows, runnel_store::Form::Json).await
}

#[test]
fn its_own_writes_are_seen_inside_and_nobody_elses_before_the_end() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        post(&tasks, "a", &now()).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "b", &inside).await;
        let gone = Store::delete(&tasks, &reference("1"), &inside).await.unwrap();
        assert!(gone.is_something());
        assert_eq!(titles(&tasks, &inside).await, r#"[{"title":"b"}]"#);
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"a"}]"#);
        let query = Query { count: true, ..Query::default() };
        let count = Store::query(&tasks, &reference(""), &query, &inside).await.unwrap();
        assert_eq!(count.into_value(64).await.unwrap(), Value::Int(1));
        let row = Store::get(&*database, &reference("tasks/1"), &inside).await.unwrap();
        assert!(row.is_none());
        let keys = Store::list(&tasks, &reference(""), &inside).await.unwrap().unwrap();
        assert_eq!(keys.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["2"]);
        let sql = "select title from tasks";
        let rows = Tables::run(&*database, &reference(""), sql, vec![], &inside).await.unwrap();
        assert_eq!(text(rows, runnel_store::Form::Json).await, r#"[{"title":"b"}]"#);
        transaction.commit().await.unwrap();
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"b"}]"#);
        assert_eq!(refused(transaction.commit().await).0, Kind::Conflict);
        let late = Store::delete(&tasks, &reference("2"), &inside).await;
        assert_eq!(refused(late).0, Kind::Conflict);
    });
}

#[test]
fn dropping_and_rolling_back_leave_nothing() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "a", &inside).await;
        drop((transaction, inside));
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "b", &inside).await;
        transaction.roll_back().await.unwrap();
        // A begin that nobody waits for any more holds nobody up.
        drop(Tables::begin(&tasks, &reference(""), None, &now()));
        post(&tasks, "c", &now()).await;
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"c"}]"#);
    });
}

#[test]
fn a_verb_that_fails_leaves_the_rest_standing() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "a", &inside).await;
        let twice = content(r#"[{"id":7},{"id":1}]"#);
        let failed = Store::post(&tasks, &reference(""), twice, &inside).await;
        assert_eq!(refused(failed).0, Kind::Conflict);
        post(&tasks, "b", &inside).await;
        transaction.commit().await.unwrap();
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"a"},{"title":"b"}]"#);
    });
}

#[test]
fn levels_are_savepoints() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let (outer, first) = begin(&tasks, &now()).await;
        post(&tasks, "a", &first).await;
        let (inner, second) = begin(&*database, &first).await;
        post(&tasks, "b", &second).await;
        inner.roll_back().await.unwrap();
        let (inner, second) = begin(&*database, &first).await;
        post(&tasks, "c", &second).await;
        drop((inner, second));
        let (inner, second) = begin(&*database, &first).await;
        post(&tasks, "d", &second).await;
        inner.commit().await.unwrap();
        outer.commit().await.unwrap();
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"a"},{"title":"d"}]"#);
    });
}

#[test]
fn tables_made_inside_are_there_inside() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let (transaction, inside) = begin(&*database, &now()).await;
        let root = reference("");
        let create = "create table notes (id integer primary key, text text)";
        Tables::run(&*database, &root, create, vec![], &inside).await.unwrap();
        let note = content(r#"{"text":"x"}"#);
        Store::post(&*database, &reference("notes"), note, &inside).await.unwrap();
        let names = Store::get(&*database, &root, &inside).await.unwrap().unwrap();
        assert_eq!(text(names, runnel_store::Form::Json).await, r#"["notes"]"#);
        assert_eq!(get(&*database, "").await.unwrap(), "[]");
        for refused_one in ["commit", "begin immediate", "savepoint x", "pragma user_version = 3"] {
            let run = Tables::run(&*database, &root, refused_one, vec![], &inside).await;
            assert_eq!(refused(run).0, Kind::NotAllowed, "{refused_one}");
        }
        transaction.commit().await.unwrap();
        assert_eq!(get(&*database, "notes").await.unwrap(), r#"[{"id":1,"text":"x"}]"#);
    });
}

#[test]
fn others_wait_for_it_and_readers_do_not() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "a", &inside).await;
        let soon = std::time::Instant::now() + Duration::from_millis(50);
        let impatient = Context { deadline: Some(soon), ..Context::default() };
        let row = || content(r#"{"title":"late"}"#);
        let late = Store::post(&tasks, &reference(""), row(), &impatient).await;
        assert_eq!(refused(late).0, Kind::Timeout);
        let waiting = Store::post(&tasks, &reference(""), content(r#"{"title":"b"}"#), &now());
        assert_eq!(titles(&tasks, &now()).await, "[]");
        transaction.commit().await.unwrap();
        waiting.await.unwrap();
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"a"},{"title":"b"}]"#);
    });
}

#[test]
fn one_that_does_nothing_is_rolled_back_and_told_so() {
    run(async {
        let place = Place::new();
        let options =
            SqliteOptions { synchronous: Synchronous::Normal, ..SqliteOptions::default() };
        let database = SqliteDatabase::open(place.file(), options).unwrap();
        let tasks = tasks(&database).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        post(&tasks, "a", &inside).await;
        // Waits until the transaction before it has been given up.
        post(&tasks, "b", &now()).await;
        let (kind, message) = refused(transaction.commit().await);
        assert_eq!(kind, Kind::Timeout, "{message}");
        assert!(message.contains("rolled back"), "{message}");
        assert_eq!(titles(&tasks, &now()).await, r#"[{"title":"b"}]"#);
    });
}

#[test]
fn rows_are_read_at_once_until_the_transaction_writes() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        post(&tasks, "a", &now()).await;
        let (transaction, inside) = begin(&tasks, &now()).await;
        let row = |context: &Context| Store::get(&tasks, &reference("1"), context);
        let read = row(&inside);
        assert!(is_ready(&read));
        let first = text(read.await.unwrap().unwrap(), runnel_store::Form::Json).await;
        assert_eq!(first, r#"{"id":1,"done":null,"title":"a"}"#);
        // Nobody else writes meanwhile, so what was read stays true until the transaction ends.
        let other = place.other_program();
        other.busy_timeout(Duration::ZERO).unwrap();
        assert!(other.execute("update tasks set title = 'b'", []).is_err());
        let change = content(r#"{"title":"c"}"#);
        Store::merge(&tasks, &reference("1"), change, &inside).await.unwrap();
        let read = row(&inside);
        assert!(!is_ready(&read));
        let own = text(read.await.unwrap().unwrap(), runnel_store::Form::Json).await;
        assert_eq!(own, r#"{"id":1,"done":null,"title":"c"}"#);
        transaction.roll_back().await.unwrap();
        let (transaction, inside) = begin(&tasks, &now()).await;
        assert!(row(&inside).await.unwrap().is_some());
        transaction.roll_back().await.unwrap();
        assert_eq!(refused(row(&inside).await).0, Kind::Conflict);
    });
}
