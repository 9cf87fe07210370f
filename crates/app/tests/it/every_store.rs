//! The same programs over every store, unchanged: notes, writes under conditions, and a table.

use crate::support::{Folder, Process, free_port, run, runnel};
use runnel_scratch::{Server, Service};
use std::path::{Path, PathBuf};

/// What a program says over each store that can do it.
const NOTES: &str = "\
today: buy milk and bread
deep: drive — ümläut 🙂
empty: 0
odd: odd
missing: nil
root: [empty,sp ace & <odd>.txt,today,trip/]
trip: [days/,plan]
number: 4
record: {title:sow,number:3,done:false,list:[1,2.5,nil]}
copied: drive — ümläut 🙂
brought back: 2
again: buy milk and bread
left: []
";

const CHANGES: &str = "\
second: precondition
late: precondition
held: still mine
visits: 20
";

const TABLES: &str = include_str!("../../../../tests/programs/tables.out");

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// Runs the programs with these references in a folder of their own.
struct Places {
    folder: Folder,
    variables: Vec<(&'static str, String)>,
}

impl Places {
    fn new() -> Places {
        Places { folder: Folder::new(), variables: Vec::new() }
    }

    /// With a server of its own; `None` where it is not installed.
    fn with(service: Service) -> Option<(Places, Server)> {
        let server = Server::for_test(service)?;
        let mut places = Places::new();
        places.variables.push((service.variable(), server.url()));
        if service == Service::S3 {
            let made_up = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
            places.variables.extend(made_up.map(|name| (name, "testing".to_string())));
            places.variables.push(("AWS_REGION", "us-east-1".to_string()));
            places.says(&["-e", "s3:bucket ← ''"], "");
        }
        Some((places, server))
    }

    fn says(&self, arguments: &[&str], expected: &str) {
        let mut command = runnel();
        command.args(arguments).current_dir(self.folder.path(""));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let done = run(&mut command);
        assert_eq!(done.status, 0, "{arguments:?}: {}{}", done.out, done.err);
        let said = done.out.trim_end_matches("true\n");
        assert!(
            expected.is_empty() || said == expected,
            "{arguments:?}\n{}\n{}",
            done.out,
            done.err
        );
    }

    fn program(&self, name: &str, place: &str, expected: &str) {
        self.says(&[programs().join(name).to_str().unwrap(), place], expected);
    }

    fn notes(&self, place: &str) {
        self.program("notes.st", place, NOTES);
    }

    fn changes(&self, place: &str) {
        self.program("changes.st", place, CHANGES);
    }

    fn tables(&self, place: &str) {
        self.program("tables.st", place, TABLES);
    }
}

#[test]
fn memory_and_files() {
    let places = Places::new();
    for place in ["memory:notes", "file:notes"] {
        places.notes(place);
        places.changes(place);
        places.tables(place);
    }
}

#[test]
fn databases() {
    let places = Places::new();
    places.notes("sqlite:data.db/notes");
    places.changes("sqlite:data.db/notes");
    places.tables("sqlite:data.db");
    let Some((places, server)) = Places::with(Service::Postgres) else { return };
    let notes = format!("{}/notes", server.url());
    places.notes(&notes);
    places.changes(&notes);
    places.tables(&server.url());
}

#[test]
fn redis() {
    let Some((places, _server)) = Places::with(Service::Redis) else { return };
    places.notes("redis:notes");
    places.changes("redis:notes");
    places.tables("redis:app/tasks");
}

#[test]
fn nats() {
    let Some((places, _server)) = Places::with(Service::Nats) else { return };
    places.notes("nats:kv/notes");
    places.changes("nats:kv/notes");
    places.tables("nats:kv/app/tasks");
    // Objects of NATS have no conditional writes.
    places.notes("nats:objects/notes");
}

#[test]
fn buckets() {
    let Some((places, _server)) = Places::with(Service::S3) else { return };
    places.notes("s3:bucket/notes");
    places.changes("s3:bucket/notes");
    places.tables("s3:bucket/tasks");
}

#[test]
fn another_server() {
    let (places, port) = (Places::new(), free_port());
    let text =
        "#-<void>serve:<int>port\n#HTTPServer{ port: port, listing: true } → DictStore store.\n";
    let program = places.folder.write("serve.st", text);
    let mut process = Process::start(runnel().arg(program).arg(port.to_string()));
    process.listens(port);
    places.notes(&format!("http://127.0.0.1:{port}/notes"));
    places.changes(&format!("http://127.0.0.1:{port}/notes"));
    places.tables(&format!("http://127.0.0.1:{port}/tasks"));
}
