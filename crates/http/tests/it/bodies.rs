//! Bodies in both directions: collected, streamed, refused, and held back.

use crate::helper::{Fake, Peer, get, run, send, soon, start, start_with};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_http::Limits;
use runnel_store::{Answer, Body, Content, Error, Kind, Store, Verb, Verbs};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// What a store was sent: its kind, its length, and how many bytes came.
type Seen = Rc<RefCell<Vec<String>>>;

/// A store that notes what is put, reading streams to their end.
fn noting(seen: &Seen) -> Rc<dyn Store> {
    let seen = seen.clone();
    Rc::new(Fake::default().put(move |_, content, _| {
        let seen = seen.clone();
        Answer::later(async move {
            let kind = content.media_type.unwrap_or_default();
            let note = match content.body {
                Body::Text(text) => format!("text {} {kind}", text.len()),
                Body::Bytes(bytes) => format!("bytes {} {kind}", bytes.len()),
                Body::Stream(mut stream, length) => {
                    let mut count = 0;
                    while let Some(piece) = stream.next().await {
                        count += piece?.len();
                    }
                    format!("stream {length:?} {count} {kind}")
                }
                _ => "other".to_string(),
            };
            seen.borrow_mut().push(note);
            Ok(true)
        })
    }))
}

#[test]
fn small_bodies_are_collected_and_large_ones_streamed() {
    run(async {
        let seen = Seen::default();
        let server = start(noting(&seen)).await;
        let binary = "Content-Type: image/png\r\n";
        assert_eq!(send(&server, "PUT", "/", "", "text").await.status, 201);
        assert_eq!(send(&server, "PUT", "/", binary, "png").await.status, 201);
        assert_eq!(send(&server, "PUT", "/", "", &"a".repeat(65_536)).await.status, 201);
        assert_eq!(send(&server, "PUT", "/", "", &"a".repeat(65_537)).await.status, 201);
        let chunk = "8000\r\n".to_string() + &"c".repeat(0x8000) + "\r\n";
        for (count, end) in [(1, "0\r\n\r\n"), (10, "0\r\nX-Trailer: 1\r\n\r\n")] {
            let mut peer = Peer::connect(&server).await;
            peer.send("PUT / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            peer.send(chunk.repeat(count) + end).await;
            assert_eq!(peer.receive().await.status, 201);
        }
        assert_eq!(
            *seen.borrow(),
            [
                "bytes 4 ",
                "bytes 3 image/png",
                "bytes 65536 ",
                "stream Some(65537) 65537 ",
                "bytes 32768 ",
                "stream None 327680 ",
            ]
        );
    });
}

#[test]
fn bodies_beyond_the_limit_are_refused() {
    run(async {
        let seen = Seen::default();
        let limits = Limits { body: 100_000, ..Limits::default() };
        let server = start_with(noting(&seen), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 100001\r\n\r\n").await;
        let response = peer.receive().await;
        assert_eq!((response.status, response.header("connection")), (413, Some("close")));
        // What is still sent is read for a while, so that the answer is not lost.
        peer.send("a".repeat(100_001)).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let chunk = "8000\r\n".to_string() + &"c".repeat(0x8000) + "\r\n";
        peer.send(chunk.repeat(10)).await;
        assert_eq!(peer.receive().await.status, 413);
        assert!(peer.is_closed().await);
        assert!(seen.borrow().is_empty());
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        let server = start(noting(&seen)).await;
        assert_eq!(send(&server, "PUT", "/", form, &"a".repeat(1_100_000)).await.status, 201);
        assert_eq!(send(&server, "PUT", "/", form, &"a".repeat(200_000)).await.status, 201);
        // A form beyond its limit is like any other body, until a program asks for its fields.
        let usual = "application/x-www-form-urlencoded";
        let notes =
            [format!("stream Some(1100000) 1100000 {usual}"), format!("text 200000 {usual}")];
        assert_eq!(*seen.borrow(), notes);
    });
}

#[test]
fn bodies_that_stop_coming_are_timed_out() {
    run(async {
        let seen = Seen::default();
        let limits = Limits { body_idle: Duration::from_millis(50), ..Limits::default() };
        let server = start_with(noting(&seen), limits).await;
        for length in [10, 100_000] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\nabc"))
                .await;
            let response = peer.receive().await;
            assert_eq!((response.status, response.header("connection")), (408, Some("close")));
        }
        assert!(seen.borrow().is_empty());
    });
}

#[test]
fn a_body_that_breaks_off_reaches_no_store_as_a_whole() {
    run(async {
        let seen = Seen::default();
        let server = start(noting(&seen)).await;
        for length in [10, 100_000] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\nabc"))
                .await;
            drop(peer);
        }
        soon("both connections end", async {
            while server.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert!(seen.borrow().is_empty());
    });
}

#[test]
fn a_body_is_asked_for_only_when_it_is_wanted() {
    run(async {
        let seen = Seen::default();
        let server = start(noting(&seen)).await;
        let expecting =
            "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
        let mut peer = Peer::connect(&server).await;
        peer.send(expecting).await;
        assert_eq!(peer.receive().await.status, 100);
        peer.send("hello").await;
        assert_eq!(peer.receive().await.status, 201);
        let reader = Fake::default().only(Verbs::NONE.with(Verb::Get));
        let server = start(Rc::new(reader)).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(expecting).await;
        assert_eq!(peer.receive().await.status, 405);
    });
}

#[test]
fn streams_leave_in_chunks_or_with_their_length() {
    run(async {
        let server = start(Rc::new(Fake::get(|reference, _| {
            let pieces =
                ["one ", "two ", "three"].map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
            let length = (reference.path() == "/known").then_some(13);
            let body = Body::Stream(Box::pin(stream::iter(pieces)), length);
            Answer::ok(Some(Content { body, ..Content::default() }.with_media_type("text/plain")))
        })))
        .await;
        let known = get(&server, "/known").await;
        assert_eq!((known.text(), known.header("content-length")), ("one two three", Some("13")));
        let mut peer = Peer::connect(&server).await;
        for _ in 0..2 {
            peer.send("GET /unknown HTTP/1.1\r\nHost: t\r\n\r\n").await;
            let response = peer.receive().await;
            assert_eq!(response.header("transfer-encoding"), Some("chunked"));
            assert_eq!(response.text(), "one two three");
        }
        peer.send("HEAD /unknown HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive_head().await.status, 200);
        peer.send("GET /unknown HTTP/1.0\r\n\r\n").await;
        let old = peer.receive().await;
        assert_eq!((old.header("transfer-encoding"), old.text()), (None, "one two three"));
    });
}

#[test]
fn a_stream_that_fails_looks_broken() {
    run(async {
        for panics in [false, true] {
            let server = start(Rc::new(Fake::get(move |_, _| {
                let pieces = stream::iter(0..2).map(move |number| match number {
                    0 => Ok(Bytes::from_static(b"part")),
                    _ if panics => panic!("the stream panics"),
                    _ => Err(Error::new(Kind::Failed, "the stream fails")),
                });
                let body = Body::Stream(Box::pin(pieces), None);
                Answer::ok(Some(Content { body, ..Content::default() }))
            })))
            .await;
            let mut peer = Peer::connect(&server).await;
            peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
            let all = peer.rest().await;
            assert!(all.contains("part") && !all.contains("\r\n0\r\n"), "{all}");
        }
    });
}

#[test]
fn a_slow_reader_holds_its_stream_back() {
    run(async {
        const PIECE: usize = 64 * 1024;
        const PIECES: usize = 1024;
        let made = Rc::new(Cell::new(0));
        let made_by_store = made.clone();
        let server = start(Rc::new(Fake::get(move |_, _| {
            let made = made_by_store.clone();
            let pieces = stream::iter(0..PIECES).map(move |_| {
                made.set(made.get() + 1);
                Ok(Bytes::from(vec![b'x'; PIECE]))
            });
            let body = Body::Stream(Box::pin(pieces), Some((PIECE * PIECES) as u64));
            Answer::ok(Some(Content { body, ..Content::default() }))
        })))
        .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        // The server fills the buffers of the system, then waits: no more pieces are made.
        let mut before = usize::MAX;
        soon("the stream comes to rest", async {
            while made.get() == 0 || made.get() != before {
                before = made.get();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        assert!(made.get() < PIECES / 2, "{} pieces were made for nobody", made.get());
        assert_eq!(peer.receive().await.body.len(), PIECE * PIECES);
        assert_eq!(made.get(), PIECES);
    });
}

#[test]
fn a_client_that_takes_nothing_is_cut() {
    run(async {
        let limits = Limits { write_idle: Duration::from_millis(50), ..Limits::default() };
        let server = start_with(
            Rc::new(Fake::get(|_, _| {
                let pieces = stream::repeat_with(|| Ok(Bytes::from(vec![b'x'; 64 * 1024])));
                let body = Body::Stream(Box::pin(pieces), None);
                Answer::ok(Some(Content { body, ..Content::default() }))
            })),
            limits,
        )
        .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the connection is cut", async {
            while server.connections() == 0 {
                tokio::task::yield_now().await;
            }
            while server.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    });
}

#[test]
fn an_upload_may_take_longer_than_a_request() {
    run(async {
        let seen = Seen::default();
        let limits = Limits { request_time: Duration::from_millis(100), ..Limits::default() };
        let server = start_with(noting(&seen), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n").await;
        for _ in 0..10 {
            peer.send("a".repeat(10_000)).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        assert_eq!(peer.receive().await.status, 201);
        assert_eq!(*seen.borrow(), ["stream Some(100000) 100000 "]);
    });
}
