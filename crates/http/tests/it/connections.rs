//! Connections: kept, pipelined, malformed, slow, abandoned, and stopped.

use crate::helper::{Fake, Peer, ask, get, run, site, soon, start, start_with};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::{HttpServer, Limits};
use runnel_store::{Answer, Body, Content, Store};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

const HI: &str = "GET /hi HTTP/1.1\r\nHost: t\r\n\r\n";

async fn hello() -> Rc<dyn Store> {
    site(&[("/hi", "Hello World!")]).await
}

/// A store whose `/slow` waits until it is told to go on, and that knows what happened to it.
#[derive(Default)]
struct Gate {
    entered: Notify,
    open: Notify,
    waiting: Cell<usize>,
}

impl Gate {
    fn store(self: &Rc<Self>) -> Rc<dyn Store> {
        let gate = self.clone();
        Rc::new(Fake::get(move |reference, _| {
            if reference.path() != "/slow" {
                return Answer::ok(Some(Content::text(reference.path())));
            }
            let gate = gate.clone();
            Answer::later(async move {
                let _waiting = Waiting::new(gate.clone());
                gate.entered.notify_one();
                gate.open.notified().await;
                Ok(Some(Content::text("slow")))
            })
        }))
    }
}

/// Counts what is under way, however it ends.
struct Waiting(Rc<Gate>);

impl Waiting {
    fn new(gate: Rc<Gate>) -> Self {
        gate.waiting.set(gate.waiting.get() + 1);
        Waiting(gate)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

/// Waits until something holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[test]
fn one_connection_serves_many_requests() {
    run(async {
        let server = start(hello().await).await;
        let mut peer = Peer::connect(&server).await;
        for _ in 0..100 {
            peer.send(HI).await;
            assert_eq!(peer.receive().await.text(), "Hello World!");
        }
        assert_eq!(server.connections(), 1);
        drop(peer);
        until("the connection is forgotten", || server.connections() == 0).await;
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    run(async {
        let gate = Rc::new(Gate::default());
        let server = start(gate.store()).await;
        let mut peer = Peer::connect(&server).await;
        let mut requests = "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n".to_string();
        for number in 0..200 {
            requests.push_str(&format!("GET /{number} HTTP/1.1\r\nHost: t\r\n\r\n"));
        }
        peer.send(requests).await;
        soon("the first request", gate.entered.notified()).await;
        gate.open.notify_one();
        assert_eq!(peer.receive().await.text(), "slow");
        for number in 0..200 {
            assert_eq!(peer.receive().await.text(), format!("/{number}"));
        }
    });
}

#[test]
fn old_clients_are_served() {
    run(async {
        let server = start(hello().await).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /hi HTTP/1.0\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "Hello World!");
        assert!(peer.is_closed().await);
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /hi HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
        assert_eq!(peer.receive().await.header("connection"), Some("keep-alive"));
        peer.send("GET /hi HTTP/1.0\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 200);
    });
}

#[test]
fn a_later_minor_version_is_answered_as_http11() {
    run(async {
        let server = start(hello().await).await;
        let mut peer = Peer::connect(&server).await;
        for _ in 0..2 {
            for part in ["GET /hi HTTP/1.2", "\r\nHost: t\r", "\n\r\n"] {
                peer.send(part).await;
                tokio::task::yield_now().await;
            }
            let response = peer.receive().await;
            assert!(response.head.starts_with("HTTP/1.1 200 "), "{}", response.head);
        }
        peer.send("GET /hi HTTP/2.0\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 505);
    });
}

#[test]
fn trace_is_not_allowed_and_what_is_unknown_not_implemented() {
    run(async {
        let server = start(hello().await).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("TRACE /hi HTTP/1.1\r\nHost: t\r\nCookie: s=secret\r\n\r\n").await;
        let response = peer.receive().await;
        assert_eq!(response.status, 405);
        assert!(response.header("allow").is_some_and(|methods| methods.contains("GET")));
        assert!(!response.text().contains("secret"));
        peer.send("BREW /hi HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 501);
    });
}

#[test]
fn malformed_requests_end_their_connection() {
    run(async {
        let server = start(hello().await).await;
        for (request, status) in [
            ("GET /hi HTTP/1.1\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost: u@b\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost:\r\n\r\n", 400),
            ("GET http://u@b/hi HTTP/1.1\r\nHost: b\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nNoColon\r\nHost: t\r\n\r\n", 400),
            ("GET /hi HTTP/1.1\r\nHost: t\r\nX: a\0b\r\n\r\n", 400),
            ("G@T /hi HTTP/1.1\r\nHost: t\r\n\r\n", 400),
            ("GET /h i HTTP/1.1\r\nHost: t\r\n\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            (
                "POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\
                 Transfer-Encoding: chunked\r\n\r\n",
                400,
            ),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1;a\rb\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1;a\0\r\n", 400),
            ("POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\n", 400),
            (
                "POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad\r\n\r\n",
                400,
            ),
            (
                "POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffff\r\n",
                413,
            ),
            (
                "POST /hi HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
                413,
            ),
            ("PUT /hi HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nExpect: magic\r\n\r\n", 417),
        ] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("{request}{HI}")).await;
            let response = peer.receive().await;
            assert_eq!(response.status, status, "{request:?}");
            assert!(peer.is_closed().await, "{request:?}");
        }
        for (target, status) in [("/%zz", 400), ("/%00", 400), ("/%ff", 400), ("*", 400)] {
            assert_eq!(get(&server, target).await.status, status, "{target}");
        }
        assert_eq!(get(&server, "/x/../%2e%2e/hi").await.text(), "Hello World!");
    });
}

#[test]
fn large_heads_are_refused() {
    run(async {
        let server = start(hello().await).await;
        let line = |size: usize| format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "a".repeat(size));
        assert_eq!(ask(&server, &line(8000)).await.status, 404);
        assert_eq!(ask(&server, &line(9000)).await.status, 414);
        let head =
            |size: usize| HI.replace("\r\n\r\n", &format!("\r\nX: {}\r\n\r\n", "a".repeat(size)));
        assert_eq!(ask(&server, &head(30_000)).await.status, 200);
        assert_eq!(ask(&server, &head(100_000)).await.status, 431);
        let fields =
            |count: usize| HI.replace("\r\n\r\n", &format!("\r\n{}\r\n", "X: y\r\n".repeat(count)));
        assert_eq!(ask(&server, &fields(99)).await.status, 200);
        assert_eq!(ask(&server, &fields(101)).await.status, 431);
        let limits = Limits { header_fields: 3, ..Limits::default() };
        let server = start_with(hello().await, limits).await;
        assert_eq!(ask(&server, &fields(2)).await.status, 200);
        assert_eq!(ask(&server, &fields(3)).await.status, 431);
    });
}

#[test]
fn slow_heads_are_timed_out_and_idle_connections_closed() {
    run(async {
        let time = Duration::from_millis(50);
        let limits = Limits { header_time: time, keep_alive: time, ..Limits::default() };
        let server = start_with(hello().await, limits).await;
        let mut silent = Peer::connect(&server).await;
        assert!(silent.is_closed().await);
        let mut half = Peer::connect(&server).await;
        half.send("GET /hi HTT").await;
        let response = half.receive().await;
        assert_eq!((response.status, response.header("connection")), (408, Some("close")));
        assert!(half.is_closed().await);
        let mut idle = Peer::connect(&server).await;
        idle.send(HI).await;
        assert_eq!(idle.receive().await.status, 200);
        assert!(idle.is_closed().await);
        let mut later = Peer::connect(&server).await;
        later.send(HI).await;
        assert_eq!(later.receive().await.status, 200);
        later.send("GET /h").await;
        assert_eq!(later.receive().await.status, 408);
        until("all connections are forgotten", || server.connections() == 0).await;
    });
}

#[test]
fn a_store_that_takes_too_long_is_given_up() {
    run(async {
        let gate = Rc::new(Gate::default());
        let limits = Limits { request_time: Duration::from_millis(50), ..Limits::default() };
        let server = start_with(gate.store(), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 504);
        assert_eq!(gate.waiting.get(), 0);
        peer.send("GET /next HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "/next");
    });
}

#[test]
fn a_deadline_is_passed_on() {
    run(async {
        let seen = Rc::new(RefCell::new(None));
        let seen_by_store = seen.clone();
        let store = Fake::get(move |_, context| {
            *seen_by_store.borrow_mut() = context.deadline;
            Answer::ok(None)
        });
        let before = std::time::Instant::now();
        let server = start(Rc::new(store)).await;
        get(&server, "/").await;
        assert!(seen.borrow().unwrap() >= before + Limits::default().request_time);
    });
}

#[test]
fn a_client_that_goes_away_cancels_its_request() {
    run(async {
        let gate = Rc::new(Gate::default());
        let server = start(gate.store()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the request", gate.entered.notified()).await;
        assert_eq!(gate.waiting.get(), 1);
        drop(peer);
        until("the request is cancelled", || gate.waiting.get() == 0).await;
    });
}

#[test]
fn a_slow_store_holds_nobody_up() {
    run(async {
        let gate = Rc::new(Gate::default());
        let server = start(gate.store()).await;
        let mut slow = Peer::connect(&server).await;
        slow.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the request", gate.entered.notified()).await;
        for _ in 0..10 {
            assert_eq!(get(&server, "/fast").await.text(), "/fast");
        }
        gate.open.notify_one();
        assert_eq!(slow.receive().await.text(), "slow");
    });
}

/// Starts a stop and lets it reach the connections.
async fn begin_stop(server: &Rc<HttpServer>, patience: Duration) -> tokio::task::JoinHandle<bool> {
    let stopped = server.clone();
    let stop = tokio::task::spawn_local(async move { stopped.stop(patience).await });
    // The connections are told once the socket is closed.
    tokio::task::yield_now().await;
    while tokio::net::TcpStream::connect(server.address()).await.is_ok() {}
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    stop
}

#[test]
fn a_graceful_stop_finishes_what_is_under_way() {
    run(async {
        let gate = Rc::new(Gate::default());
        let server = Rc::new(start(gate.store()).await);
        let mut fresh = Peer::connect(&server).await;
        let mut idle = Peer::connect(&server).await;
        idle.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n").await;
        idle.receive().await;
        let mut busy = Peer::connect(&server).await;
        busy.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the request", gate.entered.notified()).await;
        let stop = begin_stop(&server, Duration::from_secs(60)).await;
        assert!(tokio::net::TcpStream::connect(server.address()).await.is_err());
        assert!(fresh.is_closed().await);
        assert!(idle.is_closed().await);
        gate.open.notify_one();
        let response = busy.receive().await;
        assert_eq!((response.text(), response.header("connection")), ("slow", Some("close")));
        assert!(busy.is_closed().await);
        assert!(soon("the stop", stop).await.unwrap());
        assert!(tokio::net::TcpStream::connect(server.address()).await.is_err());
    });
}

#[test]
fn a_connection_is_told_before_it_is_closed() {
    run(async {
        let limits = Limits { drain_time: Duration::from_secs(60), ..Limits::default() };
        let server = Rc::new(start_with(hello().await, limits).await);
        let mut kept = Peer::connect(&server).await;
        kept.send("GET /hi HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(kept.receive().await.header("connection"), None);
        let mut head = Peer::connect(&server).await;
        head.send("GET /hi HTTP/1.1\r\nHo").await;
        let stop = begin_stop(&server, Duration::from_secs(60)).await;
        for (peer, rest) in [(&mut kept, "GET /hi HTTP/1.1\r\nHo"), (&mut head, "")] {
            peer.send([rest, "st: t\r\n\r\n"].concat()).await;
            let response = peer.receive().await;
            assert_eq!((response.status, response.header("connection")), (200, Some("close")));
            assert!(peer.is_closed().await);
        }
        assert!(soon("the stop", stop).await.unwrap());
    });
}

#[test]
fn an_answer_whose_head_has_left_is_followed_by_another() {
    run(async {
        let (send, pieces) = tokio::sync::mpsc::unbounded_channel();
        let pieces = Cell::new(Some(pieces));
        let store = Fake::get(move |_, _| {
            let stream = stream::unfold(pieces.take(), |pieces| async {
                let mut pieces: tokio::sync::mpsc::UnboundedReceiver<Bytes> = pieces?;
                Some((Ok(pieces.recv().await?), Some(pieces)))
            });
            let body = Body::Stream(Box::pin(stream), None);
            Answer::ok(Some(Content { body, ..Content::default() }))
        });
        let server = Rc::new(start(Rc::new(store)).await);
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /long HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive_head().await.header("connection"), None);
        let stop = begin_stop(&server, Duration::from_secs(60)).await;
        send.send(Bytes::from("x")).unwrap();
        assert_eq!(peer.chunk().await.unwrap(), b"x");
        drop(send);
        assert_eq!(peer.chunk().await, None);
        // The client was not told, so it may ask once more.
        peer.send("GET /long HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.header("connection"), Some("close"));
        assert!(soon("the stop", stop).await.unwrap());
    });
}

#[test]
fn a_stop_without_patience_cuts() {
    run(async {
        let gate = Rc::new(Gate::default());
        let server = Rc::new(start(gate.store()).await);
        let mut busy = Peer::connect(&server).await;
        busy.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the request", gate.entered.notified()).await;
        let stop = begin_stop(&server, Duration::from_millis(20)).await;
        assert!(!soon("the stop", stop).await.unwrap());
        assert_eq!(gate.waiting.get(), 0);
        assert!(busy.is_closed().await);
    });
}

#[test]
fn a_dropped_server_is_gone() {
    run(async {
        let server = start(hello().await).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(HI).await;
        peer.receive().await;
        let address = server.address();
        drop(server);
        assert!(peer.is_closed().await);
        soon("the port is free", async {
            while tokio::net::TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}

#[test]
fn connections_beyond_the_limit_wait() {
    run(async {
        let limits = Limits { connections: 2, ..Limits::default() };
        let gate = Rc::new(Gate::default());
        let server = start_with(gate.store(), limits).await;
        let mut first = Peer::connect(&server).await;
        let mut second = Peer::connect(&server).await;
        for peer in [&mut first, &mut second] {
            peer.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
            soon("the request", gate.entered.notified()).await;
        }
        let mut third = Peer::connect(&server).await;
        third.send(HI).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.connections(), 2);
        drop(first);
        assert_eq!(third.receive().await.status, 200);
        assert_eq!(server.connections(), 2);
        gate.open.notify_one();
        assert_eq!(second.receive().await.status, 200);
    });
}

#[test]
fn a_socket_that_listens_already_can_be_handed_over() {
    run(async {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let options = runnel_http::ServerOptions::default();
        let server = runnel_http::serve_on(socket, hello().await, options).await.unwrap();
        assert_eq!(server.address(), address);
        assert_eq!(get(&server, "/hi").await.status, 200);
    });
}

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn rubbish_harms_nobody() {
    run(async {
        let limits = Limits {
            header_time: Duration::from_millis(20),
            body_idle: Duration::from_millis(20),
            keep_alive: Duration::from_millis(20),
            ..Limits::default()
        };
        let server = start_with(hello().await, limits).await;
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let valid =
            b"PUT /hi?x=%20#y HTTP/1.1\r\nHost: t.example:80\r\nContent-Type: a/b; charset=c\r\n\
            Transfer-Encoding: chunked\r\nIf-None-Match: W/\"a\", *\r\nConnection: close\r\n\r\n\
            5;x=y\r\nhello\r\n0\r\nTrailer: z\r\n\r\n";
        for _ in 0..400 {
            let mut request = valid.to_vec();
            for _ in 0..=numbers.below(6) {
                let at = numbers.below(request.len());
                match numbers.below(4) {
                    0 => request[at] = numbers.below(256) as u8,
                    1 => request.insert(at, b"\0\r\n %/:;\"\xff"[numbers.below(10)]),
                    2 => drop(request.remove(at)),
                    _ => request.truncate(at.max(1)),
                }
            }
            let mut peer = Peer::connect(&server).await;
            peer.send(&request).await;
            if numbers.below(2) == 0 {
                peer.rest().await;
            }
        }
        assert_eq!(get(&server, "/other").await.status, 404);
        until("all connections are forgotten", || server.connections() == 0).await;
    });
}

#[test]
fn a_connection_that_has_rested_goes_on() {
    run(async {
        let server = start(hello().await).await;
        let ask = "GET /hi HTTP/1.1\r\nHost: t\r\n\r\n";
        let mut peers = Vec::new();
        for _ in 0..6 {
            let mut peer = Peer::connect(&server).await;
            peer.send(ask).await;
            assert_eq!(peer.receive().await.status, 200);
            peers.push(peer);
        }
        // A head of which one half comes with the request before, and the other one late.
        peers[0].send([ask, "GET /hi HT"].concat()).await;
        assert_eq!(peers[0].receive().await.status, 200);
        peers[1].send("\r\n").await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let [half, blank, one, many, http2, bad] = &mut peers[..] else { panic!("six") };
        half.send("TP/1.1\r\nHost: t\r\n\r\n").await;
        one.send(ask).await;
        many.send([ask, ask, ask].concat()).await;
        // The protocol is chosen at the beginning of a connection, not later.
        http2.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        bad.send([ask, "GET /hi HTTP/1.1\r\nHost: t\n\r\n"].concat()).await;
        for peer in [half, one, &mut *many, &mut *bad] {
            assert_eq!(peer.receive().await.status, 200);
        }
        for _ in 0..2 {
            assert_eq!(many.receive().await.status, 200);
        }
        blank.send(ask).await;
        assert_eq!(blank.receive().await.status, 200);
        assert_eq!(http2.receive().await.status, 505);
        assert!(http2.is_closed().await);
        assert_eq!(bad.receive().await.status, 400);
        assert!(bad.is_closed().await);
    });
}
