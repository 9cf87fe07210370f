//! What strangers may ask of a table that is served as it is, on both databases.

use crate::support::http::{get, send};
use crate::support::{Folder, Process, free_port, runnel};
use runnel_scratch::{Server, Service};
use std::fmt::Write;

const PROGRAM: &str = "\
#-serve:<ref>database
class Book { var <int> id. var <string> title. var <int> year. }
books ← database table: Book.
books insertAll: (1 to: 2500) collect: { :i | #Book{ title: \"book {i mod: 7}\", year: 2000 + (i mod: 20) } }.
#JSONConverter{ } → #ReadOnly{ } → #CachingStore{ source: books }.
";

const NOTES: &str = "\
#-serve:<ref>database
class Note { var <int> id. var <string> text. +largestPage { 2 } }
#JSONConverter{ } → (database table: Note).
";

/// The address behind `Link: <…>; rel=\"next\"`.
fn next(link: Option<&str>) -> Option<String> {
    let link = link?.strip_prefix('<')?.strip_suffix(">; rel=\"next\"")?;
    Some(format!("/{link}"))
}

fn check(folder: &Folder, database: &str) {
    let port = free_port();
    let mut command = runnel();
    command.args(["--port", &port.to_string(), "books.st", database]);
    let mut process = Process::start(command.current_dir(folder.path("")));
    process.listens(port);

    // All rows, by the links; the second time from the cache.
    for _ in 0..2 {
        let (mut rows, mut pages, mut at) = (0, 0, Some("/".to_string()));
        while let Some(address) = at {
            let reply = get(port, &address);
            assert_eq!(reply.status, 200, "{address}: {}", reply.text());
            rows += reply.json().as_array().unwrap().len();
            pages += 1;
            at = next(reply.header("link"));
        }
        assert_eq!((rows, pages), (2500, 3), "{database}");
    }
    let few = get(port, "/?title=book%203&year=2003&sort=-id");
    assert_eq!((few.status, few.header("link")), (200, None));
    assert!(few.json().as_array().unwrap().iter().all(|row| row["title"] == "book 3"));

    let mut many = String::from("/?");
    (0..700).for_each(|n| write!(many, "title=x{n}&").unwrap());
    let sorted = format!("/?sort={}", "title,-year,id,".repeat(100));
    for (address, status) in [
        ("/?limit=1000", 200),
        ("/?limit=1001", 400),
        ("/?limit=99999999999999999999", 400),
        ("/?limit=0", 200),
        ("/?offset=18446744073709551615", 200),
        ("/?title=%22%3E", 200),
        ("/?author=ann", 400),
        (many.as_str(), 400),
        (sorted.as_str(), 200),
    ] {
        let reply = get(port, address);
        assert_eq!(reply.status, status, "{address}: {}", reply.text());
    }
    assert_eq!(get(port, "/?limit=0").header("link"), None);
    let odd = get(port, "/?x=1");
    assert!(odd.text().contains("its columns are id, title, year"), "{}", odd.text());
}

/// That all rows fit a page is remembered, and no longer than it is so.
fn check_growth(folder: &Folder, database: &str) {
    let port = free_port();
    let mut command = runnel();
    command.args(["--workers", "2", "--port", &port.to_string(), "notes.st", database]);
    let mut process = Process::start(command.current_dir(folder.path("")));
    process.listens(port);
    let json = [("Content-Type", "application/json")];
    let shown = || {
        let reply = get(port, "/");
        (reply.json().as_array().unwrap().len(), next(reply.header("link")).is_some())
    };
    for expected in [(1, false), (2, false), (2, true)] {
        let posted = send(port, "POST", "/", &json, br#"{"text":"sow"}"#).unwrap();
        assert_eq!(posted.status, 201);
        // Several times, so that both workers answer.
        for _ in 0..6 {
            assert_eq!(shown(), expected, "{database}");
        }
    }
    assert_eq!(send(port, "DELETE", "/1", &[], b"").unwrap().status, 204);
    for _ in 0..6 {
        assert_eq!(shown(), (2, false), "{database}");
    }
}

#[test]
fn a_stranger_gets_a_page_of_a_table() {
    let folder = Folder::new();
    folder.write("books.st", PROGRAM);
    folder.write("notes.st", NOTES);
    check(&folder, "sqlite:books.db");
    check_growth(&folder, "sqlite:books.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&folder, &server.url());
        check_growth(&folder, &server.url());
    }
}
