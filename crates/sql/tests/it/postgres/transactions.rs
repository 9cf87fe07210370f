//! Transactions, and savepoints within them.

use crate::common::*;
use crate::postgres::support::{count, open, sql, tasks, with_database};
use runnel_sql::{PostgresDatabase, PostgresOptions};
use runnel_store::{
    Comparison, Context, Filter, Form, Kind, Query, Store, Tables, Transaction, Value,
};
use std::rc::Rc;
use std::time::Duration;

async fn begin(database: &PostgresDatabase, context: &Context) -> Context {
    let transaction = database.begin(&reference(""), None, context).await.unwrap();
    Context { transaction: Some(transaction), ..Context::default() }
}

fn within(context: &Context) -> &Rc<dyn Transaction> {
    context.transaction.as_ref().unwrap()
}

async fn post(
    database: &PostgresDatabase,
    title: &str,
    context: &Context,
) -> runnel_store::Result<()> {
    let row = content(&format!(r#"{{"title":"{title}"}}"#));
    database.post(&reference("tasks"), row, context).await.map(drop)
}

async fn seen(database: &PostgresDatabase, context: &Context) -> String {
    let content = database.get(&reference("tasks?fields=title"), context).await.unwrap().unwrap();
    let rows = text(content, runnel_store::Form::Json).await;
    rows.replace(r#"{"title":""#, "").replace(r#""}"#, "")
}

#[test]
fn what_happens_in_one_is_seen_after_it() {
    with_database(|url| async move {
        let (database, other) = (open(&url), open(&url));
        tasks(&database).await;
        let inside = begin(&database, &now()).await;
        post(&database, "a", &inside).await.unwrap();
        post(&database, "b", &inside).await.unwrap();
        assert_eq!(seen(&database, &inside).await, "[a,b]");
        assert_eq!(seen(&database, &now()).await, "[]");
        // To another database it is somebody else's.
        assert_eq!(seen(&other, &inside).await, "[]");
        within(&inside).commit().await.unwrap();
        assert_eq!(seen(&other, &now()).await, "[a,b]");
        assert_eq!(refused(within(&inside).commit().await).0, Kind::Conflict);
        assert_eq!(refused(post(&database, "c", &inside).await).0, Kind::Conflict);
        let inside = begin(&database, &now()).await;
        post(&database, "c", &inside).await.unwrap();
        within(&inside).roll_back().await.unwrap();
        let inside = begin(&database, &now()).await;
        post(&database, "d", &inside).await.unwrap();
        drop(inside);
        assert_eq!(seen(&database, &now()).await, "[a,b]");
    });
}

#[test]
fn a_verb_that_fails_leaves_the_transaction() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        sql(&database, "create unique index one_title on tasks(title)").await;
        let inside = begin(&database, &now()).await;
        post(&database, "a", &inside).await.unwrap();
        assert_eq!(refused(post(&database, "a", &inside).await).0, Kind::Conflict);
        assert_eq!(refused(database.run("selec", vec![], &inside).await).0, Kind::Invalid);
        let list = content(r#"[{"title":"b"},{"title":"a"}]"#);
        let posted = database.post(&reference("tasks"), list, &inside).await;
        assert_eq!(refused(posted).0, Kind::Conflict);
        post(&database, "c", &inside).await.unwrap();
        within(&inside).commit().await.unwrap();
        assert_eq!(seen(&database, &now()).await, "[a,c]");
    });
}

#[test]
fn one_within_another_is_a_savepoint() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        let outer = begin(&database, &now()).await;
        post(&database, "a", &outer).await.unwrap();
        let inner = begin(&database, &outer).await;
        post(&database, "b", &inner).await.unwrap();
        within(&inner).roll_back().await.unwrap();
        let inner = begin(&database, &outer).await;
        post(&database, "c", &inner).await.unwrap();
        let third = begin(&database, &inner).await;
        post(&database, "d", &third).await.unwrap();
        drop(third);
        within(&inner).commit().await.unwrap();
        let inner = begin(&database, &outer).await;
        post(&database, "e", &inner).await.unwrap();
        drop(inner);
        post(&database, "f", &outer).await.unwrap();
        within(&outer).commit().await.unwrap();
        assert_eq!(seen(&database, &now()).await, "[a,c,f]");
    });
}

#[test]
fn verbs_of_one_transaction_may_overlap() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        let inside = begin(&database, &now()).await;
        let posts = (0..20).map(|_| post(&database, "x", &inside));
        futures_util::future::try_join_all(posts).await.unwrap();
        within(&inside).commit().await.unwrap();
        assert_eq!(count(&database, "tasks").await, Value::Int(20));
    });
}

#[test]
fn transactions_have_an_end() {
    with_database(|url| async move {
        let options = PostgresOptions {
            max_connections: 2,
            idle_transaction: Duration::from_millis(100),
            transaction_time: Duration::from_millis(300),
            pool_timeout: Duration::from_millis(300),
            ..PostgresOptions::default()
        };
        let database = PostgresDatabase::open(&url, options).unwrap();
        tasks(&database).await;
        let idle = begin(&database, &now()).await;
        post(&database, "a", &idle).await.unwrap();
        tokio::time::sleep(Duration::from_millis(250)).await;
        let (kind, message) = refused(post(&database, "b", &idle).await);
        assert_eq!(kind, Kind::Unavailable, "{message}");
        let long = begin(&database, &now()).await;
        let late = loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if let Err(error) = post(&database, "c", &long).await {
                break error;
            }
        };
        assert!(late.kind == Kind::Timeout && late.message.contains("lasted"), "{late}");
        assert_eq!(seen(&database, &now()).await, "[]");
        // Two hold the connections, and a third has to wait.
        let (first, second) = (begin(&database, &now()).await, begin(&database, &now()).await);
        let third = database.begin(&reference(""), None, &now()).await;
        let (kind, message) = refused(third.map(drop));
        assert!(kind == Kind::Unavailable && message.contains("all 2 connections"), "{message}");
        drop((first, second));
        begin(&database, &now()).await;
    });
}

#[test]
fn a_verb_that_is_given_up_ends_its_transaction() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        let inside = begin(&database, &now()).await;
        post(&database, "a", &inside).await.unwrap();
        let sleep = database.run("select pg_sleep(600)", vec![], &inside);
        assert!(tokio::time::timeout(Duration::from_millis(100), sleep).await.is_err());
        assert_eq!(refused(post(&database, "b", &inside).await).0, Kind::Conflict);
        assert_eq!(refused(within(&inside).commit().await).0, Kind::Conflict);
        assert_eq!(seen(&database, &now()).await, "[]");
    });
}

#[test]
fn a_locked_row_waits_for_its_transaction() {
    with_database(|url| async move {
        let (database, other) = (open(&url), open(&url));
        tasks(&database).await;
        sql(&database, "insert into tasks(id, title) values (1, 'a'), (2, 'b')").await;
        let lock = Query { lock: true, ..Query::default() };
        // Outside of a transaction nothing would release it.
        for path in ["tasks", "tasks/1"] {
            let refusal = refused(database.query(&reference(path), &lock, &now()).await.map(drop));
            assert_eq!(refusal.0, Kind::NotAllowed, "{path}");
        }
        let second = Query {
            filter: Some(Filter::Compare("id".into(), Comparison::Equal, 2.into())),
            ..lock.clone()
        };
        for (path, query) in [("tasks/2", &lock), ("tasks", &second)] {
            let inside = begin(&database, &now()).await;
            let locked = database.query(&reference(path), query, &inside).await.unwrap();
            assert!(text(locked, Form::Json).await.contains("\"b\""), "{path}");
            let taken = async |id: u64| {
                let sql = format!("select 1 from tasks where id = {id} for update nowait");
                other.run(&sql, vec![], &now()).await.is_err()
            };
            assert!(!taken(1).await, "{path}: other rows are free");
            assert!(taken(2).await, "{path}");
            within(&inside).commit().await.unwrap();
        }
        sql(&other, "update tasks set title = 'x' where id = 2").await;
    });
}
