//! The PROXY protocol: who a load balancer speaks for, and what is closed.

use crate::helper::{Fake, Peer, get, run, soon, start_with};
use runnel_http::{AccessPolicy, HttpServer, Limits, TrustedProxy};
use runnel_store::{Answer, Content, Store};
use std::rc::Rc;
use std::time::Duration;

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

/// Answers the address of the client.
fn who() -> Rc<dyn Store> {
    Rc::new(Fake::get(|_, context| {
        Answer::ok(Some(Content::text(context.exchange.as_ref().unwrap().peer())))
    }))
}

fn behind(proxy: &str) -> Limits {
    let trusted_proxies = vec![TrustedProxy::parse(proxy).unwrap()];
    let access = AccessPolicy { trusted_proxies, proxy_protocol: true, ..AccessPolicy::default() };
    Limits { access, ..Limits::default() }
}

async fn server() -> HttpServer {
    start_with(who(), behind("127.0.0.1")).await
}

/// The client that a server sees after these bytes.
async fn seen(server: &HttpServer, bytes: impl AsRef<[u8]>) -> String {
    let mut peer = Peer::connect(server).await;
    peer.send(bytes).await;
    peer.receive().await.text().to_string()
}

#[test]
fn the_load_balancer_names_its_client() {
    run(async {
        let server = server().await;
        let line = format!("PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n{REQUEST}");
        assert_eq!(seen(&server, line).await, "203.0.113.7:4711");
        let line = format!("PROXY TCP6 2001:db8::7 ::1 4711 443\r\n{REQUEST}");
        assert_eq!(seen(&server, line).await, "[2001:db8::7]:4711");
        let mut binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x13".to_vec();
        binary.extend([203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 187, 4, 0, 4, 1, 2, 3, 4]);
        binary.extend(REQUEST.as_bytes());
        assert_eq!(seen(&server, binary).await, "203.0.113.7:4711");
        // Its own connections, as of a health check, have its own address.
        let own = [b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", REQUEST.as_bytes()].concat();
        assert!(seen(&server, own).await.starts_with("127.0.0.1:"));
    });
}

#[test]
fn a_header_may_come_in_pieces() {
    run(async {
        let server = server().await;
        let line = format!("PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n{REQUEST}");
        for cut in [1, 6, 20, 42, 44] {
            let mut peer = Peer::connect(&server).await;
            peer.stream.set_nodelay(true).unwrap();
            peer.send(&line[..cut]).await;
            // The server reads the first piece by itself.
            tokio::time::sleep(Duration::from_millis(5)).await;
            peer.send(&line[cut..]).await;
            assert_eq!(peer.receive().await.text(), "203.0.113.7:4711", "{cut}");
        }
    });
}

#[test]
fn what_begins_otherwise_is_closed() {
    run(async {
        let server = server().await;
        for bytes in
            [REQUEST, "PROXY TCP4 203.0.113.7\r\n", "PROXY TCP9 1 2 3 4\r\n", "\r\n\r\n\0x"]
        {
            let mut peer = Peer::connect(&server).await;
            peer.send(bytes).await;
            assert!(peer.is_closed().await, "{bytes}");
        }
        // Others may not say who they are.
        let line = format!("PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n{REQUEST}");
        let mut stranger = Peer::connect_from(&server, 2).await;
        stranger.send(&line).await;
        assert!(stranger.is_closed().await);
        // Without the option, the line is no request.
        let plain = start_with(who(), Limits::default()).await;
        let mut peer = Peer::connect(&plain).await;
        peer.send(&line).await;
        assert_eq!(peer.receive().await.status, 400);
        assert!(get(&plain, "/").await.text().starts_with("127.0.0.1:"));
    });
}

#[test]
fn a_header_has_the_time_of_a_head() {
    run(async {
        let header_time = Duration::from_millis(50);
        let limits = Limits { header_time, ..behind("127.0.0.1") };
        let server = start_with(who(), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PROXY TCP4 203.0.113.7 ").await;
        assert!(soon("the end", peer.is_closed()).await);
    });
}

#[test]
fn fields_count_only_where_the_client_is_a_trusted_proxy() {
    run(async {
        let server = server().await;
        let request = "GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n";
        let client = format!("PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n{request}");
        assert_eq!(seen(&server, client).await, "203.0.113.7:4711");
        let unknown = format!("PROXY UNKNOWN\r\n{request}");
        assert!(seen(&server, unknown).await.starts_with("127.0.0.1:"));
        let proxy = format!("PROXY TCP4 127.0.0.1 10.0.0.1 4711 443\r\n{request}");
        assert_eq!(seen(&server, proxy).await, "6.6.6.6");
    });
}

#[test]
fn a_client_has_its_own_number_of_connections() {
    run(async {
        let limits = Limits { client_connections: Some(1), ..behind("127.0.0.1") };
        let server = start_with(who(), limits).await;
        let line = |client: &str| format!("PROXY TCP4 {client} 10.0.0.1 4711 443\r\n{REQUEST}");
        let mut first = Peer::connect(&server).await;
        first.send(line("203.0.113.7")).await;
        assert_eq!(first.receive().await.status, 200);
        let mut second = Peer::connect(&server).await;
        second.send(line("203.0.113.7")).await;
        assert!(second.is_closed().await);
        let mut other = Peer::connect(&server).await;
        other.send(line("203.0.113.8")).await;
        assert_eq!(other.receive().await.status, 200);
        first.send(REQUEST).await;
        assert_eq!(first.receive().await.status, 200);
    });
}
