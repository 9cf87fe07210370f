//! The client, against our own server and against servers that misbehave.

use crate::helper::{Fake, run, site, soon, start, start_listed};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_http::{ClientOptions, HttpServer, client};
use runnel_store::{
    Answer, Body, Content, Context, EntityTag, Entry, Error, Kind, Outcome, Reference, Store, Value,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn web() -> Rc<dyn Store> {
    client(ClientOptions::default())
}

fn at(server: &HttpServer, path: &str) -> Reference {
    Reference::parse(&format!("//{}{path}", server.address())).with_scheme("http")
}

async fn text_of(content: Content) -> String {
    match content.body {
        Body::Text(text) => text.to_string(),
        Body::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::Stream(mut stream, _) => {
            let mut all = Vec::new();
            while let Some(piece) = stream.next().await {
                all.extend_from_slice(&piece.unwrap());
            }
            String::from_utf8(all).unwrap()
        }
        _ => panic!("no text"),
    }
}

#[test]
fn verbs_go_out_and_come_back() {
    run(async {
        let server = start_listed(site(&[("/hi", "Hello World!")]).await).await;
        let (web, plain) = (web(), Context::default());
        let hi = at(&server, "/hi");
        let read = web.get(&hi, &plain).await.unwrap().unwrap();
        assert_eq!(read.media_type.as_deref(), Some("text/plain"));
        let tag = read.entity_tag.clone().unwrap();
        assert!(matches!(&read.body, Body::Text(text) if &**text == "Hello World!"));
        assert!(web.get(&at(&server, "/nope"), &plain).await.unwrap().is_none());

        let known = Context { known: Some(tag.clone()), ..Context::default() };
        let unchanged = web.get(&hi, &known).await.unwrap().unwrap();
        assert!(matches!(unchanged.body, Body::Empty));
        assert_eq!(unchanged.entity_tag, Some(tag));

        let new = at(&server, "/a b/ü?");
        assert!(web.put(&new, Content::text("one"), &plain).await.unwrap().is_created());
        assert!(!web.put(&new, Content::text("two"), &plain).await.unwrap().is_created());
        assert_eq!(text_of(web.get(&new, &plain).await.unwrap().unwrap()).await, "two");
        web.merge(&new, Content::text("three"), &plain).await.unwrap();
        assert!(web.delete(&new, &plain).await.unwrap().is_something());
        assert!(!web.delete(&new, &plain).await.unwrap().is_something());

        let record = Value::Record(vec![("a".into(), Value::Int(1))]);
        web.put(&hi, Content::value(record), &plain).await.unwrap();
        let read = web.get(&hi, &plain).await.unwrap().unwrap();
        assert_eq!(read.media_type.as_deref(), Some("application/json"));
        assert_eq!(text_of(read).await, r#"{"a":1}"#);
        assert_eq!(web.list(&hi, &plain).await.unwrap(), None);
        let entries = web.list(&at(&server, "/"), &plain).await.unwrap().unwrap();
        assert_eq!(entries, [Entry { name: "hi".into(), collection: false }]);
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_post_has_a_place_and_content() {
    run(async {
        let store = Fake::default().post(|_, content, _| {
            let reference = Some(Reference::from_path("tasks/a b"));
            Answer::ok(Outcome { reference, content: Some(content), ..Outcome::created() })
        });
        let server = start(Rc::new(store)).await;
        let posted = web()
            .post(&at(&server, "/tasks"), Content::text("x"), &Context::default())
            .await
            .unwrap();
        assert_eq!(posted.reference.unwrap(), at(&server, "/tasks/a b"));
        assert_eq!(text_of(posted.content.unwrap()).await, "x");
    });
}

#[test]
fn large_answers_and_contents_are_streams() {
    run(async {
        let server = start(site(&[("/large", &"x".repeat(3_000_000))]).await).await;
        let (web, plain) = (web(), Context::default());
        let read = web.get(&at(&server, "/large"), &plain).await.unwrap().unwrap();
        assert!(matches!(read.body, Body::Stream(_, Some(3_000_000))));
        assert_eq!(text_of(read).await.len(), 3_000_000);
        for length in [Some(2_000_000), None] {
            let pieces = stream::iter((0..200).map(|_| Ok(Bytes::from(vec![b'y'; 10_000]))));
            let body = Body::Stream(Box::pin(pieces), length);
            let content = Content { body, ..Content::default() };
            web.put(&at(&server, "/copy"), content, &plain).await.unwrap();
            let read = web.get(&at(&server, "/copy"), &plain).await.unwrap().unwrap();
            assert_eq!(text_of(read).await.len(), 2_000_000);
        }
    });
}

#[test]
fn a_stream_that_fails_is_its_own_error() {
    run(async {
        let server = start(site(&[]).await).await;
        let pieces =
            stream::iter([Ok(Bytes::from_static(b"a")), Err(Error::new(Kind::Denied, "no more"))]);
        let content = Content { body: Body::Stream(Box::pin(pieces), None), ..Content::default() };
        let place = at(&server, "/x");
        let error = web().put(&place, content, &Context::default()).await.unwrap_err();
        assert_eq!((error.kind, &*error.message), (Kind::Denied, "no more"));
        assert!(web().get(&place, &Context::default()).await.unwrap().is_none());
    });
}

#[test]
fn statuses_are_errors() {
    run(async {
        let store = Fake::get(|reference, _| {
            let kind = match reference.path() {
                "/denied" => Kind::Denied,
                "/down" => Kind::Unavailable,
                _ => Kind::Failed,
            };
            Error::new(kind, "told to people").into()
        });
        let server = start(Rc::new(store)).await;
        for (path, kind, message, temporary) in [
            ("/denied", Kind::Denied, "the server answered 403 Forbidden", false),
            ("/down", Kind::Unavailable, "the server answered 503 Service Unavailable", true),
            ("/failed", Kind::Failed, "the server answered 500 Internal Server Error", false),
        ] {
            let error = web().get(&at(&server, path), &Context::default()).await.err().unwrap();
            assert_eq!((error.kind, &*error.message, error.temporary), (kind, message, temporary));
            assert_eq!(error.reference, Some(at(&server, path).to_string()));
        }
    });
}

#[test]
fn unreachable_servers_are_named() {
    run(async {
        let server = start(site(&[]).await).await;
        let place = at(&server, "/");
        let host = server.address().to_string();
        server.stop(Duration::ZERO).await;
        let error = web().get(&place, &Context::default()).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
        assert_eq!(error.message, format!("{host} refused the connection"));
        let place = Reference::parse("//no-such-host.invalid/x");
        let error = web().get(&place, &Context::default()).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
        assert!(error.message.contains("no-such-host.invalid"), "{}", error.message);
        for odd in ["x", "/x", "//u@h/x"] {
            let error = web().get(&Reference::parse(odd), &Context::default()).await.err().unwrap();
            assert_eq!(error.kind, Kind::Invalid, "{odd}");
        }
    });
}

#[test]
fn redirects_are_followed() {
    run(async {
        let log = Rc::new(RefCell::new(Vec::new()));
        let seen = log.clone();
        let answer = move |reference: &Reference, context: &Context, method: &str| {
            let exchange = context.exchange.as_ref().unwrap();
            let secret =
                ["authorization", "x-api-key"].iter().any(|name| exchange.header(name).is_some());
            seen.borrow_mut().push(format!("{method} {} {secret}", reference.path()));
            let to = |status, place: &str| {
                exchange.set_status(status);
                exchange.set_header("Location", place).unwrap();
            };
            match reference.path() {
                "/301" => to(301, "/end"),
                "/303" => to(303, "end"),
                "/307" => to(307, "/end"),
                "/loop" => to(302, "/loop"),
                "/away" => to(302, &exchange.query("to").unwrap()),
                "/send" => to(307, &exchange.query("to").unwrap()),
                "/nowhere" => to(302, "ftp://x/"),
                _ => {}
            }
        };
        let answer = Rc::new(answer);
        let (get, post) = (answer.clone(), answer);
        let store = Fake::get(move |reference, context| {
            get(reference, context, "GET");
            Answer::ok(Some(Content::text("end")))
        })
        .post(move |reference, _, context| {
            post(reference, context, "POST");
            Answer::ok(Outcome::changed())
        });
        let store: Rc<dyn Store> = Rc::new(store);
        let server = start(store.clone()).await;
        let other = start(store).await;
        let headers = [("Authorization", "Bearer x"), ("X-API-Key", "k")];
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
        let web = client(ClientOptions { headers, ..ClientOptions::default() });
        let plain = Context::default();
        web.get(&at(&server, "/301"), &plain).await.unwrap();
        for path in ["/301", "/303", "/307"] {
            web.post(&at(&server, path), Content::text("x"), &plain).await.unwrap();
        }
        let away = format!("/away?to=http://{}/x", other.address());
        web.get(&at(&server, &away), &plain).await.unwrap();
        assert_eq!(
            *log.borrow(),
            [
                "GET /301 true",
                "GET /end true",
                "POST /301 true",
                "GET /end true",
                "POST /303 true",
                "GET /end true",
                "POST /307 true",
                "POST /end true",
                "GET /away true",
                "GET /x false",
            ]
        );
        let send = format!("/send?to=http://{}/x", other.address());
        let sent = web.post(&at(&server, &send), Content::text("secret"), &plain).await;
        assert!(sent.err().unwrap().message.contains("send it there yourself"));
        let error = web.get(&at(&server, "/loop"), &plain).await.err().unwrap();
        assert_eq!(error.message, "there are more than 10 redirects");
        assert!(web.get(&at(&server, "/nowhere"), &plain).await.is_err());
    });
}

/// A server that answers each connection's first request, and closes the connection when it
/// has seen the second, unread by anyone.
async fn forgetful() -> (std::net::SocketAddr, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Rc::new(Cell::new(0));
    let count = accepted.clone();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.set(count.get() + 1);
            tokio::task::spawn_local(async move {
                let mut some = [0; 4096];
                let _ = stream.read(&mut some).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                let _ = stream.read(&mut some).await;
            });
        }
    });
    (address, accepted)
}

#[test]
fn a_get_on_a_dead_connection_is_sent_again() {
    run(async {
        let (address, accepted) = forgetful().await;
        let (web, plain) = (web(), Context::default());
        let place = Reference::parse(&format!("//{address}/"));
        for count in 1..4 {
            let read = soon("the answer", web.get(&place, &plain)).await.unwrap().unwrap();
            assert_eq!(text_of(read).await, "ok");
            assert_eq!(accepted.get(), count);
        }
        let error =
            soon("the answer", web.post(&place, Content::text("x"), &plain)).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::InDoubt, false));
    });
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Reference::parse(&format!("//{}/", listener.local_addr().unwrap()));
        let impatient = client(ClientOptions {
            answer_time: Duration::from_millis(30),
            ..ClientOptions::default()
        });
        let error =
            soon("the error", impatient.get(&place, &Context::default())).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Timeout, true));
        assert!(error.message.contains("took too long to answer"), "{}", error.message);
        let deadline = Some(std::time::Instant::now() + Duration::from_millis(30));
        let context = Context { deadline, ..Context::default() };
        let error = soon("the error", web().get(&place, &context)).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
    });
}

#[test]
fn what_is_no_http_is_an_error() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.write_all(b"SSH-2.0-hello\r\n").await;
                let mut some = [0; 4096];
                let _ = stream.read(&mut some).await;
            }
        });
        let place = Reference::parse(&format!("//{address}/"));
        let error = soon("the error", web().get(&place, &Context::default())).await.err().unwrap();
        assert!(error.message.contains(&address.to_string()), "{}", error.message);
        let secure = place.with_scheme("https");
        let error = soon("the error", web().get(&secure, &Context::default())).await.err().unwrap();
        assert!(error.message.contains("secure connection"), "{}", error.message);
    });
}

#[test]
fn an_answer_that_breaks_off_is_an_error() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut some = [0; 4096];
                let _ = stream.read(&mut some).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok").await;
            }
        });
        let place = Reference::parse(&format!("//{address}/"));
        let error = soon("the error", web().get(&place, &Context::default())).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
    });
}

#[test]
fn a_weak_tag_is_known_too() {
    run(async {
        let tag = EntityTag { text: "w".into(), weak: true };
        let ours = tag.clone();
        let store = Fake::get(move |_, _| {
            Answer::ok(Some(Content { entity_tag: Some(ours.clone()), ..Content::text("x") }))
        });
        let server = start(Rc::new(store)).await;
        let known = Context { known: Some(tag.clone()), ..Context::default() };
        let read = web().get(&at(&server, "/"), &known).await.unwrap().unwrap();
        assert!(matches!(read.body, Body::Empty));
        assert_eq!(read.entity_tag, Some(tag));
    });
}
