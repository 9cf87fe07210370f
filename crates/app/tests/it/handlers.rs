//! Handlers of a running server: errors, loops without end, many at once, callers who go away.

use crate::support;

use crate::support::http::{self, Connection};
use crate::support::{Folder, Process, Server, eventually, free_port, note, runnel};
use std::time::{Duration, Instant};

/// Requests of the measurement beside a loop without end.
const BESIDE: usize = 50;

#[test]
fn an_error_is_plain_for_the_client_and_complete_in_the_log() {
    let server = Server::of_scheme(
        "class Helper {\n\
         \x20   -fetch: what {\n\
         \x20       [ 1, 2 ] do: { :number |\n\
         \x20           what frobnicate: number.\n\
         \x20       }.\n\
         \x20   }\n\
         }\n\
         scheme Site {\n\
         \x20   /bad { get { Helper new fetch: 'secret'. } }\n\
         \x20   /ok { get { 'fine' } }\n\
         }",
        5.0,
    );
    let reply = server.get("/bad");
    assert_eq!((reply.status, reply.text().as_str()), (500, "500 Internal Server Error"));
    assert_eq!(server.get("/ok").text(), "fine");

    server.process.err_shows("program.st:10");
    let log = server.process.err();
    for part in ["does not understand frobnicate:", "GET", "/bad"] {
        assert!(log.contains(part), "`{part}` is not in the log: {log}");
    }
    // The chain of source lines, innermost first: the block, the method's call of it, the handler.
    let chain = [
        ("program.st:5", "what frobnicate: number"),
        ("program.st:4", "[ 1, 2 ] do: { :number |"),
        ("program.st:10", "Helper new fetch: 'secret'"),
    ];
    let mut rest = log.as_str();
    for (place, line) in chain {
        let at = rest.find(place).unwrap_or_else(|| panic!("{place} is missing: {log}"));
        rest = &rest[at..];
        assert!(rest.lines().next().unwrap().contains(line), "{line} is missing: {log}");
    }
}

/// A scheme with loops of several kinds that do not end.
const LOOPS: &str = "\
scheme:seen ← DictStore store.
scheme Site {
    /loop { get { seen:loop ← 'yes'. { true } whileTrue: { }. } }
    /count { get { seen:count ← 'yes'. n ← 0. { true } whileTrue: { n ← n + 1. }. } }
    /stubborn { get {
        seen:stubborn ← 'yes'.
        { true } whileTrue: { { self spin. } onError: { :error | 'no' }. }.
    } }
    /blocks { get {
        seen:blocks ← 'yes'. { true } whileTrue: { [ 1, 2 ] collect: { :n | n * 2 }. }.
    } }
    /seen/:name { get { seen:/{name} } }
    /ok { get { 'fine' } }
    -spin { { true } whileTrue: { 1 + 1. }. }
}";

#[test]
fn a_loop_without_end_holds_up_nobody() {
    for name in ["loop", "count", "stubborn", "blocks"] {
        let server = Server::of_scheme(LOOPS, 300.0);
        let mut endless = Connection::open(server.port).unwrap();
        endless.ask("GET", &format!("/{name}"), &[], b"").unwrap();
        eventually("the loop runs", || server.get(&format!("/seen/{name}")).text() == "yes");

        let mut connection = Connection::open(server.port).unwrap();
        let mut times: Vec<Duration> = (0..BESIDE)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(connection.send("GET", "/ok", b"").unwrap().text(), "fine");
                start.elapsed()
            })
            .collect();
        times.sort();
        note(&format!(
            "beside /{name}: p50 {:?}, p99 {:?}",
            times[BESIDE / 2],
            times[BESIDE * 99 / 100]
        ));
        assert!(!endless.is_answered(), "/{name} ended");
    }
}

#[test]
fn a_loop_without_end_ends_at_its_deadline() {
    let server = Server::of_scheme(LOOPS, 1.0);
    let names = ["loop", "count", "stubborn", "blocks"];
    let mut connections = names.map(|name| {
        let mut connection = Connection::open(server.port).unwrap();
        connection.ask("GET", &format!("/{name}"), &[], b"").unwrap();
        connection
    });
    for (name, connection) in names.iter().zip(&mut connections) {
        let reply = connection.answer("GET").unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (504, "504 Gateway Timeout"), "{name}");
    }
    assert_eq!(server.get("/ok").text(), "fine");
    // One a second is in the log, so each has a server of its own.
    for name in names {
        let server = Server::of_scheme(LOOPS, 0.5);
        assert_eq!(server.get(&format!("/{name}")).status, 504);
        let named = format!("path=\"/{name}\"");
        server.process.err_shows(&named);
        let log = server.process.err();
        let line = log.lines().find(|line| line.contains(&named)).unwrap();
        assert!(line.contains("the request took longer than its deadline"), "{line}");
        assert!(line.contains("program.st:"), "no source line: {line}");
    }
}

#[test]
fn a_handler_that_waits_too_long_ends_at_its_deadline() {
    let server = Server::of_scheme(
        "scheme:seen ← DictStore store.\n\
         scheme Site {\n\
         \x20   /wait { get { { runLoop runFor: 60. } ensure: { seen:ended ← 'yes'. }. } }\n\
         \x20   /seen/:name { get { seen:/{name} } }\n\
         }",
        0.5,
    );
    let reply = server.get("/wait");
    assert_eq!((reply.status, reply.text().as_str()), (504, "504 Gateway Timeout"));
    eventually("ensure: has run", || server.get("/seen/ended").text() == "yes");
    server.process.err_shows("path=\"/wait\"");
    assert!(server.process.err().contains("the deadline passed while waiting"));
}

#[test]
fn two_hundred_waiting_handlers_take_the_time_of_one() {
    let server = Server::of_scheme(
        "scheme Site {\n\
         \x20   /slow/:<int>number { get { runLoop runFor: 0.3. number * 2. } }\n\
         }",
        60.0,
    );
    let start = Instant::now();
    let mut connections: Vec<Connection> =
        (0..200).map(|_| Connection::open(server.port).unwrap()).collect();
    for (number, connection) in connections.iter_mut().enumerate() {
        connection.ask("GET", &format!("/slow/{number}"), &[], b"").unwrap();
    }
    for (number, connection) in connections.iter_mut().enumerate() {
        let reply = connection.answer("GET").unwrap();
        assert_eq!((reply.status, reply.text()), (200, (number * 2).to_string()));
    }
    let took = start.elapsed();
    note(&format!("200 handlers of 0.3 s at once took {took:?}"));
    // One after the other they would take 60 s.
    assert!(took < Duration::from_secs(30), "they waited for each other: {took:?}");
}

#[test]
fn errors_leave_nothing_behind() {
    let server = Server::of_scheme(
        "class Helper { -fail: rows { rows do: { :row | row nonsense }. } }\n\
         scheme Site {\n\
         \x20   /bad { get {\n\
         \x20       rows ← (1 to: 200) collect: { :number | \"row {number} of many\" }.\n\
         \x20       Helper new fail: rows.\n\
         \x20   } }\n\
         \x20   /wait { get { runLoop runFor: 60. } }\n\
         }",
        60.0,
    );
    let ask = |count: usize| {
        let mut connection = Connection::open(server.port).unwrap();
        for _ in 0..count {
            assert_eq!(connection.send("GET", "/bad", b"").unwrap().status, 500);
        }
    };
    ask(500);
    let (Some(memory), Some(files)) = (server.process.memory(), server.process.open_files()) else {
        return support::skip("this system does not tell what a process holds");
    };
    // 2,000 errors that left their rows behind would hold 20 MB, each time. The heap grows to its size once.
    let mut sizes = vec![memory];
    let stays = (0..4).any(|_| {
        let before = sizes[sizes.len() - 1];
        ask(2_000);
        sizes.push(server.process.memory().unwrap());
        sizes[sizes.len() - 1] < before + 8 * 1024 * 1024
    });
    note(&format!("memory, after 2,000 errors each time: {sizes:?}"));
    assert!(stays, "{sizes:?}");

    // Callers who go away in the middle leave no socket behind.
    for _ in 0..50 {
        let mut connection = Connection::open(server.port).unwrap();
        connection.ask("GET", "/wait", &[], b"").unwrap();
    }
    eventually("all sockets are closed", || {
        server.process.open_files().is_some_and(|now| now <= files)
    });
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let server = Server::of_scheme(
        "scheme Site {\n\
         \x20   /slow { get { runLoop runFor: 0.2. 'slow' } }\n\
         \x20   /fast { get { 'fast' } }\n\
         }",
        30.0,
    );
    let mut connection = Connection::open(server.port).unwrap();
    for path in ["/slow", "/fast", "/slow", "/fast"] {
        connection.ask("GET", path, &[], b"").unwrap();
    }
    for expected in ["slow", "fast", "slow", "fast"] {
        assert_eq!(connection.answer("GET").unwrap().text(), expected);
    }
}

#[test]
fn a_request_is_seen_by_its_own_handler_only() {
    let server = Server::of_scheme(
        "scheme Site {\n\
         \x20   /echo/:name { get {\n\
         \x20       runLoop runFor: 0.05.\n\
         \x20       response:header/x-name ← query:name.\n\
         \x20       \"{name} {query:name} {header:x-number}\".\n\
         \x20   } }\n\
         }",
        30.0,
    );
    let mut connections: Vec<Connection> =
        (0..40).map(|_| Connection::open(server.port).unwrap()).collect();
    for (number, connection) in connections.iter_mut().enumerate() {
        let number = number.to_string();
        let target = format!("/echo/n{number}?name=q{number}");
        connection.ask("GET", &target, &[("X-Number", &number)], b"").unwrap();
    }
    for (number, connection) in connections.iter_mut().enumerate() {
        let reply = connection.answer("GET").unwrap();
        assert_eq!(reply.text(), format!("n{number} q{number} {number}"));
        assert_eq!(reply.header("x-name"), Some(format!("q{number}").as_str()));
    }
}

#[test]
fn a_handler_says_status_and_headers_itself() {
    let server = Server::of_scheme(
        "scheme Site {\n\
         \x20   /things { post {\n\
         \x20       response:status ← 201.\n\
         \x20       response:header/location ← '/things/7'.\n\
         \x20       #{ made: newValue }.\n\
         \x20   } }\n\
         \x20   /teapot { get { response:status ← 418. 'short and stout' } }\n\
         \x20   /nothing { get { nil } }\n\
         \x20   /page { get { #p[ '<b>' ] } }\n\
         \x20   /number { get { 3 / 4 } }\n\
         \x20   /list { get { [ 1, 'two', nil, #{ three: 3 } ] } }\n\
         }",
        30.0,
    );
    let made = server.send("POST", "/things", "a thing");
    assert_eq!((made.status, made.header("location")), (201, Some("/things/7")), "{made:?}");
    assert_eq!(made.json(), serde_json::json!({ "made": "a thing" }));
    let teapot = server.get("/teapot");
    assert_eq!((teapot.status, teapot.text().as_str()), (418, "short and stout"));
    assert_eq!(server.get("/nothing").status, 404);
    assert_eq!(server.get("/page").text(), "<p>&lt;b&gt;</p>");
    assert_eq!(server.get("/number").text(), "0.75");
    assert_eq!(server.get("/list").json(), serde_json::json!([1, "two", null, { "three": 3 }]));
}

#[test]
fn a_store_that_is_a_programs_result_keeps_its_variables() {
    let folder = Folder::new();
    let text = "#-serve\n\
                scheme Calls { var count.\n\
                /count { get { this:count ← this:count + 1. this:count } }\n\
                /more { get { this:count += 10. this:count } } }\n\
                #Calls{ count: 7 }.\n";
    let file = folder.write("calls.st", text);
    let port = free_port();
    let mut process = Process::start(runnel().arg(format!("--port={port}")).arg(&file));
    process.listens(port);
    let get = |target: &str| {
        let reply = http::get(port, target);
        (reply.status, reply.text())
    };
    for (target, count) in [("/count", "8"), ("/count", "9"), ("/more", "19"), ("/count", "20")] {
        assert_eq!(get(target), (200, count.to_string()));
    }
}
