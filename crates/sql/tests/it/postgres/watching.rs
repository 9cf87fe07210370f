//! Changes, told by the server whoever makes them.

use crate::common::*;
use crate::postgres::support::{open, sql, tasks, with_database};
use futures_util::StreamExt;
use runnel_store::{Changes, Kind, Store, Tables};
use std::time::Duration;

/// The next change, as `changed 7`.
async fn next(changes: &mut Changes) -> String {
    let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
    let change = change.unwrap().unwrap().unwrap();
    format!("{} {}", change.kind.name(), change.reference)
}

/// The next change that is no `lost`.
async fn after_losses(changes: &mut Changes) -> String {
    loop {
        let change = next(changes).await;
        if !change.starts_with("lost ") {
            return change;
        }
    }
}

#[test]
fn what_others_do_is_told() {
    with_database(|url| async move {
        let (database, other) = (open(&url), open(&url));
        let tasks = tasks(&database).await;
        let mut all = tasks.watch(&reference(""), &now()).await.unwrap();
        let mut named = database.watch(&reference("tasks/2"), &now()).await.unwrap();
        let theirs = other.table("tasks");
        theirs.post(&reference(""), content(r#"{"title":"a"}"#), &now()).await.unwrap();
        assert_eq!(next(&mut all).await, "changed 1");
        sql(&other, "insert into tasks(title) values ('b'), ('c')").await;
        assert_eq!(
            (next(&mut all).await, next(&mut all).await),
            ("changed 2".into(), "changed 3".into())
        );
        assert_eq!(next(&mut named).await, "changed tasks/2");
        theirs.merge(&reference("3"), content(r#"{"title":"x"}"#), &now()).await.unwrap();
        theirs.delete(&reference("2"), &now()).await.unwrap();
        assert_eq!(
            (next(&mut all).await, next(&mut all).await),
            ("changed 3".into(), "deleted 2".into())
        );
        assert_eq!(next(&mut named).await, "deleted tasks/2");
        sql(&other, "update tasks set id = 9000 where id = 3").await;
        assert_eq!(
            (next(&mut all).await, next(&mut all).await),
            ("deleted 3".into(), "changed 9000".into())
        );
        sql(&other, "insert into tasks(title) select 'x' from generate_series(1, 1000)").await;
        assert_eq!(next(&mut all).await, "lost ");
        sql(&other, "truncate tasks").await;
        assert_eq!(next(&mut all).await, "lost ");
        assert_eq!(next(&mut named).await, "lost tasks/2");
    });
}

#[test]
fn what_is_rolled_back_is_not_told() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let mut all = tasks.watch(&reference(""), &now()).await.unwrap();
        let transaction = tasks.begin(&reference(""), None, &now()).await.unwrap();
        let inside = runnel_store::Context { transaction: Some(transaction), ..now() };
        tasks.post(&reference(""), content(r#"{"id":1}"#), &inside).await.unwrap();
        inside.transaction.as_ref().unwrap().roll_back().await.unwrap();
        tasks.post(&reference(""), content(r#"{"id":2}"#), &now()).await.unwrap();
        assert_eq!(next(&mut all).await, "changed 2");
    });
}

#[test]
fn a_broken_connection_is_made_again_and_told() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let mut all = tasks.watch(&reference(""), &now()).await.unwrap();
        let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                    where datname = current_database() and query like 'LISTEN%'";
        sql(&database, kill).await;
        assert_eq!(next(&mut all).await, "lost ");
        // A new watcher is there when the connection is. The others are told again then, unless
        // they have not yet read of the break.
        let mut named = database.watch(&reference("tasks/1"), &now()).await.unwrap();
        tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
        assert_eq!(after_losses(&mut named).await, "changed tasks/1");
        assert_eq!(after_losses(&mut all).await, "changed 1");
    });
}

#[test]
fn a_slow_watcher_loses_changes_and_is_told() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let mut all = tasks.watch(&reference(""), &now()).await.unwrap();
        for _ in 0..6 {
            sql(&database, "insert into tasks(title) select 'x' from generate_series(1, 200)")
                .await;
        }
        // Answered after everything before it was heard.
        let mut last = database.watch(&reference("tasks/5000"), &now()).await.unwrap();
        sql(&database, "insert into tasks(id) values (5000)").await;
        assert_eq!(next(&mut last).await, "changed tasks/5000");
        assert_eq!(next(&mut all).await, "lost ");
    });
}

#[test]
fn what_cannot_be_watched_says_so() {
    with_database(|url| async move {
        let database = open(&url);
        let refuse =
            async |path: &str| refused(database.watch(&reference(path), &now()).await.map(drop)).0;
        assert_eq!(refuse("").await, Kind::NotAllowed);
        assert_eq!(refuse("nothing").await, Kind::NotFound);
        sql(&database, "create view v as select 1 as one").await;
        assert_eq!(refuse("v").await, Kind::NotAllowed);
        sql(&database, "create table heap(n int)").await;
        let mut heap = database.watch(&reference("heap"), &now()).await.unwrap();
        sql(&database, "insert into heap values (1)").await;
        assert_eq!(next(&mut heap).await, "lost heap");
    });
}
