//! The memory server of 2012, as it was printed: it runs, and it changes from the prompt.

use crate::support;

use crate::support::{Folder, Process, eventually, free_port, http, run, runnel, terminal};
use std::path::Path;
use std::process::Stdio;

/// The script as it was published, with its port.
const SCRIPT: &str = "\
#!/usr/local/bin/stsh
context loadFramework:'MPWSideWeb'
server := MPWHTTPServer new.
server setPort: 8082.
stdout println: 'memhttpserver listening on port ',server port stringValue.
server start:nil.

scheme:base := MPWSiteMap scheme.
base:/hi := 'Hello World!'.
server setDelegate: scheme:base .

shell runInteractiveLoop
";

/// The script with a port that is free.
fn script(folder: &Folder) -> (std::path::PathBuf, u16) {
    let port = free_port();
    let text = SCRIPT.replace("8082", &port.to_string());
    (folder.write("memhttpserver.stsh", text), port)
}

fn says_hello(port: u16) -> bool {
    http::send(port, "GET", "/hi", &[], b"").is_ok_and(|reply| reply.text() == "Hello World!")
}

#[test]
fn it_answers_without_a_terminal_and_goes_on_after_the_end_of_the_input() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let mut server = Process::start(runnel().arg(file));
    server.listens(port);
    eventually("the store is connected", || says_hello(port));
    server.out_shows(&format!("memhttpserver listening on port {port}\n"));

    let reply = http::get(port, "/hi");
    assert_eq!((reply.status, reply.text().as_str()), (200, "Hello World!"));
    assert!(reply.header("content-type").unwrap().starts_with("text/plain"), "{reply:?}");
    assert_eq!(http::get(port, "/nothing").status, 404);

    server.signal("TERM");
    assert_eq!(server.end(), 0, "{}", server.err());
    assert!(!server.err().contains("error"), "{}", server.err());
}

#[test]
fn a_change_typed_at_the_prompt_is_answered_at_once() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let mut server = Process::start(runnel().arg(file).stdin(Stdio::piped()));
    server.listens(port);
    eventually("the store is connected", || says_hello(port));

    server.say("base:/hi := 'Hello again!'");
    eventually("the change is answered", || http::get(port, "/hi").text() == "Hello again!");
    server.say("base:/new/page ← 'A new page'. base:/hi");
    server.out_shows("Hello again!\n");
    assert_eq!(http::get(port, "/new/page").text(), "A new page");

    // Mistakes are shown and do not end it.
    server.say("base:/hi frobnicate");
    server.err_shows("does not understand frobnicate");
    server.say("nonsense + 1");
    server.err_shows("nonsense");
    server.say("base:/hi ← )");
    server.err_shows("something is missing");
    assert_eq!(http::get(port, "/hi").text(), "Hello again!");

    // What changes over HTTP is seen at the prompt.
    assert_eq!(http::send(port, "PUT", "/hi", &[], b"put there").unwrap().status, 204);
    server.say("base:/hi");
    server.out_shows("put there\n");

    // The end of the input is not the end of the server.
    drop(server.stdin.take());
    assert_eq!(http::get(port, "/hi").text(), "put there");
    server.signal("TERM");
    assert_eq!(server.end(), 0, "{}", server.err());
}

#[test]
fn statements_of_several_lines_are_one_at_the_prompt() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let mut server = Process::start(runnel().arg(file).stdin(Stdio::piped()));
    server.listens(port);
    server.say("double ← { :number |");
    server.say("   number * 2");
    server.say("}");
    server.say("(double value:");
    server.say("  21)");
    server.out_shows("42\n");
}

#[test]
fn it_answers_at_a_terminal_and_ends_with_the_prompt() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let Some(mut server) = terminal::start(Some(&file)) else {
        return support::skip("a terminal needs python3 with its module pty");
    };
    server.listens(port);
    eventually("the store is connected", || says_hello(port));
    server.out_shows("memhttpserver listening on port");

    terminal::enter(&mut server, "base:/hi := 'Typed at a terminal'");
    eventually("the change is answered", || http::get(port, "/hi").text() == "Typed at a terminal");
    terminal::enter(&mut server, "20 + 1 * 2");
    server.out_shows("42");
    terminal::enter(&mut server, "base:/hi frobnicate");
    server.out_shows("does not understand frobnicate");
    assert_eq!(http::get(port, "/hi").text(), "Typed at a terminal");

    // Control-D: the prompt is left, and the program with it.
    use std::io::Write;
    server.stdin.as_mut().unwrap().write_all(b"\x04").unwrap();
    server.stdin.as_mut().unwrap().flush().unwrap();
    assert_eq!(server.end(), 0, "{}", server.out());
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let mut server = Process::start(runnel().arg(file));
    server.listens(port);
    eventually("the store is connected", || says_hello(port));
    let tag = http::get(port, "/hi").header("etag").unwrap().to_string();
    let again = || http::send(port, "GET", "/hi", &[("If-None-Match", &tag)], b"").unwrap();
    let reply = again();
    assert_eq!((reply.status, reply.body.len()), (304, 0));
    assert_eq!(http::send(port, "PUT", "/hi", &[], b"other").unwrap().status, 204);
    let reply = again();
    assert_eq!((reply.status, reply.text().as_str()), (200, "other"));
    let head = http::send(port, "HEAD", "/hi", &[], b"").unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, Some("5")));
}

#[test]
fn the_example_is_the_published_script() {
    let body = |text: &str| text.split_once('\n').unwrap().1.trim_end().to_string();
    let example = std::fs::read_to_string(support::examples().join("memory-server.st")).unwrap();
    assert_eq!(body(&example), body(SCRIPT));

    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let Ok(seeds) = std::fs::read_dir(&seeds) else {
        return runnel_scratch::list_as_left_out("the published text is not beside the project");
    };
    let published = seeds
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
        .any(|text| text.contains(&body(SCRIPT)));
    assert!(published, "the script is not in the published text");
}

#[test]
fn a_port_that_is_taken_is_an_error_that_names_it() {
    let folder = Folder::new();
    let (file, port) = script(&folder);
    let mut first = Process::start(runnel().arg(&file));
    first.listens(port);
    let second = run(runnel().arg(&file));
    assert_eq!(second.status, 70, "{second:?}");
    assert!(second.err.contains(&format!("port {port} is taken")), "{}", second.err);
    assert!(second.err.contains("memhttpserver.stsh:6"), "{}", second.err);
}
