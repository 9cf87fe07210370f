//! Writes of many: they share transactions, each has its own fate, and nothing answered is lost.

use crate::common::*;
use futures_util::FutureExt;
use futures_util::future::join_all;
use runnel_sql::{SqliteDatabase, SqliteOptions, SqliteTable, WRITE_QUEUE};
use runnel_store::{Answer, Kind, Outcome, Store, Value};
use std::time::{Duration, Instant};

/// Holds the writer back by another program's lock, so that what is asked meanwhile waits
/// together.
struct Held(rusqlite::Connection);

impl Held {
    fn hold(place: &Place) -> Self {
        let connection = place.other_program();
        connection.execute_batch("begin immediate").unwrap();
        Held(connection)
    }

    fn release(self) {
        self.0.execute_batch("rollback").unwrap();
    }
}

fn post(tasks: &SqliteTable, json: &str) -> Answer<Outcome> {
    tasks.post(&reference(""), content(json), &now())
}

async fn count(database: &SqliteDatabase) -> String {
    let rows = database.run("select count(*) as n from tasks", vec![], &now()).await.unwrap();
    text(rows, runnel_store::Form::Json).await
}

#[test]
fn waiting_writes_share_a_transaction() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let before = database.commits();
        let held = Held::hold(&place);
        let answers: Vec<_> = (0..100).map(|_| post(&tasks, r#"{"title":"x"}"#)).collect();
        held.release();
        let mut ids: Vec<i64> = Vec::new();
        for posted in join_all(answers).await {
            ids.push(posted.unwrap().reference.unwrap().path().parse().unwrap());
        }
        assert_eq!(ids, (1..=100).collect::<Vec<_>>());
        let commits = database.commits() - before;
        assert!((1..100).contains(&commits), "{commits}");
        assert_eq!(count(&database).await, r#"[{"n":100}]"#);
    });
}

#[test]
fn a_write_that_fails_undoes_itself_alone() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let held = Held::hold(&place);
        let good = post(&tasks, r#"{"id":1}"#);
        let half = post(&tasks, r#"[{"id":2},{"id":3},{"id":1}]"#);
        let also_good = post(&tasks, r#"{"id":4}"#);
        held.release();
        assert!(good.await.is_ok());
        assert_eq!(refused(half.await).0, Kind::Conflict);
        assert!(also_good.await.is_ok());
        assert_eq!(get(&tasks, "?fields=id").await.unwrap(), r#"[{"id":1},{"id":4}]"#);
    });
}

#[test]
fn each_of_many_has_its_own_fate() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let mut expected = Vec::new();
        // Few failures, many, and none again: with and without savepoints from the start.
        for (round, every) in [usize::MAX, 40, 2, 1, 3, usize::MAX, 7].into_iter().enumerate() {
            let held = Held::hold(&place);
            let mut answers = Vec::new();
            for number in 0..80 {
                let id = 1000 * (round + 1) + number;
                let fails = number % every == every - 1;
                let rows = if fails { format!(r#",{{"id":{id}}}"#) } else { String::new() };
                answers.push((fails, post(&tasks, &format!(r#"[{{"id":{id}}}{rows}]"#))));
                if !fails {
                    expected.push(format!(r#"{{"id":{id}}}"#));
                }
            }
            held.release();
            for (fails, answer) in answers {
                assert_eq!(answer.await.is_err(), fails);
            }
        }
        let expected = format!("[{}]", expected.join(","));
        assert_eq!(get(&tasks, "?fields=id").await.unwrap(), expected);
    });
}

#[test]
fn a_failure_at_the_commit_hits_only_who_caused_it() {
    run(async {
        let place = Place::new();
        place
            .other_program()
            .execute_batch(
                "create table parents(id integer primary key);
                 create table children(id integer primary key,
                     parent references parents(id) deferrable initially deferred);
                 create table once(a unique on conflict rollback);
                 insert into parents values (1);",
            )
            .unwrap();
        let database = place.open();
        let insert = |parent: i64| {
            let sql = "insert into children(parent) values (?)";
            database.run(sql, vec![Value::Int(parent)], &now())
        };
        let held = Held::hold(&place);
        let answers = [insert(1), insert(2), insert(1)];
        held.release();
        let answers: Vec<bool> =
            join_all(answers).await.iter().map(|answer| answer.is_ok()).collect();
        assert_eq!(answers, [true, false, true]);
        assert_eq!(refused(insert(3).await).0, Kind::Conflict);
        assert_eq!(
            get(&*database, "children?fields=parent").await.unwrap(),
            r#"[{"parent":1},{"parent":1}]"#
        );

        let insert = |value: i64| {
            database.run("insert into once values (?)", vec![Value::Int(value)], &now())
        };
        let held = Held::hold(&place);
        let answers = [insert(1), insert(2), insert(1), insert(3)];
        held.release();
        let answers: Vec<bool> =
            join_all(answers).await.iter().map(|answer| answer.is_ok()).collect();
        assert_eq!(answers, [true, true, false, true]);
        assert_eq!(get(&*database, "once").await.unwrap(), r#"[{"a":1},{"a":2},{"a":3}]"#);
    });
}

#[test]
fn writes_happen_in_the_order_of_the_calls() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let put = |title: &str| {
            let row = content(&format!(r#"{{"title":"{title}"}}"#));
            tasks.put(&reference("1"), row, &now())
        };
        let (first, second, third) = (put("a"), put("b"), put("c"));
        third.await.unwrap();
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(get(&tasks, "1?").await.unwrap(), r#"{"id":1,"done":null,"title":"c"}"#);
    });
}

#[test]
fn a_dropped_answer_takes_its_write_back() {
    run(async {
        let place = Place::new();
        let tasks = tasks(&place.open()).await;
        let held = Held::hold(&place);
        // The writer has taken the first one and waits with it for the lock.
        let first = post(&tasks, r#"{"id":1}"#);
        drop(post(&tasks, r#"{"id":2}"#));
        let third = post(&tasks, r#"{"id":3}"#);
        held.release();
        first.await.unwrap();
        third.await.unwrap();
        assert_eq!(get(&tasks, "?fields=id").await.unwrap(), r#"[{"id":1},{"id":3}]"#);
    });
}

#[test]
fn when_the_queue_is_full_the_next_wait() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let held = Held::hold(&place);
        let many = WRITE_QUEUE + 50;
        let answers: Vec<_> = (0..many).map(|_| post(&tasks, "{}")).collect();
        held.release();
        assert!(join_all(answers).await.iter().all(|answer| answer.is_ok()));
        assert_eq!(count(&database).await, format!(r#"[{{"n":{many}}}]"#));
    });
}

#[test]
fn a_lock_that_stays_is_a_temporary_failure() {
    run(async {
        let place = Place::new();
        let options =
            SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::default() };
        let database = SqliteDatabase::open(place.file(), options).unwrap();
        let tasks = tasks(&database).await;
        let held = Held::hold(&place);
        let answers = join_all((0..3).map(|_| post(&tasks, "{}"))).await;
        for answer in answers {
            let Err(error) = answer else { panic!("the lock was held") };
            assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
        }
        assert_eq!(get(&tasks, "").await.unwrap(), "[]");
        held.release();
        assert!(post(&tasks, "{}").await.is_ok());
    });
}

#[test]
fn a_definition_waits_longer_than_a_write() {
    run(async {
        let place = Place::new();
        let busy = Duration::from_millis(20);
        let options = SqliteOptions { busy_timeout: busy, ..SqliteOptions::default() };
        let database = SqliteDatabase::open(place.file(), options).unwrap();
        let held = Held::hold(&place);
        let shape = task_shape();
        let root = reference("");
        let mut defining = std::pin::pin!(database.define_table(&root, &shape));
        // Four times as long as a write waits.
        let waited = tokio::time::timeout(busy * 4, &mut defining).await;
        assert!(waited.is_err(), "the table was made in spite of the lock, or given up");
        held.release();
        assert!(post(&defining.await.unwrap(), "{}").await.is_ok());
    });
}

#[test]
fn each_answered_write_is_seen_by_the_next_read() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        for number in 1..50 {
            post(&tasks, "{}").await.unwrap();
            assert_eq!(count(&database).await, format!(r#"[{{"n":{number}}}]"#));
            assert!(get(&tasks, &number.to_string()).await.is_some());
        }
    });
}

#[test]
fn workers_share_the_writer() {
    let place = Place::new();
    let database = place.open();
    let tasks = run(tasks(&database));
    let threads: Vec<_> = (0..4)
        .map(|worker| {
            let file = place.file();
            std::thread::spawn(move || {
                run(async {
                    let database = SqliteDatabase::open(file, SqliteOptions::default()).unwrap();
                    let tasks = crate::common::tasks(&database).await;
                    for number in 0..25 {
                        let row = format!(r#"{{"title":"{worker}/{number}"}}"#);
                        let id = post(&tasks, &row).await.unwrap().reference.unwrap();
                        let found = get(&tasks, id.path()).await.unwrap();
                        assert!(found.contains(&format!("{worker}/{number}")), "{found}");
                    }
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(run(count(&database)), r#"[{"n":100}]"#);
    assert!(database.commits() <= 101, "one writer counts for all");
    drop(tasks);
}

#[test]
fn closing_runs_what_waits() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let answers: Vec<_> = (0..20).map(|_| post(&tasks, "{}")).collect();
        drop((database, tasks));
        assert!(join_all(answers).await.iter().all(|answer| answer.is_ok()));
        let log = place.file().with_extension("db-wal");
        assert!(!log.exists(), "the database was not closed cleanly");
        assert_eq!(count(&place.open()).await, r#"[{"n":20}]"#);
    });
}

#[test]
fn closing_does_not_wait_for_those_without_room() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let held = Held::hold(&place);
        let mut answers: Vec<_> = (0..2 * WRITE_QUEUE + 10).map(|_| post(&tasks, "{}")).collect();
        // They have asked for room, and nobody polls them again before the end.
        for answer in &mut answers {
            assert!(answer.now_or_never().is_none());
        }
        held.release();
        drop((database, tasks));
        let done = join_all(answers).await.into_iter().filter(|answer| answer.is_ok()).count();
        assert!(done >= WRITE_QUEUE, "{done}");
        assert_eq!(count(&place.open()).await, format!(r#"[{{"n":{done}}}]"#));
    });
}

#[test]
fn a_long_write_ends_at_its_deadline() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let mut context = now();
        context.deadline = Some(Instant::now() + Duration::from_millis(30));
        let endless = "insert into tasks(title) with recursive n(i) as \
                       (select 1 union all select i + 1 from n) select i from n where i < 0";
        let answer = database.run(endless, vec![], &context).await;
        assert_eq!(refused(answer).0, Kind::Timeout);
        assert_eq!(post(&tasks, "{}").await.unwrap().reference.unwrap().path(), "1");
        context.deadline = Some(Instant::now());
        let late = tasks.post(&reference(""), content("{}"), &context).await;
        assert_eq!(refused(late).0, Kind::Timeout);
        assert_eq!(count(&database).await, r#"[{"n":1}]"#);
    });
}
