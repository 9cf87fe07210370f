//! WebSocket: handshakes, messages, limits, and every way in which a conversation ends.

use crate::helper::{Fake, Peer, ask, run, soon, start, start_with};
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use futures_util::{SinkExt, StreamExt, stream};
use runnel_http::{HttpServer, Limits};
use runnel_store::{Answer, Content, Error, Kind, Message, Messages, Port, PortContent, Store};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, client_async};

type Client = WebSocketStream<TcpStream>;

/// A port made of a closure.
struct Made<F>(F);

impl<F: Fn(Messages) -> Messages> Port for Made<F> {
    fn open(&self, received: Messages) -> Messages {
        (self.0)(received)
    }
}

/// A store of one port.
fn port(open: impl Fn(Messages) -> Messages + Clone + 'static) -> Rc<dyn Store> {
    Rc::new(Fake::get(move |_, _| {
        let port = PortContent(Rc::new(Made(open.clone())));
        Answer::ok(Some(Content::lazy(Rc::new(port))))
    }))
}

fn echo() -> Rc<dyn Store> {
    port(|received| received)
}

async fn connect(server: &HttpServer) -> Client {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    client_async("ws://a.example/socket", stream).await.unwrap().0
}

/// The code with which the server closes.
async fn code(client: &mut Client) -> Option<CloseCode> {
    soon("the close", async {
        loop {
            match client.next().await {
                Some(Ok(Frame::Close(last))) => return last.map(|last| last.code),
                Some(Ok(_)) => {}
                _ => return None,
            }
        }
    })
    .await
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn handshake(fields: &str) -> String {
    format!("GET /s HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n")
}

#[test]
fn messages_go_both_ways() {
    run(async {
        let server = start(echo()).await;
        let mut client = connect(&server).await;
        for number in 0..100 {
            client.send(Frame::text(format!("größe {number}"))).await.unwrap();
            let answer = soon("an answer", client.next()).await.unwrap().unwrap();
            assert_eq!(answer, Frame::text(format!("größe {number}")));
        }
        let bytes = Bytes::from(vec![0, 255, 7]);
        client.send(Frame::Binary(bytes.clone())).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), Frame::Binary(bytes));
        client.send(Frame::Ping(Bytes::from_static(b"there?"))).await.unwrap();
        let pong = client.next().await.unwrap().unwrap();
        assert_eq!(pong, Frame::Pong(Bytes::from_static(b"there?")));
        client.close(None).await.unwrap();
        until("the end", || server.connections() == 0).await;
    });
}

#[test]
fn what_is_no_handshake_is_told() {
    run(async {
        let server = start(echo()).await;
        let upgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";
        let good = format!("{upgrade}{KEY}Sec-WebSocket-Version: 13\r\n");
        let reply = ask(&server, &handshake(&good)).await;
        assert_eq!(reply.status, 101, "{}", reply.head);
        assert_eq!(reply.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let version = "Sec-WebSocket-Version: 13\r\n";
        for (fields, status) in [
            (String::new(), 426),
            (format!("{upgrade}{KEY}Sec-WebSocket-Version: 8\r\n"), 426),
            (format!("Upgrade: websocket\r\n{KEY}{version}"), 426),
            (format!("{upgrade}{version}"), 400),
            (format!("{upgrade}Sec-WebSocket-Key: short\r\n{version}"), 400),
            (format!("{upgrade}{KEY}{KEY}{version}"), 400),
            (format!("{good}Origin: https://evil.example\r\n"), 403),
        ] {
            let reply = ask(&server, &handshake(&fields)).await;
            assert_eq!(reply.status, status, "{fields}");
            if status == 426 {
                assert_eq!(reply.header("sec-websocket-version"), Some("13"));
            }
        }
        let own = format!("{good}Origin: https://a.example\r\n");
        assert_eq!(ask(&server, &handshake(&own)).await.status, 101);
        let old = handshake(&good).replace("HTTP/1.1", "HTTP/1.0");
        assert_eq!(ask(&server, &old).await.status, 426);
    });
}

#[test]
fn what_breaks_the_rules_is_closed_with_a_reason() {
    run(async {
        let limits = Limits { message: 1000, ..Limits::default() };
        let server = start_with(echo(), limits).await;
        let mut client = connect(&server).await;
        client.send(Frame::text("x".repeat(1001))).await.unwrap();
        assert_eq!(code(&mut client).await, Some(CloseCode::Size));
        // Frames by hand: a text that is not UTF-8, a frame without a mask, an unknown operation.
        for (bytes, closed) in [
            (&b"\x81\x82\0\0\0\0\xff\xfe"[..], 1007_u16),
            (&b"\x81\x02hi"[..], 1002),
            (&b"\x83\x80\0\0\0\0"[..], 1002),
        ] {
            let mut peer = Peer::connect(&server).await;
            let upgrade =
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
            peer.send(handshake(&format!("{upgrade}{KEY}"))).await;
            assert_eq!(peer.receive_head().await.status, 101);
            peer.send(bytes).await;
            let mut start = [0; 4];
            let read = tokio::io::AsyncReadExt::read_exact(&mut peer.stream, &mut start);
            soon("the close", read).await.unwrap();
            assert_eq!((start[0], u16::from_be_bytes([start[2], start[3]])), (0x88, closed));
        }
    });
}

#[test]
fn an_end_of_the_program_is_a_close() {
    run(async {
        let one = || stream::iter([Ok(Message::Text("only".into()))]);
        let server = start(port(move |_| Box::pin(one()))).await;
        let mut client = connect(&server).await;
        assert_eq!(client.next().await.unwrap().unwrap(), Frame::text("only"));
        assert_eq!(code(&mut client).await, Some(CloseCode::Normal));

        let failing = || stream::iter([Err(Error::new(Kind::Failed, "broken"))]);
        let server = start(port(move |_| Box::pin(failing()))).await;
        assert_eq!(code(&mut connect(&server).await).await, Some(CloseCode::Error));
    });
}

/// Counts the conversations that are open.
struct Open(Rc<Cell<usize>>);

impl Open {
    fn new(count: &Rc<Cell<usize>>) -> Open {
        count.set(count.get() + 1);
        Open(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Says nothing for as long as it is open.
fn silent(count: &Rc<Cell<usize>>) -> Rc<dyn Store> {
    let count = count.clone();
    port(move |_| {
        let open = Open::new(&count);
        Box::pin(stream::once(async move {
            let _open = open;
            std::future::pending().await
        }))
    })
}

#[test]
fn a_client_that_is_gone_ends_the_conversation() {
    run(async {
        let count = Rc::new(Cell::new(0));
        let server = start(silent(&count)).await;
        let client = connect(&server).await;
        until("the opening", || count.get() == 1).await;
        drop(client);
        until("the end", || count.get() == 0 && server.connections() == 0).await;
    });
}

#[test]
fn it_outlives_the_limits_of_requests() {
    run(async {
        let short = Duration::from_millis(50);
        let limits = Limits {
            keep_alive: short,
            request_time: short,
            header_time: short,
            ..Limits::default()
        };
        let server = start_with(echo(), limits).await;
        let mut client = connect(&server).await;
        tokio::time::sleep(short * 4).await;
        client.send(Frame::text("still there")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), Frame::text("still there"));
    });
}

#[test]
fn stopping_says_goodbye() {
    run(async {
        let count = Rc::new(Cell::new(0));
        let server = Rc::new(start(silent(&count)).await);
        let mut client = connect(&server).await;
        until("the opening", || count.get() == 1).await;
        let stopping = tokio::task::spawn_local({
            let server = server.clone();
            async move { server.stop(Duration::from_secs(10)).await }
        });
        assert_eq!(code(&mut client).await, Some(CloseCode::Away));
        assert!(soon("the stop", stopping).await.unwrap());
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn a_client_that_takes_nothing_holds_up_the_program_and_is_cut() {
    run(async {
        let sent = Rc::new(Cell::new(0_u64));
        let counted = sent.clone();
        let limits = Limits { write_idle: Duration::from_millis(300), ..Limits::default() };
        let store = port(move |_| {
            let counted = counted.clone();
            let message = Bytes::from(vec![7; 64 * 1024]);
            Box::pin(stream::repeat_with(move || {
                counted.set(counted.get() + 1);
                Ok(Message::Bytes(message.clone()))
            }))
        });
        let server = start_with(store, limits).await;
        let client = connect(&server).await;
        until("the cut", || server.connections() == 0).await;
        // What the system keeps for a socket, and not what the program could send.
        assert!(sent.get() < 1000, "{} messages", sent.get());
        drop(client);
    });
}

#[test]
fn messages_wait_while_the_program_takes_none() {
    run(async {
        let store = port(|received| {
            Box::pin(stream::once(async move {
                // Held, and never asked.
                let _received = received;
                std::future::pending().await
            }))
        });
        let server = start(store).await;
        let mut client = connect(&server).await;
        let message = Frame::Binary(Bytes::from(vec![7; 64 * 1024]));
        let mut sent = 0;
        while let Ok(taken) =
            tokio::time::timeout(Duration::from_millis(500), client.send(message.clone())).await
        {
            taken.unwrap();
            sent += 1;
            assert!(sent < 1000, "64 MB were taken that nobody reads");
        }
    });
}

#[test]
fn what_was_said_before_the_close_is_heard() {
    run(async {
        let heard = Rc::new(Cell::new(0));
        let counted = heard.clone();
        let store = port(move |received| {
            let counted = counted.clone();
            Box::pin(received.then(move |message| {
                let counted = counted.clone();
                async move {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    counted.set(counted.get() + 1);
                    message
                }
            }))
        });
        let server = start(store).await;
        let mut client = connect(&server).await;
        for _ in 0..10 {
            client.send(Frame::text("x")).await.unwrap();
        }
        client.close(None).await.unwrap();
        until("all of it", || heard.get() == 10).await;
        until("the end", || server.connections() == 0).await;
    });
}

/// Opens a socket by hand and answers it with the extension that the server agreed to.
async fn open(server: &HttpServer, offer: &str) -> (Peer, Option<String>) {
    let mut peer = Peer::connect(server).await;
    let fields = format!(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{KEY}\
         Sec-WebSocket-Extensions: {offer}\r\n"
    );
    peer.send(handshake(&fields)).await;
    let head = peer.receive_head().await;
    assert_eq!(head.status, 101, "{}", head.head);
    (peer, head.header("sec-websocket-extensions").map(str::to_string))
}

/// A frame of a client, with a mask.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first, 0xff];
    match payload.len() {
        length @ ..126 => frame[1] = 0x80 | length as u8,
        length @ ..65_536 => {
            frame[1] = 0xfe;
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => frame.extend_from_slice(&(length as u64).to_be_bytes()),
    }
    frame.extend_from_slice(b"mask");
    frame.extend(payload.iter().zip(b"mask".iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// The next frame of the server: its first byte and its payload.
async fn receive(peer: &mut Peer) -> (u8, Vec<u8>) {
    soon("a frame", async {
        let first = peer.stream.read_u8().await.unwrap();
        let length = match peer.stream.read_u8().await.unwrap() {
            126 => u64::from(peer.stream.read_u16().await.unwrap()),
            127 => peer.stream.read_u64().await.unwrap(),
            length => u64::from(length),
        };
        let mut payload = vec![0; length as usize];
        peer.stream.read_exact(&mut payload).await.unwrap();
        (first, payload)
    })
    .await
}

/// The next message of the server, decompressed by another window for each, and its first bytes.
async fn receive_message(peer: &mut Peer) -> (u8, Vec<u8>) {
    let (first, mut payload) = receive(peer).await;
    let mut last = first;
    while last & 0x80 == 0 {
        let (next, more) = receive(peer).await;
        assert_eq!(next & 0x7f, 0, "a frame that continues");
        payload.extend(more);
        last = next;
    }
    if first & 0x40 != 0 {
        payload.extend([0, 0, 0xff, 0xff]);
        let mut text = Vec::with_capacity(4 * 1024 * 1024);
        let mut inflate = Decompress::new(false);
        inflate.decompress_vec(&payload, &mut text, FlushDecompress::Sync).unwrap();
        payload = text;
    }
    (first, payload)
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(text.len() + 100);
    let mut deflate = Compress::new(Compression::best(), false);
    deflate.compress_vec(text, &mut packed, FlushCompress::Sync).unwrap();
    assert_eq!(packed.split_off(packed.len() - 4), [0, 0, 0xff, 0xff]);
    packed
}

fn compressing(message: usize) -> Limits {
    Limits { compress_messages: true, message, ..Limits::default() }
}

const DEFLATE: &str = "permessage-deflate; client_max_window_bits";

#[test]
fn messages_are_compressed_for_who_offers_it() {
    run(async {
        let server = start(echo()).await;
        assert_eq!(open(&server, DEFLATE).await.1, None, "it was not asked for");
        let server = start_with(echo(), compressing(4 * 1024 * 1024)).await;
        assert_eq!(open(&server, "x-unknown").await.1, None);
        for (offer, agreed) in [
            (DEFLATE, ""),
            ("permessage-deflate; server_max_window_bits=9", "; server_max_window_bits=9"),
        ] {
            let (mut peer, answer) = open(&server, offer).await;
            let answer = answer.unwrap();
            let both = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
            assert_eq!(answer.strip_prefix(both), Some(agreed));
            for length in [0, 1, 125, 126, 20_000, 65_535, 65_536, 100_000, 3_000_000] {
                let text: String = (0..)
                    .flat_map(|n: u32| format!("{n} ").into_bytes())
                    .take(length)
                    .map(char::from)
                    .collect();
                peer.send(frame(0xc1, &deflate(text.as_bytes()))).await;
                let (first, message) = receive_message(&mut peer).await;
                assert_eq!(message, text.as_bytes(), "{length}");
                assert_eq!(first & 0x40 != 0, length >= 128, "{length}");
                // Uncompressed messages are understood as well.
                peer.send(frame(0x82, text.as_bytes())).await;
                assert_eq!(receive_message(&mut peer).await.1, text.as_bytes());
            }
            // In frames, with a ping between them.
            let packed = deflate(&[b'x'; 5000]);
            let (start, end) = packed.split_at(7);
            peer.send(frame(0x41, start)).await;
            peer.send(frame(0x89, b"ping")).await;
            peer.send(frame(0x00, end)).await;
            peer.send(frame(0x80, b"")).await;
            assert_eq!(receive(&mut peer).await, (0x8a, b"ping".to_vec()));
            assert_eq!(receive_message(&mut peer).await.1, [b'x'; 5000]);
        }
    });
}

#[test]
fn a_compressed_message_keeps_the_limits() {
    run(async {
        let server = start_with(echo(), compressing(10_000)).await;
        for (what, frames, code) in [
            ("just small enough", vec![frame(0xc2, &deflate(&[0; 10_000]))], None),
            ("too large", vec![frame(0xc2, &deflate(&[0; 10_001]))], Some(1009)),
            ("a bomb", vec![frame(0xc2, &deflate(&vec![0; 9_000_000]))], Some(1009)),
            (
                "a bomb in pieces",
                vec![
                    frame(0x42, &[deflate(&[0; 9000]), vec![0, 0, 0xff, 0xff]].concat()),
                    frame(0x80, &deflate(&[0; 9000])),
                ],
                Some(1009),
            ),
            ("a length beyond it", vec![frame(0xc2, &[0; 10_001])], Some(1009)),
            ("no deflate", vec![frame(0xc2, b"\xff\xff\xff")], Some(1007)),
            ("no UTF-8", vec![frame(0xc1, &deflate(b"\xff"))], Some(1007)),
            ("no UTF-8 to come", vec![frame(0x41, &deflate(b"ok \xf8"))], Some(1007)),
            ("a compressed ping", vec![frame(0xc9, b"")], Some(1002)),
            ("a compressed rest", vec![frame(0x41, b""), frame(0xc0, b"")], Some(1002)),
        ] {
            let (mut peer, _) = open(&server, DEFLATE).await;
            for frame in frames {
                peer.send(frame).await;
            }
            let (first, payload) = receive_message(&mut peer).await;
            match code {
                None => assert_eq!((first, payload.len()), (0xc2, 10_000), "{what}"),
                Some(code) => {
                    let said = u16::from_be_bytes([payload[0], payload[1]]);
                    assert_eq!((first, said), (0x88, code), "{what}");
                    assert!(peer.is_closed().await, "{what}");
                }
            }
        }
        // Without the extension, a compressed message is an error.
        let (mut peer, _) = open(&server, "x-unknown").await;
        peer.send(frame(0xc2, &deflate(b"hello"))).await;
        assert_eq!(receive(&mut peer).await.1[..2], 1002_u16.to_be_bytes());
    });
}

#[test]
fn frames_may_come_in_any_pieces() {
    run(async {
        let server = start(echo()).await;
        let (mut peer, _) = open(&server, DEFLATE).await;
        let text = "größe ".repeat(100);
        let (start, end) = text.as_bytes().split_at(3);
        let mut bytes = frame(0x01, start);
        bytes.extend(frame(0x89, b"there?"));
        bytes.extend(frame(0x00, b""));
        bytes.extend(frame(0x80, end));
        bytes.extend(frame(0x81, b""));
        for size in [1, 2, 7, 100, bytes.len()] {
            for piece in bytes.chunks(size) {
                peer.send(piece).await;
                tokio::task::yield_now().await;
            }
            assert_eq!(receive(&mut peer).await, (0x8a, b"there?".to_vec()), "{size}");
            assert_eq!(receive(&mut peer).await, (0x81, text.clone().into_bytes()), "{size}");
            assert_eq!(receive(&mut peer).await, (0x81, Vec::new()), "{size}");
        }
    });
}

#[test]
fn what_cannot_become_utf8_is_refused_at_once() {
    run(async {
        let server = start(echo()).await;
        // RFC 6455 section 8.1: the rest of the frame does not come.
        for start in [&b"\x01\x82maskm\x61"[..], b"\x81\x8amask\x93\x9e"] {
            let (mut peer, _) = open(&server, DEFLATE).await;
            let mut start = start.to_vec();
            let at = start.len() - 2;
            start[at] = 0xed ^ b'm';
            start[at + 1] = 0xa0 ^ b'a';
            peer.send(start).await;
            let (first, payload) = receive(&mut peer).await;
            assert_eq!((first, u16::from_be_bytes([payload[0], payload[1]])), (0x88, 1007));
        }
    });
}

#[test]
fn a_close_is_answered_with_its_code() {
    run(async {
        let server = start(echo()).await;
        for (payload, answer) in [
            (&b""[..], &b""[..]),
            (b"\x03\xe8", b"\x03\xe8"),
            (b"\x03\xe8bye", b"\x03\xe8bye"),
            (b"\x0f\xa0", b"\x0f\xa0"),
        ] {
            let (mut peer, _) = open(&server, DEFLATE).await;
            peer.send(frame(0x88, payload)).await;
            assert_eq!(receive(&mut peer).await, (0x88, answer.to_vec()));
            assert!(peer.is_closed().await);
        }
        for (wrong, code) in [
            (&b"\x03"[..], 1002_u16),
            (b"\x03\xe7", 1002),
            (b"\x03\xec", 1002),
            (b"\x03\xed", 1002),
            (b"\x03\xee", 1002),
            (b"\x03\xf7", 1002),
            (b"\x0b\xb7", 1002),
            (b"\x13\x88", 1002),
            (b"\x03\xe8\xff", 1007),
        ] {
            let (mut peer, _) = open(&server, DEFLATE).await;
            peer.send(frame(0x88, wrong)).await;
            let (first, payload) = receive(&mut peer).await;
            assert_eq!((first, &payload[..2]), (0x88, &code.to_be_bytes()[..]), "{wrong:?}");
        }
        for order in
            [frame(0x80, b"nothing to continue"), [frame(0x01, b"a"), frame(0x81, b"b")].concat()]
        {
            let (mut peer, _) = open(&server, DEFLATE).await;
            peer.send(order).await;
            assert_eq!(receive(&mut peer).await.1[..2], 1002_u16.to_be_bytes());
        }
    });
}
