//! Requests as a program words them: every status is an answer, with its headers.

use crate::helper::{run, site, soon, start};
use futures_util::StreamExt;
use runnel_http::{ClientOptions, client};
use runnel_store::{
    Body, Content, Context, FetchAnswer, FetchRequest, Kind, RedirectPolicy, Reference, Result,
    Store,
};
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn at(address: SocketAddr, path: &str) -> Reference {
    Reference::parse(&format!("//{address}{path}")).with_scheme("http")
}

async fn fetch(
    web: &Rc<dyn Store>,
    place: &Reference,
    request: FetchRequest,
) -> Result<FetchAnswer> {
    soon("an answer", web.fetch(place, request, &Context::default())).await
}

async fn text(answer: FetchAnswer) -> String {
    let bytes = answer.content.read(1 << 24).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn method(method: &str) -> FetchRequest {
    FetchRequest { method: method.into(), ..FetchRequest::default() }
}

/// A server that answers each connection once with these bytes, and closes it.
async fn raw(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer).await;
        }
    });
    address
}

#[test]
fn every_status_is_an_answer() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let web = client(ClientOptions::default());
        let found =
            fetch(&web, &at(server.address(), "/hi"), FetchRequest::default()).await.unwrap();
        assert_eq!(found.status, 200);
        assert_eq!(found.address, format!("http://{}/hi", server.address()));
        let length = found.headers.iter().find(|(name, _)| name == "content-length").unwrap();
        assert_eq!(length.1, "12");
        assert_eq!(text(found).await, "Hello World!");
        let missing =
            fetch(&web, &at(server.address(), "/no"), FetchRequest::default()).await.unwrap();
        assert_eq!(missing.status, 404);
        let head = fetch(&web, &at(server.address(), "/hi"), method("HEAD")).await.unwrap();
        assert!(matches!(head.content.body, Body::Empty));
        let new = FetchRequest { content: Content::text("one"), ..method("PUT") };
        let new = fetch(&web, &at(server.address(), "/new"), new).await.unwrap();
        assert_eq!(new.status, 201);
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_redirect_does_what_the_request_says() {
    run(async {
        let address = raw(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n").await;
        let web = client(ClientOptions { redirects: 2, ..ClientOptions::default() });
        let answer = |redirects| {
            let request = FetchRequest { redirects, ..FetchRequest::default() };
            let (web, place) = (web.clone(), at(address, "/"));
            async move { fetch(&web, &place, request).await }
        };
        let manual = answer(RedirectPolicy::Manual).await.unwrap();
        assert_eq!(manual.status, 302);
        for (policy, message) in [
            (RedirectPolicy::Follow, "there are more than 2 redirects"),
            (RedirectPolicy::Refuse, "the server redirects (302)"),
        ] {
            let error = answer(policy).await.err().unwrap();
            assert_eq!((error.kind, error.message.as_str()), (Kind::Failed, message));
        }
    });
}

#[test]
fn a_body_beyond_its_limit_is_an_error() {
    run(async {
        let server = start(site(&[("/large", &"x".repeat(3_000_000))]).await).await;
        let web = client(ClientOptions::default());
        let place = at(server.address(), "/large");
        let limited = |most| FetchRequest { most: Some(most), ..FetchRequest::default() };
        for most in [10, 2_999_999] {
            let answer = match fetch(&web, &place, limited(most)).await {
                Ok(answer) => answer.content.read(1 << 24).await.map(drop),
                Err(error) => Err(error),
            };
            let error = answer.unwrap_err();
            assert_eq!(error.kind, Kind::TooLarge);
            let message = format!("the body of the answer has more than {most} bytes");
            assert_eq!(error.message, message);
        }
        let whole = fetch(&web, &place, limited(3_000_000)).await.unwrap();
        assert_eq!(text(whole).await.len(), 3_000_000);
    });
}

#[test]
fn an_unread_body_gives_way_to_the_next_request() {
    run(async {
        // Random enough to stay large when it is compressed.
        let mut large = String::new();
        let mut state = 1_u64;
        while large.len() < 3_000_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            large.push_str(&format!("{state:x}"));
        }
        let server = start(site(&[("/large", large.as_str()), ("/hi", "hi")]).await).await;
        let web = client(ClientOptions { connections: 1, ..ClientOptions::default() });
        let place = at(server.address(), "/large");
        let unread = fetch(&web, &place, FetchRequest::default()).await.unwrap();
        let next =
            fetch(&web, &at(server.address(), "/hi"), FetchRequest::default()).await.unwrap();
        assert_eq!(text(next).await, "hi");
        let Body::Stream(mut stream, _) = unread.content.body else { panic!("no stream") };
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert!(error.message.contains("gave way"), "{}", error.message);
        assert!(stream.next().await.is_none());
        // One that is being read keeps its connection.
        let reading = fetch(&web, &place, FetchRequest::default()).await.unwrap();
        let Body::Stream(mut stream, _) = reading.content.body else { panic!("no stream") };
        let mut length = stream.next().await.unwrap().unwrap().len();
        let small = at(server.address(), "/hi");
        let waiting = fetch(&web, &small, FetchRequest::default());
        let rest = async {
            while let Some(piece) = stream.next().await {
                length += piece.unwrap().len();
            }
        };
        let (waited, ()) = tokio::join!(waiting, rest);
        assert_eq!((text(waited.unwrap()).await, length), ("hi".to_string(), large.len()));
    });
}

#[test]
fn a_request_without_an_answer_is_in_doubt_unless_it_may_be_repeated() {
    run(async {
        let address = raw(b"").await;
        let web = client(ClientOptions::default());
        for (name, kind) in [
            ("GET", Kind::Unavailable),
            ("HEAD", Kind::Unavailable),
            ("OPTIONS", Kind::Unavailable),
            ("PUT", Kind::Unavailable),
            ("DELETE", Kind::Unavailable),
            ("POST", Kind::InDoubt),
            ("PATCH", Kind::InDoubt),
            ("QUERY", Kind::InDoubt),
        ] {
            let error = fetch(&web, &at(address, "/"), method(name)).await.err().unwrap();
            assert_eq!(error.kind, kind, "{name}");
        }
    });
}

#[test]
fn what_cannot_be_sent_is_refused_before() {
    run(async {
        let web = client(ClientOptions::default());
        let place = Reference::parse("//127.0.0.1:1/").with_scheme("http");
        for name in ["CONNECT", "TRACE", "A B", "GET\r\nx: y"] {
            let error = fetch(&web, &place, method(name)).await.err().unwrap();
            assert_eq!(error.kind, Kind::Invalid, "{name}");
        }
        for (name, value) in [
            ("host", "a"),
            ("Content-Length", "3"),
            ("connection", "x"),
            ("a b", "c"),
            ("a", "b\r\nc: d"),
        ] {
            let headers = vec![(name.to_string(), value.to_string())];
            let request = FetchRequest { headers, ..FetchRequest::default() };
            let error = fetch(&web, &place, request).await.err().unwrap();
            assert_eq!(error.kind, Kind::Invalid, "{name}");
        }
        let socket = Reference::parse("//127.0.0.1:1/").with_scheme("ws");
        let error = fetch(&web, &socket, FetchRequest::default()).await.err().unwrap();
        assert_eq!(error.kind, Kind::NotAllowed);
    });
}
