//! What goes on: sockets, events and written content of a program, until somebody ends them.

use crate::support::{Server, eventually, http};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A client of a WebSocket that knows short frames only.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn open(port: u16, target: &str) -> Client {
        Client::open_with(port, target, "")
    }

    /// With further header lines, each with its line end.
    pub(crate) fn open_with(port: u16, target: &str, headers: &str) -> Client {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
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
        Client(stream)
    }

    /// Sends a frame, masked with nothing.
    fn send(&mut self, operation: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).unwrap();
        assert!(length < 126);
        let head = [0x80 | operation, 0x80 | length, 0, 0, 0, 0];
        self.0.write_all(&[&head, payload].concat()).unwrap();
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.send(1, text.as_bytes());
    }

    /// The operation and the payload of the next frame.
    pub(crate) fn next(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        assert!(head[1] < 127, "a very long frame");
        let mut length = usize::from(head[1]);
        if length == 126 {
            let mut long = [0; 2];
            self.0.read_exact(&mut long).unwrap();
            length = usize::from(u16::from_be_bytes(long));
        }
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).unwrap();
        (head[0] & 0x0f, payload)
    }

    pub(crate) fn hears(&mut self, text: &str) {
        let (operation, payload) = self.next();
        assert_eq!((operation, String::from_utf8(payload).unwrap()), (1, text.to_string()));
    }

    /// The code with which the other side closes.
    pub(crate) fn code(&mut self) -> u16 {
        let (operation, payload) = self.next();
        assert_eq!(operation, 8);
        u16::from_be_bytes([payload[0], payload[1]])
    }
}

fn serve(scheme: &str) -> (Server, u16) {
    let program = format!(
        "#-<void>serve:<int>port\nscheme:notes ← DictStore store.\nscheme Live {{\n{scheme}\n\
         /notes/:name {{ put {{ notes:/{{name}} ← newValue }} }}\n}}\n\
         #HTTPServer{{ port: port, scheme: Live store }} start.\n"
    );
    let server = Server::start(&program, &[]);
    let port = server.port;
    (server, port)
}

#[test]
fn a_socket_answers_messages() {
    let (_server, port) = serve(
        "/echo { get { #WebSocket{ received: { :message :socket | socket send: message } } } }
         /json { get { #WebSocket{ opened: { :socket | socket send: #{ a: [ 1, 'x' ] } } } } }",
    );
    let mut client = Client::open(port, "/echo");
    for text in ["one", "größe", ""] {
        client.say(text);
        client.hears(text);
    }
    client.send(2, &[0, 255, 1]);
    assert_eq!(client.next(), (2, vec![0, 255, 1]));
    Client::open(port, "/json").hears(r#"{"a":[1,"x"]}"#);
}

#[test]
fn a_conversation_with_turns_ends_when_the_program_says_so() {
    let (_server, port) = serve(
        "/ask { get { #WebSocket{ opened: { :socket |
            socket send: 'who?'. socket send: \"hello {socket next}\". socket close
         } } } }",
    );
    let mut client = Client::open(port, "/ask");
    client.hears("who?");
    client.say("Ada");
    client.hears("hello Ada");
    assert_eq!(client.code(), 1000);
}

#[test]
fn an_error_of_the_program_closes_its_socket_and_no_other() {
    let (server, port) = serve(
        "/bad { get { #WebSocket{ received: { :message :socket |
            message = 'bad' ifTrue: { Error signal: 'on purpose' }. socket send: message
         } } } }",
    );
    let (mut good, mut bad) = (Client::open(port, "/bad"), Client::open(port, "/bad"));
    bad.say("bad");
    assert_eq!(bad.code(), 1011);
    server.process.err_shows("on purpose");
    good.say("good");
    good.hears("good");
}

#[test]
fn changes_go_out_and_end_with_the_socket() {
    let (server, port) = serve(
        "/changes { get {
            socket ← #WebSocket{ closed: { stdout println: 'closed' } }.
            ref:notes: changes → socket.
            socket
         } }",
    );
    let mut client = Client::open(port, "/changes");
    for name in ["a", "b"] {
        assert_eq!(
            http::send(port, "PUT", &format!("/notes/{name}"), &[], b"1").unwrap().status,
            200
        );
        client.hears(&format!(r#"{{"kind":"changed","path":"{name}"}}"#));
    }
    drop(client);
    server.process.out_shows("closed");
    // Nobody listens any more: writing goes on.
    assert_eq!(http::send(port, "PUT", "/notes/c", &[], b"1").unwrap().status, 200);
}

#[test]
fn messages_go_to_a_stream() {
    let (server, port) = serve("/in { get { socket ← WebSocket new. socket → stdout. socket } }");
    let mut client = Client::open(port, "/in");
    client.say("one");
    client.say("two");
    server.process.out_shows("one\ntwo\n");
}

#[test]
fn events_arrive_one_by_one_and_their_fiber_ends_with_the_client() {
    let (server, port) = serve(
        "/events { get { {
            :events | { 1 to: 100000 do: { :n | events add: n. runLoop runFor: 0.01 } }
               ensure: { stdout println: 'over' }
         } asEvents } }",
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut heard = Vec::new();
    eventually("three events", || {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).unwrap();
        heard.extend_from_slice(&piece[..count]);
        String::from_utf8_lossy(&heard).contains("data: 3\n\n")
    });
    assert!(!server.process.out().contains("over"));
    drop(stream);
    server.process.out_shows("over");
}

#[test]
fn what_a_block_writes_waits_for_a_slow_reader() {
    let (server, port) = serve(
        "var written. /much { get { { :out |
            1 to: 1000 do: { :n | out print: ('x' repeated: 100000). this:written ← n }
         } streamed } }
         /written { get { this:written } }",
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    // 100 MB are asked for; what the system and the server keep is a few.
    let written: u32 = http::get(port, "/written").text().parse().unwrap();
    assert!(written < 500, "{written} of 1000 pieces were written for nobody");
    drop(stream);
    assert_eq!(server.get("/written").status, 200);
}
