//! Continuous backups beside a program: who ships, what the end ships, targets that are wrong or away, and
//! what a kill loses.

use crate::shipping::{
    Client, INTERVAL, LAG, LAG_OF_TESTS, command, done, now, outcome, restored, restored_state,
    rows, segments, serve_copies, serve_store, start, until,
};
use crate::support::{Folder, Process, free_port, http, note, run};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A program of a table, which it backs up with these options.
fn program(target: &str, rest: &str) -> String {
    format!(
        "class Task {{ var <int> id. var <string> title. }}
        database ← ref:sqlite:tasks.db.
        copies ← database backupContinuously: ref:{target} with: #{{ interval: 50 milliseconds, keep: 5 seconds }}.
        tasks ← database table: Task.
        {rest}"
    )
}

/// A server of the table.
const SERVE: &str = "#JSONConverter{ class: Task } → tasks.";

/// Rows that a program inserts.
const ROWS: &str = "1 to: 100 do: { :i | tasks insert: #Task{ title: \"task {i}\" } }.";

fn serve(folder: &Folder, target: &str, workers: &str) -> (Process, u16) {
    folder.write("served.st", format!("#-serve\n{}", program(target, SERVE)));
    let port = free_port();
    let port_text = port.to_string();
    let mut process = start(folder, &["--workers", workers, "--port", &port_text, "served.st"]);
    process.listens(port);
    (process, port)
}

fn post(port: u16, count: usize) {
    let headers = [("Content-Type", "application/json")];
    for _ in 0..count {
        let reply = http::send(port, "POST", "/", &headers, br#"{"title":"sow"}"#).unwrap();
        assert_eq!(reply.status, 201);
    }
}

fn generations(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path("copies")).map_or(0, Iterator::count)
}

/// The names beside the database that begin as it does.
fn beside(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("tasks.db")).collect();
    names.sort();
    names
}

fn stop(mut process: Process) {
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
}

/// The rows of the newest state; 0 where there is none yet, or none with the table.
fn shipped(folder: &Folder) -> u64 {
    outcome(folder, &["restore", "--replace", "copies/", "shipped.db"]);
    let count = "ref:sqlite:shipped.db run: 'select count(*) as n from tasks'";
    let found = outcome(folder, &["-e", count]).out;
    let digits: String = found.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[test]
fn a_program_ends_when_everything_is_shipped() {
    let folder = Folder::new();
    folder.write("rows.st", program("file:copies/", ROWS));
    for round in 1..=2 {
        done(outcome(&folder, &["rows.st"]));
        assert_eq!(restored(&folder, &[], 1), round * 100);
        assert_eq!(generations(&folder), round as usize);
        assert_eq!(beside(&folder), ["tasks.db"]);
    }
    // The error of a program does not keep the rest from being shipped.
    folder.write("rows.st", program("file:copies/", &format!("{ROWS} 3 fooBar.")));
    assert_ne!(outcome(&folder, &["rows.st"]).status, 0);
    assert_eq!(restored(&folder, &[], 1), 300);
    let text = program("file:copies/", &format!("{ROWS} copies stop. {ROWS}"));
    folder.write("rows.st", text);
    done(outcome(&folder, &["rows.st"]));
    assert_eq!((restored(&folder, &[], 1), rows(&folder, "tasks.db", 1)), (400, 500));
}

#[test]
fn a_program_that_is_told_to_stop_ships_the_rest() {
    let folder = Folder::new();
    for (round, workers) in ["1", "3"].into_iter().enumerate() {
        let (process, port) = serve(&folder, "file:copies/", workers);
        post(port, 20);
        stop(process);
        assert_eq!(restored(&folder, &[], 1), 20 * (round as u64 + 1));
        assert_eq!(generations(&folder), round + 1, "one of {workers} workers ships");
        assert_eq!(beside(&folder), ["tasks.db"]);
    }
}

#[test]
fn of_all_processes_one_ships_and_another_takes_over() {
    let folder = Folder::new();
    let (mut first, port) = serve(&folder, "file:copies/", "2");
    let (second, other) = serve(&folder, "file:copies/", "2");
    let follow = ["backup", "--follow", "--interval", INTERVAL, "tasks.db", "copies"];
    let third = start(&folder, &follow);
    post(port, 10);
    post(other, 10);
    until("the rows of both are there", || shipped(&folder) == 20);
    assert_eq!(generations(&folder), 1);
    first.signal("KILL");
    first.end();
    until("another one ships", || generations(&folder) == 2);
    post(other, 10);
    until("its rows are there", || shipped(&folder) == 30);
    assert_eq!(generations(&folder), 2);
    stop(third);
    post(other, 10);
    stop(second);
    assert_eq!(restored(&folder, &[], 1), 40);
    assert_eq!(beside(&folder), ["tasks.db"]);
}

#[test]
fn a_wrong_target_is_an_error_at_once() {
    let folder = Folder::new();
    let port = free_port();
    let text = format!("(#S3Server{{ port: {port} }} → #MemoryStore{{}}) start.");
    let _server = serve_store(&folder, port, &text);
    folder.write("a-file", "text");
    for (target, told) in [
        ("ref:s3:none/tasks/", "bucket"),
        ("ref:file:a-file/copies/", "a-file"),
        ("ref:nothing:copies/", "nothing"),
        ("'copies'", "write"),
    ] {
        let source = format!("ref:sqlite:tasks.db backupContinuously: {target}");
        let begun = Instant::now();
        let outcome = run(&mut command(&folder, port, &["-e", &source]));
        let is_named = outcome.err.contains(told) || outcome.err.contains("expects a reference");
        assert!(outcome.status != 0 && is_named, "{target}: {outcome:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{target}: {:?}", begun.elapsed());
    }
    for (source, told) in [
        ("ref:sqlite::memory: backupContinuously: ref:file:c/", "a database in memory has no log"),
        (
            "ref:sqlite:t.db backupContinuously: ref:file:c/ with: #{ keep: 1 milliseconds }",
            "`keep` of a continuous backup must be a duration from 10 ms to 3650 d",
        ),
        (
            "ref:sqlite:t.db backupContinuously: ref:file:c/ with: #{ intervall: 5 }",
            "did you mean `interval`?",
        ),
        ("ref:memory:x backupContinuously: ref:file:c/", "memory"),
    ] {
        let outcome = outcome(&folder, &["-e", source]);
        assert!(outcome.status != 0 && outcome.err.contains(told), "{source}: {outcome:?}");
    }
}

#[test]
fn a_bucket_takes_what_a_program_ships() {
    let folder = Folder::new();
    let port = free_port();
    let text = format!("(#S3Server{{ port: {port} }} → #MemoryStore{{}}) start.");
    let _server = serve_store(&folder, port, &text);
    let with = |arguments: &[&str]| run(&mut command(&folder, port, arguments));
    done(with(&["-e", "s3:box ← ''"]));
    folder.write("rows.st", program("s3:box/tasks/", ROWS));
    done(with(&["rows.st"]));
    done(with(&["restore", "s3:box/tasks/", "there.db"]));
    assert_eq!(rows(&folder, "there.db", 1), 100);
}

#[test]
fn a_target_that_is_away_gets_the_rest_later() {
    let folder = Folder::new();
    let store = free_port();
    let target = format!("http://127.0.0.1:{store}/");
    // The program starts without its target.
    let (mut process, port) = serve(&folder, &target, "1");
    post(port, 10);
    process.err_shows("the backup begins anew");
    let mut server = serve_copies(&folder, store);
    until("the rows are there", || {
        !segments(&folder).is_empty() && restored(&folder, &[], 1) == 10
    });
    server.signal("KILL");
    server.end();
    post(port, 10);
    process.err_shows("the backup waits for its store");
    let mut server = serve_copies(&folder, store);
    until("the rest is there", || shipped(&folder) == 20);
    server.signal("KILL");
    server.end();
    post(port, 10);
    let told = Instant::now();
    process.signal("TERM");
    assert_eq!(process.end(), 70, "{}", process.err());
    assert!(process.err().contains("not everything was backed up"), "{}", process.err());
    assert!(told.elapsed() > Duration::from_secs(8), "{:?}", told.elapsed());
    assert_eq!(restored(&folder, &[], 1), 20);
}

#[test]
fn a_program_that_is_only_drawn_ships_nothing() {
    let folder = Folder::new();
    let text = program("file:copies/", "#HTTPServer{ port: 8080 } → tasks.");
    folder.write("drawn.st", text);
    done(outcome(&folder, &["graph", "drawn.st"]));
    assert!(!folder.path("copies").exists());
}

#[test]
fn kills_of_a_program_lose_only_what_is_younger_than_the_lag() {
    let kills = std::env::var("RUNNEL_KILLS").ok().and_then(|count| count.parse::<u64>().ok());
    let (kills, lag) = kills.map_or((4, LAG_OF_TESTS), |kills| (kills, LAG));
    let folder = Folder::new();
    // Each state has the table.
    folder.write("define.st", program("file:unused/", ""));
    done(outcome(&folder, &["define.st"]));
    let client = Arc::<Client>::default();
    let own = client.clone();
    let writing = std::thread::spawn(move || own.write());
    let (mut states, mut last, mut longest, mut takeovers) = (0, 0, 0, 0);
    let mut standby: Option<(Process, u16)> = None;
    for round in 0..kills {
        let before = segments(&folder).pop();
        // The process that waits takes over; every second time there is none.
        let (mut process, port) =
            standby.take().unwrap_or_else(|| serve(&folder, "file:copies/", "2"));
        client.port.store(port, Ordering::Relaxed);
        // Mostly it has a state before it is killed; else it may be at its first.
        let is_at_work = round % 4 != 3;
        if is_at_work {
            until("a state is there", || segments(&folder).pop() > before);
        }
        if round % 2 == 0 {
            standby = Some(serve(&folder, "file:copies/", "2"));
            takeovers += 1;
        }
        let time = if round % 8 == 0 { 2500 } else { (round + 1) * 517 % 700 };
        std::thread::sleep(Duration::from_millis(time));
        let moment = now();
        process.signal("KILL");
        process.end();
        if !is_at_work && segments(&folder).is_empty() {
            continue;
        }
        let (time, count) = restored_state(&folder, &[], 1);
        // Of two states in a millisecond the second one has the time of the next.
        let least = client.before(time - 2000).max(last);
        assert!(count >= least, "round {round}: {count} rows of {least}");
        if is_at_work {
            assert!(time > moment - lag, "round {round}: {time}, killed at {moment}");
            longest = longest.max(moment - time);
        }
        states += u64::from(count > last);
        last = count;
    }
    client.stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    drop(standby);
    let written = client.before(now());
    assert!(rows(&folder, "tasks.db", 1) >= written && last > 0);
    note(&format!(
        "| kills of a program: {kills}, taken over: {takeovers} | new states: {states} | rows: \
         {written} | longest lag: {} ms |",
        longest / 1000
    ));
}
