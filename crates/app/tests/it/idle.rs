//! Many connections that do nothing: what each of them costs.

use crate::support::{Server, eventually_or, note};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How many connections of each kind; `RUNNEL_CONNECTIONS` says otherwise.
fn count() -> usize {
    let count = std::env::var("RUNNEL_CONNECTIONS").ok();
    count.and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// What a server may hold more than before, in bytes, whatever the number of connections: the
/// allocator keeps pages in reserve.
const RESERVE: u64 = 16 << 20;

const HANDSHAKE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn open(port: u16, target: &str, fields: &str, status: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::with_capacity(1024, &stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains(status), "{line}");
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    stream
}

/// Opens many connections of one kind, which stay idle, and measures the memory of the server.
fn measure(kind: &str, target: &str, fields: &str, status: &str, bytes_each: u64) {
    let server = Server::start(
        "#-<void>serve:<int>port\n\
         scheme Site {\n\
         \x20   /hi { get { 'hi' } }\n\
         \x20   /echo { get { #WebSocket{ received: { :text :socket | socket send: text } } } }\n\
         }\n\
         server ← #HTTPServer{ port: port, scheme: #Site{}, maxConnections: 20000, idleTimeout: 3600 seconds }.\n\
         server start.\n",
        &[],
    );
    // What the first connections cost is not theirs.
    drop((0..20).map(|_| open(server.port, target, fields, status)).collect::<Vec<_>>());
    let Some(before) = server.process.memory() else { return };
    let count = count();
    let connections: Vec<_> =
        (0..count).map(|_| open(server.port, target, fields, status)).collect();
    let most = before + RESERVE + bytes_each * count as u64;
    eventually_or(
        || server.process.memory().unwrap() <= most,
        || format!("{:?} bytes are held, at most {most} expected", server.process.memory()),
    );
    let held = server.process.memory().unwrap();
    let each = held.saturating_sub(before) / count as u64;
    note(&format!(
        "| {count} idle {kind} | {} MB before | {} MB with them | {each} bytes each |",
        before >> 20,
        held >> 20
    ));
    assert_eq!(server.get("/hi").text(), "hi");
    drop(connections);
}

#[test]
fn idle_keep_alive_connections_cost_little() {
    measure("keep-alive connections", "/hi", "", "200", 6_000);
}

#[test]
fn idle_websockets_cost_little() {
    measure("WebSockets", "/echo", HANDSHAKE, "101", 13_000);
}
