//! What the client makes of answers as servers really send them: in pieces, early, with too much or
//! too little, and what becomes of the connection.

use crate::helper::{run, soon};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::{ClientOptions, Transport, TransportFault, TransportOptions, client};
use runnel_store::{Body, Content, Context, Counters, Kind, Level, Reference, Store};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server that answers each request with these bytes, and what it knows.
struct Raw {
    address: SocketAddr,
    /// How many connections there were.
    accepted: Rc<Cell<usize>>,
    /// All that was received.
    received: Rc<RefCell<String>>,
}

/// How a server sends its answer.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    AtOnce,
    /// Byte by byte.
    Dripping,
    /// And closes after it.
    Closing,
}

async fn raw(answer: &'static str, manner: Manner) -> Raw {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (accepted, received) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(String::new())));
    let (count, log) = (accepted.clone(), received.clone());
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.set(count.get() + 1);
            tokio::task::spawn_local(speak(stream, answer, manner, log.clone()));
        }
    });
    Raw { address, accepted, received }
}

async fn speak(mut stream: TcpStream, answer: &str, manner: Manner, log: Rc<RefCell<String>>) {
    stream.set_nodelay(true).unwrap();
    let mut some = [0; 64 * 1024];
    // The client may close at any time.
    while let Ok(count @ 1..) = stream.read(&mut some).await {
        log.borrow_mut().push_str(&String::from_utf8_lossy(&some[..count]));
        let at_a_time = if manner == Manner::Dripping { 1 } else { answer.len().max(1) };
        for piece in answer.as_bytes().chunks(at_a_time) {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if manner == Manner::Closing {
            return;
        }
    }
}

impl Raw {
    fn at(&self, path: &str) -> Reference {
        Reference::parse(&format!("//{}{path}", self.address)).with_scheme("http")
    }

    fn open(&self) -> u64 {
        Counters::of("http", &self.address.to_string()).level(Level::Open)
    }

    async fn none_open(&self) {
        soon("all connections are closed", until(|| self.open() == 0)).await;
    }
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn text(web: &Rc<dyn Store>, place: &Reference) -> String {
    let found = soon("an answer", web.get(place, &Context::default())).await.unwrap().unwrap();
    String::from_utf8(found.read(1 << 20).await.unwrap().to_vec()).unwrap()
}

#[test]
fn other_servers_do_not_list() {
    run(async {
        for (answer, kind, message) in [
            (
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
                Kind::NotAllowed,
                "the server does not list; another Runnel server does",
            ),
            (
                "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
                Kind::Denied,
                "the server answered 403 Forbidden",
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.runnel.entries+json\r\n\
                 content-length: 11\r\n\r\n[\"../../x\"]",
                Kind::Failed,
                "the server sent a listing that is none",
            ),
        ] {
            let server = raw(answer, Manner::Closing).await;
            let at = Reference::parse(&format!("//{}/", server.address)).with_scheme("http");
            let web = client(ClientOptions::default());
            let error = web.list(&at, &Context::default()).await.unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, message));
            let asked = server.received.borrow();
            assert!(asked.contains("accept: application/vnd.runnel.entries+json"), "{asked}");
        }
    });
}

#[test]
fn answers_end_where_they_say() {
    run(async {
        for (answer, content, kept) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n",
                "hello",
                true,
            ),
            (
                "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                "hello",
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                "hello",
                false,
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", false),
            // What follows belongs to no request: the connection is not to be trusted.
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", "hello", false),
        ] {
            for manner in [Manner::AtOnce, Manner::Dripping] {
                let server = raw(answer, manner).await;
                let web = client(ClientOptions::default());
                for _ in 0..3 {
                    assert_eq!(text(&web, &server.at("/x")).await, content, "{answer}");
                    // Until what came too late has been seen.
                    if !kept {
                        server.none_open().await;
                    }
                }
                assert_eq!(server.accepted.get(), if kept { 1 } else { 3 }, "{answer}");
            }
        }
    });
}

#[test]
fn an_answer_may_end_with_its_connection() {
    run(async {
        let server = raw("HTTP/1.1 200 OK\r\n\r\nhello", Manner::Closing).await;
        let web = client(ClientOptions::default());
        assert_eq!(text(&web, &server.at("/x")).await, "hello");
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ] {
            let server = raw(answer, Manner::Closing).await;
            let error = soon("an error", web.get(&server.at("/x"), &Context::default())).await;
            let error = error.err().unwrap();
            assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
            server.none_open().await;
        }
    });
}

#[test]
fn what_is_no_answer_is_an_error() {
    run(async {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nnonsense\r\n\r\n",
            "HTTP/9.9 200 OK\r\n\r\n",
        ] {
            let server = raw(answer, Manner::AtOnce).await;
            let web = client(ClientOptions::default());
            let error = soon("an error", web.get(&server.at("/x"), &Context::default())).await;
            let error = error.err().unwrap();
            assert!(error.to_string().contains(&server.address.to_string()), "{error}");
            server.none_open().await;
        }
        let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        let server = raw(endless.leak(), Manner::AtOnce).await;
        let web = client(ClientOptions::default());
        let error = soon("an error", web.get(&server.at("/x"), &Context::default())).await;
        assert_eq!(error.err().unwrap().kind, Kind::Failed);
        let long = format!("HTTP/1.1 200 OK\r\na: {}", "x".repeat(1 << 20));
        let server = raw(long.leak(), Manner::AtOnce).await;
        let error = soon("an error", web.get(&server.at("/x"), &Context::default())).await;
        assert_eq!(error.err().unwrap().kind, Kind::Failed);
    });
}

/// Nothing was sent on it, so even a post goes on with a new one.
#[test]
fn a_connection_that_the_server_closed_is_not_used_and_not_kept() {
    run(async {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let server = raw(answer, Manner::Closing).await;
        let web = client(ClientOptions::default());
        for count in 1..4 {
            let posted = web.post(&server.at("/x"), Content::text("a"), &Context::default());
            soon("an answer", posted).await.unwrap();
            assert_eq!(server.accepted.get(), count);
            // Without another request, at once.
            server.none_open().await;
        }
    });
}

#[test]
fn giving_up_closes_the_connection() {
    run(async {
        let silent = raw("", Manner::AtOnce).await;
        let half =
            raw("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\nhello", Manner::AtOnce).await;
        let web = client(ClientOptions::default());
        for _ in 0..3 {
            let place = silent.at("/x");
            let store = web.clone();
            let waiting = tokio::task::spawn_local(async move {
                store.get(&place, &Context::default()).await.map(drop)
            });
            soon("it was sent", until(|| silent.received.borrow().ends_with("\r\n\r\n"))).await;
            silent.received.borrow_mut().clear();
            assert_eq!(silent.open(), 1);
            waiting.abort();
            silent.none_open().await;
            let large = web.get(&half.at("/x"), &Context::default()).await.unwrap();
            assert_eq!(half.open(), 1);
            drop(large);
            half.none_open().await;
        }
    });
}

fn pieces(count: usize, length: Option<u64>) -> Content {
    let pieces = stream::iter((0..count).map(|_| Ok(Bytes::from(vec![b'y'; 100_000]))));
    Content { body: Body::Stream(Box::pin(pieces), length), ..Content::default() }
}

#[test]
fn a_server_that_refuses_content_need_not_read_it() {
    run(async {
        let answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
        let server = raw(answer, Manner::AtOnce).await;
        let web = client(ClientOptions::default());
        for length in [None, Some(100_000_000)] {
            let put = web.put(&server.at("/x"), pieces(1000, length), &Context::default());
            let error = soon("the refusal", put).await.err().unwrap();
            assert_eq!(error.kind, Kind::TooLarge, "{error}");
            server.none_open().await;
        }
    });
}

#[test]
fn content_is_as_long_as_it_was_said_to_be() {
    run(async {
        let answer = "HTTP/1.1 204 None\r\n\r\n";
        let server = raw(answer, Manner::Closing).await;
        let web = client(ClientOptions::default());
        for length in [1, 99_999, 100_001] {
            let put = web.put(&server.at("/x"), pieces(1, Some(length)), &Context::default());
            // What was sent of it may have been answered already.
            if let Err(error) = soon("an end", put).await {
                assert_eq!(error.kind, Kind::Failed, "{error}");
            }
            server.none_open().await;
        }
    });
}

#[test]
fn small_requests_are_one_piece() {
    run(async {
        let server = raw("HTTP/1.1 204 None\r\n\r\n", Manner::AtOnce).await;
        let web = client(ClientOptions::default());
        let put = web.put(&server.at("/a b?c"), Content::text("hello"), &Context::default());
        soon("an answer", put).await.unwrap();
        let request = server.received.borrow().to_ascii_lowercase();
        let (head, content) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(content, "hello");
        assert!(
            head.starts_with(&format!("put /a%20b?c http/1.1\r\nhost: {}\r\n", server.address))
        );
        for line in ["accept: */*", "content-length: 5", "content-type: text/plain; charset=utf-8"]
        {
            assert_eq!(head.lines().filter(|one| *one == line).count(), 1, "{line} in {head}");
        }
        server.received.borrow_mut().clear();
        let chunks = stream::iter(["a", "", "bc"].map(|piece| Ok(Bytes::from(piece))));
        let body = Body::Stream(Box::pin(chunks), None);
        let post =
            web.post(&server.at("/"), Content { body, ..Content::default() }, &Context::default());
        soon("an answer", post).await.unwrap();
        assert!(server.received.borrow().ends_with("\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"));
        assert_eq!(server.accepted.get(), 1);
    });
}

#[test]
fn transports_send_what_they_are_given() {
    run(async {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\n";
        let server = raw(answer, Manner::AtOnce).await;
        let transport = Transport::new(TransportOptions::default());
        let send = |method: &str, path: &str| {
            let request = hyper::Request::builder()
                .method(method)
                .uri(format!("http://{}{path}", server.address))
                .header("content-length", "9")
                .header("host", "other.example")
                .body(http_body_util::Full::new(Bytes::from_static(b"abc")))
                .unwrap();
            let (transport, until) = (transport.clone(), Instant::now() + Duration::from_secs(20));
            async move { transport.send(request, until).await }
        };
        for _ in 0..2 {
            // Of an answer to this method only the head comes (RFC 9110 section 9.3.2).
            let mut head = soon("a head", send("HEAD", "/x")).await.unwrap();
            assert_eq!(
                (head.headers()["content-length"].as_bytes(), head.status().as_u16()),
                (&b"5"[..], 200)
            );
            assert!(soon("the end", head.body_mut().next()).await.is_none());
        }
        assert_eq!(server.accepted.get(), 1);
        let request = server.received.borrow().to_ascii_lowercase();
        assert!(
            request.contains("host: other.example\r\n")
                && request.contains("content-length: 3\r\n")
        );
        assert!(!request.contains("content-length: 9") && request.ends_with("\r\n\r\nabc"));
        let none = hyper::Request::get("/x").body(http_body_util::Empty::<Bytes>::new()).unwrap();
        let error =
            transport.send(none, Instant::now() + Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.fault, TransportFault::Connect);
        fn may_go_to_other_threads<T: Send>(_: T) {}
        may_go_to_other_threads(transport.send(
            hyper::Request::get("http://a/").body(http_body_util::Empty::<Bytes>::new()).unwrap(),
            Instant::now(),
        ));
        let counters: Arc<Counters> = Counters::of("http", &server.address.to_string());
        assert_eq!(counters.level(Level::Used), 0);
    });
}
