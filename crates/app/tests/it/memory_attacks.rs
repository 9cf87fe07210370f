//! Requests that want more memory than there is: each gets an answer, the others are served, and the
//! memory comes back. `RUNNEL_ATTACK=full` makes the bodies as large as a server takes by default.

use crate::support::http::Connection;
use crate::support::{Server, eventually_or, note, runnel_with};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MEBIBYTE: u64 = 1 << 20;
/// What a good client may wait at most: far below what one native call took that was not sliced.
/// Tests run several at a time, and in builds that are not optimised.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much is attacked with.
struct Size {
    /// Bytes of a body.
    body: usize,
    memory: &'static str,
    requests: &'static str,
    /// The budget of requests, in bytes.
    budget: u64,
}

fn size() -> Size {
    match std::env::var("RUNNEL_ATTACK").is_ok_and(|value| value == "full") {
        true => Size { body: 15_900_000, memory: "1G", requests: "512M", budget: 512 * MEBIBYTE },
        false => Size { body: 2_000_000, memory: "128M", requests: "64M", budget: 64 * MEBIBYTE },
    }
}

const HELLO: &str = "/hello { get { 'Hello World!' } }";

fn serve(site: &str) -> Server {
    serve_root(site, "#Site{}")
}

fn serve_root(site: &str, root: &str) -> Server {
    let Size { memory, requests, .. } = size();
    let program = format!(
        "#-<void>serve:<int>port\n{site}\n\
         server ← #HTTPServer{{ port: port, scheme: {root} }}.\nserver start.\n"
    );
    Server::start_with(&["--memory", memory, "--request-memory", requests], &program, &[])
}

/// As many copies of a text as fit, as an array.
fn array(of: &str) -> Vec<u8> {
    let count = size().body / (of.len() + 1);
    format!("[{}]", vec![of; count].join(",")).into_bytes()
}

/// What happened while bodies were posted.
struct Seen {
    statuses: Vec<u16>,
    /// The longest that a good client waited for an answer.
    slowest: Duration,
    /// The most memory that the server held, in bytes.
    most: u64,
}

impl Seen {
    fn count(&self, status: u16) -> usize {
        self.statuses.iter().filter(|one| **one == status).count()
    }
}

/// Posts a body over concurrent connections beside a good client.
fn attack(server: &Server, path: &str, media_type: &str, body: &[u8], times: usize) -> Seen {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let good = scope.spawn(|| {
            let (mut slowest, mut most) = (Duration::ZERO, 0);
            let mut connection = Connection::open(server.port).unwrap();
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                let reply = connection.send("GET", "/hello", b"").unwrap();
                assert!(reply.status == 200 && reply.text().contains("Hello World!"));
                slowest = slowest.max(began.elapsed());
                most = most.max(server.process.memory().unwrap_or(0));
                thread::sleep(Duration::from_millis(2));
            }
            (slowest, most)
        });
        let post = || {
            let mut connection = Connection::open(server.port).unwrap();
            let headers = [("Content-Type", media_type)];
            // The answer may come before all is sent.
            let _ = connection.ask("POST", path, &headers, body);
            let reply = connection.answer("POST").unwrap();
            if reply.status == 503 {
                assert_eq!(reply.header("retry-after"), Some("1"));
            }
            reply.status
        };
        let posts: Vec<_> = (0..times).map(|_| scope.spawn(post)).collect();
        let statuses: Vec<u16> = posts.into_iter().map(|one| one.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        let (slowest, most) = good.join().unwrap();
        note(&format!("{path}: {statuses:?}, slowest {slowest:?}, most {} MiB", most / MEBIBYTE));
        Seen { statuses, slowest, most }
    })
}

/// Asserts that all statuses are expected ones and that the good client was answered in time.
fn assert_survived(server: &Server, seen: &Seen) {
    let understood = |status: &u16| matches!(status, 200 | 413 | 422 | 503);
    assert!(seen.statuses.iter().all(understood), "{:?}", seen.statuses);
    assert!(seen.slowest < PATIENCE, "a good client waited for {:?}", seen.slowest);
    assert!(server.get("/hello").text().contains("Hello World!"));
}

#[test]
fn arrays_of_empty_objects_end_no_process() {
    let server = serve(&format!(
        "scheme Site {{ /json {{ post {{ newValue parseJSON count stringValue }} }} {HELLO} }}"
    ));
    let start = server.process.memory().unwrap();
    for times in [1, 2, 8] {
        let seen = attack(&server, "/json", "application/octet-stream", &array("{}"), times);
        assert_survived(&server, &seen);
    }
    // An ordinary body is taken again as soon as the memory of the others was collected.
    eventually_or(
        || server.send("POST", "/json", "[1,2,3]").text() == "3",
        || "the server takes nothing any more".to_string(),
    );
    let now = || server.process.memory().unwrap();
    eventually_or(
        || now() <= start + 24 * MEBIBYTE,
        || format!("{start} bytes were held before, {} are now", now()),
    );
}

#[test]
fn ordinary_records_fill_the_budget_and_no_more() {
    let server = serve(&format!(
        "scheme Site {{ /json {{ post {{ newValue parseJSON count stringValue }} }} {HELLO} }}"
    ));
    let record = r#"{"id":12345,"name":"A name of some length","tags":["a","b"],"done":false}"#;
    let seen = attack(&server, "/json", "application/octet-stream", &array(record), 30);
    assert_survived(&server, &seen);
    assert!(seen.count(200) > 0, "nobody was served: {:?}", seen.statuses);
    let most = size().budget + 200 * MEBIBYTE;
    assert!(seen.most <= most, "{} MiB were held", seen.most / MEBIBYTE);
}

#[test]
fn bodies_that_a_converter_parses_end_no_process() {
    let site = format!(
        "class Task {{ var id. var title. }}\n\
         scheme Site {{ /json {{ post {{ newValue count stringValue }} }} {HELLO} }}"
    );
    for (root, item) in [
        ("(#JSONConverter{ } → #Site{})", "{}"),
        ("(#JSONConverter{ class: Task } → #Site{})", r#"{"title":"a task"}"#),
    ] {
        let server = serve_root(&site, root);
        let seen = attack(&server, "/json", "application/json", &array(item), 6);
        assert_survived(&server, &seen);
    }
}

#[test]
fn a_program_that_uses_up_its_memory_fails_alone_and_can_be_stopped() {
    let mut server = serve(&format!(
        "scheme Site {{\n\
         \x20   /array {{ get {{ a := []. {{ true }} whileTrue: {{ a add: (1 to: 100) asArray }} }} }}\n\
         \x20   /text {{ get {{ t := 'abc'. {{ true }} whileTrue: {{ t := t , t }} }} }}\n\
         \x20   /caught {{ get {{ {{ a := []. {{ true }} whileTrue: {{ a add: (1 to: 100) asArray }} }}\n\
         \x20       onError: {{ :e | e kind }} }} }}\n\
         \x20   {HELLO}\n}}"
    ));
    for _ in 0..3 {
        for path in ["/array", "/text"] {
            assert_eq!(server.get(path).status, 503, "{path}");
        }
        assert_eq!(server.get("/caught").text(), "memory");
        assert_eq!(server.get("/hello").text(), "Hello World!");
    }
    server.process.signal("TERM");
    assert_eq!(server.process.end(), 0, "{}", server.process.err());
}

#[test]
fn data_of_a_program_near_its_limit_leaves_small_requests_alone() {
    let site = format!(
        "kept ← #MutableArray[].\n\
         {{ 1 to: 100000000 do: {{ :i | kept addObject: #{{ a: i, b: \"text {{i}}\" }} }} }}\n\
         \x20   onError: {{ :e | nil }}.\n\
         scheme Site {{ var kept. /count {{ get {{ (this:kept count > 1000) stringValue }} }} {HELLO} }}"
    );
    let server = serve_root(&site, "#Site{ kept: kept }");
    for _ in 0..50 {
        assert_eq!(server.get("/hello").text(), "Hello World!");
    }
    assert_eq!(server.get("/count").text(), "true");
}

#[test]
fn a_size_without_sense_is_refused() {
    for wrong in ["--memory=1", "--memory=many", "--request-memory=-1M"] {
        let outcome = runnel_with(&[wrong, "-e", "1"]);
        assert_eq!(outcome.status, 64, "{wrong}: {}", outcome.err);
    }
}
