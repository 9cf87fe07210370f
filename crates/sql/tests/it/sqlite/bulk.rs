//! Many rows at once, and migrations.

use crate::common::*;
use futures_util::FutureExt;
use runnel_store::{Answer, Context, Error, Kind, Migration, Records, Store, Tables, Value, Verb};
use std::rc::Rc;

/// Batches of rows with numbers, and what comes after them.
struct Numbers {
    batches: usize,
    each: i64,
    next: i64,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Well,
    Error,
    Never,
    Twice,
}

impl Numbers {
    fn new(batches: usize, each: i64, end: End) -> Box<Self> {
        Box::new(Numbers { batches, each, next: 1, end })
    }
}

impl Records for Numbers {
    fn fields(&self) -> Rc<[String]> {
        ["id", "done", "title"].map(String::from).into()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        if self.batches == 0 {
            return match self.end {
                End::Well => Answer::ok(None),
                End::Error => Error::new(Kind::Failed, "the source is broken").into(),
                End::Never => Answer::later(std::future::pending()),
                End::Twice => {
                    self.end = End::Well;
                    let row = vec![Value::Int(1), Value::Nil, Value::Text("again".into())];
                    Answer::ok(Some(row))
                }
            };
        }
        self.batches -= 1;
        let from = self.next;
        self.next += self.each;
        let row = |id: i64| [Value::Int(id), Value::Bool(id % 2 == 0), format!("t{id}").into()];
        Answer::ok(Some((from..self.next).flat_map(row).collect()))
    }
}

async fn count(store: &dyn Store) -> String {
    let sql = "select count(*) as n, sum(id) as s from tasks";
    let rows = store
        .tables_for(Verb::Query, &reference(""))
        .unwrap()
        .run(&reference(""), sql, vec![], &now())
        .await
        .unwrap();
    text(rows, runnel_store::Form::Json).await
}

#[test]
fn batches_become_rows() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let root = reference("");
        let stored = Tables::insert(&tasks, &root, Numbers::new(20, 500, End::Well), &now()).await;
        assert_eq!(stored.unwrap(), 10_000);
        assert_eq!(count(&*database).await, r#"[{"n":10000,"s":50005000}]"#);
        let row = get(&tasks, "8").await.unwrap();
        assert_eq!(row, r#"{"id":8,"done":true,"title":"t8"}"#);
        let none = Tables::insert(&tasks, &root, Numbers::new(0, 1, End::Well), &now()).await;
        assert_eq!(none.unwrap(), 0);
    });
}

#[test]
fn what_ends_badly_leaves_nothing() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let root = reference("");
        let broken = Tables::insert(&tasks, &root, Numbers::new(5, 100, End::Error), &now()).await;
        assert!(refused(broken).1.contains("broken"));
        let twice = Tables::insert(&tasks, &root, Numbers::new(5, 100, End::Twice), &now()).await;
        let (kind, message) = refused(twice);
        assert_eq!((kind, message.contains("record 501")), (Kind::Conflict, true), "{message}");
        // Dropped in the middle, when the writer has some of it.
        let mut dropped = Box::pin(
            Tables::insert(
                &*database,
                &reference("tasks"),
                Numbers::new(5, 100, End::Never),
                &now(),
            )
            .fuse(),
        );
        let limit = std::time::Duration::from_millis(30);
        assert!(tokio::time::timeout(limit, &mut dropped).await.is_err());
        drop(dropped);
        assert_eq!(count(&*database).await, r#"[{"n":0,"s":null}]"#);
        let posted = Tables::insert(&tasks, &root, Numbers::new(1, 1, End::Well), &now()).await;
        assert_eq!(posted.unwrap(), 1);
    });
}

#[test]
fn insertions_belong_to_transactions() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let root = reference("");
        let transaction = Tables::begin(&tasks, &root, None, &now()).await.unwrap();
        let inside = Context { transaction: Some(transaction.clone()), ..Context::default() };
        let broken = Tables::insert(&tasks, &root, Numbers::new(5, 100, End::Error), &inside).await;
        assert!(broken.is_err());
        let stored = Tables::insert(&tasks, &root, Numbers::new(2, 100, End::Well), &inside).await;
        assert_eq!(stored.unwrap(), 200);
        assert_eq!(count(&*database).await, r#"[{"n":0,"s":null}]"#);
        transaction.commit().await.unwrap();
        assert_eq!(count(&*database).await, r#"[{"n":200,"s":20100}]"#);
    });
}

/// Records that are given as they are.
struct Given(Vec<&'static str>, Vec<Vec<Value>>);

impl Records for Given {
    fn fields(&self) -> Rc<[String]> {
        self.0.iter().map(|name| name.to_string()).collect()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        Answer::ok((!self.1.is_empty()).then(|| self.1.remove(0)))
    }
}

#[test]
fn batches_store_what_rows_would_and_name_the_same_record() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let made = "create table plain (n integer, x text);
             create table told (n integer, x text);
             create table seen (n integer);
             create trigger tell after insert on told begin insert into seen values (new.n); end;
             create table tree (n integer primary key, x integer references tree);
             create table few (n integer check (n < 4), x text unique on conflict ignore);";
        database.migrate(&reference(""), steps(&[("1", made)]), &now()).await.unwrap();
        let insert = |table: &'static str, values: Vec<Vec<Value>>| {
            let records = Box::new(Given(vec!["n", "x"], values));
            let database = database.clone();
            async move { Tables::insert(&*database, &reference(table), records, &now()).await }
        };
        let rows = |numbers: &[i64], x: Value| -> Vec<Value> {
            numbers.iter().flat_map(|n| [Value::Int(*n), x.clone()]).collect()
        };
        let large = Value::Text("\0ä".repeat(5_000));
        let both = vec![rows(&[i64::MIN, i64::MAX], large), rows(&[0], Value::Nil)];
        assert_eq!(insert("plain", both).await.unwrap(), 3);
        let sql = "select sum(n) as n, max(octet_length(x)) as x from plain";
        let sums = Tables::run(&*database, &reference(""), sql, vec![], &now()).await.unwrap();
        assert_eq!(text(sums, runnel_store::Form::Json).await, r#"[{"n":-1,"x":15000}]"#);
        assert_eq!(insert("told", vec![rows(&[1, 2, 3], Value::Nil)]).await.unwrap(), 3);
        assert_eq!(get(&*database, "seen?sort=-n&limit=1").await.unwrap(), r#"[{"n":3}]"#);
        // A row may refer to one before it, and not to one after it in the same batch.
        let down = vec![vec![Value::Int(1), Value::Nil, Value::Int(2), Value::Int(1)]];
        assert_eq!(insert("tree", down).await.unwrap(), 2);
        let up = vec![vec![Value::Int(3), Value::Int(4), Value::Int(4), Value::Nil]];
        assert_eq!(refused(insert("tree", up).await).0, Kind::Conflict);
        let wrong = vec![rows(&[1, 2], Value::Nil), rows(&[3, 4, 5], Value::Nil)];
        let (_, message) = refused(insert("few", wrong).await);
        assert!(message.starts_with("record 4: the table does not accept"), "{message}");
        let text = Value::Text("one".into());
        let (_, message) = refused(insert("plain", vec![vec![text.clone(), Value::Nil]]).await);
        assert!(message.starts_with("record 1: n holds integers"), "{message}");
        assert_eq!(insert("few", vec![rows(&[1, 2], text)]).await.unwrap(), 2);
        assert_eq!(get(&*database, "few").await.unwrap(), r#"[{"n":1,"x":"one"}]"#);
    });
}

fn steps(steps: &[(&str, &str)]) -> Migration {
    let step = |(name, sql): &(&str, &str)| (name.to_string(), sql.to_string());
    steps.iter().map(step).collect::<Vec<_>>().into()
}

#[test]
fn migrations_are_applied_once_and_whole() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        let migrate = |list: &[(&str, &str)]| database.migrate(&root, steps(list), &now());
        let first = ("1.sql", "create table a (id integer primary key); insert into a values (1);");
        let second = ("2.sql", "-- nothing but a table\ncreate table b (n);");
        assert_eq!(migrate(&[first]).await.unwrap(), ["1.sql"]);
        assert_eq!(migrate(&[first, second]).await.unwrap(), ["2.sql"]);
        assert!(migrate(&[first, second]).await.unwrap().is_empty());
        let (kind, message) = refused(migrate(&[("1.sql", "create table c (n)")]).await);
        assert_eq!((kind, message.contains("1.sql")), (Kind::Conflict, true), "{message}");
        let wrong = ("3.sql", "create table c (n); insert into nowhere values (1)");
        let (_, message) = refused(migrate(&[wrong]).await);
        assert!(message.contains("3.sql: statement 2: no such table"), "{message}");
        for forbidden in ["commit", "pragma journal_mode = delete", "attach 'x' as y"] {
            let refusal = refused(migrate(&[("4.sql", forbidden)]).await);
            assert_eq!(refusal.0, Kind::NotAllowed, "{forbidden}");
        }
        let names = get(&*database, "").await.unwrap();
        assert_eq!(names, r#"["a","b","runnel_migrations"]"#);
    });
}

#[test]
fn tables_with_references_can_be_made_anew() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        let made = "create table p (id integer primary key); insert into p values (1);
             create table c (p integer references p); insert into c values (1);";
        let anew = "create table q (id integer primary key, n); insert into q select id, 0 from p;
             drop table p; alter table q rename to p;";
        let done = database.migrate(&root, steps(&[("1", made), ("2", anew)]), &now()).await;
        assert_eq!(done.unwrap(), ["1", "2"]);
        let (kind, message) =
            refused(database.migrate(&root, steps(&[("3", "delete from p")]), &now()).await);
        assert_eq!((kind, message.contains("rows of c")), (Kind::Conflict, true), "{message}");
        // References are watched over again afterwards.
        let delete = database.run("delete from p", vec![], &now()).await;
        assert_eq!(refused(delete).0, Kind::Conflict);
    });
}
