//! Waiting for a connection that reads, and for room among the writes: in order, and not for ever.

use crate::common::*;
use futures_util::future::join_all;
use runnel_sql::{SqliteDatabase, SqliteOptions, WRITE_QUEUE};
use runnel_store::{
    Answer, Body, Context, Count, Counters, Form, Kind, Level, Store, Tables, Value,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ENDLESS: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n where i < 0";
const LONG: &str = "with recursive n(i) as \
                    (select 1 union all select i + 1 from n where i < 300000) \
                    select max(i) as most from n";

fn open(place: &Place, wait: Duration) -> (Rc<SqliteDatabase>, Arc<Counters>) {
    let options =
        SqliteOptions { max_connections: 1, pool_timeout: wait, ..SqliteOptions::default() };
    let database = SqliteDatabase::open(place.file(), options).unwrap();
    let file = place.file().canonicalize().unwrap();
    (database, Counters::of("sqlite", &file.display().to_string()))
}

/// Runs a test in a process of its own, which counts few enough databases to count each of them.
fn counted_alone(name: &str, test: impl Future<Output = ()>) {
    runnel_scratch::alone(&format!("sqlite::waiting::{name}"), || run(test));
}

/// A read that takes longer than a worker may spend at once.
async fn read(database: &SqliteDatabase, sql: &str, context: &Context) -> Answer<bytes::Bytes> {
    let content = database.run(sql, vec![], context).await.unwrap();
    let Body::Lazy(lazy) = content.body else { panic!("rows are lazy") };
    lazy.encode(Form::Json)
}

/// Begins something that does not end by itself.
async fn begin<T>(work: &mut Answer<T>) {
    let Answer::Later(work) = work else { panic!("it is answered at once") };
    assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
}

#[test]
fn long_reads_wait_for_their_turn() {
    counted_alone("long_reads_wait_for_their_turn", async {
        let place = Place::new();
        let (database, counters) = open(&place, Duration::from_secs(60));
        let mut held = read(&database, ENDLESS, &now()).await;
        begin(&mut held).await;
        let served = RefCell::new(Vec::new());
        let wait = async |name: u32| {
            let read = read(&database, LONG, &now()).await;
            read.await.unwrap();
            served.borrow_mut().push(name);
        };
        let mut given_up = read(&database, LONG, &now()).await;
        let all = async {
            begin(&mut given_up).await;
            let all = join_all([wait(1), wait(2), wait(3)]);
            tokio::pin!(all);
            let soon = Duration::from_millis(50);
            assert!(tokio::time::timeout(soon, all.as_mut()).await.is_err());
            assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (1, 4));
            drop(given_up);
            assert_eq!(counters.level(Level::Waiting), 3);
            drop(held);
            all.await;
        };
        all.await;
        assert_eq!(*served.borrow(), [1, 2, 3]);
        assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (0, 0));
        assert_eq!(counters.waits.counts().iter().sum::<u64>(), 3);
    });
}

#[test]
fn waiting_for_a_read_ends() {
    counted_alone("waiting_for_a_read_ends", async {
        let place = Place::new();
        let (database, counters) = open(&place, Duration::from_millis(150));
        let mut held = read(&database, ENDLESS, &now()).await;
        begin(&mut held).await;
        let error = read(&database, LONG, &now()).await.await.unwrap_err();
        assert!(error.kind == Kind::Unavailable && error.temporary, "{error}");
        assert!(error.message.contains("all 1 connections for long reads"), "{error}");
        let deadline = Some(Instant::now() + Duration::from_millis(60));
        let context = Context { deadline, ..Context::default() };
        let error = read(&database, LONG, &context).await.await.unwrap_err();
        assert_eq!(error.kind, Kind::Timeout, "{error}");
        assert_eq!((counters.count(Count::Late), counters.count(Count::Refused)), (2, 0));
        // What takes no time needs none of them.
        assert_eq!(get(&*database, "").await.unwrap(), "[]");
        drop(held);
        let answer = read(&database, LONG, &now()).await.await.unwrap();
        assert_eq!(answer, r#"[{"most":300000}]"#);
    });
}

#[test]
fn writes_wait_for_room_and_not_for_ever() {
    counted_alone("writes_wait_for_room_and_not_for_ever", async {
        let place = Place::new();
        let (database, counters) = open(&place, Duration::from_millis(200));
        let tasks = tasks(&database).await;
        // A transaction has the writer to itself.
        let transaction = database.begin(&reference(""), None, &now()).await.unwrap();
        let post = || tasks.post(&reference(""), content(r#"{"title":"x"}"#), &now());
        let queued: Vec<_> = (0..WRITE_QUEUE).map(|_| post()).collect();
        let error = post().await.map(drop).unwrap_err();
        assert!(error.kind == Kind::Unavailable && error.temporary, "{error}");
        assert!(error.message.contains("writes wait for the database"), "{error}");
        assert_eq!((counters.count(Count::Late), counters.level(Level::Waiting)), (1, 0));
        let mut next = post();
        begin(&mut next).await;
        assert_eq!(counters.level(Level::Waiting), 1);
        transaction.roll_back().await.unwrap();
        for one in join_all(queued).await {
            one.unwrap();
        }
        next.await.unwrap();
        let count = "select count(*) as count from tasks";
        let answer = database.run(count, vec![], &now()).await.unwrap();
        let expected = Value::record([("count", Value::Int(WRITE_QUEUE as i64 + 1))]);
        assert_eq!(answer.into_value(1 << 20).await.unwrap(), Value::List(vec![expected]));
    });
}

#[test]
fn what_a_database_does_is_counted() {
    counted_alone("what_a_database_does_is_counted", async {
        let place = Place::new();
        let (database, counters) = open(&place, Duration::from_secs(5));
        let tasks = tasks(&database).await;
        let (commits, writes) = (counters.count(Count::Commits), counters.count(Count::Writes));
        let posts =
            (0..10).map(|_| tasks.post(&reference(""), content(r#"{"title":"x"}"#), &now()));
        join_all(posts).await.into_iter().for_each(|posted| drop(posted.unwrap()));
        assert_eq!(counters.count(Count::Writes) - writes, 10);
        let commits = counters.count(Count::Commits) - commits;
        assert!((1..=10).contains(&commits), "{commits}");
        let before = |count| counters.count(count);
        let (statements, rows, kept) =
            (before(Count::Statements), before(Count::Rows), before(Count::Kept));
        let all = get(&*database, "tasks").await.unwrap();
        assert_eq!(counters.count(Count::Statements) - statements, 1);
        assert_eq!(counters.count(Count::Rows) - rows, 10);
        assert_eq!(get(&*database, "tasks").await.unwrap(), all);
        assert_eq!(counters.count(Count::Kept) - kept, 1);
        assert_eq!(counters.count(Count::Statements) - statements, 1);
        get(&*database, "tasks/3").await.unwrap();
        get(&*database, "tasks?limit=4").await.unwrap();
        assert_eq!(counters.count(Count::Statements) - statements, 3);
        assert_eq!(counters.count(Count::Rows) - rows, 15);
    });
}
