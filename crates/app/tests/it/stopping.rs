//! SIGTERM and SIGINT: a server drains, so that no client loses a request.

use crate::support::http::Connection;
use crate::support::load::{Client, Load};
use crate::support::{Folder, Process, eventually, free_port, note, runnel};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How often each way of running a program is stopped under load; `RUNNEL_RESTARTS` says otherwise.
fn rounds() -> usize {
    let rounds = std::env::var("RUNNEL_RESTARTS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The ways to run a program.
const WAYS: [&[&str]; 4] =
    [&[], &["--workers", "2"], &["--supervise"], &["--supervise", "--workers", "2"]];

struct Site {
    process: Process,
    port: u16,
    _folder: Folder,
}

fn start(way: &[&str], options: &str) -> Site {
    let (folder, port) = (Folder::new(), free_port());
    let text = format!(
        "scheme Site {{\n\
         \x20   /hi {{ get {{ 'hi' }} }}\n\
         \x20   /slow {{ get {{ runLoop runFor: 0.3. 'slow' }} }}\n\
         \x20   /endless {{ get {{ runLoop runFor: 100. 'never' }} }}\n\
         }}\n\
         #HTTPServer{{ port: {port} {options} }} → #Site{{}}.\n"
    );
    let file = folder.write("program.st", text);
    let mut process = Process::start(runnel().args(way).arg(file));
    process.listens(port);
    Site { process, port, _folder: folder }
}

/// Eight connections that are kept, as browsers and proxies do; two clients that open one for each
/// request; and one whose requests take a while.
fn load(port: u16) -> Load {
    let client =
        Client { target: "/hi", keeps: true, pause: Duration::ZERO, ends_when_refused: true };
    let mut clients = vec![client; 8];
    clients.extend([Client { keeps: false, pause: Duration::from_millis(1), ..client }; 2]);
    clients.push(Client { target: "/slow", ..client });
    Load::on(port, clients)
}

#[test]
fn a_stop_under_load_loses_no_request() {
    for round in 0..rounds() {
        for way in WAYS {
            for (signal, status) in [("TERM", 0), ("INT", 130)] {
                let Site { process, port, _folder } = start(way, "");
                let load = load(port);
                load.goes_on(200);
                let since = Instant::now();
                process.signal(signal);
                let (answered, failures) = (load.answered(), load.refused());
                let outcome = process.outcome();
                let took = since.elapsed();
                note(&format!(
                    "| stop {} | {} {signal} | {answered} answered before | {} failed | {} ms |",
                    round + 1,
                    way.join(" "),
                    failures.len(),
                    took.as_millis()
                ));
                assert!(failures.is_empty(), "{way:?} {signal}: {failures:?}\n{}", outcome.err);
                assert_eq!(outcome.status, status, "{way:?} {signal}\n{}", outcome.err);
            }
        }
    }
}

#[test]
fn new_connections_are_refused_while_a_request_is_under_way() {
    for way in WAYS {
        let Site { process, port, _folder } = start(way, ", drainTime: 5 seconds");
        let (mut busy, mut idle) =
            (Connection::open(port).unwrap(), Connection::open(port).unwrap());
        assert_eq!(idle.send("GET", "/hi", b"").unwrap().text(), "hi");
        busy.ask("GET", "/slow", &[], b"").unwrap();
        // The request has arrived before the signal.
        std::thread::sleep(Duration::from_millis(100));
        process.signal("TERM");
        eventually("a new connection is refused", || {
            TcpStream::connect(("127.0.0.1", port))
                .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        });
        for (connection, text) in [(&mut busy, "slow"), (&mut idle, "hi")] {
            if text == "hi" {
                connection.ask("GET", "/hi", &[], b"").unwrap();
            }
            let reply = connection.answer("GET").unwrap();
            assert_eq!((reply.text().as_str(), reply.header("connection")), (text, Some("close")));
        }
        assert_eq!(process.outcome().status, 0, "{way:?}");
    }
}

#[test]
fn a_server_with_nothing_to_do_ends_at_once() {
    for way in WAYS {
        let Site { process, port, _folder } = start(way, ", drainTime: 5 seconds");
        drop(Connection::open(port).unwrap());
        let since = Instant::now();
        process.signal("TERM");
        assert_eq!(process.outcome().status, 0);
        assert!(since.elapsed() < Duration::from_secs(4), "{way:?} {:?}", since.elapsed());
    }
}

#[test]
fn idle_connections_are_closed_after_the_drain_time() {
    for way in WAYS {
        let Site { process, port, _folder } = start(way, ", drainTime: 0.2 seconds");
        let mut idle = Connection::open(port).unwrap();
        assert_eq!(idle.send("GET", "/hi", b"").unwrap().text(), "hi");
        let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let since = Instant::now();
        process.signal("INT");
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        assert!(idle.send("GET", "/hi", b"").is_err());
        assert_eq!(process.outcome().status, 130);
        assert!(since.elapsed() < Duration::from_secs(5), "{way:?} {:?}", since.elapsed());
    }
}

#[test]
fn a_second_signal_ends_what_the_first_one_waits_for() {
    for way in WAYS {
        let Site { mut process, port, _folder } = start(way, "");
        let mut endless = Connection::open(port).unwrap();
        endless.ask("GET", "/endless", &[], b"").unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let since = Instant::now();
        process.signal("TERM");
        // Signals that come together are one: terminals and wrappers both send them.
        process.signal("INT");
        std::thread::sleep(Duration::from_millis(700));
        assert!(process.is_running(), "{way:?} {}", process.err());
        process.signal("TERM");
        process.end();
        assert!(since.elapsed() < Duration::from_secs(8), "{way:?} {:?}", since.elapsed());
        assert!(endless.answer("GET").is_err());
    }
}
