//! Transactions and bulk insertion as a program sees them, against a store that writes down what
//! it is asked.
#![allow(clippy::unwrap_used)]

use crate::support::Lab;
use runnel_store::{
    Answer, Content, Context, Error, Isolation, Kind, Outcome, Records, Reference, Store, Tables,
    Transaction,
};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

type Log = Rc<RefCell<Vec<String>>>;

/// A store that writes down what it is asked, and in which transaction.
struct Recorder {
    log: Log,
    begun: Cell<u32>,
    /// Batches that an insertion reads before it refuses the rest.
    patience: Cell<usize>,
    /// Transactions up to this number meet others when they commit.
    unlucky: u32,
}

struct Recorded {
    number: u32,
    is_lucky: bool,
    log: Log,
    outer: Option<Rc<dyn Transaction>>,
    open: Cell<bool>,
}

impl Transaction for Recorded {
    fn commit(&self) -> Answer<()> {
        let (log, number, is_lucky) = (self.log.clone(), self.number, self.is_lucky);
        self.open.set(false);
        Answer::later(async move {
            tokio::task::yield_now().await;
            if !is_lucky {
                return Err(Error::new(Kind::Conflict, "another one").with_temporary(true));
            }
            log.borrow_mut().push(format!("commit {number}"));
            Ok(())
        })
    }

    fn roll_back(&self) -> Answer<()> {
        self.open.set(false);
        self.log.borrow_mut().push(format!("roll back {}", self.number));
        Answer::ok(())
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        self.outer.as_ref()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.open.get() {
            self.log.borrow_mut().push(format!("dropped {}", self.number));
        }
    }
}

fn within(context: &Context) -> String {
    let transaction = context.transaction.as_ref();
    let recorded = transaction.and_then(|one| one.as_any().downcast_ref::<Recorded>());
    recorded.map_or("outside".into(), |one| format!("in {}", one.number))
}

impl Store for Recorder {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        match reference.relative_path() {
            "never" => Answer::later(std::future::pending()),
            _ => Answer::ok(None),
        }
    }

    fn put(&self, reference: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        let line = format!("put {} {}", reference.relative_path(), within(context));
        self.log.borrow_mut().push(line);
        Answer::ok(Outcome::created())
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "recorder".into()
    }
}

impl Tables for Recorder {
    fn begin(
        &self,
        _: &Reference,
        _: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        let number = self.begun.get() + 1;
        self.begun.set(number);
        self.log.borrow_mut().push(format!("begin {number} {}", within(context)));
        let (log, outer) = (self.log.clone(), context.transaction.clone());
        let is_lucky = number > self.unlucky;
        Answer::later(async move {
            tokio::task::yield_now().await;
            Ok(Rc::new(Recorded { number, is_lucky, log, outer, open: Cell::new(true) }) as Rc<_>)
        })
    }

    fn insert(
        &self,
        _: &Reference,
        mut records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        let (log, patience, place) = (self.log.clone(), self.patience.get(), within(context));
        Answer::later(async move {
            let fields = records.fields();
            log.borrow_mut().push(format!("insert {} {place}", fields.join(",")));
            let (mut count, mut batches) = (0, 0);
            while let Some(batch) = records.next().await? {
                if batches == 0 {
                    let first: Vec<_> = batch.iter().take(fields.len() * 2).collect();
                    log.borrow_mut().push(format!("{first:?}"));
                }
                batches += 1;
                if batches > patience {
                    return Err(Error::new(Kind::Conflict, "no more of these"));
                }
                assert_eq!(batch.len() % fields.len(), 0);
                count += (batch.len() / fields.len()) as u64;
                tokio::task::yield_now().await;
            }
            log.borrow_mut().push(format!("{count} records"));
            Ok(count)
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
        vacuum
    );
}

fn lab() -> (Lab, Log) {
    unlucky_lab(0)
}

/// A lab whose first transactions meet others.
fn unlucky_lab(unlucky: u32) -> (Lab, Log) {
    let log = Log::default();
    let patience = Cell::new(usize::MAX);
    let recorder = Recorder { log: log.clone(), begun: Cell::new(0), patience, unlucky };
    (Lab::over(Rc::new(recorder)), log)
}

fn told(log: &Log) -> Vec<String> {
    log.take()
}

#[test]
fn the_verbs_of_a_block_are_part_of_its_transaction() {
    let (lab, log) = lab();
    let text = lab.value(
        "memory:a ← 1. x ← ref:memory: transaction: { memory:b ← 2. runLoop runFor: 0.01. \
         memory:c ← 3. 42 }. memory:d ← 4. x",
    );
    assert_eq!(text, "42");
    let expected = [
        "put a outside",
        "begin 1 outside",
        "put b in 1",
        "put c in 1",
        "commit 1",
        "put d outside",
    ];
    assert_eq!(told(&log), expected);
}

#[test]
fn a_transaction_that_met_another_runs_again() {
    let (lab, log) = unlucky_lab(4);
    let text = lab.value(
        "class Clerk { -work { ref:memory: transaction: { memory:b ← 2. ^7 }. 8 } } \
         { Clerk new work } onError: { 'caught' }",
    );
    assert_eq!(text, "7");
    let lines = told(&log);
    assert_eq!(lines[..4], ["begin 1 outside", "put b in 1", "begin 2 outside", "put b in 2"]);
    assert_eq!(lines[8..], ["begin 5 outside", "put b in 5", "commit 5"]);
}

#[test]
fn within_another_one_the_outermost_runs_again() {
    let (lab, log) = unlucky_lab(3);
    let text = lab.value(
        "ref:memory: transaction: { ref:memory: transaction: { memory:b ← 2 }. memory:c ← 3. 'done' }",
    );
    assert_eq!(text, "done");
    let begun = |line: &&String| line.starts_with("begin");
    let lines = told(&log);
    let begun: Vec<_> = lines.iter().filter(begun).collect();
    // The inner one of the first, then both of the second, with the outer one still unlucky.
    assert_eq!(
        begun,
        [
            "begin 1 outside",
            "begin 2 in 1",
            "begin 3 outside",
            "begin 4 in 3",
            "begin 5 outside",
            "begin 6 in 5"
        ]
    );
    assert_eq!(lines.last().unwrap(), "commit 5");
}

#[test]
fn one_that_always_meets_others_ends_with_a_conflict() {
    let (lab, log) = unlucky_lab(u32::MAX);
    let text = lab.value(
        "{ ref:memory: transaction: { memory:b ← 2 } } \
         onError: { :e | \"{e kind} {e isTemporary} {e message}\" }",
    );
    assert_eq!(text, "conflict true other transactions got in the way 30 times");
    assert_eq!(told(&log).iter().filter(|line| line.starts_with("begin")).count(), 30);
    // An error of the block is none of these.
    let (lab, log) = unlucky_lab(0);
    lab.value("{ ref:memory: transaction: { Error signal: 'no' } } onError: { 1 }");
    assert_eq!(told(&log).len(), 2);
}

#[test]
fn an_error_gives_it_up_and_goes_on() {
    let (lab, log) = lab();
    let text = lab.value(
        "{ ref:memory: transaction: { memory:b ← 2. Error signal: 'no' } } \
         onError: { :e | memory:c ← 3. e message }",
    );
    assert_eq!(text, "no");
    assert_eq!(told(&log), ["begin 1 outside", "put b in 1", "roll back 1", "put c outside"]);
}

#[test]
fn giving_up_on_purpose_passes_every_handler() {
    let (lab, log) = lab();
    let text = lab.value(
        "x ← ref:memory: transaction: { :tx | { tx rollback } onError: { 'caught' }. 3 }. x isNil",
    );
    assert_eq!(text, "true");
    assert_eq!(told(&log), ["begin 1 outside", "roll back 1"]);
}

#[test]
fn leaving_by_return_commits() {
    let (lab, log) = lab();
    let text = lab.value(
        "class Clerk { -work { ref:memory: transaction: { memory:b ← 2. ^7 }. 8 } } Clerk new work",
    );
    assert_eq!(text, "7");
    assert_eq!(told(&log), ["begin 1 outside", "put b in 1", "commit 1"]);
}

#[test]
fn transactions_nest() {
    let (lab, log) = lab();
    let text = lab.value(
        "ref:memory: transaction: { memory:a ← 1. \
           ref:memory: transaction: { :inner | memory:b ← 2. inner rollback }. \
           memory:c ← 3. 'done' }",
    );
    assert_eq!(text, "done");
    let expected = [
        "begin 1 outside",
        "put a in 1",
        "begin 2 in 1",
        "put b in 2",
        "roll back 2",
        "put c in 1",
        "commit 1",
    ];
    assert_eq!(told(&log), expected);
}

#[test]
fn fibers_share_it_only_while_they_are_awaited() {
    let (lab, log) = lab();
    let text = lab.value(
        "ref:memory: transaction: { \
           [ { memory:a ← 1 }, { memory:b ← 2 } ] concurrently. \
           { memory:c ← 3 } timeout: 1 second. \
           other ← { memory:d ← 4 } fork. other value. \
           memory:e ← 5. 'done' }",
    );
    assert_eq!(text, "done");
    let lines = told(&log);
    for line in ["put a in 1", "put b in 1", "put c in 1", "put d outside", "put e in 1"] {
        assert!(lines.iter().any(|one| one == line), "{line} in {lines:?}");
    }
    assert_eq!(lines.last().unwrap(), "commit 1");
}

#[test]
fn a_cancelled_fiber_gives_it_up() {
    let (lab, log) = lab();
    let outcome = lab.run(
        "{ { ref:memory: transaction: { memory:a ← 1. memory:never } } timeout: 30 milliseconds } \
         onError: { :e | e kind }",
    );
    assert_eq!(outcome.unwrap(), "timeout");
    let lines = told(&log);
    assert_eq!(lines[..2], ["begin 1 outside", "put a in 1"]);
    assert_eq!(lines[2], "roll back 1");
    // No fiber is left in it.
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_dropped_request_gives_it_up() {
    let (lab, log) = lab();
    let source = "scheme Site { /x { get { ref:memory: transaction: { memory:a ← 1. \
                  memory:never } } } } Site new";
    let outcome = lab.wait(lab.isolate.run(source, "test")).unwrap();
    let site = lab.isolate.store(outcome.value);
    lab.wait(async {
        let answer = site.get(&Reference::parse("/x"), &Context::default());
        let outcome = tokio::time::timeout(Duration::from_millis(30), answer).await;
        assert!(outcome.is_err());
        tokio::task::yield_now().await;
    });
    assert_eq!(told(&log), ["begin 1 outside", "put a in 1", "roll back 1"]);
}

/// A table without a database: what is inserted goes to the recorder.
const TABLE: &str = "class Task { var <int> id. var <bool> done. var <string> title. } \
                     table ← ref:memory:tasks table. ";

#[test]
fn arrays_of_objects_are_read_in_batches() {
    let (lab, log) = lab();
    let text = lab.value(&format!(
        "{TABLE} tasks ← (1 to: 10000) collect: {{ :i | \
         #Task{{ id: i, done: (i mod: 2) = 0, title: \"t{{i}}\" }} }}. table insertAll: tasks"
    ));
    assert_eq!(text, "10000");
    let expected = [
        "insert id,done,title outside",
        "[Int(1), Bool(false), Text(\"t1\"), Int(2), Bool(true), Text(\"t2\")]",
        "10000 records",
    ];
    assert_eq!(told(&log), expected);
}

#[test]
fn records_are_made_while_they_are_inserted() {
    let (lab, log) = lab();
    let text = lab.value(&format!(
        "{TABLE} class Free {{ var id. var done. var title. }} \
         table insertAll: (1 to: 20000) collect: {{ :i | \
         #Free{{ done: i, title: 12345678901234567890 }} }}"
    ));
    assert_eq!(text, "20000");
    let lines = told(&log);
    // Instances without a key leave it to the store.
    assert_eq!(lines[0], "insert done,title outside");
    let big = "Big(\"12345678901234567890\")";
    assert_eq!(lines[1], format!("[Int(1), {big}, Int(2), {big}]"));
    let text =
        lab.value("table insertAll: { :out | 1 to: 3 do: { :i | out writeObject: #{ n: i } } }");
    assert_eq!(text, "3");
    assert_eq!(told(&log), ["insert n outside", "[Int(1), Int(2)]", "3 records"]);
    assert_eq!(lab.value("table insertAll: []"), "0");
    assert_eq!(told(&log), [""; 0]);
}

#[test]
fn columns_make_records() {
    let (lab, log) = lab();
    let text = lab.value(&format!(
        "{TABLE} table insertColumns: #{{ id: 1 to: 5000, done: [ true, false ], title: 'x' }}"
    ));
    assert_eq!(text, "5000");
    assert_eq!(
        told(&log)[1],
        "[Int(1), Bool(true), Text(\"x\"), Int(2), Bool(false), Text(\"x\")]"
    );
}

#[test]
fn what_is_no_record_is_refused_with_its_place() {
    let (lab, log) = lab();
    let said = |source: &str| lab.value(&format!("{{ {source} }} onError: {{ :e | e message }}"));
    lab.value(&format!("{TABLE} 1"));
    for (source, message) in [
        ("table insertAll: [ #{ a: 1 }, 3 ]", "record 2 is no record"),
        ("table insertAll: [ 3 ]", "record 1 is no record"),
        (
            "table insertAll: [ #{ a: 1 }, #{ b: 2 } ]",
            "record 2 has the field b, which the first one does not have; it has a",
        ),
        (
            "table insertAll: [ #Task{ title: 'x' }, #Task{ id: 3, title: 'x' } ]",
            "record 2 has a key and the first one has none",
        ),
        ("table insertAll: [ #{ 1: 'x' } ]", "record 1 has a key that is no text"),
        (
            "table insertAll: [ #Task{ title: 'x' }, #{ a: 1 } ]",
            "record 2 is of another class than the first",
        ),
        ("table insertAll: (1 to: 100000) collect: { :i | Error signal: 'stop' }", "stop"),
    ] {
        assert_eq!(said(source), message, "{source}");
    }
    assert!(!told(&log).iter().any(|line| line.ends_with("records")), "nothing was inserted");
}

#[test]
fn a_store_that_refuses_ends_the_producer() {
    let log = Log::default();
    let patience = Cell::new(2);
    let recorder = Recorder { log: log.clone(), begun: Cell::new(0), patience, unlucky: 0 };
    let lab = Lab::over(Rc::new(recorder));
    let text = lab.value(&format!(
        "{TABLE} made ← [ 0 ]. \
         {{ table insertAll: (1 to: 1000000) collect: {{ :i | made[0] := i. #{{ n: i }} }} }} \
         onError: {{ :e | e message }}"
    ));
    assert_eq!(text, "no more of these");
    let made: u64 = lab.value("made[0]").parse().unwrap();
    assert!(made < 100_000, "the producer stops soon: {made}");
}

#[test]
fn an_insertion_within_a_transaction_is_part_of_it() {
    let (lab, log) = lab();
    lab.value(&format!("{TABLE} ref:memory: transaction: {{ table insertAll: [ #{{ a: 1 }} ] }}"));
    assert_eq!(told(&log)[1], "insert a in 1");
}
