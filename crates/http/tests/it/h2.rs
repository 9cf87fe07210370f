//! HTTP/2: requests at a time on one connection, its limits, and how it ends.

use crate::helper::{Fake, Peer, run, site, soon, start, start_with};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::TokioIo;
use runnel_http::{AccessPolicy, Certificate, HttpServer, Limits, ServerOptions, serve};
use runnel_store::{Answer, Body, ByteStream, Content, Form, Lazy, Outcome, Store, Value};
use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::future::Future;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;

#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

type Client = SendRequest<Full<Bytes>>;

async fn connect(server: &HttpServer) -> Client {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (client, connection) = http2::handshake(Local, TokioIo::new(stream)).await.unwrap();
    tokio::task::spawn_local(async move {
        let _ = connection.await;
    });
    client
}

fn request(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let uri = format!("http://a.example{path}");
    let builder = Request::builder().method(method).uri(uri).version(Version::HTTP_2);
    builder.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

async fn ask(client: &mut Client, path: &str) -> (StatusCode, String) {
    let response = client.send_request(request("GET", path, "")).await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Events of which none comes.
struct Silence;

impl Lazy for Silence {
    fn encode(&self, _: Form) -> Answer<Bytes> {
        Answer::ok(Bytes::new())
    }

    fn media_type(&self, _: Form) -> Option<Cow<'static, str>> {
        Some("text/event-stream".into())
    }

    fn stream(&self, _: Form) -> Option<ByteStream> {
        Some(Box::pin(futures_util::stream::pending()))
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(Value::Nil)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn requests_are_answered() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let mut client = connect(&server).await;
        for _ in 0..50 {
            let answer = soon("an answer", ask(&mut client, "/hi")).await;
            assert_eq!(answer, (StatusCode::OK, "Hello World!".to_string()));
        }
        assert_eq!(ask(&mut client, "/no").await.0, StatusCode::NOT_FOUND);
        let put = client.send_request(request("PUT", "/new", "text")).await.unwrap();
        assert_eq!(put.status(), StatusCode::CREATED);
        drop(put);
        assert_eq!(ask(&mut client, "/new").await.1, "text");
        assert_eq!(server.connections(), 1);
    });
}

/// A store whose `/slow` waits until it is told to go on, and counts who waits.
fn gate(open: Rc<Notify>, waiting: Rc<Cell<usize>>) -> Rc<dyn Store> {
    struct Count(Rc<Cell<usize>>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    Rc::new(Fake::get(move |reference, context| {
        if reference.path() != "/slow" {
            let host = context.exchange.as_ref().and_then(|exchange| exchange.header("host"));
            return Answer::ok(Some(Content::text(host.unwrap_or_default())));
        }
        let (open, waiting) = (open.clone(), waiting.clone());
        Answer::later(async move {
            waiting.set(waiting.get() + 1);
            let _count = Count(waiting);
            open.notified().await;
            Ok(Some(Content::text("slow")))
        })
    }))
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[test]
fn a_quick_request_passes_a_slow_one_and_the_host_is_the_authority() {
    run(async {
        let (open, waiting) = (Rc::new(Notify::new()), Rc::new(Cell::new(0)));
        let server = start(gate(open.clone(), waiting.clone())).await;
        let mut client = connect(&server).await;
        let mut other = client.clone();
        let slow = tokio::task::spawn_local(async move { ask(&mut other, "/slow").await });
        until("the slow request", || waiting.get() == 1).await;
        assert_eq!(soon("a quick one", ask(&mut client, "/quick")).await.1, "a.example");
        open.notify_one();
        assert_eq!(soon("the slow one", slow).await.unwrap().1, "slow");
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_given_up() {
    run(async {
        let (open, waiting) = (Rc::new(Notify::new()), Rc::new(Cell::new(0)));
        let server = start(gate(open, waiting.clone())).await;
        let mut client = connect(&server).await;
        let mut other = client.clone();
        let slow = tokio::task::spawn_local(async move { ask(&mut other, "/slow").await });
        until("the slow request", || waiting.get() == 1).await;
        slow.abort();
        until("its end", || waiting.get() == 0).await;
        assert_eq!(ask(&mut client, "/quick").await.0, StatusCode::OK);
    });
}

#[test]
fn more_requests_than_allowed_wait_and_all_are_answered() {
    run(async {
        let limits = Limits { streams: 3, ..Limits::default() };
        let server = start_with(site(&[("/hi", "hi")]).await, limits).await;
        let mut client = connect(&server).await;
        // By its answer the client has been told how many.
        assert_eq!(ask(&mut client, "/hi").await.1, "hi");
        let all: Vec<_> = (0..40)
            .map(|_| {
                let mut client = client.clone();
                tokio::task::spawn_local(async move { ask(&mut client, "/hi").await.1 })
            })
            .collect();
        for one in all {
            assert_eq!(soon("an answer", one).await.unwrap(), "hi");
        }
    });
}

#[test]
fn the_last_request_of_a_connection_is_answered_and_the_connection_ends() {
    run(async {
        let limits = Limits { requests: 5, ..Limits::default() };
        let server = start_with(site(&[("/hi", "hi")]).await, limits).await;
        let mut client = connect(&server).await;
        for _ in 0..5 {
            assert_eq!(ask(&mut client, "/hi").await.1, "hi");
        }
        until("the end", || server.connections() == 0).await;
        assert!(client.send_request(request("GET", "/hi", "")).await.is_err());
    });
}

#[test]
fn stopping_answers_what_is_under_way() {
    run(async {
        let (open, waiting) = (Rc::new(Notify::new()), Rc::new(Cell::new(0)));
        let server = Rc::new(start(gate(open.clone(), waiting.clone())).await);
        let mut client = connect(&server).await;
        let slow = tokio::task::spawn_local(async move { ask(&mut client, "/slow").await });
        until("the slow request", || waiting.get() == 1).await;
        let stopping = tokio::task::spawn_local({
            let server = server.clone();
            async move { server.stop(Duration::from_secs(10)).await }
        });
        tokio::task::yield_now().await;
        open.notify_one();
        assert_eq!(soon("the answer", slow).await.unwrap().1, "slow");
        assert!(soon("the stop", stopping).await.unwrap());
    });
}

#[test]
fn stopping_loses_no_request_of_a_busy_connection() {
    run(async {
        let server = Rc::new(start(site(&[("/hi", "hi")]).await).await);
        let idle = connect(&server).await;
        let mut busy = Vec::new();
        for _ in 0..4 {
            let mut client = connect(&server).await;
            let mut other = client.clone();
            busy.push(tokio::task::spawn_local(async move {
                let mut answered = 0;
                // Until GOAWAY: what is sent is answered.
                while client.ready().await.is_ok() {
                    match client.send_request(request("GET", "/hi", "")).await {
                        Ok(response) => assert_eq!(response.status(), StatusCode::OK),
                        Err(error) => assert!(error.is_canceled(), "{error:?}"),
                    }
                    answered += 1;
                }
                answered
            }));
            ask(&mut other, "/hi").await;
        }
        assert!(soon("the stop", server.stop(Duration::from_secs(10))).await);
        for client in busy {
            assert!(soon("GOAWAY", client).await.unwrap() > 0);
        }
        assert!(idle.is_closed());
    });
}

#[test]
fn stopping_ends_streams_of_events() {
    run(async {
        let store = Fake::get(|_, _| Answer::ok(Some(Content::lazy(Rc::new(Silence)))));
        let server = start(Rc::new(store)).await;
        let mut client = connect(&server).await;
        let answer = client.send_request(request("GET", "/events", "")).await.unwrap();
        let body = tokio::task::spawn_local(answer.into_body().collect());
        tokio::task::yield_now().await;
        assert!(soon("the stop", server.stop(Duration::from_secs(10))).await);
        assert!(soon("the end of the stream", body).await.unwrap().is_ok());
    });
}

#[test]
fn a_stop_without_patience_cuts() {
    run(async {
        let (open, waiting) = (Rc::new(Notify::new()), Rc::new(Cell::new(0)));
        let server = start(gate(open, waiting.clone())).await;
        let mut client = connect(&server).await;
        let slow = tokio::task::spawn_local(async move {
            client.send_request(request("GET", "/slow", "")).await.is_err()
        });
        until("the slow request", || waiting.get() == 1).await;
        assert!(!server.stop(Duration::from_millis(10)).await);
        assert!(soon("the end", slow).await.unwrap());
        until("the request's end", || waiting.get() == 0).await;
    });
}

#[test]
fn a_large_upload_and_a_large_answer_pass_in_pieces() {
    run(async {
        let store = Fake::get(|_, _| {
            let pieces = (0..256).map(|_| Ok(Bytes::from(vec![7; 16 * 1024])));
            let stream = Box::pin(futures_util::stream::iter(pieces));
            let body = Body::Stream(stream, None);
            Answer::ok(Some(Content { body, ..Content::default() }))
        })
        .post(|_, content, _| {
            Answer::later(async move {
                let bytes = content.read(32 * 1024 * 1024).await?;
                let content = Some(Content::text(bytes.len().to_string()));
                Ok(Outcome { content, ..Outcome::changed() })
            })
        });
        let server = start(Rc::new(store)).await;
        let mut client = connect(&server).await;
        let sent = "x".repeat(5 * 1024 * 1024);
        let response = soon("the upload", client.send_request(request("POST", "/up", &sent)));
        let body = response.await.unwrap().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, sent.len().to_string());
        let response = client.send_request(request("GET", "/down", "")).await.unwrap();
        let body = soon("the answer", response.into_body().collect()).await.unwrap().to_bytes();
        assert_eq!(body.len(), 256 * 16 * 1024);
    });
}

#[test]
fn heads_keep_the_limits_of_the_other_protocol() {
    run(async {
        let server = start(site(&[("/hi", "hi")]).await).await;
        let mut client = connect(&server).await;
        for (fields, length, status) in
            [(90, 1, 200), (150, 1, 431), (1, 30_000, 200), (1, 40_000, 431)]
        {
            let mut request = request("GET", "/hi", "");
            for number in 0..fields {
                let name = hyper::header::HeaderName::try_from(format!("x-{number}")).unwrap();
                request.headers_mut().insert(name, "v".repeat(length).parse().unwrap());
            }
            let response = client.send_request(request).await.unwrap();
            assert_eq!(response.status(), status, "{fields} {length}");
        }
    });
}

#[test]
fn the_host_field_and_the_authority_agree() {
    run(async {
        let server = start(site(&[("/hi", "hi")]).await).await;
        let mut client = connect(&server).await;
        for (host, status) in [("A.Example", 200), ("a.example:80", 200), ("b.example", 400)] {
            let mut request = request("GET", "/hi", "");
            request.headers_mut().insert("host", host.parse().unwrap());
            assert_eq!(client.send_request(request).await.unwrap().status(), status, "{host}");
        }
    });
}

#[test]
fn a_request_of_no_host_or_of_another_origin_is_refused() {
    run(async {
        let limits = Limits {
            access: AccessPolicy {
                allowed_hosts: vec!["a.example".to_string()],
                ..AccessPolicy::default()
            },
            ..Limits::default()
        };
        let server = start_with(site(&[("/hi", "hi")]).await, limits).await;
        let mut client = connect(&server).await;
        assert_eq!(ask(&mut client, "/hi").await.0, StatusCode::OK);
        let mut request = request("PUT", "/hi", "evil");
        request.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
        assert_eq!(client.send_request(request).await.unwrap().status(), StatusCode::FORBIDDEN);
        assert_eq!(ask(&mut client, "/hi").await.1, "hi");
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        // GET, http, the path /hi, and no authority: from the static table of HPACK.
        let head = b"\x82\x86\x04\x03/hi";
        let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        sent.extend([0, 0, head.len() as u8, 1, 5, 0, 0, 0, 1]);
        sent.extend(head);
        tokio::io::AsyncWriteExt::write_all(&mut stream, &sent).await.unwrap();
        let mut answer = Vec::new();
        let text = b"this server does not answer for that host";
        while !answer.windows(text.len()).any(|part| part == text) {
            let read = tokio::io::AsyncReadExt::read_buf(&mut stream, &mut answer);
            assert!(soon("the refusal", read).await.unwrap() > 0, "closed");
        }
    });
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    run(async {
        let limits = Limits { body: 1000, ..Limits::default() };
        let server = start_with(site(&[]).await, limits).await;
        let mut client = connect(&server).await;
        let sent = "x".repeat(2000);
        let response = client.send_request(request("PUT", "/up", &sent)).await.unwrap();
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(ask(&mut client, "/up").await.0, StatusCode::NOT_FOUND);
    });
}

#[test]
fn a_body_that_nothing_asks_for_is_read_before_the_answer() {
    run(async {
        let limits = Limits { body: 1000, ..Limits::default() };
        let server = start_with(site(&[("/hi", "hi")]).await, limits).await;
        let mut client = connect(&server).await;
        for (length, status) in [(900, StatusCode::OK), (2000, StatusCode::PAYLOAD_TOO_LARGE)] {
            let sent = "x".repeat(length);
            let response = client.send_request(request("GET", "/hi", &sent)).await.unwrap();
            assert_eq!(response.status(), status);
        }
        assert_eq!(ask(&mut client, "/hi").await.1, "hi");
    });
}

#[test]
fn a_client_that_gives_no_room_is_cut() {
    run(async {
        let limits = Limits { write_idle: Duration::from_millis(200), ..Limits::default() };
        let store = Fake::get(|_, _| {
            let pieces = (0..1000).map(|_| Ok(Bytes::from(vec![7; 64 * 1024])));
            let body = Body::Stream(Box::pin(futures_util::stream::iter(pieces)), None);
            Answer::ok(Some(Content { body, ..Content::default() }))
        });
        let server = start_with(Rc::new(store), limits).await;
        let mut client = connect(&server).await;
        // The answer is not read, so that the client's window fills.
        let response = client.send_request(request("GET", "/", "")).await.unwrap();
        until("the cut", || server.connections() == 0).await;
        drop(response);
    });
}

#[test]
fn an_idle_connection_is_closed() {
    run(async {
        let limits = Limits { keep_alive: Duration::from_millis(100), ..Limits::default() };
        let server = start_with(site(&[("/hi", "hi")]).await, limits).await;
        let mut client = connect(&server).await;
        assert_eq!(ask(&mut client, "/hi").await.1, "hi");
        until("the end", || server.connections() == 0).await;
    });
}

#[test]
fn where_it_is_not_wanted_a_client_is_told() {
    run(async {
        let address = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { address, http2: false, ..ServerOptions::default() };
        let server = serve(site(&[]).await, options).await.unwrap();
        let mut peer = Peer::connect(&server).await;
        peer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 505);
        assert!(peer.is_closed().await);
    });
}

/// The conformance tool of the field, where it is installed: `go install
/// github.com/summerwind/h2spec/cmd/h2spec@latest`.
#[test]
fn h2spec_finds_nothing() {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let tool = [std::path::PathBuf::from("h2spec"), home.join("go/bin/h2spec")]
        .into_iter()
        .find(|tool| Command::new(tool).arg("--version").output().is_ok());
    let Some(tool) = tool else {
        runnel_scratch::list_as_left_out("h2spec, which checks HTTP/2, is not installed");
        return;
    };
    run(async {
        // Over TLS, where both sides have agreed on HTTP/2: elsewhere a beginning that is none may
        // be a malformed request of HTTP/1.1, which is answered.
        let folder = std::env::temp_dir().join(format!("runnel-h2-{}", std::process::id()));
        let certificate = Some(Certificate::Local { folder: folder.clone() });
        let address = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { address, certificate, ..ServerOptions::default() };
        let server = serve(site(&[("/", "a page")]).await, options).await.unwrap();
        let port = server.port().to_string();
        let tested = tokio::task::spawn_blocking(move || {
            let arguments =
                ["-t", "-k", "--strict", "--timeout", "5", "-h", "127.0.0.1", "-p", &port];
            Command::new(tool).args(arguments).output().unwrap()
        });
        let output = tokio::time::timeout(Duration::from_secs(300), tested).await;
        let output = output.expect("h2spec hangs").unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = text.lines().rev().find(|line| line.contains("tests,")).unwrap_or(&text);
        // What failed stands again under this heading; all the rest is what did not.
        let failures = text.split_once("Failures:").map_or(&*text, |(_, failures)| failures);
        assert!(output.status.success() && summary.contains(" 0 failed"), "{failures}");
        std::fs::remove_dir_all(folder).unwrap();
    });
}
