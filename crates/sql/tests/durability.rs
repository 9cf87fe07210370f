//! A process that is killed loses nothing that it has answered.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use futures_util::future::join_all;
use runnel_sql::{Database, Options};
use runnel_store::Store;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Says to the child process, which is this test again, where to write.
const CHILD: &str = "RUNNEL_SQL_TEST_CHILD";

#[test]
fn answered_rows_survive_a_kill() {
    if let Some(file) = std::env::var_os(CHILD) {
        return write_until_killed(file.as_ref());
    }
    let place = Place::new();
    let database = place.open();
    run(tasks(&database));
    drop(database);
    let mut answered: Vec<i64> = Vec::new();
    for round in 0..10 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "answered_rows_survive_a_kill", "--nocapture"])
            .env(CHILD, place.file())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ids = lines.filter_map(|line| line.unwrap().strip_prefix("row ")?.parse::<i64>().ok());
        answered.extend(ids.take(10 + round * 7));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(answered.len() >= 100, "{}", answered.len());
    let database = place.open();
    run(async {
        for id in &answered {
            let row = get(&*database, &format!("tasks/{id}")).await;
            assert!(row.is_some(), "row {id} was answered and is lost");
        }
        let check = database.run("pragma integrity_check", vec![], &now()).await.unwrap();
        let check = text(check, runnel_store::Form::Json).await;
        assert_eq!(check, r#"[{"integrity_check":"ok"}]"#);
    });
}

fn write_until_killed(file: &std::path::Path) {
    let database = Database::open(file, Options::default()).unwrap();
    run(async {
        loop {
            let posts = (0..5)
                .map(|_| database.post(&reference("tasks"), content(r#"{"title":"x"}"#), &now()));
            for posted in join_all(posts).await {
                let id = posted.unwrap().reference.unwrap();
                let id = id.path().strip_prefix("tasks/").unwrap();
                let mut out = std::io::stdout().lock();
                // The parent may be gone already; then this process ends as well.
                if writeln!(out, "row {id}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        }
    });
}
