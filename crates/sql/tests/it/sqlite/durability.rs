//! A process that is killed loses nothing that it has answered, and leaves nothing half done.

use crate::common::*;
use futures_util::future::join_all;
use runnel_sql::{SqliteDatabase, SqliteOptions};
use runnel_store::{Answer, Context, Form, Records, Store, Tables, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::rc::Rc;

/// Says to the child process, which is this test again, where to write.
const CHILD: &str = "RUNNEL_SQL_TEST_CHILD";

/// How often the writer is killed.
const KILLS: usize = 100;

/// The rows of one transaction, and of one insertion.
const TOGETHER: usize = 5;

/// Rows come one by one, in transactions and in insertions, at the same time. The title says which
/// rows belong together.
#[test]
fn answered_rows_survive_a_hundred_kills() {
    if let Some(file) = std::env::var_os(CHILD) {
        return write_until_killed(file.as_ref());
    }
    let place = Place::new();
    let database = place.open();
    run(tasks(&database));
    drop(database);
    let mut answered: Vec<String> = Vec::new();
    for round in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sqlite::durability::answered_rows_survive_a_hundred_kills",
                "--nocapture",
            ])
            .env(CHILD, place.file())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // What was said before the kill counts, however little of it is read.
        let titles = lines.filter_map(|line| Some(line.ok()?.strip_prefix("done ")?.to_string()));
        answered.extend(titles.take(1 + round % 17));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(answered.len() >= 3 * KILLS, "{}", answered.len());
    let database = place.open();
    run(async {
        let check = database.run("pragma integrity_check", vec![], &now()).await.unwrap();
        assert_eq!(text(check, Form::Json).await, r#"[{"integrity_check":"ok"}]"#);
        let sql = "select title, count(*) as n from tasks group by title";
        let rows = database.run(sql, vec![], &now()).await.unwrap();
        let Value::List(rows) = rows.into_value(usize::MAX).await.unwrap() else { panic!() };
        let mut stored = BTreeMap::new();
        for row in rows {
            let (title, count) = (row.get("title").unwrap(), row.get("n").unwrap());
            stored.insert(title.as_str().unwrap().to_string(), count.as_i64().unwrap());
        }
        for title in &answered {
            assert!(stored.contains_key(title), "{title} was answered and is lost");
        }
        for (title, count) in &stored {
            let whole = if title.starts_with("one") { 1 } else { TOGETHER as i64 };
            assert_eq!(*count, whole, "{title} is there in part");
        }
    });
}

fn write_until_killed(file: &std::path::Path) {
    let database = SqliteDatabase::open(file, SqliteOptions::default()).unwrap();
    let process = std::process::id();
    run(async {
        for round in 0.. {
            let title = |how: &str| format!("{how} {process} {round}");
            let singles = (0..TOGETHER).map(|number| {
                let title = title(&format!("one {number}"));
                let post = database.post(&reference("tasks"), content(&task(&title)), &now());
                async move {
                    post.await.unwrap();
                    title
                }
            });
            let transaction = in_transaction(&database, title("transaction"));
            let insertion = inserted(&database, title("insertion"));
            let (mut titles, other, third) =
                tokio::join!(join_all(singles), transaction, insertion);
            titles.extend([other, third]);
            let mut out = std::io::stdout().lock();
            for title in titles {
                // The parent may be gone already; then this process ends as well.
                if writeln!(out, "done {title}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        }
    });
}

fn task(title: &str) -> String {
    format!(r#"{{"title":"{title}"}}"#)
}

async fn in_transaction(database: &Rc<SqliteDatabase>, title: String) -> String {
    let transaction = database.begin(&reference(""), None, &now()).await.unwrap();
    let context = Context { transaction: Some(transaction.clone()), ..now() };
    for _ in 0..TOGETHER {
        database.post(&reference("tasks"), content(&task(&title)), &context).await.unwrap();
    }
    transaction.commit().await.unwrap();
    title
}

/// Rows of one title, each a batch of its own.
struct OfTitle(String, usize);

impl Records for OfTitle {
    fn fields(&self) -> Rc<[String]> {
        Rc::new(["title".to_string()])
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        self.1 += 1;
        let row = (self.1 <= TOGETHER).then(|| vec![Value::Text(self.0.clone())]);
        Answer::ok(row)
    }
}

async fn inserted(database: &Rc<SqliteDatabase>, title: String) -> String {
    let records = Box::new(OfTitle(title.clone(), 0));
    database.insert(&reference("tasks"), records, &now()).await.unwrap();
    title
}
