//! Random transactions at the same time on both databases: what they saw must be explained by some order of
//! them. `RUNNEL_HISTORIES` says how many histories; `.ci/soak histories` runs 10,000.

mod history;

use crate::common::{Place, now, reference, run, text};
use crate::postgres::support::{open, with_database};
use history::{Anomaly, Event, History, Transaction};
use runnel_sql::{SqliteDatabase, SqliteOptions, Synchronous};
use runnel_store::{Context, Form, Isolation, Kind, Store, Tables, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

/// Clients at the same time, and the transactions of each.
const CLIENTS: usize = 5;
const EACH: usize = 3;
/// Lists and sets of a history.
const OBJECTS: usize = 2;

fn histories() -> usize {
    std::env::var("RUNNEL_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

/// A generator of numbers that is the same in each run.
struct Random(Cell<u64>);

impl Random {
    fn below(&self, bound: usize) -> usize {
        let mut state = self.0.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0.set(state);
        (state % bound as u64) as usize
    }
}

/// One database under test.
struct Subject {
    store: Rc<dyn Store>,
    isolation: Option<Isolation>,
    random: Random,
    /// Values are unique.
    next: Cell<u64>,
}

type Failed = runnel_store::Error;

impl Subject {
    async fn new(store: Rc<dyn Store>, isolation: Option<Isolation>) -> Subject {
        let random = Random(Cell::new(0x9E37_79B9_7F4A_7C15));
        let subject = Subject { store, isolation, random, next: Cell::new(1) };
        for sql in [
            "create table lists (id bigint primary key, items text not null)",
            "create table members (id bigint primary key, grp bigint not null)",
            "create index members_by_grp on members (grp)",
        ] {
            subject.run(sql, vec![], &now()).await.unwrap();
        }
        subject
    }

    fn tables(&self) -> &dyn Tables {
        self.store.tables().unwrap()
    }

    /// The rows of a statement as JSON.
    async fn run(
        &self,
        sql: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Result<String, Failed> {
        let done = self.tables().run(&reference(""), sql, parameters, context).await?;
        Ok(text(done, Form::Json).await)
    }

    async fn values(&self, sql: &str, id: usize, context: &Context) -> Result<Vec<u64>, Failed> {
        let rows = self.run(sql, vec![Value::from(id as i64)], context).await?;
        let digits = |part: &str| part.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok();
        Ok(rows.split(',').filter_map(digits).collect())
    }

    async fn event(
        &self,
        base: usize,
        context: &Context,
        events: &mut Vec<Event>,
    ) -> Result<(), Failed> {
        let object = self.random.below(OBJECTS);
        let (kind, id) = (self.random.below(4), base + object);
        if kind < 2 {
            let sql = "select items from lists where id = $1";
            let values = self.values(sql, id, context).await?;
            events.push(Event::Read { list: object, values: values.clone() });
            if kind == 1 {
                let value = self.next.replace(self.next.get() + 1);
                let items: Vec<_> = values.iter().chain([&value]).map(u64::to_string).collect();
                let parameters = vec![Value::from(items.join(",")), Value::from(id as i64)];
                self.run("update lists set items = $1 where id = $2", parameters, context).await?;
                events.push(Event::Append { list: object, value });
            }
        } else if kind == 2 {
            events.push(self.select(base, object, context).await?);
        } else {
            let value = self.next.replace(self.next.get() + 1);
            let parameters = vec![Value::from(value as i64), Value::from(id as i64)];
            let sql = "insert into members (id, grp) values ($1, $2)";
            self.run(sql, parameters, context).await?;
            events.push(Event::Insert { set: object, value });
        }
        Ok(())
    }

    async fn select(&self, base: usize, set: usize, context: &Context) -> Result<Event, Failed> {
        let sql = "select id from members where grp = $1";
        let values = self.values(sql, base + set, context).await?.into_iter().collect();
        Ok(Event::Select { set, values })
    }

    /// A transaction of a few events; one that met others is not tried again.
    async fn transaction(&self, base: usize) -> Transaction {
        let begun = self.tables().begin(&reference(""), self.isolation, &now()).await;
        let (transaction, mut events) = (begun.unwrap(), Vec::new());
        let context = Context { transaction: Some(transaction.clone()), ..now() };
        let done = async {
            for _ in 0..2 + self.random.below(3) {
                self.event(base, &context, &mut events).await?;
                let pause = Duration::from_micros(self.random.below(1500) as u64);
                tokio::time::sleep(pause).await;
            }
            Ok(())
        };
        let done: Result<(), Failed> = match done.await {
            Ok(()) => transaction.commit().await,
            Err(error) => {
                transaction.roll_back().await.unwrap();
                Err(error)
            }
        };
        if let Err(error) = &done {
            assert!(error.kind == Kind::Conflict && error.temporary, "{error}");
        }
        Transaction { events, is_committed: done.is_ok() }
    }

    async fn history(self: &Rc<Self>, base: usize) -> History {
        for object in 0..OBJECTS {
            let sql = "insert into lists (id, items) values ($1, '')";
            self.run(sql, vec![Value::from((base + object) as i64)], &now()).await.unwrap();
        }
        let history = Rc::new(RefCell::new(History::default()));
        let clients = (0..CLIENTS).map(|_| async {
            for _ in 0..EACH {
                let transaction = self.transaction(base).await;
                history.borrow_mut().transactions.push(transaction);
            }
        });
        futures_util::future::join_all(clients).await;
        let mut events = Vec::new();
        for object in 0..OBJECTS {
            let sql = "select items from lists where id = $1";
            let values = self.values(sql, base + object, &now()).await.unwrap();
            events.push(Event::Read { list: object, values });
            events.push(self.select(base, object, &now()).await.unwrap());
        }
        history.borrow_mut().transactions.push(Transaction { events, is_committed: true });
        history.take()
    }
}

/// What was found in many histories.
#[derive(Default)]
struct Findings {
    anomalies: BTreeMap<Anomaly, usize>,
    example: String,
    committed: usize,
    all: usize,
}

async fn examine(store: Rc<dyn Store>, isolation: Option<Isolation>) -> Findings {
    let subject = Rc::new(Subject::new(store, isolation).await);
    let mut findings = Findings::default();
    for number in 0..histories() {
        let history = subject.history(number * OBJECTS).await;
        findings.all += history.transactions.len();
        findings.committed += history.transactions.iter().filter(|one| one.is_committed).count();
        if let Some((kind, why)) = history.anomaly() {
            *findings.anomalies.entry(kind).or_default() += 1;
            findings.example = why;
        }
    }
    let Findings { anomalies, committed, all, .. } = &findings;
    let _ = writeln!(
        std::io::stderr(),
        "| {:<24} | {:>6} | {all:>7} | {committed:>7} | {anomalies:?} |",
        format!("{} {}", subject.store.describe(), isolation.unwrap_or_default().name()),
        histories(),
    );
    findings
}

#[test]
fn no_history_of_serializable_transactions_has_an_anomaly() {
    run(async {
        let place = Place::new();
        let options =
            SqliteOptions { synchronous: Synchronous::Normal, ..SqliteOptions::default() };
        let database = SqliteDatabase::open(place.file(), options).unwrap();
        let found = examine(database, None).await;
        assert!(found.anomalies.is_empty(), "{}", found.example);
        assert_eq!(found.committed, found.all, "transactions of SQLite never meet");
    });
    with_database(|url| async move {
        let found = examine(open(&url), None).await;
        assert!(found.anomalies.is_empty(), "{}", found.example);
        assert!(found.committed * 4 > found.all && found.committed < found.all);
    });
}

#[test]
fn weaker_isolation_has_the_anomalies_that_the_manual_names() {
    with_database(|url| async move {
        let found = examine(open(&url), Some(Isolation::RepeatableRead)).await;
        assert!(found.anomalies.contains_key(&Anomaly::Cycle), "write skew was expected");
        assert!(!found.anomalies.contains_key(&Anomaly::LostUpdate), "{}", found.example);
    });
    with_database(|url| async move {
        let found = examine(open(&url), Some(Isolation::ReadCommitted)).await;
        assert!(found.anomalies.contains_key(&Anomaly::LostUpdate), "lost updates were expected");
        assert!(!found.anomalies.contains_key(&Anomaly::DirtyRead), "{}", found.example);
    });
}
