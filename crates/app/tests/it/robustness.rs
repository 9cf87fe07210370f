//! Input of every bad kind: a clear error, and the process lives.

use crate::support::http::send;
use crate::support::{Folder, Outcome, PATIENCE, Server, program, run, runnel};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A program that does not compile or ends with an error: one message that says why, in time.
fn fails(outcome: &Outcome, status: i32, why: &str) {
    assert_eq!(outcome.status, status, "{}", shortened(&outcome.err));
    assert!(outcome.err.contains(why), "`{why}` is missing: {}", shortened(&outcome.err));
    // A message shows a line of the source, never all of a long one.
    assert!(outcome.err.len() < 20_000, "{} bytes of message", outcome.err.len());
    assert!(!outcome.err.contains("panicked"), "{}", shortened(&outcome.err));
}

fn shortened(text: &str) -> String {
    text.chars().take(2_000).collect()
}

/// A server whose handlers use up the stack, memory, and text.
const HUNGRY: &str = "\
scheme Site {
    /deep { get { self down: 1. } }
    /mutual { get { self ping: 1. } }
    /text { get { text ← 'x'. 30 repeat: { text ← text , text }. text count. } }
    /list { get { list ← #MutableArray[]. { true } whileTrue: { list addObject: 'entry' }. } }
    /nested { get { list ← []. 1 to: 100000 do: { :n | list ← [ list ] }. list } }
    /echo { post { newValue count } put { newValue } }
    /path/:name { get { \"{name count}\" } }
    /query { get { query:q } }
    /ok { get { 'fine' } }
    -down: n { (self down: n + 1) + 1. }
    -ping: n { (self pong: n + 1) + 1. }
    -pong: n { (self ping: n + 1) + 1. }
}";

#[test]
fn a_handler_that_uses_up_everything_ends_alone() {
    let mut server = Server::of_scheme(HUNGRY, 30.0);
    for (path, status, log) in [
        ("/deep", 500, "the recursion is too deep"),
        ("/mutual", 500, "the recursion is too deep"),
        ("/text", 503, "memory"),
        ("/list", 503, "memory"),
        ("/nested", 500, "path=\"/nested\""),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, status, "{path}: {}", shortened(&reply.text()));
        assert!(reply.text().starts_with(&status.to_string()), "{path}: {}", reply.text());
        server.process.err_shows(log);
        assert_eq!(server.get("/ok").text(), "fine", "after {path}");
    }
    assert!(server.process.is_running());
    // Memory that was used up is free again.
    for _ in 0..20 {
        let big = "x".repeat(1_000_000);
        assert_eq!(server.send("POST", "/echo", &big).text(), "1000000");
    }
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let mut server = Server::of_scheme(HUNGRY, 30.0);
    for target in ["/path/%FF%FE", "/path/a%00b", "/query?q=%FF", "/query?q=%00", "/%", "/path/%zz"]
    {
        let reply = server.get(target);
        assert!((200..500).contains(&reply.status), "{target}: {reply:?}");
    }
    for body in [&b"\xff\xfe\x00"[..], b"\0\0\0", b""] {
        for method in ["POST", "PUT"] {
            let reply = send(server.port, method, "/echo", &[], body).unwrap();
            assert!((200..500).contains(&reply.status), "{body:?}: {reply:?}");
        }
    }
    // Bytes of no declared text come back as they went.
    let octets = [("Content-Type", "application/octet-stream")];
    let all: Vec<u8> = (0..=255).collect();
    let reply = send(server.port, "POST", "/echo", &octets, &all).unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (200, "256"));

    for request in [
        &b"\xff\xfe\xfd\r\n\r\n"[..],
        b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        // A reset is an answer too.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let is_refused = answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 505");
        assert!(answer.is_empty() || is_refused, "{request:?}: {answer}");
    }
    assert_eq!(server.get("/ok").text(), "fine");
    assert!(server.process.is_running());
}

#[test]
fn requests_that_are_too_large_are_refused() {
    let server = Server::of_scheme(HUNGRY, 30.0);
    let long = "x".repeat(20_000);
    assert_eq!(server.get(&format!("/path/{long}")).status, 414);
    let reply = send(server.port, "GET", "/ok", &[("X-Long", &"x".repeat(100_000))], b"").unwrap();
    assert_eq!(reply.status, 431);
    // Only announced: nothing of it needs to be sent to be refused.
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n")
        .unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert_eq!(server.get("/ok").text(), "fine");
}

#[test]
fn programs_that_use_up_everything_end_with_an_error() {
    let deep = "class Deep { -down: n { (self down: n + 1) + 1. } }\nDeep new down: 1.\n";
    fails(&program(deep), 70, "the recursion is too deep");
    fails(&program("block ← nil. block ← { block value + 1 }. block value.\n"), 70, "too deep");
    let text = "text ← 'x'. 30 repeat: { text ← text , text }. stdout println: text count.\n";
    fails(&program(text), 70, "memory");
    // It can be handled, and the program goes on.
    let handled = "text ← 'x'.\n\
        said ← { 30 repeat: { text ← text , text }. text count }\n\
            onError: { :error | error kind }.\n\
        stdout println: said.\n\
        text ← nil.\n\
        stdout println: 'goes on'.\n";
    let outcome = program(handled);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "memory\ngoes on\n"), "{outcome:?}");
}

#[test]
fn sources_of_every_bad_kind_are_told_what_is_wrong() {
    let folder = Folder::new();
    let source = |text: &[u8]| run(runnel().arg(folder.write("odd.st", text)));
    let mut not_utf8 = b"a := 1.\nb := 'caf".to_vec();
    not_utf8.extend_from_slice(b"\xe9'.\n");
    let outcome = source(&not_utf8);
    fails(&outcome, 65, "UTF-8");
    assert!(outcome.err.contains("odd.st:2:10"), "{}", outcome.err);

    let outcome = source(b"a := 1.\nb := 2\0.\n");
    fails(&outcome, 65, "U+0000");
    assert!(outcome.err.contains("odd.st:2:7"), "{}", outcome.err);
    fails(&source(b"\0\0\0\0"), 65, "U+0000");
    fails(&source(b"\xff\xfe"), 65, "UTF-8");

    // A line of 10 MB.
    let line = format!("x := '{}'.\n", "a".repeat(10 * 1024 * 1024));
    fails(&source(line.as_bytes()), 65, "too large");
    // One that is within the limit is a program like others.
    let line = format!("x := '{}'. stdout println: x count.\n", "a".repeat(3_000_000));
    let outcome = source(line.as_bytes());
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "3000000\n"));
    // An error in a long line shows the place and not the line.
    let line = format!("x := '{}'. y := ).\n", "a".repeat(1_000_000));
    fails(&source(line.as_bytes()), 65, "odd.st:1:1000015");
    let line = format!("x := '{}'. x frobnicate.\n", "a".repeat(1_000_000));
    fails(&source(line.as_bytes()), 70, "odd.st:1");

    assert_eq!(source(b"").status, 0);
    assert_eq!(source(b"\xef\xbb\xbfstdout println: 1.\n").out, "1\n");
    assert_eq!(source(b"stdout println: 1.\r\nstdout println: 2.\r\n").out, "1\n2\n");
}

#[test]
fn nesting_and_length_have_limits() {
    let times = |text: &str, count: usize| text.repeat(count);
    for text in [
        times("(", 100_000),
        times("[", 100_000),
        times("{", 100_000),
        times("#{ a: ", 100_000),
        times("x := ", 100_000),
        times("x → ", 100_000),
        times("not ", 100_000) + "(",
        format!("x := 1{}.", times(" + 1", 100_000)),
        format!("x := 1{}.", times(" foo", 100_000)),
        format!("x := 1{}.", times(" foo: 2", 100_000)),
        format!("x := 1 foo{}.", times("; foo", 100_000)) + ")",
        format!("x := \"{}\".", times("{", 50_000)),
    ] {
        let outcome = program(&text);
        fails(&outcome, 65, "error: ");
    }
    // What nests deeply in data is data.
    let json = format!("{}{}", times("[", 100_000), times("]", 100_000));
    let folder = Folder::new();
    folder.write("deep.json", json);
    let file = folder.write("deep.st", "stdout println: (file:deep.json fromJSON) count.\n");
    let outcome = run(runnel().arg(file).current_dir(folder.path("")));
    assert_eq!(outcome.status, 70, "{}", shortened(&outcome.err));
}

/// Loops that the engine compiles one after the other, each another one.
fn loops(count: usize) -> String {
    let body = "sum ← sum + text count }. #( 3, 1, 2, i ) sorted. sum ← sum + (i min: ";
    let branches = "= 0 ifTrue: { sum ← sum + 1 } ifFalse: { text ← \"a{i}\".";
    let one =
        |n: usize| format!("1 to: 150 do: {{ :i | (i % {}) {branches} {body}{n}) }}.\n", n % 7 + 2);
    let all: String = (0..count).map(one).collect();
    format!("sum ← 0.\n{all}stdout println: sum.\n")
}

#[test]
fn interruptions_at_any_instruction_change_nothing() {
    let folder = Folder::new();
    let text = folder.write("loops.st", loops(250));
    let undisturbed = run(runnel().arg(&text));
    assert_eq!(undisturbed.status, 0, "{}", shortened(&undisturbed.err));
    for _ in 0..8 {
        let (out, errors) = (folder.path("out"), folder.path("errors"));
        let file = |path| std::fs::File::create(path).unwrap();
        let mut child =
            runnel().arg(&text).stdout(file(&out)).stderr(file(&errors)).spawn().unwrap();
        let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            let _ = rustix::process::kill_process(id, rustix::process::Signal::URG);
            std::thread::sleep(Duration::from_micros(1));
        };
        let read = |path| std::fs::read_to_string(path).unwrap();
        assert!(status.success(), "{status}: {}", read(&errors));
        assert_eq!(read(&out), undisturbed.out);
    }
}
