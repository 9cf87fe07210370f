//! Where one message of HTTP/1.1 ends and the next one begins.

use crate::helper::{Fake, Peer, run, start, start_with};
use futures_util::{StreamExt, stream};
use runnel_http::Limits;
use runnel_store::{Answer, Body, Content, Outcome, Store, Verb, Verbs};
use std::rc::Rc;
use std::time::Duration;

const NEXT: &str = "GET /next HTTP/1.1\r\nHost: t\r\n\r\n";

/// Answers its path; a put answers nothing, but reads all; a post sends back what comes, as it comes.
fn store() -> Rc<dyn Store> {
    let store = Fake::get(|reference, _| {
        let path = reference.path().to_string();
        if let Some(length) = path.strip_prefix("/short/").and_then(|text| text.parse().ok()) {
            let pieces = stream::iter([Ok("abc".into()), Ok("def".into())]);
            let body = Body::Stream(Box::pin(pieces), Some(length));
            return Answer::ok(Some(Content { body, ..Content::default() }));
        }
        if path == "/stream" {
            let pieces = stream::iter([Ok("abc".into()), Ok("def".into())]);
            let body = Body::Stream(Box::pin(pieces), None);
            return Answer::ok(Some(Content { body, ..Content::default() }));
        }
        Answer::ok(Some(Content::text(path)))
    });
    Rc::new(
        store
            .put(|_, content, _| {
                Answer::later(async move {
                    if let Body::Stream(mut stream, _) = content.body {
                        while let Some(piece) = stream.next().await {
                            piece?;
                        }
                    }
                    Ok(true)
                })
            })
            .post(|_, content, _| Answer::ok(Outcome::changed().with_content(content))),
    )
}

#[test]
fn content_that_nobody_reads_is_passed_over() {
    run(async {
        let server = start(store()).await;
        let mut peer = Peer::connect(&server).await;
        for (fields, content) in [
            ("Content-Length: 5\r\n", "hello"),
            ("Transfer-Encoding: chunked\r\n", "5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n"),
        ] {
            // It comes later than the answer goes.
            peer.send(format!("GET /first HTTP/1.1\r\nHost: t\r\n{fields}\r\n")).await;
            assert_eq!(peer.receive().await.text(), "/first");
            for half in [&content[..3], &content[3..]] {
                peer.send(half).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            peer.send(NEXT).await;
            assert_eq!(peer.receive().await.text(), "/next", "{fields}");
            // It comes at once, with what follows it.
            let head = format!("GET /first HTTP/1.1\r\nHost: t\r\n{fields}\r\n");
            peer.send([&head, content, NEXT].concat()).await;
            assert_eq!(peer.receive().await.text(), "/first");
            assert_eq!(peer.receive().await.text(), "/next");
        }
    });
}

#[test]
fn much_of_it_ends_the_connection() {
    run(async {
        let server = start(store()).await;
        for (fields, content) in [
            ("Content-Length: 1000000\r\n", "a".repeat(100_000)),
            ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n".repeat(20_000)),
            ("Transfer-Encoding: chunked\r\n", "this is no length\r\n".to_string()),
        ] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("GET /first HTTP/1.1\r\nHost: t\r\n{fields}\r\n{content}")).await;
            assert_eq!(peer.receive().await.text(), "/first");
            assert!(peer.is_closed().await, "{fields}");
        }
    });
}

#[test]
fn content_that_never_comes_ends_it_too() {
    run(async {
        let time = Duration::from_millis(50);
        let limits = Limits { header_time: time, keep_alive: time, ..Limits::default() };
        let server = start_with(store(), limits).await;
        let head = "GET /first HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n";
        let mut silent = Peer::connect(&server).await;
        silent.send(head).await;
        assert_eq!(silent.receive().await.text(), "/first");
        assert!(silent.is_closed().await);
        let mut slow = Peer::connect(&server).await;
        slow.send(head).await;
        assert_eq!(slow.receive().await.text(), "/first");
        slow.send("a").await;
        assert_eq!(slow.receive().await.status, 408);
        assert!(slow.is_closed().await);
    });
}

#[test]
fn who_waits_for_a_word_is_told_that_none_comes() {
    run(async {
        let store = Fake::default().only(Verbs::NONE.with(Verb::Get));
        let server = start(Rc::new(store)).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
            .await;
        let response = peer.receive().await;
        assert_eq!((response.status, response.header("connection")), (405, Some("close")));
        assert!(peer.is_closed().await);
    });
}

#[test]
fn a_message_may_come_in_any_pieces() {
    run(async {
        let server = start(store()).await;
        let messages = [
            "\r\nPUT /a HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello",
            "POST /b HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "\r\n\r\n",
            NEXT,
        ]
        .concat();
        for size in [1, 7, 50, messages.len()] {
            let mut peer = Peer::connect(&server).await;
            for piece in messages.as_bytes().chunks(size) {
                peer.send(piece).await;
                if size < 50 {
                    tokio::task::yield_now().await;
                }
            }
            assert_eq!(peer.receive().await.status, 201, "{size}");
            assert_eq!(peer.receive().await.text(), "hello", "{size}");
            assert_eq!(peer.receive().await.text(), "/next", "{size}");
        }
        let mut peer = Peer::connect(&server).await;
        peer.send(["\n", NEXT].concat()).await;
        assert_eq!(peer.receive().await.status, 400);
        assert!(peer.is_closed().await);
    });
}

#[test]
fn content_that_the_client_ends_too_early_is_told() {
    run(async {
        let server = start(store()).await;
        for fields in ["Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\n{fields}\r\n5\r\nhe")).await;
            tokio::io::AsyncWriteExt::shutdown(&mut peer.stream).await.unwrap();
            assert_eq!(peer.receive().await.status, 400, "{fields}");
            assert!(peer.is_closed().await, "{fields}");
        }
    });
}

#[test]
fn an_answer_can_be_made_of_content_that_still_comes() {
    run(async {
        let server = start(store()).await;
        let mut peer = Peer::connect(&server).await;
        let head = "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
        let first = "a".repeat(70_000);
        peer.send(format!("{head}{:x}\r\n{first}\r\n", first.len())).await;
        let head = "transfer-encoding: chunked\r\n";
        let mut back = 0;
        let mut seen = peer.head().await;
        assert!(seen.contains(head), "{seen}");
        while back < first.len() {
            back += peer.chunk().await.unwrap().len();
        }
        for text in ["one", "two"] {
            peer.send(format!("3\r\n{text}\r\n")).await;
            assert_eq!(peer.chunk().await.unwrap(), text.as_bytes());
        }
        peer.send(["0\r\n\r\n", NEXT].concat()).await;
        assert_eq!(peer.chunk().await, None);
        seen = peer.receive().await.text().to_string();
        assert_eq!(seen, "/next");
    });
}

#[test]
fn answers_end_as_their_client_understands() {
    run(async {
        let server = start(store()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
        let response = peer.receive().await;
        assert_eq!((response.text(), response.header("connection")), ("abcdef", Some("close")));
        let mut peer = Peer::connect(&server).await;
        peer.send("HEAD /stream HTTP/1.1\r\nHost: t\r\n\r\n").await;
        let head = peer.receive_head().await;
        assert_eq!(head.header("transfer-encoding"), Some("chunked"));
        peer.send(["GET /stream HTTP/1.1\r\nHost: t\r\n\r\n", NEXT].concat()).await;
        assert_eq!(peer.receive().await.text(), "abcdef");
        assert_eq!(peer.receive().await.text(), "/next");
        peer.send("HEAD /short/6 HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive_head().await.header("content-length"), Some("6"));
        peer.send("GET /short/6 HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "abcdef");
    });
}

#[test]
fn an_answer_of_another_length_than_was_said_is_not_whole() {
    run(async {
        let server = start(store()).await;
        for (said, sent) in [(9, "abcdef"), (4, "abc")] {
            let mut peer = Peer::connect(&server).await;
            peer.send([&format!("GET /short/{said} HTTP/1.1\r\nHost: t\r\n\r\n"), NEXT].concat())
                .await;
            let rest = peer.rest().await;
            let (_, content) = rest.split_once("\r\n\r\n").unwrap();
            assert!(sent.starts_with(content), "{rest}");
        }
    });
}

#[test]
fn a_connection_is_idle_after_a_request_that_took_too_long() {
    run(async {
        let time = Duration::from_millis(50);
        let limits = Limits { request_time: time, keep_alive: time, ..Limits::default() };
        let never = Fake::get(|_, _| Answer::later(std::future::pending()));
        let server = start_with(Rc::new(never), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(NEXT).await;
        assert_eq!(peer.receive().await.status, 504);
        assert!(peer.is_closed().await);
    });
}
