//! Many connections of WebSocket and HTTP/2: what an idle one costs, and what bad clients can take.

use crate::support;

use crate::support::{Server, eventually_or};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Idle connections that are opened.
const IDLE: u64 = 1000;
/// Bytes that an idle connection may hold on average.
const MOST_WEBSOCKET: u64 = 8 * 1024;
const MOST_HTTP2: u64 = 40 * 1024;
/// The same after an upload: the frames of one fill a larger buffer.
const MOST_AFTER_UPLOAD: u64 = 64 * 1024;

const PROGRAM: &str = "#-<void>serve:<int>port\n\
    scheme Site {\n\
    \x20   /hi { get { 'Hello World!' } post { 'taken' } }\n\
    \x20   /echo { get { #WebSocket{ received: { :message :socket | socket send: message } } } }\n\
    \x20   /count { get { #WebSocket{ received: { :message :socket | socket send: message length } } } }\n\
    }\n\
    server ← #HTTPServer{\n\
    \x20   port: port, websocketCompression: true, maxMessageSize: 1 megabyte, scheme: #Site{}\n\
    }.\n\
    server start.\n";

/// A server, with descriptors for many clients on both sides.
fn start(options: &[&str]) -> Server {
    let limit = getrlimit(Resource::Nofile);
    let wanted = IDLE * 3;
    if limit.current.is_some_and(|current| current < wanted) {
        let current = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit }).unwrap();
    }
    Server::start_with(options, PROGRAM, &[])
}

/// A client that writes frames by hand.
struct Client(TcpStream);

impl Client {
    fn open(server: &Server, path: &str, extension: &str) -> Client {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             {extension}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        let agreed = answer.to_ascii_lowercase().contains("permessage-deflate");
        assert_eq!(agreed, !extension.is_empty(), "{answer}");
        Client(stream)
    }

    /// A frame whose mask is zero, so that the payload is sent as it is.
    fn send(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match payload.len() {
            length @ ..126 => frame.push(0x80 | length as u8),
            length @ ..65_536 => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.0.write_all(&frame).unwrap();
    }

    /// The next frame: its first byte and its payload.
    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let mut long = [0; 8];
        let length = match head[1] {
            126 => {
                self.0.read_exact(&mut long[6..]).unwrap();
                u64::from_be_bytes(long)
            }
            127 => {
                self.0.read_exact(&mut long).unwrap();
                u64::from_be_bytes(long)
            }
            length => u64::from(length),
        };
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).unwrap();
        (head[0], payload)
    }

    fn echo(&mut self, payload: &[u8]) {
        self.send(0x82, payload);
        assert_eq!(self.receive(), (0x82, payload.to_vec()));
    }
}

/// What each of the connections holds, from what the process held before.
fn each(server: &Server, before: u64, connections: usize) -> u64 {
    server.process.memory().unwrap().saturating_sub(before) / connections as u64
}

#[test]
fn an_idle_websocket_holds_little_also_after_a_large_message() {
    let server = start(&[]);
    let large = vec![7; 100_000];
    // The pools are filled before the base is taken.
    for _ in 0..20 {
        Client::open(&server, "/echo", "").echo(&large);
    }
    let Some(before) = server.process.memory() else { return };
    let mut clients: Vec<_> = (0..IDLE).map(|_| Client::open(&server, "/echo", "")).collect();
    let idle = each(&server, before, clients.len());
    assert!(idle <= MOST_WEBSOCKET, "{idle} bytes for each idle connection");
    for client in &mut clients {
        client.echo(&large);
    }
    let afterwards = || each(&server, before, clients.len());
    eventually_or(
        || afterwards() <= MOST_WEBSOCKET,
        || format!("{} bytes for each connection after a message", afterwards()),
    );
}

#[test]
fn a_decompression_bomb_is_closed_and_takes_no_memory() {
    let server = start(&[]);
    // A block of zeros that repeats itself: RFC 1951 section 3.2.6, all of it one match after another.
    let extension = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let mut client = Client::open(&server, "/count", extension);
    let bomb = zeros(60_000);
    assert!(bomb.len() < 1000, "{}", bomb.len());
    client.send(0xc2, &bomb);
    let (first, length) = client.receive();
    assert_eq!((first, String::from_utf8(length).unwrap()), (0x81, zeros_length(60_000)));
    let before = server.process.memory();
    for _ in 0..50 {
        let mut client = Client::open(&server, "/count", extension);
        client.send(0xc2, &zeros(300_000_000));
        let (first, reason) = client.receive();
        assert_eq!((first, &reason[..2]), (0x88, &1009_u16.to_be_bytes()[..]));
    }
    if let (Some(before), Some(now)) = (before, server.process.memory()) {
        let more = now.saturating_sub(before);
        assert!(more < 16 * 1024 * 1024, "{more} bytes more");
    }
    assert_eq!(server.get("/hi").text(), "Hello World!");
}

/// How many zeros [`zeros`] makes, as a text.
fn zeros_length(at_least: usize) -> String {
    (1 + at_least.div_ceil(258) * 258).to_string()
}

/// A deflate stream of at least this many zeros: one literal, then matches of 258 bytes at distance 1.
fn zeros(at_least: usize) -> Vec<u8> {
    let (mut bytes, mut at) = (Vec::new(), 0);
    let mut put = |bits: &str| {
        for bit in bits.bytes() {
            if at % 8 == 0 {
                bytes.push(0);
            }
            *bytes.last_mut().unwrap() |= (bit - b'0') << (at % 8);
            at += 1;
        }
    };
    // A block with fixed codes; the literal 0; length 258 and distance 1, again and again; its end;
    // the start of an empty block.
    put("010");
    put("00110000");
    for _ in 0..at_least.div_ceil(258) {
        put("1100010100000");
    }
    put("0000000");
    put("000");
    bytes
}

#[test]
fn clients_that_read_nothing_take_bounded_memory() {
    const CLIENTS: usize = 40;
    let server = start(&[]);
    Client::open(&server, "/echo", "").echo(b"there");
    let before = server.process.memory();
    let message = vec![7; 50_000];
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| Client::open(&server, "/echo", "")).collect();
    for client in &mut clients {
        client.0.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut frame = vec![0x82, 0xfe];
        frame.extend_from_slice(&(message.len() as u16).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&message);
        // Until the client would have to wait: nobody takes the answers.
        let sent = (0..2000).take_while(|_| client.0.write_all(&frame).is_ok()).count();
        assert!(sent < 2000, "100 MB were taken of a client that reads nothing");
    }
    if let (Some(before), Some(now)) = (before, server.process.memory()) {
        let more = now.saturating_sub(before) / CLIENTS as u64;
        assert!(more < 1024 * 1024, "{more} bytes for each client");
    }
    assert_eq!(server.get("/hi").text(), "Hello World!");
}

#[test]
fn unfinished_messages_count_in_the_memory_of_requests() {
    const MIB: u64 = 1024 * 1024;
    let server = start(&["--request-memory=16M"]);
    let message = vec![7; 900_000];
    Client::open(&server, "/count", "").send(0x82, &message);
    let before = server.process.memory();
    let mut clients: Vec<_> = (0..60).map(|_| Client::open(&server, "/count", "")).collect();
    for client in &mut clients {
        // The rest of the message never comes. The server may have closed before all is sent.
        let mut start = vec![0x82, 0xff];
        start.extend_from_slice(&(message.len() as u64 + 1).to_be_bytes());
        start.extend_from_slice(&[0; 4]);
        let _ = client.0.write_all(&start).and_then(|()| client.0.write_all(&message));
    }
    // Those for whom there was no memory are told, the others are still waited for.
    let mut refused = 0;
    for client in &mut clients {
        client.0.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut head = [0; 4];
        // A reset after the answer may overtake it.
        let closed =
            client.0.read_exact(&mut head).map(|()| u16::from_be_bytes([head[2], head[3]]));
        match closed {
            Ok(code) => assert_eq!((head[0], code), (0x88, 1013)),
            Err(error) if is_late(&error) => continue,
            Err(_) => {}
        }
        refused += 1;
    }
    assert!((30..60).contains(&refused), "{refused} of 60 messages of 1 MB were refused");
    if let (Some(before), Some(now)) = (before, server.process.memory()) {
        let more = now.saturating_sub(before) / MIB;
        assert!(more < 40, "{more} MiB more");
    }
    drop(clients);
    let taken = || {
        let mut client = Client::open(&server, "/count", "");
        client.send(0x82, &message);
        client.receive() == (0x81, b"900000".to_vec())
    };
    support::eventually("there is memory again", taken);
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// A frame of HTTP/2 (RFC 9113 section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Reads frames until the answer of a stream ends.
fn read_until(stream: &mut TcpStream, number: u32) {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let [a, b, c, kind, flags, of @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).unwrap();
        assert!(!matches!(kind, 3 | 7), "the server refused: {payload:?}");
        if of == number.to_be_bytes() && matches!(kind, 0 | 1) && flags & 1 == 1 {
            return;
        }
    }
}

/// Opens a connection of HTTP/2 and asks for `/hi` once.
fn open_http2(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let hello =
        [frame(4, 0, 0, b""), frame(4, 1, 0, b""), frame(1, 5, 1, b"\x82\x86\x41\x01x\x04\x03/hi")];
    stream.write_all(&hello.concat()).unwrap();
    read_until(&mut stream, 1);
    stream
}

#[test]
fn an_idle_connection_of_http2_holds_little_also_after_an_upload() {
    let server = start(&[]);
    drop((0..20).map(|_| open_http2(&server)).collect::<Vec<_>>());
    let Some(before) = server.process.memory() else { return };
    let mut streams: Vec<_> = (0..300).map(|_| open_http2(&server)).collect();
    let idle = each(&server, before, streams.len());
    assert!(idle <= MOST_HTTP2, "{idle} bytes for each idle connection");
    for stream in &mut streams {
        stream.write_all(&frame(1, 4, 3, b"\x83\x86\x41\x01x\x04\x03/hi")).unwrap();
        for last in [0, 0, 0, 0, 0, 0, 0, 1] {
            stream.write_all(&frame(0, last, 3, &[b'x'; 16_000])).unwrap();
        }
        read_until(stream, 3);
    }
    let afterwards = || each(&server, before, streams.len());
    eventually_or(
        || afterwards() <= MOST_AFTER_UPLOAD,
        || format!("{} bytes for each connection after an upload", afterwards()),
    );
}
