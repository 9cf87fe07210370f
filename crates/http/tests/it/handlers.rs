//! Handlers: what they see of a request, and what a client sees of their responses.

use crate::helper::{Peer, of_any_host, run, soon};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_http::{
    AccessPolicy, Handler, HandlerAnswer, HandlerRequest, HandlerResponse, HttpServer, Limits,
    ServerOptions, serve,
};
use runnel_store::{Body, Content, Context, Disk, Reference, Store};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

type Handling = Box<dyn Fn(HandlerRequest) -> HandlerAnswer>;

/// A handler made of a function.
pub(crate) struct Answers {
    handle: Handling,
    most: Option<u64>,
}

impl Handler for Answers {
    fn handle(self: Rc<Self>, request: HandlerRequest) -> HandlerAnswer {
        (self.handle)(request)
    }

    fn max_body(&self) -> Option<u64> {
        self.most
    }

    fn describe(&self) -> String {
        "a function".to_string()
    }
}

/// Serves a function with these limits.
pub(crate) async fn start_with<F>(
    limits: Limits,
    most: Option<u64>,
    handle: impl Fn(HandlerRequest) -> F + 'static,
) -> HttpServer
where
    F: Future<Output = HandlerResponse> + 'static,
{
    let handle: Handling = Box::new(move |request| Box::pin(handle(request)));
    let handler: Rc<dyn Handler> = Rc::new(Answers { handle, most });
    let address = ([127, 0, 0, 1], 0).into();
    let limits = of_any_host(limits);
    serve(handler, ServerOptions { address, limits, ..ServerOptions::default() }).await.unwrap()
}

async fn start<F>(handle: impl Fn(HandlerRequest) -> F + 'static) -> HttpServer
where
    F: Future<Output = HandlerResponse> + 'static,
{
    start_with(Limits::default(), None, handle).await
}

pub(crate) fn text(text: impl Into<String>) -> HandlerResponse {
    HandlerResponse { body: Body::Text(text.into().into()), ..HandlerResponse::default() }
}

/// The method, the target, the length of the body, its trailers or its error.
pub(crate) async fn echo(mut request: HandlerRequest) -> HandlerResponse {
    let mut body = Vec::new();
    let mut failed = String::new();
    while let Some(piece) = request.body.next().await {
        match piece {
            Ok(piece) => body.extend_from_slice(&piece),
            Err(error) => failed = format!(" {:?}", error.kind),
        }
    }
    let trailers: Vec<String> = request
        .trailers
        .borrow()
        .iter()
        .map(|(name, value)| format!(" {name}={}", value.to_str().unwrap()))
        .collect();
    let HandlerRequest { method, uri, length, .. } = request;
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    text(format!("{method} {target} {length:?} {}{}{failed}", body.len(), trailers.concat()))
}

#[test]
fn the_request_is_as_it_was_sent_and_requests_are_pipelined() {
    run(async {
        let server = start(echo).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(
            "GET /a%2Fb/../%20?x=%41&y HTTP/1.1\r\nHost: t\r\n\r\n\
             PROPFIND //c HTTP/1.1\r\nHost: t\r\nOrigin: https://b.example\r\n\r\n\
             PUT /.runnel/x HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nIf-Match: x\r\n\r\nabc\
             DELETE /d HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n",
        )
        .await;
        for expected in [
            "GET /a%2Fb/../%20?x=%41&y Some(0) 0",
            "PROPFIND //c Some(0) 0",
            "PUT /.runnel/x Some(3) 3",
            "DELETE /d Some(0) 0",
        ] {
            let response = peer.receive().await;
            assert_eq!((response.status, response.text()), (200, expected));
            assert_eq!(response.header("vary"), None);
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    });
}

#[test]
fn the_authority_of_an_absolute_target_is_the_host() {
    run(async {
        let server = start(async |request: HandlerRequest| {
            let host = request.headers["host"].to_str().unwrap().to_string();
            text(format!("{host} {} {}", request.uri.path(), request.is_secure))
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET http://a.example/x HTTP/1.1\r\nHost: b.example\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "a.example /x false");
        peer.send("CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 501);
    });
}

#[test]
fn limits_hosts_and_heads_are_the_servers() {
    run(async {
        let access =
            AccessPolicy { allowed_hosts: vec!["t".to_string()], ..AccessPolicy::default() };
        let limits = Limits { access, target: 50, ..Limits::default() };
        let server = start_with(limits, None, echo).await;
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: t\r\n\r\n", 200),
            ("GET / HTTP/1.1\r\nHost: other\r\n\r\n", 421),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: t\r\nExpect: wonders\r\n\r\n", 417),
            (&format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "a".repeat(50)), 414),
        ] {
            let mut peer = Peer::connect(&server).await;
            peer.send(request).await;
            assert_eq!(peer.receive().await.status, status, "{request}");
        }
    });
}

#[test]
fn a_body_in_chunks_ends_with_its_trailers() {
    run(async {
        let server = start(echo).await;
        let mut peer = Peer::connect(&server).await;
        let head = "PUT /a HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
        let end = "0\r\nX-Amz-Checksum-Crc32: abc=\r\nX-B: 1\r\nx-b:2\r\n\r\n";
        for _ in 0..2 {
            peer.send(format!("{head}3\r\nabc\r\n2;x=y\r\nde\r\n{end}")).await;
            let response = peer.receive().await;
            let expected = "PUT /a None 5 x-amz-checksum-crc32=abc= x-b=1 x-b=2";
            assert_eq!(response.text(), expected);
        }
        peer.send(format!("{head}1\r\na\r\n0\r\n{}\r\n", "a: b\r\n".repeat(101))).await;
        let response = peer.receive().await;
        assert!(response.text().ends_with(" Invalid"), "{}", response.text());
        assert_eq!(response.header("connection"), Some("close"));
        assert!(peer.is_closed().await);
    });
}

#[test]
fn a_refusal_before_the_body_needs_no_continue() {
    run(async {
        let server = start(async |request: HandlerRequest| match request.uri.path() {
            "/no" => HandlerResponse { status: StatusCode::FORBIDDEN, ..Default::default() },
            _ => echo(request).await,
        })
        .await;
        let head = |path| {
            format!(
                "PUT {path} HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\
                 Expect: 100-continue\r\n\r\n"
            )
        };
        let mut peer = Peer::connect(&server).await;
        peer.send(head("/yes")).await;
        assert_eq!(peer.receive().await.status, 100);
        peer.send("abc").await;
        assert_eq!(peer.receive().await.text(), "PUT /yes Some(3) 3");
        peer.send(head("/no")).await;
        let refused = peer.receive().await;
        assert_eq!((refused.status, refused.header("connection")), (403, Some("close")));
        assert!(peer.is_closed().await);
    });
}

#[test]
fn a_response_to_head_has_the_length_only() {
    run(async {
        let server = start(async |request: HandlerRequest| match request.uri.path() {
            "/given" => {
                let mut headers = HeaderMap::new();
                headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("123456789012"));
                HandlerResponse { headers, ..Default::default() }
            }
            _ => text("hello"),
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        for (path, length) in
            [("/given", "123456789012"), ("/text", "5"), ("/given", "123456789012")]
        {
            peer.send(format!("HEAD {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            let response = peer.receive_head().await;
            assert_eq!((response.status, response.header("content-length")), (200, Some(length)));
        }
        // For other methods the body decides.
        peer.send("GET /given HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.header("content-length"), Some("0"));
    });
}

#[test]
fn headers_are_sent_as_given_without_those_of_the_connection() {
    run(async {
        let server = start(async |_| {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("etag", "\"x\""),
                ("x-amz-meta-a", "1"),
                ("connection", "upgrade"),
                ("transfer-encoding", "chunked"),
                ("content-length", "99"),
                ("content-type", "application/xml"),
            ] {
                headers.append(name, HeaderValue::from_static(value));
            }
            let body = Body::Bytes(Bytes::from_static(b"<a/>"));
            HandlerResponse { status: StatusCode::CONFLICT, headers, body }
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        for _ in 0..2 {
            peer.send("GET /a HTTP/1.1\r\nHost: t\r\nIf-None-Match: \"x\"\r\n\r\n").await;
            let response = peer.receive().await;
            assert_eq!((response.status, response.text()), (409, "<a/>"));
            assert_eq!(response.header("etag"), Some("\"x\""));
            assert_eq!(response.header("x-amz-meta-a"), Some("1"));
            assert_eq!(response.header("content-type"), Some("application/xml"));
            assert_eq!(response.header("connection"), None);
            assert_eq!(response.header("transfer-encoding"), None);
            assert!(response.header("date").is_some());
        }
    });
}

#[test]
fn streams_are_sent_in_chunks_or_with_their_length_and_files_by_the_system() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let disk = Rc::new(Disk::new(folder.path()).unwrap());
        let large = "0123456789".repeat(300_000);
        let at = Reference::from_path("/large");
        let content = Content::text(large.clone());
        disk.put(&at, content, &Context::default()).await.unwrap();
        let server = start(move |request: HandlerRequest| {
            let disk = disk.clone();
            async move {
                let pieces = || stream::iter([Ok("abc".into()), Ok("de".into())]);
                let body = match request.uri.path() {
                    "/file" => {
                        let file = Reference::from_path("/large");
                        disk.get(&file, &Context::default()).await.unwrap().unwrap().body
                    }
                    "/chunks" => Body::Stream(Box::pin(pieces()), None),
                    _ => Body::Stream(Box::pin(pieces()), Some(5)),
                };
                HandlerResponse { body, ..Default::default() }
            }
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        for (path, field, value, body) in [
            ("/file", "content-length", "3000000", &*large),
            ("/chunks", "transfer-encoding", "chunked", "abcde"),
            ("/length", "content-length", "5", "abcde"),
        ] {
            peer.send(format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            let response = peer.receive().await;
            assert_eq!(response.header(field), Some(value));
            assert!(response.text() == body, "{path}");
        }
    });
}

#[test]
fn the_handler_limits_the_body() {
    run(async {
        let limits = Limits { body: 10, ..Limits::default() };
        let large = start_with(limits.clone(), Some(200_000), echo).await;
        let body = "a".repeat(150_000);
        let head = format!("PUT /a HTTP/1.1\r\nHost: t\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut peer = Peer::connect(&large).await;
        peer.send(format!("{head}{body}")).await;
        assert_eq!(peer.receive().await.text(), "PUT /a Some(150000) 150000");
        let chunked = "PUT /a HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
        peer.send(format!("{chunked}30d41\r\n")).await;
        assert_eq!(peer.receive().await.text(), "PUT /a None 0 TooLarge");
        assert!(peer.is_closed().await);
        let own = start_with(limits, None, echo).await;
        let mut peer = Peer::connect(&own).await;
        peer.send(head).await;
        assert_eq!(peer.receive().await.status, 413);
        assert!(peer.is_closed().await);
    });
}

#[test]
fn an_unread_body_is_drained_or_closes_the_connection() {
    run(async {
        let server = start(async |_| text("early")).await;
        let mut peer = Peer::connect(&server).await;
        let request = |length: usize| {
            let body = "a".repeat(length);
            format!("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n{body}")
        };
        for _ in 0..2 {
            peer.send(request(60_000)).await;
            assert_eq!(peer.receive().await.text(), "early");
        }
        peer.send(request(1_000_000)).await;
        assert_eq!(peer.receive().await.text(), "early");
        assert!(peer.is_closed().await);
    });
}

#[test]
fn a_slow_body_is_408_for_the_handler_to_say() {
    run(async {
        let limits = Limits { body_idle: Duration::from_millis(50), ..Limits::default() };
        let server = start_with(limits, None, echo).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc").await;
        let response = peer.receive().await;
        assert_eq!(response.text(), "PUT / Some(9) 3 Timeout");
        assert_eq!(response.header("connection"), Some("close"));
    });
}

#[test]
fn the_request_timeout_starts_when_the_body_is_there() {
    run(async {
        let limits = Limits { request_time: Duration::from_millis(300), ..Limits::default() };
        let server =
            start_with(limits, None, async |request: HandlerRequest| match request.uri.path() {
                "/never" => std::future::pending().await,
                _ => echo(request).await,
            })
            .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 8\r\n\r\n").await;
        for piece in ["ab", "cd", "ef", "gh"] {
            tokio::time::sleep(Duration::from_millis(150)).await;
            peer.send(piece).await;
        }
        assert_eq!(peer.receive().await.text(), "PUT / Some(8) 8");
        peer.send("GET /never HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 504);
    });
}

#[test]
fn a_large_body_may_be_made_durable_for_longer() {
    run(async {
        let limits = Limits {
            request_time: Duration::from_millis(200),
            body: 64 << 20,
            ..Limits::default()
        };
        let server = start_with(limits, None, async |request: HandlerRequest| {
            let response = echo(request).await;
            tokio::time::sleep(Duration::from_millis(600)).await;
            response
        })
        .await;
        for (size, status) in [(1 << 20, 504), (33 << 20, 200)] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: {size}\r\n\r\n")).await;
            peer.send("a".repeat(size)).await;
            assert_eq!(peer.receive().await.status, status, "{size}");
        }
    });
}

#[test]
fn a_panic_ends_one_request() {
    run(async {
        let server = start(async |request: HandlerRequest| {
            assert_ne!(request.uri.path(), "/panic", "as the test wants it");
            text("fine")
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /panic HTTP/1.1\r\nHost: t\r\n\r\nGET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 500);
        assert_eq!(peer.receive().await.text(), "fine");
    });
}

/// Bytes that a client is slow to take.
struct Endless(Rc<Cell<usize>>);

impl Stream for Endless {
    type Item = runnel_store::Result<Bytes>;

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.set(self.0.get() + 1);
        std::task::Poll::Ready(Some(Ok(Bytes::from_static(&[b'a'; 64 * 1024]))))
    }
}

#[test]
fn a_client_that_takes_nothing_holds_the_stream_back_and_one_that_goes_away_ends_it() {
    run(async {
        let (pieces, seen) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let counted = pieces.clone();
        let server = start(move |_| {
            let stream = Endless(counted.clone());
            async move {
                HandlerResponse { body: Body::Stream(Box::pin(stream), None), ..Default::default() }
            }
        })
        .await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert!(peer.head().await.contains("chunked"));
        soon("a stop", async {
            while pieces.get() != seen.replace(pieces.get()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        assert!(pieces.get() < 1000);
        drop(peer);
        soon("the end", async {
            while server.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    });
}
