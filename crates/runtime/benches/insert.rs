//! What making objects and reading them for an insertion costs, without a database: the store
//! takes the batches on a thread of its own and drops them. Prints nanoseconds for each record.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support.rs"]
mod support;

use runnel_store::{Answer, Content, Context, Records, Reference, Store, Tables, Value};
use std::rc::Rc;
use std::time::Instant;
use support::Lab;

/// Records of each round.
const RECORDS: u32 = 2_000_000;

/// Takes everything and keeps nothing.
struct Sink;

impl Store for Sink {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "sink".into()
    }
}

impl Tables for Sink {
    fn insert(&self, _: &Reference, mut records: Box<dyn Records>, _: &Context) -> Answer<u64> {
        let fields = records.fields().len() as u64;
        let (send, mut take) = tokio::sync::mpsc::channel::<Vec<Value>>(1);
        let drops = std::thread::spawn(move || {
            let mut count = 0;
            while let Some(batch) = take.blocking_recv() {
                count += batch.len() as u64;
            }
            count
        });
        Answer::later(async move {
            while let Some(batch) = records.next().await? {
                let _ = send.send(batch).await;
            }
            drop(send);
            Ok(drops.join().unwrap_or_default() / fields)
        })
    }

    runnel_store::without!(
        change_all,
        explain,
        run,
        migrate,
        define,
        key_value_store,
        snapshot,
        back_up,
        vacuum,
        begin
    );
}

fn main() {
    let lab = Lab::over(Rc::new(Sink));
    let class = "class Task { var <int> id. var <bool> done. var <string> title. } \
                 table ← ref:memory:tasks table. ";
    lab.value(&format!("{class} 1"));
    let make = "#Task{ id: i, done: i odd, title: 'Clean Room' }";
    let rounds = [
        ("made and dropped", format!("(1 to: {RECORDS}) do: {{ :i | {make} }}. {RECORDS}")),
        (
            "made and inserted",
            format!("table insertAll: (1 to: {RECORDS}) collect: {{ :i | {make} }}"),
        ),
        (
            "columns",
            format!(
                "table insertColumns: #{{ id: 1 to: {RECORDS}, done: [ true, false ], title: 'Clean Room' }}"
            ),
        ),
    ];
    for _ in 0..3 {
        for (name, source) in &rounds {
            let start = Instant::now();
            assert_eq!(lab.value(source), RECORDS.to_string());
            let each = start.elapsed().as_nanos() as f64 / f64::from(RECORDS);
            println!("{name:<20} {each:>8.1} ns");
        }
    }
}
