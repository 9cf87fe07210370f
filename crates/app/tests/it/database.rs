//! Databases seen from outside: what a client of a scheme of the program is told, and programs
//! that insert many rows.

use crate::support::http::{self, Reply, get};
use crate::support::{Folder, Process, examples, free_port, run, runnel};
use serde_json::json;
use std::thread;

/// A program whose handlers answer rows, over a database in the folder it runs in.
const NOTES: &str = "\
#-serve
class Note { var <int> id. var <string> text. var <int> rank. }
database ← ref:sqlite:notes.db.
scheme Notes {
   var table. var database.
   /notes { get { this:table select. } post { this:table insert: newValue. } }
   /notes/:<int>id { get { this:table at: id. } merge { this:table at: id merge: newValue. } }
   /best { get { this:table select: { :note | note rank > 3 }. } }
   /same { get { sqlite:notes.db/notes. } }
   /both { post {
      this:database transaction: {
         this:table insert: #{ text: 'first of two' }.
         this:table insert: newValue.
      }
   } }
   /hanging { get {
      this:database transaction: {
         this:table insert: #{ text: 'never kept' }.
         runLoop runFor: 60.
      }
   } }
}
#JSONConverter{ class: Note } → #Notes{ table: (database table: Note), database: database }.
";

struct Notes {
    /// Ends with the test.
    _process: Process,
    port: u16,
    _folder: Folder,
}

impl Notes {
    fn start() -> Notes {
        let folder = Folder::new();
        folder.write("notes.st", NOTES);
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string(), "notes.st"]).current_dir(folder.path(""));
        let mut process = Process::start(&mut command);
        process.listens(port);
        Notes { _process: process, port, _folder: folder }
    }

    fn get(&self, target: &str) -> Reply {
        get(self.port, target)
    }

    fn known(&self, target: &str, tag: &str) -> Reply {
        http::send(self.port, "GET", target, &[("If-None-Match", tag)], b"").unwrap()
    }

    fn post(&self, target: &str, body: &serde_json::Value) -> Reply {
        let headers = [("Content-Type", "application/json")];
        http::send(self.port, "POST", target, &headers, body.to_string().as_bytes()).unwrap()
    }
}

#[test]
fn rows_of_a_handler_have_a_tag_that_lasts_as_long_as_they_do() {
    let notes = Notes::start();
    assert_eq!(notes.post("/notes", &json!({ "text": "a", "rank": 5 })).status, 201);
    for target in ["/notes", "/best", "/same"] {
        let first = notes.get(target);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{target} has a tag")).to_string();
        let second = notes.known(target, &tag);
        assert_eq!((second.status, second.text().as_str()), (304, ""), "{target}");
        assert_eq!(notes.post("/notes", &json!({ "text": "b", "rank": 7 })).status, 201);
        let third = notes.known(target, &tag);
        assert_eq!(third.status, 200, "{target}");
        assert_ne!(third.text(), first.text(), "{target}");
    }
    let (all, best) = (notes.get("/notes"), notes.get("/best"));
    assert_ne!(all.header("etag"), best.header("etag"), "each question has its own");
}

#[test]
fn what_was_inserted_has_a_place() {
    let notes = Notes::start();
    let made = notes.post("/notes", &json!({ "text": "a" }));
    assert_eq!((made.status, made.header("location")), (201, Some("/notes/1")));
    assert_eq!(made.json(), json!({ "id": 1, "text": "a", "rank": null }));
    assert_eq!(notes.get("/notes/1").json(), made.json());
    // There is no place below this one.
    let both = notes.post("/both", &json!({ "text": "second of two" }));
    assert_eq!((both.status, both.header("location")), (201, None));
    assert_eq!(notes.get("/notes").json().as_array().unwrap().len(), 3);
}

#[test]
fn a_request_that_fails_leaves_nothing_of_its_transaction() {
    let notes = Notes::start();
    let both = notes.post("/both", &json!({ "text": "x", "rank": "high" }));
    assert_eq!(both.status, 422, "{both:?}");
    assert_eq!(notes.get("/notes").json(), json!([]));
}

#[test]
fn a_client_that_goes_away_gives_its_transaction_up() {
    let notes = Notes::start();
    let mut connection = http::Connection::open(notes.port).unwrap();
    connection.ask("GET", "/hanging", &[], b"").unwrap();
    // Another writer waits for it, and then goes on.
    thread::sleep(std::time::Duration::from_millis(100));
    drop(connection);
    assert_eq!(notes.post("/notes", &json!({ "text": "kept" })).status, 201);
    let kept = notes.get("/notes").json();
    assert_eq!(kept.as_array().unwrap().len(), 1, "{kept}");
    assert_eq!(kept[0]["text"], "kept");
}

#[test]
fn examples_insert_many_rows() {
    for name in ["insert.st", "insert-columns.st"] {
        let folder = Folder::new();
        let mut command = runnel();
        let database = format!("sqlite:{}", folder.path("tasks.db").display());
        command.arg(examples().join(name)).args([&database, "100000"]);
        let outcome = run(&mut command);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{name}: {outcome:?}");
        let last = outcome.out.lines().last().unwrap().to_string();
        let (rows, seconds) = last.split_once(' ').unwrap();
        assert_eq!(rows, "100000", "{name}: {last}");
        assert!(seconds.parse::<f64>().unwrap() > 0.0, "{name}: {last}");
        let source = format!(
            "ref:{database} run: 'select count(*) as n, sum(id) as ids, sum(done) as done, \
             min(title) as title from tasks'"
        );
        let check = run(runnel().args(["-e", &source]));
        let expected = "[{n:100000,ids:5000050000,done:50000,title:Clean Room}]";
        assert_eq!(check.out.trim(), expected, "{name}: {check:?}");
    }
}
