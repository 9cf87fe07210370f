//! More clients than there is room for: connections, and file descriptors.

use crate::support::http::Connection;
use crate::support::{Folder, Process, eventually, free_port, note, runnel};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

const SITE: &str = "scheme Site {\n\
    \x20   /hi { get { 'hi' } }\n\
    \x20   /slow { get { runLoop runFor: 3. 'slow' } }\n\
    \x20   /large { get { file:large.bin } }\n\
    \x20   /note { get { file:note.txt } }\n\
    }\n";

struct Site {
    process: Process,
    port: u16,
    folder: Folder,
}

/// A server with these options and a limit on open files (`ulimit -n`).
fn start(way: &[&str], options: &str, files: u32) -> Site {
    let (folder, port) = (Folder::new(), free_port());
    folder.write("note.txt", "a note");
    let text = format!("{SITE}#HTTPServer{{ port: {port}, {options} }} → #Site{{}}.\n");
    let program = folder.write("program.st", text);
    let command = runnel();
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh"]);
    limited.arg(command.get_program()).args(way).arg(program);
    limited.env_remove("RUNNEL_LOG").env("NO_COLOR", "1").current_dir(folder.path(""));
    limited.process_group(0);
    let mut process = Process::start(&mut limited);
    process.listens(port);
    Site { process, port, folder }
}

fn answer(connection: &mut Connection, target: &str) -> u16 {
    connection.send("GET", target, b"").unwrap().status
}

#[test]
fn one_client_cannot_take_all_connections() {
    for way in [&[][..], &["--workers", "2"]] {
        let site = start(way, "maxConnections: 20", 1024);
        let mut many: Vec<Connection> = (0..100)
            .map(|_| {
                let mut connection = Connection::open(site.port).unwrap();
                assert_eq!(answer(&mut connection, "/hi"), 200);
                connection
            })
            .collect();
        // Half a head, from the same address.
        let mut half = Vec::new();
        for _ in 0..30 {
            let mut stream = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
            stream.write_all(b"GET /hi HTTP/1.1\r\nHo").unwrap();
            half.push(stream);
        }
        let mut others: Vec<Connection> = (0..10)
            .map(|_| {
                let mut connection = Connection::open_from("127.0.0.2", site.port).unwrap();
                assert_eq!(answer(&mut connection, "/hi"), 200);
                connection
            })
            .collect();
        for connection in &mut others {
            assert_eq!(answer(connection, "/hi"), 200);
        }
        let alive = many.iter_mut().map(Connection::is_answered).filter(|closed| !closed).count();
        assert!(alive <= 40, "{alive} connections of one client are open");
        let warnings = site.process.err().matches("idle ones are closed").count();
        assert!((1..20).contains(&warnings), "{}", site.process.err());
    }
}

#[test]
fn a_client_may_have_a_number_of_its_own() {
    let site = start(&[], "maxConnectionsPerClient: 5", 1024);
    let open = |host: &str| {
        let mut connection = Connection::open_from(host, site.port)?;
        connection.send("GET", "/hi", b"").map(|reply| (reply.status, connection))
    };
    // The connection of `start` ends by itself.
    let mut kept = Vec::new();
    eventually("five connections are open", || {
        kept.extend(open("127.0.0.1").ok());
        kept.len() == 5
    });
    assert!((0..10).all(|_| open("127.0.0.1").is_err()));
    let mut other = open("127.0.0.2").unwrap();
    assert_eq!((other.0, answer(&mut other.1, "/hi")), (200, 200));
    for (status, connection) in &mut kept {
        assert_eq!((*status, answer(connection, "/hi")), (200, 200));
    }
}

#[test]
fn without_descriptors_idle_connections_are_given_up_and_others_are_503() {
    for way in [&[][..], &["--workers", "2"]] {
        let site = start(way, "requestTimeout: 20 seconds", 60);
        let since = Instant::now();
        // None of them is busy: each new one is served.
        let mut idle: Vec<Connection> = Vec::new();
        for number in 0..120 {
            let mut connection = Connection::open(site.port).unwrap();
            assert_eq!(answer(&mut connection, "/hi"), 200, "{way:?} {number}");
            idle.push(connection);
        }
        let mut kept = idle.pop().unwrap();
        assert_eq!(kept.send("GET", "/note", b"").unwrap().text(), "a note");
        // All are busy: new ones are refused.
        let asked: Vec<TcpStream> = (0..80)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
                stream
                    .write_all(b"GET /slow HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
                    .unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                stream
            })
            .collect();
        let (mut served, mut refused) = (0, 0);
        for mut stream in asked {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            if text.starts_with("HTTP/1.1 503 ") && text.contains("no file descriptor is left") {
                refused += 1;
            } else {
                assert!(text.ends_with("slow"), "{text}");
                served += 1;
            }
        }
        assert!(served > 20 && refused > 10, "{way:?}: {served} served, {refused} refused");
        eventually("all are answered again", || {
            Connection::open(site.port)
                .and_then(|mut connection| connection.send("GET", "/note", b""))
                .is_ok_and(|reply| reply.text() == "a note")
        });
        let lines = site.process.err().matches("ERROR").count() as u64;
        let workers = if way.is_empty() { 1 } else { 2 };
        let most = workers * (since.elapsed().as_secs() + 2);
        let took = since.elapsed();
        note(&format!("{way:?}: {served} served, {refused} refused, {lines} errors in {took:?}"));
        assert!((1..=most).contains(&lines), "{lines} lines\n{}", site.process.err());
    }
}

#[test]
fn a_file_that_finds_no_descriptor_is_503() {
    // Each client that does not read its answer holds two descriptors, so the last one is that of a
    // connection or that of a file, as the number of the others is.
    let mut refused = 0;
    for others in 0..2 {
        let site = start(&[], "requestTimeout: 20 seconds", 60);
        let large = std::fs::File::create(site.folder.path("large.bin")).unwrap();
        large.set_len(64 << 20).unwrap();
        let mut held: Vec<Connection> = Vec::new();
        let mut ask = |target: &str| {
            let mut connection = Connection::open(site.port).unwrap();
            connection.ask("GET", target, &[("Connection", "close")], b"").unwrap();
            held.push(connection);
        };
        (0..others).for_each(|_| ask("/slow"));
        (0..40).for_each(|_| ask("/large"));
        eventually("a request fails", || site.process.err().contains("ERROR"));
        let told = "get file:large.bin: no file descriptor is left";
        std::thread::sleep(Duration::from_secs(1));
        for connection in &mut held {
            if connection.is_answered() {
                let status = connection.status().unwrap();
                assert!(matches!(status, 200 | 503), "{status}");
            }
        }
        refused += usize::from(site.process.err().contains(told));
        let lines = site.process.err().matches("ERROR").count();
        assert!(lines < 10, "{lines} lines\n{}", site.process.err());
    }
    assert!(refused > 0);
}
