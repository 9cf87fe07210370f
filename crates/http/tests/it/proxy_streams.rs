//! The reverse proxy and what lasts: uploads, event streams, upgraded connections.

use crate::helper::{Peer, run, soon};
use crate::proxy_upstream::{Act, Upstream, relay, relay_to, relay_within};
use runnel_http::{Limits, ProxyOptions};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An upstream that a test plays itself: the next connection, with its request head.
struct Stage(TcpListener);

impl Stage {
    async fn new() -> Stage {
        Stage(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn options(&self) -> ProxyOptions {
        let to = vec![format!("http://127.0.0.1:{}", self.0.local_addr().unwrap().port())];
        ProxyOptions { to, ..ProxyOptions::default() }
    }

    async fn next(&self) -> (TcpStream, String) {
        let (mut stream, _) = soon("a connection", self.0.accept()).await.unwrap();
        let head = until(&mut stream, "\r\n\r\n").await;
        (stream, head)
    }
}

/// Reads up to these bytes.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(end.as_bytes()) {
        let mut byte = [0];
        let count = soon(end, stream.read(&mut byte)).await.unwrap();
        assert_eq!(count, 1, "{}", String::from_utf8_lossy(&heard));
        heard.push(byte[0]);
    }
    String::from_utf8(heard).unwrap()
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(soon("the end", stream.read(&mut [0; 64])).await, Ok(0) | Err(_))
}

#[test]
fn pieces_pass_when_they_come() {
    run(async {
        let stage = Stage::new().await;
        let server = relay(stage.options()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
            .await;
        let (mut upstream, head) = stage.next().await;
        assert!(head.contains("transfer-encoding: chunked"));
        until(&mut upstream, "2\r\nab\r\n").await;
        upstream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await
            .unwrap();
        assert!(peer.head().await.starts_with("HTTP/1.1 200 OK"));
        for number in 0..3 {
            upstream.write_all(b"8\r\ndata: 1\n\r\n").await.unwrap();
            assert_eq!(soon("an event", peer.chunk()).await.unwrap(), b"data: 1\n");
            peer.send(format!("1\r\n{number}\r\n")).await;
            until(&mut upstream, &format!("1\r\n{number}\r\n")).await;
        }
        drop(peer);
        assert!(is_closed(&mut upstream).await);
    });
}

#[test]
fn a_client_that_breaks_off_its_upload_is_no_complete_request() {
    run(async {
        let stage = Stage::new().await;
        let server = relay(stage.options()).await;
        for start in
            ["Content-Length: 9000000\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"]
        {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\n{start}")).await;
            let (mut upstream, _) = stage.next().await;
            until(&mut upstream, "ab").await;
            drop(peer);
            let mut rest = Vec::new();
            let _ = soon("the end", upstream.read_to_end(&mut rest)).await;
            assert!(!rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
        }
    });
}

#[test]
fn a_slow_reader_stops_the_upstream() {
    run(async {
        let stage = Stage::new().await;
        let server = relay(stage.options()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        let (mut upstream, _) = stage.next().await;
        const LENGTH: usize = 256 << 20;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        upstream.write_all(head.as_bytes()).await.unwrap();
        // As much as the buffers of the system take, and no more.
        let (mut written, piece) = (0, vec![b'x'; 64 << 10]);
        while let Ok(count) =
            tokio::time::timeout(Duration::from_millis(200), upstream.write(&piece)).await
        {
            written += count.unwrap();
            assert!(written < LENGTH / 2, "{written}");
        }
    });
}

#[test]
fn event_streams_end_when_the_server_drains() {
    run(async {
        let stage = Stage::new().await;
        let server = relay(stage.options()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        let (mut upstream, _) = stage.next().await;
        upstream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            .await
            .unwrap();
        peer.head().await;
        assert_eq!(soon("an event", peer.chunk()).await.unwrap(), b"data: 1\n\n");
        let stopping =
            tokio::task::spawn_local(async move { server.stop(Duration::from_secs(20)).await });
        assert_eq!(soon("the end", peer.chunk()).await, None);
        assert!(is_closed(&mut upstream).await);
        soon("the server", stopping).await.unwrap();
    });
}

const UPGRADE: &str = "GET /socket HTTP/1.1\r\nHost: t\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const SWITCHED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\
      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nearly";

#[test]
fn an_upgraded_connection_is_a_tunnel() {
    run(async {
        let stage = Stage::new().await;
        let server = relay(stage.options()).await;
        for ends_at_client in [true, false] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("{UPGRADE}first")).await;
            let (mut upstream, head) = stage.next().await;
            assert!(
                head.contains("connection: upgrade\r\n") && head.contains("upgrade: websocket\r\n"),
                "{head}"
            );
            assert!(head.contains("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "{head}");
            upstream.write_all(SWITCHED).await.unwrap();
            let answer = peer.head().await;
            assert!(
                answer.starts_with("HTTP/1.1 101 ") && answer.contains("upgrade: websocket"),
                "{answer}"
            );
            until(&mut upstream, "first").await;
            peer.send("second").await;
            until(&mut upstream, "second").await;
            upstream.write_all(b" late").await.unwrap();
            if ends_at_client {
                peer.stream.shutdown().await.unwrap();
                assert!(is_closed(&mut upstream).await);
                drop(upstream);
                assert_eq!(peer.rest().await, "early late");
            } else {
                drop(upstream);
                assert_eq!(soon("the end", peer.rest()).await, "early late");
            }
        }
    });
}

#[test]
fn a_tunnel_ends_with_the_server_and_when_it_is_idle() {
    run(async {
        let stage = Stage::new().await;
        let short = Duration::from_millis(50);
        for idle in [short, Duration::from_secs(60)] {
            let server = relay(ProxyOptions { idle_time: idle, ..stage.options() }).await;
            let mut peer = Peer::connect(&server).await;
            peer.send(UPGRADE).await;
            let (mut upstream, _) = stage.next().await;
            upstream.write_all(SWITCHED).await.unwrap();
            peer.head().await;
            if idle == short {
                assert!(is_closed(&mut upstream).await);
            } else {
                soon("the server stops", server.stop(Duration::from_secs(20))).await;
                assert!(is_closed(&mut upstream).await);
            }
            assert_eq!(soon("the end", peer.rest()).await, "early");
        }
    });
}

#[test]
fn an_upstream_may_refuse_to_upgrade() {
    run(async {
        let upstream =
            Upstream::saying("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno").await;
        let server = relay_to(&[&upstream]).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(UPGRADE).await;
        let answer = peer.receive().await;
        assert_eq!((answer.status, answer.text()), (426, "no"));
        // HTTP/2 in a tunnel would pass the stores in front of the proxy by.
        for protocol in ["h2c", "HTTP/2.0", "TLS/1.0", "websocket, h2c"] {
            peer.send(UPGRADE.replace("websocket", protocol)).await;
            peer.receive().await;
            let seen = upstream.seen.borrow().last().unwrap().to_lowercase();
            assert!(!seen.contains("upgrade:"), "{seen}");
        }
    });
}

#[test]
fn a_large_upload_passes_and_a_too_large_one_does_not() {
    run(async {
        let stage = Stage::new().await;
        let limits = Limits { body: 8 << 20, ..Limits::default() };
        let server = relay_within(stage.options(), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 9000000\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 413);
        let mut peer = Peer::connect(&server).await;
        let length = 8 << 20;
        peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n")).await;
        let reading = tokio::task::spawn_local(async move {
            let (mut upstream, _) = stage.next().await;
            let (mut left, mut piece) = (length, vec![0; 64 << 10]);
            while left > 0 {
                left -= soon("content", upstream.read(&mut piece)).await.unwrap();
            }
            upstream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            upstream
        });
        peer.send(vec![b'x'; length]).await;
        assert_eq!(peer.receive().await.status, 201);
        drop(soon("the upstream", reading).await.unwrap());
    });
}

#[test]
fn hanging_requests_are_over_when_their_time_is() {
    run(async {
        let upstream = Upstream::start(|_| Act::Hang).await;
        let limits = Limits { request_time: Duration::from_millis(50), ..Limits::default() };
        let to = vec![upstream.address()];
        let server = relay_within(ProxyOptions { to, ..ProxyOptions::default() }, limits).await;
        assert_eq!(crate::helper::get(&server, "/").await.status, 504);
    });
}
