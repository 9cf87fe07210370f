//! WebSocket: handshakes, messages, limits, and every way in which a conversation ends.

#![allow(clippy::unwrap_used)]

mod helper;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use helper::{Fake, Peer, ask, run, soon, start, start_with};
use runnel_http::{Limits, Server};
use runnel_store::{Answer, Content, Error, Kind, Message, Messages, Port, PortContent, Store};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
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

async fn connect(server: &Server) -> Client {
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
