//! Continuous backups: what is shipped into files, S3 and another server while programs write, and what is
//! restored of it after kills, after an outage and after damage.

use crate::backup::{SERVER, WRITER};
use crate::support::http;
use crate::support::{Folder, Outcome, PATIENCE, Process, free_port, note, run, runnel};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// A command in a folder, with the S3 server of a port.
pub(crate) fn command(folder: &Folder, s3: u16, arguments: &[&str]) -> Command {
    let mut command = runnel();
    command.args(arguments).current_dir(folder.path(""));
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{s3}"));
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    command
}

pub(crate) fn outcome(folder: &Folder, arguments: &[&str]) -> Outcome {
    run(&mut command(folder, 0, arguments))
}

pub(crate) fn done(outcome: Outcome) -> String {
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    outcome.out
}

pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Process {
    Process::start(&mut command(folder, 0, arguments))
}

/// The number of rows of a state that existed; fails for any other.
pub(crate) fn rows(folder: &Folder, database: &str, together: u64) -> u64 {
    let sql = format!(
        "select count(*) as n, coalesce(max(id), 0) as last, count(*) % {together} as rest from tasks"
    );
    let found = done(outcome(folder, &["-e", &format!("ref:sqlite:{database} run: \"{sql}\"")]));
    let number = |name: &str| -> u64 {
        let rest = &found[found.find(&format!("{name}:")).unwrap() + name.len() + 1..];
        rest[..rest.find([',', '}']).unwrap()].parse().unwrap()
    };
    assert_eq!((number("n"), number("rest")), (number("last"), 0), "{database}: {found}");
    number("n")
}

/// Restores into a new file, and answers its rows.
pub(crate) fn restored(folder: &Folder, options: &[&str], together: u64) -> u64 {
    restored_state(folder, options, together).1
}

/// The same with the time of the state, in microseconds since 1970.
pub(crate) fn restored_state(folder: &Folder, options: &[&str], together: u64) -> (i64, u64) {
    let arguments = [&["restore", "--replace"], options, &["copies/", "r.db"]].concat();
    let out = done(outcome(folder, &arguments));
    let time = out.trim().strip_prefix("the state of ").unwrap();
    (runnel_text::moment::parse_rfc3339(time).unwrap(), rows(folder, "r.db", together))
}

/// Now, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() as i64
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the writer and waits for its first rows.
fn writer(folder: &Folder) -> Process {
    folder.write("writer.st", WRITER);
    let process = start(folder, &["writer.st"]);
    let log = folder.path("tasks.db-wal");
    until("the writer writes", || log.metadata().is_ok_and(|log| log.len() > 20_000));
    process
}

/// The segments of a backup in files, in order.
pub(crate) fn segments(folder: &Folder) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for generation in std::fs::read_dir(folder.path("copies")).into_iter().flatten().flatten() {
        let names = std::fs::read_dir(generation.path()).into_iter().flatten().flatten();
        found.extend(names.map(|entry| entry.path()));
    }
    // A segment that is being written has a hidden name.
    found.retain(|path| path.extension().is_some_and(|end| end == "part" || end == "state"));
    found.sort();
    found
}

/// Waits until a number of segments is there, and until the shipper has heard of it.
fn shipped(folder: &Folder, count: usize) {
    until("a segment is there", || segments(folder).len() == count);
    std::thread::sleep(Duration::from_millis(500));
}

fn stop(mut process: Process) {
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
}

/// Many rows, which no program writes any more.
fn with_rows(count: u64) -> Folder {
    let folder = Folder::new();
    let insert = format!(
        "class Task {{ var <int> id. var <string> title. }}
        (ref:sqlite:tasks.db table: Task) insertAll:
            ((1 to: {count}) collect: {{ :i | #Task{{ title: \"task {{i}}\" }} }})."
    );
    folder.write("rows.st", insert);
    done(outcome(&folder, &["rows.st"]));
    folder
}

pub(crate) fn serve_store(folder: &Folder, port: u16, program: &str) -> Process {
    folder.write("store.st", program);
    let mut process = start(folder, &["store.st"]);
    process.listens(port);
    process
}

/// Another server, whose store is the folder `copies`.
pub(crate) fn serve_copies(folder: &Folder, port: u16) -> Process {
    std::fs::create_dir_all(folder.path("copies")).unwrap();
    let program =
        format!("(#HTTPServer{{ port: {port}, listing: true }} → ref:file:copies asScheme) start.");
    serve_store(folder, port, &program)
}

#[test]
fn a_served_bucket_takes_copies_and_changes() {
    let folder = with_rows(300);
    let port = free_port();
    let program = format!("(#S3Server{{ port: {port} }} → #MemoryStore{{}}) start.");
    let _server = serve_store(&folder, port, &program);
    let with = |arguments: &[&str]| run(&mut command(&folder, port, arguments));
    done(with(&["-e", "s3:box ← ''"]));
    done(with(&["backup", "sqlite:tasks.db", "s3:box/tasks.db"]));
    done(with(&["restore", "s3:box/tasks.db", "sqlite:one.db"]));
    assert_eq!(rows(&folder, "one.db", 1), 300);
    done(with(&["backup", "sqlite:tasks.db", "s3:box/once/"]));
    done(with(&["restore", "s3:box/once/", "once.db"]));
    assert_eq!(rows(&folder, "once.db", 1), 300);
    let follow = ["backup", "--follow", "--interval", "100ms", "sqlite:tasks.db", "s3:box/live"];
    let shipping = Process::start(&mut command(&folder, port, &follow));
    let listed = || with(&["backup", "--list", "s3:box/live"]).out;
    until("the first state is there", || listed().contains("1 states"));
    done(outcome(&folder, &["rows.st"]));
    until("the change is there", || listed().contains("2 states"));
    stop(shipping);
    done(with(&["restore", "s3:box/live", "sqlite:live.db"]));
    assert_eq!(rows(&folder, "live.db", 1), 600);
    let missing = with(&["backup", "--follow", "tasks.db", "s3:none/live/"]);
    assert!(missing.status != 0 && missing.err.contains("bucket"), "{missing:?}");
}

#[test]
fn another_server_takes_changes() {
    let folder = with_rows(10);
    let port = free_port();
    let mut server = serve_copies(&folder, port);
    let to = format!("http://127.0.0.1:{port}/");
    let shipping = start(&folder, &["backup", "--follow", "--interval", "100ms", "tasks.db", &to]);
    until("the first state is there", || segments(&folder).len() == 1);
    done(outcome(&folder, &["rows.st"]));
    until("the change is there", || segments(&folder).len() == 2);
    // An outage: the changes wait in the log.
    server.signal("KILL");
    server.end();
    done(outcome(&folder, &["rows.st"]));
    shipping.err_shows("the backup waits for its store");
    done(outcome(&folder, &["rows.st"]));
    let _server = serve_copies(&folder, port);
    until("the rest is there", || restored(&folder, &[], 1) == 40);
    stop(shipping);
    done(outcome(&folder, &["restore", &to, "over.db"]));
    assert_eq!(rows(&folder, "over.db", 1), 40);
}

#[test]
fn each_moment_can_be_restored_and_the_end_ships_what_is_left() {
    let folder = Folder::new();
    let mut writing = writer(&folder);
    let follow = ["backup", "--follow", "--interval", "50ms", "sqlite:tasks.db", "copies"];
    let shipping = start(&folder, &follow);
    until("states are there", || segments(&folder).len() > 3);
    let mut moments = Vec::new();
    for _ in 0..4 {
        let before = segments(&folder).len();
        until("more is there", || segments(&folder).len() > before + 2);
        let now = runnel_text::moment::rfc3339(now());
        let written = rows(&folder, "tasks.db", 2);
        moments.push((now, written));
    }
    writing.signal("KILL");
    writing.end();
    stop(shipping);
    let all = rows(&folder, "tasks.db", 2);
    assert_eq!(restored(&folder, &[], 2), all);
    let mut last = 0;
    for (moment, written) in moments {
        let count = restored(&folder, &["--at", &moment], 2);
        assert!((last + 1..=written).contains(&count), "{moment}: {last} {count} {written}");
        last = count;
    }
    let refused = outcome(&folder, &["restore", "copies/", "tasks.db"]);
    assert!(refused.status == 73 && refused.err.contains("--replace"), "{refused:?}");
    let early = ["restore", "--at", "2020-01-01T00:00:00Z", "copies", "new.db"];
    let refused = outcome(&folder, &early);
    assert!(refused.status == 66 && refused.err.contains("restored before 20"), "{refused:?}");
    let refused = outcome(&folder, &["restore", "none/", "new.db"]);
    assert!(refused.status == 66 && refused.err.contains("no continuous backup"), "{refused:?}");
    let refused = outcome(&folder, &["restore", "--at", "yesterday", "copies", "new.db"]);
    assert!(refused.status != 0 && refused.err.contains("2026-11-23T10:00:00Z"), "{refused:?}");
    assert!(!folder.path("new.db").exists());
}

#[test]
fn a_segment_that_is_missing_or_damaged_is_named_with_the_time_before_it() {
    let folder = with_rows(100);
    let follow = ["backup", "--follow", "--interval", "50ms", "tasks.db", "copies/"];
    let shipping = start(&folder, &follow);
    for count in 1..5 {
        until("a state is there", || segments(&folder).len() == count);
        done(outcome(&folder, &["rows.st"]));
    }
    stop(shipping);
    let found = segments(&folder);
    let whole = std::fs::read(&found[2]).unwrap();
    let before = found[1].file_name().unwrap().to_str().unwrap()[9..33].to_string();
    let before = format!("{}T{}", &before[..10], before[11..].replacen('-', ":", 2));
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    let cut = whole[..whole.len() - 1].to_vec();
    let other = std::fs::read(&found[1]).unwrap();
    for wrong in [None, Some(damaged), Some(cut), Some(Vec::new()), Some(other)] {
        match wrong {
            None => std::fs::remove_file(&found[2]).unwrap(),
            Some(bytes) => std::fs::write(&found[2], bytes).unwrap(),
        }
        let refused = outcome(&folder, &["restore", "copies/", "new.db"]);
        assert_eq!(refused.status, 70, "{refused:?}");
        let told = format!("restore --at {before} or earlier");
        assert!(refused.err.contains(&told), "{told}: {refused:?}");
        assert!(!folder.path("new.db").exists() && !folder.path("new.db-restore").exists());
        assert_eq!(restored(&folder, &["--at", &before], 1), 200);
    }
    std::fs::write(&found[2], whole).unwrap();
    assert_eq!(restored(&folder, &[], 1), 500);
    // The first one has the whole database.
    std::fs::remove_file(&found[0]).unwrap();
    let refused = outcome(&folder, &["restore", "copies/", "new.db"]);
    assert!(refused.err.contains("nothing before it can be restored"), "{refused:?}");
}

#[test]
fn old_states_are_deleted() {
    let folder = Folder::new();
    let mut writing = writer(&folder);
    let mut follow = vec!["backup", "--follow", "--interval", "20ms", "--keep", "1s"];
    follow.extend(["--snapshot-interval", "300ms", "tasks.db", "copies/"]);
    let shipping = start(&folder, &follow);
    until("a state is there", || !segments(&folder).is_empty());
    let first = segments(&folder)[0].clone();
    until("the first generation is deleted", || !first.exists());
    until("its folder, too", || !first.parent().unwrap().exists());
    let listed = done(outcome(&folder, &["backup", "--list", "copies"]));
    assert!(listed.lines().count() > 1, "{listed}");
    writing.signal("KILL");
    writing.end();
    stop(shipping);
    assert_eq!(restored(&folder, &[], 2), rows(&folder, "tasks.db", 2));
}

#[test]
fn a_log_that_becomes_too_long_is_let_go() {
    let folder = with_rows(10);
    let port = free_port();
    let mut server = serve_copies(&folder, port);
    let to = format!("http://127.0.0.1:{port}/");
    let mut follow = vec!["backup", "--follow", "--interval", "50ms", "--max-log", "16M"];
    follow.extend(["tasks.db", &to]);
    let shipping = start(&folder, &follow);
    shipped(&folder, 1);
    server.signal("KILL");
    server.end();
    let large = "ref:sqlite:tasks.db run: \"with recursive c(x) as (select 1 union all select x + 1 \
                 from c where x < 6000) insert into tasks (title) select hex(randomblob(2000)) from c\"";
    done(outcome(&folder, &["-e", large]));
    assert!(std::fs::metadata(folder.path("tasks.db-wal")).unwrap().len() > 16 << 20);
    shipping.err_shows("the write-ahead log has become too long");
    // The shipper has released the log: the next program that ends deletes it.
    until("the log is gone", || {
        done(outcome(&folder, &["rows.st"]));
        !folder.path("tasks.db-wal").exists()
    });
    let there = rows(&folder, "tasks.db", 1);
    let _server = serve_copies(&folder, port);
    until("a new generation is there", || restored(&folder, &[], 1) == there);
    stop(shipping);
}

#[test]
fn an_end_without_its_store_is_an_error() {
    let folder = with_rows(10);
    let port = free_port();
    let mut server = serve_copies(&folder, port);
    let to = format!("http://127.0.0.1:{port}/");
    let follow = ["backup", "--follow", "--interval", "50ms", "tasks.db", &to];
    let mut shipping = start(&folder, &follow);
    shipped(&folder, 1);
    server.signal("KILL");
    server.end();
    // Nothing is left to ship.
    shipping.signal("TERM");
    assert_eq!(shipping.end(), 0, "{}", shipping.err());
    // No first state.
    let refused = outcome(&folder, &follow);
    assert!(refused.status == 70 && refused.err.contains("refused"), "{refused:?}");
    let mut server = serve_copies(&folder, port);
    let mut shipping = start(&folder, &follow);
    shipped(&folder, 2);
    server.signal("KILL");
    server.end();
    done(outcome(&folder, &["rows.st"]));
    shipping.err_shows("the backup waits for its store");
    let told = Instant::now();
    shipping.signal("TERM");
    assert_eq!(shipping.end(), 70, "{}", shipping.err());
    assert!(told.elapsed() > Duration::from_secs(8), "{:?}", told.elapsed());
    assert_eq!(restored(&folder, &[], 1), 10);
}

/// Clients that insert rows one by one, and remember when each was acknowledged.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) port: AtomicU16,
    pub(crate) stop: AtomicBool,
    acknowledged: Mutex<Vec<i64>>,
}

impl Client {
    pub(crate) fn write(&self) {
        let headers = [("Content-Type", "application/json")];
        while !self.stop.load(Ordering::Relaxed) {
            let port = self.port.load(Ordering::Relaxed);
            let reply = http::send(port, "POST", "/", &headers, br#"{"title":"sow"}"#);
            match reply.ok().filter(|reply| reply.status == 201) {
                Some(_) => self.acknowledged.lock().unwrap().push(now()),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// How many rows were acknowledged before a moment.
    pub(crate) fn before(&self, moment: i64) -> u64 {
        self.acknowledged.lock().unwrap().iter().filter(|at| **at < moment).count() as u64
    }
}

fn serve(folder: &Folder) -> (Process, u16) {
    let port = free_port();
    let mut process = start(folder, &["--port", &port.to_string(), "server.st"]);
    process.listens(port);
    (process, port)
}

/// The interval of the shipper, and the time that it may take besides where nothing else runs, in
/// microseconds. Beside other tests it may take longer.
pub(crate) const INTERVAL: &str = "50ms";
pub(crate) const LAG: i64 = 1_500_000;
pub(crate) const LAG_OF_TESTS: i64 = 10_000_000;

#[test]
fn kills_of_the_shipper_and_of_the_writer_lose_only_what_is_younger_than_the_lag() {
    let kills = std::env::var("RUNNEL_KILLS").ok().and_then(|count| count.parse::<u64>().ok());
    let (kills, lag) = kills.map_or((4, LAG_OF_TESTS), |kills| (kills, LAG));
    let folder = Folder::new();
    folder.write("server.st", SERVER);
    let (mut server, port) = serve(&folder);
    let client = Arc::<Client>::default();
    client.port.store(port, Ordering::Relaxed);
    let own = client.clone();
    let writing = std::thread::spawn(move || own.write());
    let (mut states, mut last, mut shipped, mut longest) = (0, 0, false, 0);
    for round in 0..kills {
        let follow = ["backup", "--follow", "--interval", INTERVAL, "--keep", "5s", "tasks.db"];
        let mut shipping = start(&folder, &[&follow[..], &["copies/"]].concat());
        // Every second time the shipper has a state before it is killed; else it may be at its first.
        if round % 2 == 0 {
            let before = segments(&folder).pop();
            until("a state is there", || segments(&folder).pop() > before);
            shipped = true;
        }
        // Sometimes long enough that what is checked below came after its first state.
        let time = if round % 8 == 0 { 2500 } else { (round + 1) * 517 % 700 };
        std::thread::sleep(Duration::from_millis(time));
        // The writer is killed before it, after it, or not at all.
        if round % 3 == 0 {
            server.signal("KILL");
            server.end();
        }
        let moment = now();
        let was_at_work = shipped && round % 2 == 0;
        shipping.signal("KILL");
        shipping.end();
        if round % 3 == 1 {
            server.signal("KILL");
            server.end();
        }
        if shipped {
            let (time, count) = restored_state(&folder, &[], 1);
            // Of two states in a millisecond the second one has the time of the next.
            let least = client.before(time - 2000).max(last);
            assert!(count >= least, "round {round}: {count} rows of {least}");
            if was_at_work {
                assert!(time > moment - lag, "round {round}: {time}, killed at {moment}");
                longest = longest.max(moment - time);
            }
            states += u64::from(count > last);
            last = count;
        }
        if round % 3 != 2 {
            let (next, port) = serve(&folder);
            server = next;
            client.port.store(port, Ordering::Relaxed);
        }
    }
    client.stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    let written = client.before(now());
    assert!(rows(&folder, "tasks.db", 1) >= written && last > 0);
    note(&format!(
        "| kills of a shipper: {kills} | new states: {states} | rows: {written} | longest lag: {} ms |",
        longest / 1000
    ));
}
