//! A server under bad clients: the good ones are answered, and afterwards nothing is left behind.

use crate::support::http::Connection;
use crate::support::{Server, eventually_or};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the bad clients go on; RUNNEL_OVERLOAD_SECONDS says otherwise.
fn lasting() -> Duration {
    let seconds = std::env::var("RUNNEL_OVERLOAD_SECONDS").ok();
    Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(5))
}

/// Memory that may be held more than before, in bytes: what the allocator and the pools keep.
const MORE_MEMORY: u64 = 48 * 1024 * 1024;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A head that never ends, a byte at a time.
fn slow_loris(port: u16, round: u64) {
    let mut stream = connect(port);
    for byte in b"GET /hi HTTP/1.1\r\nHost: x\r\nX-Slow: aaaa".iter().take(8 + round as usize % 30)
    {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(3));
    }
}

/// More header fields than anybody needs.
fn header_flood(port: u16, round: u64) {
    let mut stream = connect(port);
    let mut head = String::from("GET /hi HTTP/1.1\r\nHost: x\r\n");
    for number in 0..200 + round % 3000 {
        head.push_str(&format!("X-{number}: {number}\r\n"));
    }
    head.push_str("\r\n");
    // The server may have closed before all is sent.
    let _ = stream.write_all(head.as_bytes());
    let mut answer = Vec::new();
    if stream.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    }
}

/// An upload that says more than it sends.
fn aborted_upload(port: u16, round: u64) {
    let mut stream = connect(port);
    let _ = stream.write_all(b"POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    let _ = stream.write_all(&vec![b'x'; round as usize * 997 % 300_000]);
}

/// Goes away in the middle of an answer, or before it.
fn disconnect(port: u16, round: u64) {
    let mut stream = connect(port);
    let path = ["/wait", "/large", "/hi", "/compute"][round as usize % 4];
    let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    match round % 3 {
        0 => {}
        1 => thread::sleep(Duration::from_millis(round % 20)),
        _ => {
            let mut some = [0; 1000];
            let _ = stream.read(&mut some);
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// What is no HTTP.
fn rubbish(port: u16, round: u64) {
    let mut stream = connect(port);
    let mut seed = round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let bytes: Vec<u8> = (0..500)
        .map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        })
        .collect();
    let _ = stream.write_all(&bytes);
}

/// Sends good requests for a time, and answers how many were answered.
fn good_requests(port: u16, seconds: Duration) -> u32 {
    let (mut connection, mut answered) = (Connection::open(port).unwrap(), 0);
    let until = Instant::now() + seconds;
    while Instant::now() < until {
        let reply = connection.send("GET", "/hi", b"").unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (200, "Hello World!"));
        let reply = connection.send("POST", "/take", b"12345").unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (200, "5"));
        answered += 2;
        // A connection ends after a million requests (`maxRequestsPerConnection:`).
        if answered % 100_000 == 0 {
            connection = Connection::open(port).unwrap();
        }
    }
    answered
}

#[test]
fn bad_clients_harm_nobody_and_leave_nothing_behind() {
    let server = Server::of_scheme(
        "scheme:kept ← DictStore store.\n\
         scheme Site {\n\
         \x20   /hi { get { 'Hello World!' } }\n\
         \x20   /wait { get { runLoop runFor: 0.5. 'waited' } }\n\
         \x20   /large { get { kept:large } }\n\
         \x20   /compute { get { i ← 0. { i < 300000 } whileTrue: { i ← i + 1 }. i asString } }\n\
         \x20   /take { post { newValue count asString } }\n\
         }\n\
         extension String {\n\
         \x20   -repeat:count { text ← self. { text count < count } whileTrue: { text ← text , text }. text }\n\
         }\n\
         kept:large ← 'x' repeat: 3000000.",
        10.0,
    );
    let good = |seconds| good_requests(server.port, seconds);
    // The pools are filled before the base is taken.
    for client in [slow_loris, header_flood, aborted_upload, disconnect, rubbish] {
        (0..20).for_each(|round| client(server.port, round));
    }
    good(Duration::from_millis(200));
    thread::sleep(Duration::from_millis(700));
    let (files, memory) = (server.process.open_files(), server.process.memory());

    let (stop, attacks) = (AtomicBool::new(false), AtomicU64::new(0));
    let answered = thread::scope(|scope| {
        for client in [slow_loris, header_flood, aborted_upload, disconnect, rubbish] {
            for _ in 0..3 {
                let (server, stop, attacks) = (&server, &stop, &attacks);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        client(server.port, attacks.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
        }
        let answered = good(lasting());
        stop.store(true, Ordering::Relaxed);
        answered
    });
    assert!(answered > 20, "only {answered} good requests were answered");
    assert!(attacks.load(Ordering::Relaxed) > 100);
    if let (Some(files), Some(memory)) = (files, memory) {
        eventually_or(
            || server.process.open_files().unwrap() <= files + 3,
            || format!("{files} files were open before, {:?} are now", server.process.open_files()),
        );
        // The allocator gives memory back to the system while it is asked for some.
        let now = || server.process.memory().unwrap();
        eventually_or(
            || good(Duration::from_millis(200)) > 0 && now() <= memory + MORE_MEMORY,
            || format!("{memory} bytes were held before, {} are now", now()),
        );
    }
    assert_eq!(server.get("/hi").text(), "Hello World!");
}

#[test]
fn a_slow_reader_and_a_long_upload_keep_memory_flat() {
    const LARGE: u64 = 200 * 1024 * 1024;
    let server = Server::start(
        "#-<void>serve:<int>port\n\
         server ← #HTTPServer{ port: port, maxBodySize: 1 gigabyte,\n\
         \x20   scheme: ref:file:{argv0 deletingLastPathComponent} asScheme }.\n\
         server start.\n",
        &[],
    );
    let mut stream = connect(server.port);
    let head = format!("PUT /large.bin HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGE}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let (chunk, mut most) = (vec![7; 1024 * 1024], 0);
    let base = server.process.memory();
    for number in 0..LARGE / chunk.len() as u64 {
        stream.write_all(&chunk).unwrap();
        if number % 16 == 0 {
            most = most.max(server.process.memory().unwrap_or(0));
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 201");

    let mut reader = connect(server.port);
    reader.write_all(b"GET /large.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let (mut buffer, mut read) = (vec![0; 256 * 1024], 0);
    loop {
        let count = reader.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        read += count as u64;
        if read < 4 * 1024 * 1024 {
            // Slow at first: what is not taken must wait in the file, not in memory.
            thread::sleep(Duration::from_millis(20));
            most = most.max(server.process.memory().unwrap_or(0));
        }
    }
    assert!(read > LARGE, "{read} bytes came");
    if let Some(base) = base {
        assert!(most <= base + MORE_MEMORY, "{base} bytes were held before, {most} at most");
    }
}
