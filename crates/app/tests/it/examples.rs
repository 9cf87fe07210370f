//! Every program of the examples runs, and says what is written beside it.

use crate::support;

use crate::support::{Folder, Process, examples, free_port, http, run_with, runnel};
use std::collections::BTreeSet;
use std::process::Stdio;

/// The arguments and the standard input of programs that want some. What a program says is in
/// `expected/NAME.out`.
const ARGUMENTS: [(&str, &[&str], &str); 5] = [
    ("auction", &["data/bids.csv"], ""),
    ("lending", &["sqlite::memory:"], ""),
    ("shop", &["sqlite::memory:"], ""),
    ("sieve", &["50"], ""),
    ("upper", &[], "shout\nGrüße\n"),
];

/// A program that serves, and a request that it answers.
struct Serving {
    name: &'static str,
    /// `FOLDER` stands for an empty folder with a file `note.txt`.
    arguments: &'static [&'static str],
    target: &'static str,
    body: &'static str,
}

const SERVING: [Serving; 12] = [
    Serving {
        name: "backup",
        arguments: &["sqlite:FOLDER/n.db", "file:FOLDER/copies/"],
        target: "/notes",
        body: "[]",
    },
    Serving { name: "hello-server", arguments: &[], target: "/hi", body: "Hello World!" },
    Serving { name: "hello-scheme", arguments: &[], target: "/hi/Ada", body: "Hello Ada!" },
    Serving { name: "files", arguments: &["FOLDER"], target: "/note.txt", body: "a note" },
    Serving { name: "cached-files", arguments: &["FOLDER"], target: "/note.txt", body: "a note" },
    Serving { name: "static-site", arguments: &["FOLDER"], target: "/note.txt", body: "a note" },
    Serving {
        name: "pages",
        arguments: &[],
        target: "/hello/%3Cb%3E",
        body: "<p>Hello &lt;b&gt;!</p>",
    },
    Serving {
        name: "iota-page",
        arguments: &[],
        target: "/",
        body: "<!DOCTYPE html><html><head><title>the title</title></head><body>\
               <div class=\"foo\" id=\"bar\">hello, world<br>this is a test</div></body></html>",
    },
    Serving { name: "requests", arguments: &[], target: "/greet?name=Grace", body: "Hello Grace!" },
    Serving { name: "jobs", arguments: &["sqlite:FOLDER/j.db"], target: "/orders", body: "[]" },
    Serving { name: "tasks", arguments: &["sqlite:FOLDER/t.db"], target: "/tasks", body: "[]" },
    Serving { name: "todos", arguments: &["sqlite:FOLDER/t.db"], target: "/todos", body: "[]" },
];

/// Tested where their ports can be changed, `seed_server.rs`, `machines.rs` and `http_cases.rs`,
/// where figures are read, `database.rs`, where searches are compared, `search.rs`, where people
/// search, `search_page.rs`, where windows open, `windows.rs`, and
/// where several browsers show a page, `live_pages.rs`, where an API calls a slow server,
/// `leaderboards.rs` and `leaderboards_upstream.rs`, where servers stand behind another one,
/// `reverse_proxy.rs`, where files are sent, `uploads.rs`, where a program asks its own server,
/// `web_client.rs`, and where others judge, `judges.rs`.
const ELSEWHERE: [&str; 27] = [
    "7guis-cells",
    "7guis-circle",
    "7guis-counter",
    "7guis-crud",
    "7guis-flight",
    "7guis-temperature",
    "7guis-timer",
    "blog",
    "board",
    "books",
    "catalogue",
    "chat",
    "conduit",
    "http-fixture",
    "insert",
    "insert-columns",
    "leaderboards",
    "leaderboards-data",
    "library",
    "memory-server",
    "profiles",
    "proxy",
    "search",
    "shared-tasks",
    "tweet",
    "uploads",
    "web-client",
];

fn names() -> BTreeSet<String> {
    std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "st"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect()
}

/// The names of programs with an expected output.
fn expected() -> BTreeSet<String> {
    std::fs::read_dir(examples().join("expected"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_program_is_tested() {
    let mut tested = expected();
    tested.extend(SERVING.iter().map(|serving| serving.name.to_string()));
    tested.extend(ELSEWHERE.map(String::from));
    assert_eq!(names(), tested, "each example has an `expected/NAME.out` or a request here");
}

#[test]
fn programs_say_what_is_written_beside_them() {
    for name in expected() {
        let (arguments, input) = ARGUMENTS
            .iter()
            .find(|(known, ..)| *known == name)
            .map_or((&[][..], ""), |(_, arguments, input)| (arguments, input));
        let mut command = runnel();
        command.arg(format!("{name}.st")).args(arguments).current_dir(examples());
        let outcome = run_with(&mut command, input.as_bytes());
        let file = examples().join(format!("expected/{name}.out"));
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{name}: {outcome:?}");
        assert_eq!(outcome.out, text, "{name}");
    }
}

#[test]
fn servers_answer() {
    for serving in &SERVING {
        let folder = Folder::new();
        folder.write("note.txt", "a note");
        let path = folder.path("").display().to_string();
        let path = path.trim_end_matches('/');
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string()]);
        command.arg(examples().join(format!("{}.st", serving.name)));
        command.args(serving.arguments.iter().map(|argument| argument.replace("FOLDER", path)));
        let mut process = Process::start(command.stdin(Stdio::null()));
        process.listens(port);
        let reply = http::get(port, serving.target);
        let answer = (reply.status, reply.text());
        assert_eq!(answer, (200, serving.body.to_string()), "{}", serving.name);
        process.signal("TERM");
        assert_eq!(process.end(), 0, "{}", serving.name);
        assert!(!process.err().contains("error"), "{}: {}", serving.name, process.err());
    }
}

#[test]
fn the_example_of_requests_reads_and_answers_them() {
    let port = free_port();
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).arg(examples().join("requests.st"));
    let mut process = Process::start(&mut command);
    process.listens(port);
    let agent = http::send(port, "GET", "/agent", &[("User-Agent", "a test")], b"").unwrap();
    assert_eq!(agent.text(), "a test");

    let first = http::get(port, "/visits");
    assert_eq!(first.text(), "visit 1");
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    let second = http::send(port, "GET", "/visits", &[("Cookie", &cookie)], b"").unwrap();
    assert_eq!(second.text(), "visit 2");

    let made = http::send(port, "POST", "/made", &[], b"twelve bytes").unwrap();
    assert_eq!((made.status, made.header("location")), (201, Some("/made/1")));
    assert_eq!(made.json(), serde_json::json!({ "made": 12 }));
}

#[test]
fn programs_are_without_faults_and_warnings() {
    let files: Vec<_> =
        names().into_iter().map(|name| examples().join(format!("{name}.st"))).collect();
    let outcome = support::run(runnel().arg("check").args(files));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(outcome.err, "");
}
