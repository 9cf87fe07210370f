//! Upstreams that are away, slow or broken: an answer in time without internals, and never one that
//! looks complete and is not.

use crate::helper::{Peer, get, run, send, soon};
use crate::proxy_upstream::{Act, Upstream, ask, relay, relay_to};
use runnel_http::{ProxyOptions, proxy};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// An address where nothing listens.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port())
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    soon(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

fn patient(to: Vec<String>) -> ProxyOptions {
    ProxyOptions { to, max_fails: 1000, ..ProxyOptions::default() }
}

#[test]
fn an_upstream_that_talks_nonsense_is_502() {
    run(async {
        let many = format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(200));
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(300 * 1024));
        let interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(40);
        for answer in [
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            &many,
            &long,
            &interim,
        ] {
            let upstream = Upstream::saying(answer).await;
            let server = relay(patient(vec![upstream.address()])).await;
            let mut peer = Peer::connect(&server).await;
            peer.send("GET /secret HTTP/1.1\r\nHost: t\r\n\r\n").await;
            let mut answer = peer.receive().await;
            while answer.status < 200 {
                answer = peer.receive().await;
            }
            assert_eq!(answer.status, 502, "{:.60}", answer.text());
            for internal in ["127.0.0.1", &upstream.port.to_string(), "HTTP"] {
                assert!(!answer.text().contains(internal), "{}", answer.text());
            }
            assert_eq!(upstream.seen.borrow().len(), 1);
        }
    });
}

#[test]
fn an_upstream_without_trustworthy_tls_is_refused() {
    run(async {
        // One talks nonsense, and the other one says nothing.
        for (limit, status) in [(Duration::from_secs(20), 502), (Duration::from_millis(50), 504)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let to = vec![format!("https://{}", listener.local_addr().unwrap())];
            tokio::task::spawn_local(async move {
                let mut silent = Vec::new();
                while let Ok((mut stream, _)) = listener.accept().await {
                    match status {
                        502 => drop(stream.write_all(b"HTTP/1.1 400 No\r\n\r\n").await),
                        _ => silent.push(stream),
                    }
                }
            });
            let server = relay(ProxyOptions { connect_time: limit, ..patient(to) }).await;
            assert_eq!(get(&server, "/").await.status, status);
        }
    });
}

#[test]
fn a_response_that_breaks_off_is_cut() {
    run(async {
        for (answer, start) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "hello"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                "5\r\nhello\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
                "5\r\nhello\r\n",
            ),
        ] {
            let upstream = Upstream::start(move |_| Act::Last(answer.into())).await;
            let server = relay_to(&[&upstream]).await;
            let mut peer = Peer::connect(&server).await;
            peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
            let text = soon("the end", peer.rest()).await;
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with(start), "{text}");
        }
    });
}

#[test]
fn a_silent_upstream_is_504_and_a_slow_one_is_cut() {
    run(async {
        let short = Duration::from_millis(50);
        let upstream = Upstream::start(|request| match request.starts_with("GET /half") {
            true => Act::Answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".into()),
            false => Act::Hang,
        })
        .await;
        let options = ProxyOptions {
            answer_time: short,
            idle_time: short,
            ..patient(vec![upstream.address()])
        };
        let server = relay(options).await;
        assert_eq!(get(&server, "/").await.status, 504);
        // Whether a write was done is unknown, so it is not sent again.
        assert_eq!(send(&server, "POST", "/", "", "abc").await.status, 504);
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /half HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert!(soon("the end", peer.rest()).await.ends_with("hello"));
        assert_eq!(upstream.seen.borrow().len(), 3);
        until("the connections close", || upstream.open.get() == 0).await;
    });
}

#[test]
fn what_is_idempotent_is_sent_again() {
    run(async {
        let fails = Rc::new(Cell::new(0));
        let failing = fails.clone();
        let upstream = Upstream::start(move |_| match failing.get() {
            0 => Act::Answer(HELLO.into()),
            left => {
                failing.set(left - 1);
                Act::Close
            }
        })
        .await;
        let server = relay(patient(vec![upstream.address()])).await;
        for (method, sent, status) in [
            ("GET", 2, 200),
            ("PUT", 2, 200),
            ("DELETE", 2, 200),
            ("POST", 1, 504),
            ("PATCH", 1, 504),
            ("GET", 5, 502),
        ] {
            upstream.seen.take();
            fails.set(if sent == 5 { 9 } else { 1 });
            let answer = send(&server, method, "/", "", "content").await;
            let sent = if sent == 5 { 3 } else { sent };
            assert_eq!((answer.status, upstream.seen.borrow().len()), (status, sent), "{method}");
        }
        fails.set(0);
        // A connection that was idle and has closed meanwhile says nothing about its upstream.
        let server = relay(ProxyOptions { retries: 0, ..patient(vec![upstream.address()]) }).await;
        assert_eq!(get(&server, "/").await.status, 200);
        fails.set(1);
        assert_eq!(get(&server, "/").await.status, 200);
    });
}

#[test]
fn a_request_that_was_not_sent_goes_elsewhere() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        for method in ["GET", "POST"] {
            let to = vec![nowhere().await, upstream.address(), nowhere().await];
            let server = relay(patient(to)).await;
            for _ in 0..6 {
                assert_eq!(send(&server, method, "/", "", "content").await.status, 200, "{method}");
            }
            let chunked = format!(
                "{method} / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            );
            for _ in 0..3 {
                assert_eq!(ask(&server, &chunked).await.status, 200);
            }
        }
        assert_eq!(upstream.seen.borrow().len(), 18);
    });
}

#[test]
fn without_an_upstream_each_request_is_502() {
    run(async {
        let to = vec![nowhere().await, nowhere().await];
        let server = relay(ProxyOptions { to, max_fails: 1, ..ProxyOptions::default() }).await;
        for _ in 0..3 {
            assert_eq!(get(&server, "/").await.status, 502);
        }
    });
}

#[test]
fn requests_beyond_the_connections_are_refused_in_time() {
    run(async {
        let upstream = Upstream::start(|_| Act::Hang).await;
        let options = ProxyOptions {
            connections: 1,
            pool_time: Duration::from_millis(20),
            ..patient(vec![upstream.address()])
        };
        let server = relay(options).await;
        let mut first = Peer::connect(&server).await;
        first.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        until("the first request", || upstream.seen.borrow().len() == 1).await;
        let answer = get(&server, "/").await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
        drop(first);
        // A client that has gone takes its request along.
        until("the connection closes", || upstream.open.get() == 0).await;
    });
}

#[test]
fn an_address_that_is_none_is_refused() {
    for address in
        ["", "example.org", "ftp://a", "http://", "http://u:secret@a", "http://a?q", "unix:"]
    {
        let error = proxy(patient(vec![address.to_string()])).map(drop).unwrap_err();
        assert!(error.message.starts_with("`to` of a Proxy must be addresses"), "{error}");
        assert!(!error.message.contains("secret"));
    }
}
