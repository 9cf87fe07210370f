//! Reading and inserting rows through the store, beside a loop written by hand over rusqlite that
//! does only what it must. Prints both times and their ratio; figures of one run on one machine
//! compare with each other and with nothing else.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout)] // it is a program whose only result is what it prints

use runnel_sql::{SqliteDatabase, SqliteOptions, SqliteTable};
use runnel_store::{
    Answer, Body, Content, Context, Field, FieldType, Form, Reference, Shape, Store, Value, json,
};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows that are inserted at once.
const MANY: usize = 1_000_000;

/// How long each reading measurement runs.
const WINDOW: Duration = Duration::from_millis(400);

/// Rounds of each measurement, of which the median counts.
const ROUNDS: usize = 5;

/// Measures all, or only what is named: `cargo bench -p runnel-sql -- posting`.
fn main() {
    let named: Vec<String> =
        std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|one| one == name);
    let folder = tempfile::tempdir().unwrap();
    if wanted("reading") {
        for rows in [2, 128, 1024] {
            reading(&folder.path().join(format!("read{rows}.db")), rows);
        }
    }
    if wanted("inserting") {
        inserting(folder.path());
    }
    if wanted("posting") {
        posting(&folder.path().join("post.db"));
    }
}

fn shape() -> Shape {
    let field = |name: &str, kind| Field::new(name, kind);
    let fields = vec![
        field("id", FieldType::Int),
        field("done", FieldType::Bool),
        field("title", FieldType::Text),
    ];
    Shape::new("Task", fields)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build_local(tokio::runtime::LocalOptions::default());
    runtime.unwrap().block_on(future)
}

/// The answer, which is nearly always there at once: only a machine that takes the thread away for
/// longer than the budget makes a read of this size wait.
fn now<T: 'static>(answer: Answer<T>) -> T {
    match answer {
        Answer::Ready(result) => result.unwrap(),
        later => run(later).unwrap(),
    }
}

fn record(id: usize) -> Value {
    Value::Record(vec![
        ("id".into(), Value::Int(id as i64)),
        ("done".into(), Value::Bool(id.is_multiple_of(2))),
        ("title".into(), Value::Text(format!("task number {id}"))),
    ])
}

fn table(path: &Path, rows: usize) -> SqliteTable {
    let database = SqliteDatabase::open(path, SqliteOptions::default()).unwrap();
    run(async {
        let table = database.define_table(&Reference::default(), &shape()).await.unwrap();
        let records = Value::List((1..=rows).map(record).collect());
        let root = Reference::default();
        table.post(&root, Content::value(records), &Context::default()).await.unwrap();
        table
    })
}

fn reading(path: &Path, rows: usize) {
    let table = table(path, rows);
    let (root, context) = (Reference::default(), Context::default());
    let connection = Connection::open(path).unwrap();
    let content = now(Store::get(&table, &root, &context)).unwrap();
    let Body::Lazy(lazy) = content.body else { panic!("rows are lazy") };
    assert_eq!(now(lazy.encode(Form::Json)), by_hand(&connection));
    let hand = measure(|| by_hand(&connection).len());
    let encode = measure(|| now(lazy.encode(Form::Json)).len());
    let mut number = 1_000_000;
    let fresh = measure(|| {
        number += 1;
        let reference = Reference::parse(&format!("?limit={number}"));
        let content = now(Store::get(&table, &reference, &context)).unwrap();
        now(content.encode(Form::Json)).len()
    });
    let kept = measure(|| {
        let content = now(Store::get(&table, &root, &context)).unwrap();
        now(content.encode(Form::Json)).len()
    });
    println!("{rows:>5} rows to JSON: by hand {hand:>8.2} us");
    report("encode again", encode, hand);
    report("get with a query, encode", fresh, hand);
    report("get, encode (kept)", kept, hand);
}

fn report(what: &str, time: f64, hand: f64) {
    println!("      {what:<26} {time:>8.2} us  {:>5.2} of by hand", time / hand);
}

/// The median time of one call, in microseconds.
fn measure(mut work: impl FnMut() -> usize) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (started, mut calls) = (Instant::now(), 0_u32);
            while started.elapsed() < WINDOW {
                for _ in 0..16 {
                    std::hint::black_box(work());
                    calls += 1;
                }
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn by_hand(connection: &Connection) -> Vec<u8> {
    let sql = "SELECT id, done, title FROM tasks ORDER BY id";
    let mut statement = connection.prepare_cached(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut out = Vec::with_capacity(512);
    out.push(b'[');
    while let Some(row) = rows.next().unwrap() {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"id\":");
        json::write_int(row.get_ref(0).unwrap().as_i64().unwrap(), &mut out);
        let done = row.get_ref(1).unwrap() == ValueRef::Integer(1);
        out.extend_from_slice(if done { b",\"done\":true" } else { b",\"done\":false" });
        out.extend_from_slice(b",\"title\":");
        json::write_text(row.get_ref(2).unwrap().as_str().unwrap(), &mut out);
        out.push(b'}');
    }
    out.push(b']');
    out
}

fn inserting(folder: &Path) {
    let mut hand = Vec::new();
    let mut store = Vec::new();
    for round in 0..3 {
        let records: Vec<(i64, bool, String)> = (1..=MANY)
            .map(|id| (id as i64, id.is_multiple_of(2), format!("task number {id}")))
            .collect();
        hand.push(insert_by_hand(&folder.join(format!("hand{round}.db")), &records));
        drop(records);
        let table = table(&folder.join(format!("store{round}.db")), 0);
        let records = Value::List((1..=MANY).map(record).collect());
        let started = Instant::now();
        let root = Reference::default();
        run(async { table.post(&root, Content::value(records), &Context::default()).await })
            .unwrap();
        store.push(MANY as f64 / started.elapsed().as_secs_f64());
    }
    hand.sort_by(f64::total_cmp);
    store.sort_by(f64::total_cmp);
    let (hand, store) = (hand[1], store[1]);
    println!(
        "{MANY} rows inserted at once: by hand {:.2} M rows/s, store {:.2} M rows/s, \
         {:.2} of by hand",
        hand / 1e6,
        store / 1e6,
        store / hand
    );
}

fn insert_by_hand(path: &Path, records: &[(i64, bool, String)]) -> f64 {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full;
             create table tasks(id integer primary key, done boolean, title text)",
        )
        .unwrap();
    let started = Instant::now();
    connection.execute_batch("begin immediate").unwrap();
    let sql = "insert into tasks(id, done, title) values (?1, ?2, ?3)";
    let mut statement = connection.prepare(sql).unwrap();
    for (id, done, title) in records {
        statement.execute((id, done, title)).unwrap();
    }
    drop(statement);
    connection.execute_batch("commit").unwrap();
    MANY as f64 / started.elapsed().as_secs_f64()
}

/// Durable posts by many clients at once, and how many of them share a commit.
fn posting(path: &Path) {
    const CLIENTS: usize = 64;
    const EACH: usize = 1000;
    let database = SqliteDatabase::open(path, SqliteOptions::default()).unwrap();
    run(async {
        database.define_table(&Reference::default(), &shape()).await.unwrap();
        let (before, started) = (database.commits(), Instant::now());
        let client = || async {
            for _ in 0..EACH {
                let row = Value::record([("title", Value::from("a task"))]);
                let posted = database.post(
                    &Reference::parse("tasks"),
                    Content::value(row),
                    &Context::default(),
                );
                posted.await.unwrap();
            }
        };
        futures_util::future::join_all((0..CLIENTS).map(|_| client())).await;
        let (time, commits) = (started.elapsed().as_secs_f64(), database.commits() - before);
        println!(
            "durable posts, {CLIENTS} clients: {:.1} k/s, {:.1} to a commit",
            (CLIENTS * EACH) as f64 / time / 1e3,
            (CLIENTS * EACH) as f64 / commits as f64
        );
    });
}
