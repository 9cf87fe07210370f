//! Searches over HTTP: the catalogue of the examples against recorded answers of the engine that it
//! follows, queries of every kind, and an index that several workers share.

use crate::support;

use crate::support::http::Connection;
use crate::support::{Folder, Process, Server, eventually, examples, free_port, run, runnel};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder with recorded cases, which lies outside of the project.
fn recorded() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    if !folder.join("search.jsonl").exists() || !folder.join("search-data/library.csv").exists() {
        runnel_scratch::list_as_left_out(
            "recorded searches of a library that is not beside the project",
        );
        return None;
    }
    Some(folder)
}

/// The catalogue, listening on a free port.
fn catalogue(csv: Option<&Path>) -> (Process, u16) {
    let port = free_port();
    let mut command = runnel();
    command.arg(examples().join("books.st")).arg(port.to_string()).args(csv);
    let mut process = Process::start(&mut command);
    process.listens(port);
    (process, port)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"))
}

/// The JSON of an answer without what no two have in common.
fn without_duration(json: &str) -> String {
    let start = json.rfind("\"duration\":").unwrap() + "\"duration\":".len();
    let end = start + json[start..].find(',').unwrap();
    format!("{}0{}", &json[..start], &json[end..])
}

#[test]
fn the_catalogue_answers_as_recorded() {
    let Some(folder) = recorded() else { return };
    let (_process, port) = catalogue(Some(&folder.join("search-data/library.csv")));
    let mut connection = Connection::open(port).unwrap();
    let cases = std::fs::read_to_string(folder.join("search.jsonl")).unwrap();
    let (mut compared, mut different) = (0, Vec::new());
    for line in cases.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["config"] != "books" {
            continue;
        }
        let mut target = "/books?".to_owned();
        for name in ["query", "ids", "offset", "unique"] {
            let text = match &case[name] {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            target.push_str(&format!("{name}={}&", escaped(text.as_bytes())));
        }
        let reply = connection.send("GET", target.trim_end_matches('&'), b"").unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        let expected = case["raw_originals_kept"].as_str().or(case["raw"].as_str());
        let nothing = r#"{"allocations":[],"offset":0,"duration":0,"total":0}"#;
        compared += 1;
        let got = without_duration(&reply.text());
        if got != expected.unwrap_or(nothing) {
            different.push(format!("{}\n  got      {got}\n  expected {expected:?}", case["query"]));
        }
    }
    assert!(compared > 0, "there are no cases of books");
    assert!(
        different.is_empty(),
        "{} of {compared} answers differ:\n{}",
        different.len(),
        different[..different.len().min(8)].join("\n")
    );
    eprintln!("{compared} recorded answers are the same over HTTP");
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn query(&mut self) -> Vec<u8> {
        const PIECES: [&str; 24] = [
            "a", "history", "title:", "author:", "year:", ",", "|", "||", "*", "~", "\"", "…", "!",
            " ", "the", "1990", "ß", "ﬁ", "日本", "שלום", "нога", "e\u{301}", "𝔘", "\u{0}",
        ];
        let mut query = Vec::new();
        for _ in 0..self.below(30) {
            match self.below(12) {
                0 => query.extend(
                    char::from_u32(self.below(0x11_0000) as u32)
                        .map_or(Vec::new(), |letter| letter.to_string().into_bytes()),
                ),
                1 => query.extend(vec![b'x'; self.below(200) as usize]),
                2 if self.below(20) == 0 => query.push(0xFF),
                _ => query.extend_from_slice(PIECES[self.below(24) as usize].as_bytes()),
            }
        }
        query
    }
}

#[test]
fn no_query_is_a_fault_of_the_server() {
    let (_process, port) = catalogue(None);
    let mut connection = Connection::open(port).unwrap();
    let mut chance = Chance(42);
    for number in 0..1_500 {
        let query = chance.query();
        let more = ["", "&ids=-5", "&offset=x", "&unique=1", "&facets=year,none", "&documents=1"];
        let target = format!(
            "/books?query={}{}",
            escaped(&query),
            more[chance.below(more.len() as u64) as usize]
        );
        let reply = connection.send("GET", &target, b"").unwrap();
        let expected = if std::str::from_utf8(&query).is_ok() { 200 } else { 400 };
        assert_eq!(reply.status, expected, "query {number}: {target}\n{}", reply.text());
        if expected == 200 {
            let answer: Value = serde_json::from_str(&reply.text()).unwrap();
            assert!(answer["total"].is_u64(), "{target}");
        }
    }
    for target in ["/books", "/books?", "/books?query=", "/books?ids=5", "/books?query[]=a"] {
        let reply = connection.send("GET", target, b"").unwrap();
        assert_eq!((reply.status, reply.json()["total"].as_u64()), (200, Some(0)), "{target}");
    }
}

#[test]
fn the_catalogue_has_books_of_its_own() {
    let (process, port) = catalogue(None);
    process.out_shows("63 books");
    let mut connection = Connection::open(port).unwrap();
    let found = connection.send("GET", "/books?query=jane+eyre", b"").unwrap();
    assert_eq!(found.json()["allocations"][0][4], serde_json::json!([5]), "{}", found.text());
    let tag = found.header("etag").unwrap().to_owned();
    let again =
        support::http::send(port, "GET", "/books?query=jane+eyre", &[("If-None-Match", &tag)], b"");
    assert_eq!(again.unwrap().status, 304);
    let document = connection.send("GET", "/books/5", b"").unwrap();
    assert_eq!(document.json()["title"], "Jane Eyre");
    assert_eq!(connection.send("PUT", "/books/5", b"{}").unwrap().status, 405);
}

#[test]
fn the_large_catalogue_is_filled_once() {
    let folder = support::Folder::new();
    let place = folder.path("catalogue");
    let fill = |count: &str| {
        let mut command = runnel();
        command.arg(examples().join("catalogue.st")).arg(count).arg(&place);
        support::run(&mut command)
    };
    let first = fill("300");
    assert!(first.status == 0 && first.out.ends_with("300 documents\n"), "{first:?}");
    assert!(first.out.starts_with("300 documents in "), "{first:?}");
    let again = fill("320");
    assert!(again.out.starts_with("20 documents in "), "{again:?}");
    assert!(again.out.ends_with("320 documents\n"), "{again:?}");
}

const SHARED: &str = r#"#-<void>serve:<int>port
books ← #SearchIndex{ name: 'books', title: #Category{}, author: #Category{} }.
books count = 0 ifTrue: { books insertAll: [ #{ id: 1, title: 'Emma', author: 'Austen' } ]. }.
server ← #HTTPServer{ port: port }.
server → #Route{ stores: #{ books: books } }.
server start.
"#;

#[test]
fn workers_share_an_index_that_is_written_over_http() {
    let folder = support::Folder::new();
    let port = free_port();
    let mut command = runnel();
    command.args(["--workers", "3"]).arg(folder.write("shared.st", SHARED)).arg(port.to_string());
    let mut process = Process::start(&mut command);
    process.listens(port);
    let json = [("Content-Type", "application/json")];
    let send = |method: &str, target: &str, kind: &[(&str, &str)], body: &str| {
        support::http::send(port, method, target, kind, body.as_bytes()).unwrap()
    };
    let put = send("PUT", "/books/2", &json, r#"{"title":"Villette","author":"Bronte"}"#);
    assert_eq!(put.status, 201, "{}", put.text());
    // Each on a connection of its own, so that every worker is asked.
    for _ in 0..12 {
        let found = send("GET", "/books?query=villette", &[], "").json();
        assert_eq!(found["allocations"][0][4], serde_json::json!([2]));
    }
    let csv = [("Content-Type", "text/csv")];
    let posted = send("POST", "/books", &csv, "id,title\n3,Shirley\n4,Emma\n");
    assert!(posted.status < 300, "{} {}", posted.status, posted.text());
    let found = send("GET", "/books?query=emma", &[], "").json();
    assert_eq!(found["total"], 2);
    let merged = send("PATCH", "/books/4", &json, r#"{"author":"Austen"}"#);
    assert!(merged.status < 300, "{} {}", merged.status, merged.text());
    eventually("the change is found", || {
        send("GET", "/books?query=austen&ids=0", &[], "").json()["total"] == 2
    });
    assert_eq!(send("DELETE", "/books/4", &[], "").status, 204);
    assert_eq!(send("GET", "/books/4", &[], "").status, 404);
    let page = [("Content-Type", "text/html")];
    assert_eq!(send("PUT", "/books/5", &page, "<p>").status, 415);
    assert_eq!(send("PUT", "/books/five", &json, "{}").status, 400);
    assert_eq!(send("PUT", "/books/5", &json, "[1]").status, 400);
}

/// What is written to a table is found, and what vanishes from it is not.
#[test]
fn an_index_follows_a_table() {
    let program = r#"#-<void>serve:<int>port
class Book { var <int> id. var <String> title. }
table ← ref:sqlite:shop.db table: Book.
table insert: #Book{ title: 'Emma' }.
books ← #SearchIndex{ name: 'books', title: #Category{} }.
books follow: ref:sqlite:shop.db/books.
scheme Site {
    var table. var books.
    /book/:title { put { this:table insert: #{ title: title } } delete { this:table removeAt: 1 } }
    /found/:word { get { (this:books search: word) total } }
}
server ← #HTTPServer{ port: port, scheme: #Site{ table: table, books: books } }.
server start.
"#;
    let server = Server::start(program, &[]);
    let found = |word: &str| server.get(&format!("/found/{word}")).text();
    assert_eq!(found("emma"), "1");
    server.send("PUT", "/book/Villette", "x");
    eventually("the new row is found", || found("villette") == "1");
    server.send("DELETE", "/book/any", "");
    eventually("the row that was removed is not found", || found("emma") == "0");
}

/// A new version of a program gets the folder of its index while the old one is still running.
#[test]
fn an_upgrade_takes_the_index_over() {
    let (folder, port) = (support::Folder::new(), free_port());
    let place = folder.path("index");
    let text = |version: usize| {
        format!(
            "books ← #SearchIndex{{ name: 'books', path: '{}', title: #Category{{}} }}.\n\
             scheme Version {{ / {{ get {{ '{version}' }} }} }}\n\
             server ← #HTTPServer{{ port: {port} }}.\n\
             server → #Route{{ stores: #{{ books: books, version: #Version{{}} }} }}.\n\
             server start.\n",
            place.display()
        )
    };
    let file = folder.write("program.st", text(0));
    let mut process = Process::start(runnel().args(["--supervise", "--workers", "2"]).arg(&file));
    process.listens(port);
    let send = |method: &str, target: &str, body: &str| {
        let json = [("Content-Type", "application/json")];
        support::http::send(port, method, target, &json, body.as_bytes())
    };
    let answers = |target: &str, part: &str| {
        send("GET", target, "").is_ok_and(|reply| reply.text().contains(part))
    };
    eventually("the first version answers", || answers("/version", "0"));
    for version in 1..=3 {
        let put = send("PUT", &format!("/books/{version}"), r#"{"title":"Emma"}"#).unwrap();
        assert_eq!(put.status, 201, "{}", put.text());
        folder.write("program.st", text(version));
        process.signal("HUP");
        eventually("the new version answers", || answers("/version", &version.to_string()));
        let total = format!("\"total\":{version}}}");
        eventually("it has what was written", || answers("/books?query=emma", &total));
    }
    // A version that fails once it has the folder leaves it to the one that runs.
    folder.write("program.st", text(4).replace("server start", "1 frobnicate"));
    process.signal("HUP");
    let put = |id: usize| send("PUT", &format!("/books/{id}"), r#"{"title":"Emma"}"#).unwrap();
    eventually("the folder is let go", || put(3).status == 503);
    eventually("it is taken back", || put(4).status == 201);
    eventually("it has all", || answers("/books?query=emma", "\"total\":4}"));
    assert!(answers("/version", "3"));
    // Another program does not get it.
    let other = support::run(runnel().arg(folder.write("other.st", text(9))));
    assert!(other.status != 0 && other.err.contains("is in use"), "{other:?}");
    process.signal("TERM");
    assert_eq!(process.outcome().status, 0);
}

/// A row without the number that the index wants, between two good ones: at the first start, at the next one, and
/// while it follows.
#[test]
fn a_record_that_an_index_refuses_stops_no_following() {
    let folder = Folder::new();
    let program = r#"
class Book { var <string key> id. var <string> title. }
table ← ref:sqlite:shop.db table: Book.
table count = 0 ifTrue: {
   table insertAll: ([ '1', 'two', '3' ] collect: { :id | #Book{ id: id, title: 'emma' } })
}.
books ← #SearchIndex{ name: 'books', path: 'index', title: #Category{ } }.
books follow: ref:sqlite:shop.db/books.
stdout println: (books search: 'emma') total.
table insert: #Book{ id: "four{table count}", title: 'emma' }.
next ← table count + 10.
table insert: #Book{ id: "{next}", title: 'shirley' }.
ids ← { (books search: 'shirley') ids }.
1 to: 600 do: { :n | (ids value includes: next) ifFalse: { runLoop runFor: 0.05 } }.
stdout println: (ids value includes: next).
"#;
    folder.write("follow.st", program);
    for found in [2, 2] {
        let done = run(runnel().arg("follow.st").current_dir(folder.path("")));
        assert_eq!(done.out, format!("{found}\ntrue\n"), "{}", done.err);
        assert_eq!(done.err.matches("sets aside").count(), 1, "{}", done.err);
    }
}
