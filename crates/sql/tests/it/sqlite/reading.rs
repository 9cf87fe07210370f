//! Reads that take long leave the worker's thread, end at their deadline, and can be streamed.

use crate::common::*;
use futures_util::StreamExt;
use runnel_sql::{CHUNK, POOL_CONNECTIONS, READ_SIZE, SqliteDatabase};
use runnel_store::{Answer, Body, Content, Context, Form, Kind, Lazy, Query, Store, Value};
use std::rc::Rc;
use std::time::{Duration, Instant};

const ENDLESS: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n where i < 0";
const LONG: &str = "with recursive n(i) as \
                    (select 1 union all select i + 1 from n where i < 1000000) \
                    select max(i) as most from n";

async fn lazy(database: &SqliteDatabase, sql: &str, context: &Context) -> Rc<dyn Lazy> {
    let content = database.run(sql, vec![], context).await.unwrap();
    let Body::Lazy(lazy) = content.body else { panic!("rows are lazy") };
    lazy
}

fn within(time: Duration) -> Context {
    Context { deadline: Some(Instant::now() + time), ..Context::default() }
}

/// A table of so many rows of about 100 bytes of JSON.
async fn filled(database: &SqliteDatabase, rows: usize) {
    tasks(database).await;
    let sql = "insert into tasks(done, title) with recursive n(i) as \
               (select 1 union all select i + 1 from n where i < ?1) \
               select i % 2, printf('task number %060d', i) from n";
    database.run(sql, vec![Value::Int(rows as i64)], &now()).await.unwrap();
}

#[test]
fn a_long_query_does_not_hold_the_worker() {
    run(async {
        let place = Place::new();
        let database = place.open();
        filled(&database, 2).await;
        let rows = lazy(&database, LONG, &now()).await;
        let answer = rows.encode(Form::Json);
        assert!(!is_ready(&answer));
        // Other reads are answered at once meanwhile.
        assert!(is_ready(&database.get(&reference("tasks/1"), &now())));
        assert_eq!(answer.await.unwrap(), r#"[{"most":1000000}]"#);
        assert_eq!(
            rows.value().await.unwrap(),
            Value::List(vec![Value::record([("most", Value::Int(1_000_000))])])
        );
    });
}

#[test]
fn reads_end_at_their_deadline() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let rows = lazy(&database, ENDLESS, &within(Duration::from_millis(30))).await;
        assert_eq!(refused(rows.encode(Form::Json).await).0, Kind::Timeout);
        assert_eq!(refused(rows.encode(Form::Json).await).0, Kind::Timeout);
        assert_eq!(refused(rows.value().await).0, Kind::Timeout);
        let rows = lazy(&database, ENDLESS, &within(Duration::from_millis(30))).await;
        let mut stream = rows.stream(Form::Json).unwrap();
        assert_eq!(refused(stream.next().await.unwrap()).0, Kind::Timeout);
        assert!(stream.next().await.is_none());
    });
}

#[test]
fn dropping_the_answer_frees_its_connection() {
    run(async {
        let place = Place::new();
        let database = place.open();
        for _ in 0..POOL_CONNECTIONS + 2 {
            let rows = lazy(&database, ENDLESS, &now()).await;
            let stopped = tokio::time::timeout(Duration::from_millis(5), rows.encode(Form::Json));
            assert!(stopped.await.is_err());
            let mut stream = rows.stream(Form::Csv).unwrap();
            let header = tokio::time::timeout(Duration::from_millis(5), stream.next());
            assert!(header.await.is_err());
        }
        let rows = lazy(&database, LONG, &now()).await;
        assert_eq!(rows.encode(Form::Json).await.unwrap(), r#"[{"most":1000000}]"#);
    });
}

#[test]
fn large_results_are_streamed_and_small_ones_are_not() {
    run(async {
        let place = Place::new();
        let database = place.open();
        filled(&database, 20_000).await;
        let content = database.get(&reference("tasks"), &now()).await.unwrap().unwrap();
        let Body::Lazy(rows) = content.body else { panic!("rows are lazy") };
        for form in [Form::Json, Form::Csv] {
            let whole = rows.encode(form).await.unwrap();
            assert!(whole.len() > READ_SIZE);
            let mut stream = rows.stream(form).unwrap();
            let mut pieces = Vec::new();
            let mut largest = 0;
            while let Some(piece) = stream.next().await {
                let piece = piece.unwrap();
                largest = largest.max(piece.len());
                pieces.extend_from_slice(&piece);
            }
            assert!(pieces == whole, "{form:?}");
            assert!(largest < 2 * CHUNK, "{largest}");
        }
        let few =
            database.get(&reference("tasks?limit=2&fields=id"), &now()).await.unwrap().unwrap();
        let Body::Lazy(few) = few.body else { panic!("rows are lazy") };
        assert!(few.stream(Form::Json).is_none());
        assert_eq!(few.encode(Form::Json).await.unwrap(), r#"[{"id":1},{"id":2}]"#);
        drop(rows.stream(Form::Json).unwrap().next().await);
        assert_eq!(get(&*database, "tasks?limit=1&fields=id").await.unwrap(), r#"[{"id":1}]"#);
    });
}

#[test]
fn a_stream_is_one_snapshot() {
    run(async {
        let place = Place::new();
        let database = place.open();
        filled(&database, 20_000).await;
        let content = database.get(&reference("tasks"), &now()).await.unwrap().unwrap();
        let Body::Lazy(rows) = content.body else { panic!("rows are lazy") };
        let before = rows.encode(Form::Json).await.unwrap();
        let mut stream = rows.stream(Form::Json).unwrap();
        let mut pieces = stream.next().await.unwrap().unwrap().to_vec();
        database.run("delete from tasks", vec![], &now()).await.unwrap();
        while let Some(piece) = stream.next().await {
            pieces.extend_from_slice(&piece.unwrap());
        }
        assert!(pieces == before);
        assert_eq!(rows.encode(Form::Json).await.unwrap(), "[]");
    });
}

#[test]
fn counting_a_large_table_leaves_the_worker() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let count = Query { count: true, ..Query::default() };
        let ask = || database.query(&reference("tasks"), &count, &now());
        let Answer::Ready(Ok(few)) = ask() else { panic!("a small table is counted at once") };
        assert_eq!(few.into_value(0).await.unwrap(), Value::Int(0));
        let sql = "insert into tasks(title) with recursive n(i) as \
                   (select 1 union all select i + 1 from n where i < 100) \
                   select hex(zeroblob(50000)) from n";
        database.run(sql, vec![], &now()).await.unwrap();
        let answer = ask();
        assert!(!is_ready(&answer));
        assert_eq!(answer.await.unwrap().into_value(0).await.unwrap(), Value::Int(100));
    });
}

#[test]
fn a_read_without_an_event_loop_is_refused_not_lost() {
    let place = Place::new();
    let database = place.open();
    let Answer::Ready(Ok(Content { body: Body::Lazy(rows), .. })) =
        database.run(LONG, vec![], &now())
    else {
        panic!("rows are lazy")
    };
    let mut answer = rows.encode(Form::Json);
    let waker = std::task::Waker::noop();
    let mut context = std::task::Context::from_waker(waker);
    let std::task::Poll::Ready(result) = std::pin::Pin::new(&mut answer).poll(&mut context) else {
        panic!("there is nothing to wait for")
    };
    assert_eq!(refused(result).0, Kind::Failed);
}

#[test]
fn memory_databases_wait_for_their_writers() {
    run(async {
        let database =
            SqliteDatabase::open(":memory:", runnel_sql::SqliteOptions::default()).unwrap();
        filled(&database, 10).await;
        let long = "insert into tasks(title) with recursive n(i) as \
                    (select 1 union all select i + 1 from n where i < 200000) select i from n";
        let write = database.run(long, vec![], &now());
        let count = "select count(*) as n from tasks";
        let mut found = Vec::new();
        for _ in 0..20 {
            let rows = database.run(count, vec![], &now()).await.unwrap();
            found.push(text(rows, Form::Json).await);
        }
        write.await.unwrap();
        let all = |text: &String| text == r#"[{"n":10}]"# || text == r#"[{"n":200010}]"#;
        assert!(found.iter().all(all), "{found:?}");
    });
}
