//! Databases as files: what a program leaves behind, what becomes of a file that is moved or damaged
//! under it, backups of a database in use, and restores that are killed.

use crate::support::http::{self, Reply};
use crate::support::{Folder, Outcome, PATIENCE, Process, free_port, run, runnel};
use runnel_scratch::{Server, Service};
use std::time::{Duration, Instant};

/// Rows come in pairs, one transaction for each: a state that existed has the rows from 1 to an even
/// number.
pub(crate) const WRITER: &str = "\
class Task { var <int> id. var <string> title. }
database ← ref:sqlite:tasks.db.
tasks ← database table: Task.
1 to: 1000000 do: { :i |
   database transaction: {
      tasks insert: #Task{ title: \"first {i}\" }.
      tasks insert: #Task{ title: \"second {i}\" }.
   }
}.
";

/// A server of the same table.
pub(crate) const SERVER: &str = "\
#-serve
class Task { var <int> id. var <string> title. }
#JSONConverter{ class: Task } → (ref:sqlite:tasks.db table: Task).
";

/// A program with 300 rows.
const ROWS: &str = "\
class Task { var <int> id. var <string> title. }
tasks ← ref:sqlite:tasks.db table: Task.
tasks insertAll: ((1 to: 300) collect: { :i | #Task{ title: \"task {i}\" } }).
";

/// The command in a folder.
fn command(folder: &Folder, arguments: &[&str]) -> Outcome {
    run(runnel().args(arguments).current_dir(folder.path("")))
}

fn done(outcome: &Outcome) {
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

/// What a statement answers about a database.
fn ask(folder: &Folder, database: &str, sql: &str) -> String {
    let source = format!("ref:sqlite:{database} run: \"{sql}\"");
    let outcome = command(folder, &["-e", &source]);
    done(&outcome);
    outcome.out.trim().to_string()
}

/// The number of rows of a state that existed; fails for any other.
fn state(folder: &Folder, database: &str) -> u64 {
    assert_eq!(ask(folder, database, "pragma integrity_check"), "[{integrity_check:ok}]");
    let sql = "select count(*) as n, coalesce(max(id), 0) as last, count(*) % 2 as odd from tasks";
    let found = ask(folder, database, sql);
    let number = |name: &str| -> u64 {
        let rest = &found[found.find(&format!("{name}:")).unwrap() + name.len() + 1..];
        rest[..rest.find([',', '}']).unwrap()].parse().unwrap()
    };
    assert_eq!((number("n"), number("odd")), (number("last"), 0), "{database}: {found}");
    number("n")
}

/// The names in a folder that begin so.
fn files(folder: &Folder, start: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
    names.sort();
    names
}

fn with_rows() -> Folder {
    let folder = Folder::new();
    folder.write("rows.st", ROWS);
    done(&command(&folder, &["rows.st"]));
    folder
}

fn serve(folder: &Folder, workers: &str) -> (Process, u16) {
    folder.write("server.st", SERVER);
    let port = free_port();
    let mut command = runnel();
    command.args(["--workers", workers, "--port", &port.to_string(), "server.st"]);
    let mut process = Process::start(command.current_dir(folder.path("")));
    process.listens(port);
    (process, port)
}

fn post(port: u16) -> Reply {
    let headers = [("Content-Type", "application/json")];
    http::send(port, "POST", "/", &headers, br#"{"title":"sow"}"#).unwrap()
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts the writer and waits for its first rows.
fn writer(folder: &Folder) -> Process {
    folder.write("writer.st", WRITER);
    let process = Process::start(runnel().arg("writer.st").current_dir(folder.path("")));
    let log = folder.path("tasks.db-wal");
    until("the writer writes", || log.metadata().is_ok_and(|log| log.len() > 20_000));
    process
}

/// How often a process is killed: `RUNNEL_KILLS`.
fn kills() -> u64 {
    std::env::var("RUNNEL_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(4)
}

/// How long a command takes that is not killed.
fn time_of(folder: &Folder, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    done(&command(folder, arguments));
    start.elapsed()
}

/// Starts a command and kills it after a time that differs from round to round, sometimes just after
/// its end.
fn killed(folder: &Folder, arguments: &[&str], round: u64, longest: Duration) {
    let mut process = Process::start(runnel().args(arguments).current_dir(folder.path("")));
    let part = (round + 1) * 517 % 1400;
    std::thread::sleep(longest.mul_f64(part as f64 / 1000.0));
    process.signal("KILL");
    process.end();
}

#[test]
fn a_program_that_ends_leaves_one_whole_file() {
    let folder = with_rows();
    assert_eq!(files(&folder, "tasks.db"), ["tasks.db"]);
    std::fs::copy(folder.path("tasks.db"), folder.path("copy.db")).unwrap();
    assert_eq!(ask(&folder, "copy.db", "select count(*) as n from tasks"), "[{n:300}]");
}

#[test]
fn a_server_that_is_told_to_stop_leaves_one_whole_file() {
    let folder = with_rows();
    let (mut process, port) = serve(&folder, "3");
    for _ in 0..20 {
        assert_eq!(post(port).status, 201);
        assert_eq!(http::get(port, "/").status, 200);
    }
    process.signal("TERM");
    assert_eq!(process.end(), 0);
    assert_eq!(files(&folder, "tasks.db"), ["tasks.db"]);
    std::fs::copy(folder.path("tasks.db"), folder.path("copy.db")).unwrap();
    assert_eq!(ask(&folder, "copy.db", "select count(*) as n from tasks"), "[{n:320}]");
}

#[test]
fn a_file_that_is_moved_is_not_written_any_more() {
    let folder = with_rows();
    let (mut process, port) = serve(&folder, "1");
    assert_eq!(post(port).status, 201);
    let (path, moved) = (folder.path("tasks.db"), folder.path("moved.db"));
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(post(port).status, 503);
    let told = "the database file was deleted or replaced";
    until("the log says it", || process.err().contains(told));
    // Back at its place, it is the same file.
    std::fs::rename(&moved, &path).unwrap();
    assert_eq!(post(port).status, 201);
    std::fs::rename(&path, &moved).unwrap();
    done(&command(&folder, &["-e", "file:tasks.db ← 'another file'"]));
    assert_eq!(post(port).status, 503);
    process.signal("TERM");
    assert_eq!(process.end(), 0);
    // The moved file is whole, and no log of it is applied to the one that has its name now.
    assert_eq!(files(&folder, "tasks.db"), ["tasks.db"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"another file");
    assert_eq!(ask(&folder, "moved.db", "select count(*) as n from tasks"), "[{n:302}]");
}

#[test]
fn a_write_ahead_log_that_is_deleted_is_noticed() {
    let folder = with_rows();
    let (_process, port) = serve(&folder, "1");
    assert_eq!(post(port).status, 201);
    std::fs::remove_file(folder.path("tasks.db-wal")).unwrap();
    assert_eq!(post(port).status, 503);
}

#[test]
fn a_damaged_page_refuses_writes_as_it_does_reads() {
    let folder = with_rows();
    let path = folder.path("tasks.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // Not the first page, with the schema, and not the last one, where rows are added.
    assert!(bytes.len() >= 4 * 4096, "{}", bytes.len());
    bytes[2 * 4096..2 * 4096 + 100].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let (process, port) = serve(&folder, "1");
    assert_eq!(http::get(port, "/").status, 500);
    let refused = post(port);
    assert_eq!(refused.status, 500, "{refused:?}");
    until("the log says it", || process.err().contains("restore it from a backup"));
    let outcome = command(&folder, &["backup", "tasks.db", "copy.db"]);
    assert_eq!(outcome.status, 70, "{outcome:?}");
    assert!(outcome.err.contains("damaged"), "{outcome:?}");
    assert!(!folder.path("copy.db").exists());
}

#[test]
fn backups_of_a_database_in_use_are_states_that_existed() {
    let folder = Folder::new();
    let mut writing = writer(&folder);
    let mut last = 0;
    for round in 0..6 {
        let name = format!("copy{round}.db");
        done(&command(&folder, &["backup", "sqlite:tasks.db", &name]));
        let rows = state(&folder, &name);
        assert!(rows >= last, "{rows} after {last}");
        last = rows;
    }
    assert!(writing.is_running(), "{}", writing.err());
    assert!(last > 0);
    writing.signal("KILL");
    writing.end();
    assert!(files(&folder, "tasks.db-copy").is_empty());
}

#[test]
fn a_backup_goes_to_any_store_and_comes_back() {
    let folder = with_rows();
    let port = free_port();
    std::fs::create_dir(folder.path("remote")).unwrap();
    let source = format!("(#HTTPServer{{ port: {port} }} → ref:file:remote asScheme) start.");
    folder.write("remote.st", source);
    let mut remote = Process::start(runnel().arg("remote.st").current_dir(folder.path("")));
    remote.listens(port);
    let address = format!("http://127.0.0.1:{port}/copy.db");
    done(&command(&folder, &["backup", "sqlite:tasks.db", &address]));
    done(&command(&folder, &["restore", &address, "sqlite:new.db"]));
    assert_eq!(state(&folder, "new.db"), 300);
    let missing = command(&folder, &["restore", &format!("{address}x"), "sqlite:other.db"]);
    assert_eq!(missing.status, 66, "{missing:?}");
    let program =
        "ref:sqlite:tasks.db backup: ref:file:own.db. (ref:sqlite:own.db/tasks) table count";
    let own = command(&folder, &["-e", program]);
    assert_eq!((own.status, own.out.trim()), (0, "300"), "{own:?}");
}

#[test]
fn a_restore_replaces_only_what_it_is_told_to_and_what_is_not_in_use() {
    let folder = with_rows();
    done(&command(&folder, &["backup", "tasks.db", "copy.db"]));
    let refused = command(&folder, &["restore", "copy.db", "sqlite:tasks.db"]);
    assert_eq!(refused.status, 73, "{refused:?}");
    assert!(refused.err.contains("--replace"), "{refused:?}");
    let (mut process, port) = serve(&folder, "1");
    assert_eq!(post(port).status, 201);
    let replacing = ["restore", "--replace", "copy.db", "sqlite:tasks.db"];
    let refused = command(&folder, &replacing);
    assert_eq!(refused.status, 73, "{refused:?}");
    assert!(refused.err.contains("has the database open"), "{refused:?}");
    assert_eq!(post(port).status, 201);
    process.signal("KILL");
    process.end();
    // What the server left in its log does not come back.
    assert_eq!(files(&folder, "tasks.db").len(), 3);
    done(&command(&folder, &replacing));
    assert_eq!(files(&folder, "tasks.db"), ["tasks.db"]);
    assert_eq!(state(&folder, "tasks.db"), 300);
}

#[test]
fn what_is_no_good_backup_changes_nothing() {
    let folder = with_rows();
    done(&command(&folder, &["backup", "tasks.db", "copy.db"]));
    let whole = std::fs::read(folder.path("copy.db")).unwrap();
    let mut damaged = whole.clone();
    damaged[2 * 4096..2 * 4096 + 100].fill(0xff);
    let wrong: [(&str, &[u8]); 4] = [
        ("text", b"this is no database, whatever its name says"),
        ("empty", b""),
        ("half", &whole[..whole.len() / 2]),
        ("damaged", &damaged),
    ];
    for (name, bytes) in wrong {
        folder.write("wrong.db", bytes);
        let refused = command(&folder, &["restore", "--replace", "wrong.db", "sqlite:tasks.db"]);
        assert!(refused.status != 0 && refused.err.contains("backup"), "{name}: {refused:?}");
        assert_eq!(state(&folder, "tasks.db"), 300, "{name}");
        assert_eq!(files(&folder, "tasks.db"), ["tasks.db"], "{name}");
    }
    for (arguments, told) in [
        (&["backup", "tasks.db", "tasks.db"][..], "would replace the database itself"),
        (&["backup", "none.db", "copy.db"], "no such database"),
        (&["backup", "tasks.db", "sqlite:copy.db"], "a backup is a file"),
        (&["backup", "tasks.db", "nowhere:copy.db"], "no scheme `nowhere:`"),
        (&["backup", "postgres://localhost/x", "copy.db"], "pg_dump"),
        (&["restore", "copy.db", "postgres://localhost/x"], "only a SQLite database"),
        (&["restore", "copy.db", "sqlite:."], "directory"),
    ] {
        let refused = command(&folder, arguments);
        assert!(refused.status != 0 && refused.err.contains(told), "{arguments:?}: {refused:?}");
    }
    assert!(!folder.path("none.db").exists());
}

#[test]
fn a_backup_that_is_killed_leaves_the_one_before() {
    let folder = Folder::new();
    let mut writing = writer(&folder);
    let to = ["backup", "sqlite:tasks.db", "copy.db"];
    let mut longest = time_of(&folder, &to);
    let mut last = state(&folder, "copy.db");
    let mut replaced = 0;
    for round in 0..kills() {
        // The database grows.
        if round % 20 == 19 {
            longest = time_of(&folder, &to);
        }
        killed(&folder, &to, round, longest);
        let rows = state(&folder, "copy.db");
        assert!(rows >= last, "round {round}: {rows} after {last}");
        replaced += u64::from(rows > last);
        last = rows;
    }
    println!("| kills during a backup: {} | replaced before: {replaced} |", kills());
    assert!(writing.is_running(), "{}", writing.err());
    writing.signal("KILL");
    writing.end();
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_state_or_the_new_one() {
    let folder = Folder::new();
    let mut writing = writer(&folder);
    done(&command(&folder, &["backup", "tasks.db", "old.db"]));
    let old = state(&folder, "old.db");
    until("more is written", || {
        done(&command(&folder, &["backup", "tasks.db", "new.db"]));
        state(&folder, "new.db") > old
    });
    let new = state(&folder, "new.db");
    writing.signal("KILL");
    writing.end();
    let longest = time_of(&folder, &["restore", "old.db", "sqlite:r.db"]);
    let mut before = old;
    let mut replaced = 0;
    for round in 0..kills() {
        let (name, target) = if before == old { ("new.db", new) } else { ("old.db", old) };
        killed(&folder, &["restore", "--replace", name, "sqlite:r.db"], round, longest);
        let rows = state(&folder, "r.db");
        assert!(rows == before || rows == target, "round {round}: {rows}");
        replaced += u64::from(rows == target);
        before = rows;
    }
    println!("| kills during a restore: {} | replaced before: {replaced} |", kills());
}

#[test]
fn vacuum_gives_space_back_while_a_server_runs() {
    let folder = Folder::new();
    folder.write("rows.st", ROWS.replace("300", "30000"));
    done(&command(&folder, &["rows.st"]));
    let size = || std::fs::metadata(folder.path("tasks.db")).unwrap().len();
    let full = size();
    ask(&folder, "tasks.db", "delete from tasks where id > 10");
    let (mut process, port) = serve(&folder, "1");
    assert_eq!(post(port).status, 201);
    done(&command(&folder, &["vacuum", "sqlite:tasks.db"]));
    assert_eq!(post(port).status, 201);
    process.signal("TERM");
    assert_eq!(process.end(), 0);
    assert!(size() * 10 < full, "{} of {full}", size());
    assert_eq!(ask(&folder, "tasks.db", "select count(*) as n from tasks"), "[{n:12}]");
    assert_eq!(ask(&folder, "tasks.db", "select count(*) > 0 as n from sqlite_stat1"), "[{n:1}]");
    let program = "ref:sqlite:tasks.db transaction: { ref:sqlite:tasks.db vacuum }";
    let refused = command(&folder, &["-e", program]);
    assert!(refused.err.contains("cannot be part of a transaction"), "{refused:?}");
}

/// A table with a column of each type.
const ITEMS: &str = "\
class Item {
   var <int> id. var <string> name. var <decimal> price. var <bool> done. var <date> due.
   var <data> photo. var <float> size.
}
items ← ref:sqlite:items.db table: Item.
items insert: #Item{
   name: 'wört \"x\"', price: '12.30' asDecimal, done: true, due: '2026-11-21T05:30:00.5Z' asDate,
   photo: 'abc' asData, size: 2.5
}.
items insert: #Item{ name: 'nothing else' }.
1 to: 3000 do: { :i | items insert: #Item{ name: \"item {i}\" } }.
";

fn with_items() -> Folder {
    let folder = Folder::new();
    folder.write("items.st", ITEMS);
    done(&command(&folder, &["items.st"]));
    folder
}

fn dump(folder: &Folder, database: &str) -> String {
    let outcome = command(folder, &["dump", database]);
    done(&outcome);
    outcome.out
}

#[test]
fn a_dump_has_types_and_bytes_and_is_loaded_again() {
    let folder = with_items();
    let text = dump(&folder, "sqlite:items.db");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3004);
    let first = "[1,\"wört \\\"x\\\"\",\"12.30\",true,\"2026-11-21T05:30:00.5Z\",{\"base64\":\"YWJj\"},2.5]";
    assert_eq!(lines[1], first);
    assert_eq!(lines[2], "[2,\"nothing else\",null,null,null,null,null]");
    assert_eq!(lines[3003], "{\"rows\":3002}");
    folder.write("items.ndjson", &text);
    let loaded = command(&folder, &["load", "items.ndjson", "sqlite:other.db"]);
    assert_eq!((loaded.status, loaded.out.as_str()), (0, "items: 3002 rows\n"), "{loaded:?}");
    assert_eq!(dump(&folder, "sqlite:other.db"), text);
    // Comma-separated values have no types: the table brings them.
    let csv = command(&folder, &["dump", "--csv", "items.db", "items"]);
    done(&csv);
    folder.write("items.csv", &csv.out);
    ask(&folder, "other.db", "delete from items");
    done(&command(&folder, &["load", "--csv", "items", "items.csv", "other.db"]));
    assert_eq!(dump(&folder, "sqlite:other.db"), text);
}

#[test]
fn a_dump_goes_to_postgres_and_back() {
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    let folder = with_items();
    let text = dump(&folder, "sqlite:items.db");
    folder.write("items.ndjson", &text);
    let address = server.url();
    done(&command(&folder, &["load", "items.ndjson", &address]));
    let there = dump(&folder, &address);
    assert_eq!(there, text);
    folder.write("back.ndjson", &there);
    done(&command(&folder, &["load", "back.ndjson", "back.db"]));
    assert_eq!(dump(&folder, "back.db"), text);
    // The server goes on numbering after the rows that were loaded.
    let insert =
        format!("ref:{address} run: \"insert into items (name) values ('x') returning id\"");
    let inserted = command(&folder, &["-e", &insert]);
    assert_eq!(inserted.out.trim(), "[{id:3003}]", "{inserted:?}");
    done(&command(&folder, &["vacuum", &address]));
}

#[test]
fn a_load_that_fails_says_how_far_it_came() {
    let folder = with_items();
    let text = dump(&folder, "items.db");
    let table = |name: &str| format!("{{\"table\":\"{name}\",\"columns\":{{\"id\":\"int\"}}}}\n");
    let cases = [
        (text[..text.len() / 2].to_string(), "line 1"),
        (text.replace("{\"rows\":3002}\n", ""), "was cut off; loaded were items (3002 rows)"),
        (format!("{}[1]\n{}[1]\n[1]\n", table("a"), table("b")), "loaded were a (1 rows)"),
        (format!("{}[1,2]\n", table("a")), "line 2: 2 values for 1 columns"),
        (format!("{}[1]\n[2]\n[\"x\"]\n", table("a")), "nothing was loaded"),
        (format!("{}[1]\n{{\"rows\":2}}\n", table("a")), "2 rows were dumped, and 1 are here"),
        ("[1]\n".to_string(), "line 1: a row stands before the first table"),
        ("id,name\n1,x\n".to_string(), "line 1"),
    ];
    for (text, told) in cases {
        folder.write("wrong.ndjson", &text);
        let refused = command(&folder, &["load", "wrong.ndjson", "new.db"]);
        assert!(refused.status != 0 && refused.err.contains(told), "{told}: {refused:?}");
        let _ = std::fs::remove_file(folder.path("new.db"));
    }
    for (arguments, told) in [
        (&["dump", "none.db"][..], "no such database"),
        (&["dump", "items.db", "none"], "there is no table none"),
        (&["dump", "--csv", "items.db"], "name it"),
        (&["dump", "file:items.db"], "rows are those of a database"),
        (&["load", "none.ndjson", "new.db"], "no such dump"),
    ] {
        let refused = command(&folder, arguments);
        assert!(refused.status != 0 && refused.err.contains(told), "{arguments:?}: {refused:?}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut cut = runnel();
    cut.args(["dump", "items.db"]).current_dir(folder.path("")).stdout(full);
    assert!(!cut.stderr(std::process::Stdio::null()).status().unwrap().success());
}

#[test]
fn a_copy_whose_name_ends_in_zst_is_compressed() {
    let folder = with_rows();
    done(&command(&folder, &["backup", "tasks.db", "plain.db"]));
    done(&command(&folder, &["backup", "tasks.db", "copy.db.zst"]));
    let backup = "ref:sqlite:tasks.db backup: ref:file:other.db.zst";
    done(&command(&folder, &["-e", &format!("{backup}. nil")]));
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let (plain, packed) = (bytes("plain.db"), bytes("copy.db.zst"));
    assert!(packed.len() < plain.len() / 2, "{} of {}", packed.len(), plain.len());
    assert_eq!(packed, bytes("other.db.zst"));
    // The bytes say it, not the name.
    std::fs::rename(folder.path("copy.db.zst"), folder.path("renamed")).unwrap();
    done(&command(&folder, &["restore", "renamed", "new.db"]));
    assert_eq!(state(&folder, "new.db"), 300);
    std::fs::remove_file(folder.path("new.db")).unwrap();
    let mut damaged = packed.clone();
    damaged.truncate(packed.len() - 3);
    let bomb = [&packed[..], &packed[..]].concat();
    for wrong in [damaged, bomb] {
        folder.write("wrong.db.zst", wrong);
        let refused = command(&folder, &["restore", "wrong.db.zst", "new.db"]);
        assert_eq!(refused.status, 70, "{refused:?}");
        assert!(refused.err.contains("compressed backup is damaged"), "{refused:?}");
        assert_eq!(files(&folder, "new.db"), [""; 0]);
    }
}
