//! Clients that ask for large answers and read nothing: others are served meanwhile, a slow reader gets its
//! answer, and the process stays within its memory.

use crate::support::http::Connection;
use crate::support::{Process, Server, eventually, eventually_or, note};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const MEBIBYTE: u64 = 1 << 20;
const LIMITS: &[&str] = &["--memory", "256M", "--request-memory", "128M"];
/// What the process may hold under these: objects of the program with their quarter, requests, and the command
/// itself with its threads.
const MOST: u64 = (320 + 128 + 150) * MEBIBYTE;
/// The length of `/report`.
const REPORT: usize = 5_000_000;
/// Codes of RFC 9113.
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM_AND_HEADERS: u8 = 5;
const ENHANCE_YOUR_CALM: u32 = 11;

fn serve(options: &[&str]) -> Server {
    let program = "#-<void>serve:<int>port\n\
        scheme Site {\n\
        \x20   /report { get { 'x' repeated: 5000000 } }\n\
        \x20   /grows { get { t := 'abc'. { true } whileTrue: { t := t , t } } }\n\
        \x20   /note { post { newValue length } }\n\
        }\n\
        server ← #HTTPServer{ port: port, scheme: #Site{} }.\nserver start.\n";
    Server::start_with(options, program, &[])
}

/// The most memory that the process has held, in bytes; only on Linux.
fn peak(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    let peak = line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024;
    note(&format!("at most {} MiB were held", peak / MEBIBYTE));
    peak
}

/// Others send 10 kB three times, and are answered.
fn assert_posts_are_answered(server: &Server) {
    for _ in 0..3 {
        let mut connection = Connection::open(server.port).unwrap();
        let headers = [("Content-Type", "text/plain")];
        connection.ask("POST", "/note", &headers, &[b'a'; 10_000]).unwrap();
        let reply = connection.answer("POST").unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (200, "10000"));
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A field in HPACK, literal and without indexing.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, u8::try_from(name.len()).unwrap()];
    bytes.extend(name.as_bytes());
    bytes.push(u8::try_from(value.len()).unwrap());
    bytes.extend(value.as_bytes());
    bytes
}

/// The kind and the content of the next frame.
fn next_frame(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).unwrap();
    (head[3], payload)
}

/// An HTTP/2 connection whose streams have no window, with as many requests as it may have. All are answered,
/// with a head alone.
fn open_without_window(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    bytes.extend(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    let fields = [
        field(":method", "GET"),
        field(":scheme", "http"),
        field(":path", "/report"),
        field(":authority", "a"),
    ];
    for number in 0..100 {
        bytes.extend(frame(HEADERS, END_STREAM_AND_HEADERS, number * 2 + 1, &fields.concat()));
    }
    stream.write_all(&bytes).unwrap();
    let mut heads = 0;
    while heads < 100 {
        heads += u32::from(next_frame(&mut stream).0 == HEADERS);
    }
    stream
}

#[test]
fn an_http2_connection_that_accepts_nothing_stops_nobody() {
    let server = serve(LIMITS);
    // The attacker shares the address of the others: unread responses are cut first, of any client.
    let mut unread = open_without_window(server.port);
    assert_posts_are_answered(&server);
    let peak = peak(&server.process);
    assert!(peak <= MOST, "{} MiB were held", peak / MEBIBYTE);
    // The client learns of it when it accepts data again.
    let mut windows = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
    for number in 0..100 {
        windows.extend(frame(WINDOW_UPDATE, 0, number * 2 + 1, &(1_u32 << 24).to_be_bytes()));
    }
    unread.write_all(&windows).unwrap();
    let reason = std::iter::repeat_with(|| next_frame(&mut unread)).find(|next| next.0 == RESET);
    assert_eq!(reason.unwrap().1, ENHANCE_YOUR_CALM.to_be_bytes());
}

/// Asks for the report and reads it slowly. Returns how many bytes came, with the head.
fn read_slowly(server: &Server) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.write_all(b"GET /report HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let (mut length, mut piece) = (0, vec![0; 64 << 10]);
    loop {
        std::thread::sleep(Duration::from_millis(10));
        match stream.read(&mut piece).unwrap() {
            0 => return length,
            count => length += count,
        }
    }
}

#[test]
fn connections_that_read_nothing_stop_nobody() {
    let server = serve(LIMITS);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_slowly(&server));
        let mut unread: Vec<Connection> = (0..110)
            .map(|_| {
                let mut connection = Connection::open_from("127.0.0.2", server.port).unwrap();
                connection.ask("GET", "/report", &[], b"").unwrap();
                connection
            })
            .collect();
        for connection in &mut unread {
            eventually("a response has begun", || connection.is_answered());
        }
        assert_posts_are_answered(&server);
        let peak = peak(&server.process);
        assert!(peak <= MOST, "{} MiB were held", peak / MEBIBYTE);
        assert!(unread.iter_mut().any(|connection| connection.answer("GET").is_err()));
        // Clients that hold less, and read, lose nothing.
        assert!(reader.join().unwrap() > REPORT);
    });
}

#[test]
fn a_slow_reader_gets_its_whole_response() {
    assert!(read_slowly(&serve(&[])) > REPORT);
}

#[test]
fn texts_that_grow_without_end_keep_the_limit_of_the_process() {
    let server = serve(LIMITS);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(server.get("/grows").status, 503));
        }
    });
    let peak = peak(&server.process);
    assert!(peak <= MOST, "{} MiB were held", peak / MEBIBYTE);
    eventually_or(
        || server.send("POST", "/note", "abc").text() == "3",
        || "the server takes nothing any more".to_string(),
    );
}
