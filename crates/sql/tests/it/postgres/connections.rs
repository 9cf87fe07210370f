//! Connections: shared, replaced when they die, stopped when nobody waits any more.

use crate::common::*;
use crate::postgres::support::{count, local, one, open, sql, tasks, with_database};
use runnel_scratch::{Server, Service};
use runnel_sql::{PostgresDatabase, PostgresOptions};
use runnel_store::{Context, Count, Counters, Kind, Level, Store, Tables, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A context whose caller waits so long.
fn within(limit: Duration) -> Context {
    Context { deadline: Some(Instant::now() + limit), ..Context::default() }
}

/// Statements that sleep on the server now.
const SLEEPING: &str = "select count(*) from pg_stat_activity where state = 'active' \
                        and datname = current_database() and query like '%pg_sleep%' \
                        and pid <> pg_backend_pid()";

async fn until_awake(database: &PostgresDatabase) {
    while one(database, SLEEPING).await != Value::Int(0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn many_verbs_share_few_connections() {
    with_database(|url| async move {
        let options = PostgresOptions { max_connections: 3, ..PostgresOptions::default() };
        let database = PostgresDatabase::open(&url, options).unwrap();
        let tasks = tasks(&database).await;
        let posts = (0..200).map(|_| async {
            tasks.post(&reference(""), content(r#"{"title":"x"}"#), &now()).await
        });
        futures_util::future::try_join_all(posts).await.unwrap();
        assert_eq!(count(&database, "tasks").await, Value::Int(200));
        let connections =
            "select count(*) from pg_stat_activity where datname = current_database()";
        assert_eq!(one(&database, connections).await, Value::Int(3));
    });
}

#[test]
fn a_slow_statement_ends_at_the_deadline() {
    with_database(|url| async move {
        let database = open(&url);
        let sleep = "select pg_sleep(600)";
        let late = database.run(sleep, vec![], &within(Duration::from_millis(200))).await;
        let (kind, message) = refused(late);
        assert!(kind == Kind::Timeout && message.contains("127.0.0.1"), "{message}");
        until_awake(&database).await;
        let impatient = PostgresOptions {
            time_limit: Duration::from_millis(200),
            ..PostgresOptions::default()
        };
        let database = PostgresDatabase::open(&url, impatient).unwrap();
        assert_eq!(refused(database.run(sleep, vec![], &now()).await).0, Kind::Timeout);
        until_awake(&database).await;
        let net = PostgresOptions {
            statement_time: Duration::from_millis(200),
            ..PostgresOptions::default()
        };
        let database = PostgresDatabase::open(&url, net).unwrap();
        assert_eq!(refused(database.run(sleep, vec![], &now()).await).0, Kind::Timeout);
    });
}

#[test]
fn a_statement_that_is_given_up_is_stopped() {
    with_database(|url| async move {
        let database = open(&url);
        for _ in 0..10 {
            let sleep = database.run("select pg_sleep(600)", vec![], &now());
            let waited = tokio::time::timeout(Duration::from_millis(50), sleep).await;
            assert!(waited.is_err());
        }
        until_awake(&database).await;
        // The server ends their connections when it is its turn.
        let connections =
            "select count(*) from pg_stat_activity where datname = current_database()";
        while one(&database, connections).await != Value::Int(1) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

/// Something between the database and us that can stop moving bytes without a word.
async fn proxy(to: String, frozen: Rc<Cell<bool>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn_local(async move {
        loop {
            let (near, _) = listener.accept().await.unwrap();
            let far = TcpStream::connect(&to).await.unwrap();
            let (near, far) = (near.into_split(), far.into_split());
            tokio::task::spawn_local(carry(near.0, far.1, frozen.clone()));
            tokio::task::spawn_local(carry(far.0, near.1, frozen.clone()));
        }
    });
    port
}

/// What was frozen once stays so.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, frozen: Rc<Cell<bool>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if frozen.get() {
            std::future::pending::<()>().await;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
}

#[test]
fn a_network_that_falls_silent() {
    with_database(|url| async move {
        let (start, rest) = url.split_once("@").unwrap();
        let (to, name) = rest.split_once('/').unwrap();
        let frozen = Rc::new(Cell::new(false));
        let port = proxy(to.to_string(), frozen.clone()).await;
        let through = open(&format!("{start}@127.0.0.1:{port}/{name}?sslmode=disable"));
        let tasks = tasks(&through).await;
        // Several connections, all of which are lost.
        let gets = (0..8).map(|_| get(&tasks, ""));
        futures_util::future::join_all(gets).await;
        frozen.set(true);
        let late = tasks.get(&reference("1"), &within(Duration::from_millis(200))).await;
        assert_eq!(refused(late).0, Kind::Timeout);
        frozen.set(false);
        // At once, and not after each of the others was found silent.
        assert_eq!(get(&tasks, "").await.unwrap(), "[]");
        tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
    });
}

/// Carries to the database, and remembers that a COMMIT was among it.
async fn carry_to(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, commits: Rc<Cell<bool>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if buffer[..count].windows(6).any(|part| part == b"COMMIT") {
            commits.set(true);
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
}

/// Carries from the database until a COMMIT is answered, of which nothing passes.
async fn carry_from(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, commits: Rc<Cell<bool>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if commits.get() || to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_in_doubt() {
    with_database(|url| async move {
        let (start, rest) = url.split_once("@").unwrap();
        let (to, name) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = to.to_string();
        tokio::task::spawn_local(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(&to).await.unwrap();
                let (near, far) = (near.into_split(), far.into_split());
                let commits = Rc::new(Cell::new(false));
                tokio::task::spawn_local(carry_to(near.0, far.1, commits.clone()));
                tokio::task::spawn_local(carry_from(far.0, near.1, commits));
            }
        });
        let through = open(&format!("{start}@127.0.0.1:{port}/{name}?sslmode=disable"));
        let direct = tasks(&open(&url)).await;
        let tasks = tasks(&through).await;
        let transaction = through.begin(&reference(""), None, &now()).await.unwrap();
        let inside = Context { transaction: Some(transaction.clone()), ..now() };
        tasks.post(&reference(""), content("{}"), &inside).await.unwrap();
        let error = transaction.commit().await.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::InDoubt, false), "{error}");
        assert!(error.message.contains("is not known"), "{error}");
        // It was done.
        assert!(get(&direct, "").await.unwrap().contains("\"id\":1"));
    });
}

#[test]
fn connections_that_died_are_replaced() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let other = open(&url);
        for _ in 0..3 {
            let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                        where datname = current_database() and pid <> pg_backend_pid()";
            sql(&other, kill).await;
            assert_eq!(get(&tasks, "").await.unwrap(), "[]");
        }
    });
}

#[test]
fn a_server_that_dies_and_comes_back() {
    let Some(mut server) = Server::for_test(Service::Postgres) else { return };
    local(async {
        let database = open(&server.url());
        let tasks = tasks(&database).await;
        tasks.post(&reference(""), content(r#"{"title":"a"}"#), &now()).await.unwrap();
        let mut changes = tasks.watch(&reference(""), &now()).await.unwrap();
        let sleep = database.run("select pg_sleep(600)", vec![], &now());
        let killed = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.kill();
        };
        let (slept, ()) = tokio::join!(sleep, killed);
        let error = slept.err().unwrap();
        assert!(error.kind == Kind::Unavailable && error.temporary, "{error}");
        for _ in 0..3 {
            let error = tasks.get(&reference("1"), &now()).await.err().unwrap();
            assert_eq!(error.kind, Kind::Unavailable, "{error}");
            assert!(error.to_string().contains("get 1: no connection to PostgreSQL at 127.0.0.1:"));
            assert!(error.message.ends_with("the connection was refused"), "{error}");
        }
        // Watchers hear that they miss changes, and again when they miss none any more.
        use futures_util::StreamExt;
        let told = tokio::time::timeout(Duration::from_secs(30), changes.next()).await;
        assert_eq!(told.unwrap().unwrap().unwrap().kind, runnel_store::ChangeKind::Lost);
        server.restart().unwrap();
        assert_eq!(get(&tasks, "1").await.unwrap(), r#"{"id":1,"done":null,"title":"a"}"#);
        tasks.post(&reference(""), content(r#"{"title":"b"}"#), &now()).await.unwrap();
        let told = tokio::time::timeout(Duration::from_secs(30), changes.next()).await;
        assert_eq!(told.unwrap().unwrap().unwrap().kind, runnel_store::ChangeKind::Lost);
    });
}

/// A database with one connection, which is not free for a while.
async fn held(
    url: &str,
    wait: Duration,
) -> (Rc<PostgresDatabase>, Rc<dyn runnel_store::Transaction>) {
    let options =
        PostgresOptions { max_connections: 1, pool_timeout: wait, ..PostgresOptions::default() };
    let database = PostgresDatabase::open(url, options).unwrap();
    let transaction = database.begin(&reference(""), None, &now()).await.unwrap();
    (database, transaction)
}

#[test]
fn who_waits_for_a_connection_is_served_in_order() {
    with_database(|url| async move {
        let (database, transaction) = held(&url, Duration::from_secs(30)).await;
        let counters = counters(&url);
        let served = Rc::new(RefCell::new(Vec::new()));
        let wait = |name: u32| {
            let (database, served) = (database.clone(), served.clone());
            tokio::task::spawn_local(async move {
                one(&database, "select 1").await;
                served.borrow_mut().push(name);
            })
        };
        let waiting = [wait(1), wait(2), wait(3), wait(4)];
        while counters.level(Level::Waiting) < 4 {
            tokio::task::yield_now().await;
        }
        // Who gives up leaves the line.
        waiting[1].abort();
        while counters.level(Level::Waiting) > 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!((counters.level(Level::Used), counters.level(Level::Open)), (1, 1));
        transaction.roll_back().await.unwrap();
        for one in waiting {
            let _ = one.await;
        }
        assert_eq!(*served.borrow(), [1, 3, 4]);
        assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (0, 0));
        assert_eq!(counters.count(Count::Opened), 1);
        // Preparing a statement and running it wait each for itself.
        assert_eq!(counters.waits.counts().iter().sum::<u64>(), 6);
    });
}

#[test]
fn waiting_for_a_connection_ends() {
    with_database(|url| async move {
        let (database, transaction) = held(&url, Duration::from_millis(100)).await;
        let late = database.run("select 1", vec![], &now()).await.map(drop).unwrap_err();
        assert!(late.kind == Kind::Unavailable && late.temporary, "{late}");
        assert!(late.message.contains("all 1 connections to PostgreSQL at 127.0.0.1"), "{late}");
        let soon = within(Duration::from_millis(30));
        let late = database.run("select 1", vec![], &soon).await.map(drop).unwrap_err();
        assert_eq!(late.kind, Kind::Timeout, "{late}");
        assert!(late.message.contains("before the deadline"), "{late}");
        transaction.commit().await.unwrap();
        assert_eq!(one(&database, "select 1").await, Value::Int(1));
        let counters = counters(&url);
        assert_eq!((counters.count(Count::Late), counters.count(Count::Commits)), (2, 1));
        assert!(counters.count(Count::Statements) >= 3 && counters.count(Count::Rows) >= 1);
    });
}

/// What is counted of a database.
fn counters(url: &str) -> Arc<Counters> {
    let place = url.rsplit_once('@').map_or_else(|| url.split("//").nth(1).unwrap(), |(_, it)| it);
    let place = place.split('?').next().unwrap();
    let found =
        Counters::all().into_iter().find(|one| one.kind == "postgres" && one.place == place);
    found.unwrap_or_else(|| panic!("nothing is counted of {place}"))
}
