//! Methods become verbs, and what they answer becomes statuses, headers and bodies.

use crate::helper::{Fake, Peer, ask, get, run, send, site, start, start_listed, start_with};
use runnel_http::Limits;
use runnel_store::{
    Answer, Body, Content, Context, Error, Form, Kind, Lazy, Outcome, Reference, Result, Value,
    Verb, Verbs,
};
use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

#[test]
fn text_is_plain() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let response = get(&server, "/hi").await;
        assert_eq!((response.status, response.text()), (200, "Hello World!"));
        assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert!(response.header("date").is_some());
        let limits = Limits { html_text: true, ..Limits::default() };
        let pages = start_with(site(&[("/hi", "<p>")]).await, limits).await;
        let page = get(&pages, "/hi").await;
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let missing = get(&server, "/nope").await;
        assert_eq!((missing.status, missing.text()), (404, "404 Not Found"));
        assert_eq!(missing.header("content-type"), Some("text/plain; charset=utf-8"));
    });
}

#[test]
fn head_has_the_headers_and_no_body() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let mut peer = Peer::connect(&server).await;
        for (path, status, length) in [("/hi", 200, "12"), ("/nope", 404, "13")] {
            peer.send(format!("HEAD {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            let response = peer.receive_head().await;
            assert_eq!(
                (response.status, response.header("content-length")),
                (status, Some(length))
            );
        }
        peer.send("GET /hi HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "Hello World!");
        assert!(peer.is_closed().await);
    });
}

#[test]
fn what_is_put_can_be_read_changed_and_deleted() {
    run(async {
        let server = start(site(&[]).await).await;
        let created = send(&server, "PUT", "/a%20b", "", "one").await;
        assert_eq!((created.status, created.text()), (201, ""));
        assert_eq!(send(&server, "PUT", "/a%20b", "", "two").await.status, 204);
        let read = get(&server, "/a%20b").await;
        assert_eq!(
            (read.text(), read.header("content-type")),
            ("two", Some("application/octet-stream"))
        );
        let json = "Content-Type: application/json\r\n";
        assert_eq!(send(&server, "PUT", "/r", json, r#"{"a":1}"#).await.status, 201);
        let read = get(&server, "/r").await;
        assert_eq!(
            (read.text(), read.header("content-type")),
            (r#"{"a":1}"#, Some("application/json"))
        );
        assert_eq!(send(&server, "PATCH", "/r", "", "new").await.status, 204);
        let gone = ask(&server, "DELETE /r HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!((gone.status, gone.body.len()), (204, 0));
        let again = ask(&server, "DELETE /r HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(again.status, 404);
    });
}

#[test]
fn a_post_answers_what_came_of_it() {
    run(async {
        let store = Fake::default().post(|reference, content, _| {
            let Body::Bytes(text) = content.body else { panic!("bytes were posted") };
            let place = Some(Reference::from_path("tasks/a b"));
            Answer::ok(match reference.path() {
                "/place" => Outcome { reference: place, ..Outcome::created() },
                "/both" => Outcome {
                    reference: place,
                    content: Some(Content::bytes(text)),
                    ..Outcome::created()
                },
                "/content" => Outcome::changed().with_content(Content::bytes(text)),
                _ => Outcome::changed(),
            })
        });
        let server = start(Rc::new(store)).await;
        for (path, status, location, body) in [
            ("/place", 201, Some("/tasks/a%20b"), ""),
            ("/both", 201, Some("/tasks/a%20b"), "x"),
            ("/content", 200, None, "x"),
            ("/nothing", 204, None, ""),
        ] {
            let response = send(&server, "POST", path, "", "x").await;
            assert_eq!(
                (response.status, response.header("location")),
                (status, location),
                "{path}"
            );
            assert_eq!(response.text(), body);
        }
    });
}

#[test]
fn verbs_that_a_store_lacks_are_405() {
    run(async {
        let store = Fake::get(|reference, _| match reference.path() {
            "/write-only" => Error::not_allowed(Verb::Get, reference).into(),
            _ => Answer::ok(Some(Content::text("x"))),
        });
        let server = start(Rc::new(store.only(Verbs::NONE.with(Verb::Get)))).await;
        let methods = ["PUT", "POST", "PATCH", "QUERY"].map(|method| (method, "/"));
        for (method, path) in methods.into_iter().chain([("GET", "/write-only")]) {
            let response = send(&server, method, path, "", "body").await;
            assert_eq!(response.status, 405, "{method}");
            assert_eq!(response.header("allow"), Some("OPTIONS, GET, HEAD"));
        }
        let options = ask(&server, "OPTIONS /x HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!((options.status, options.header("allow")), (204, Some("OPTIONS, GET, HEAD")));
        let star = ask(&server, "OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!((star.status, star.header("allow").is_some()), (204, true));
        for method in ["BREW", "CONNECT", "PROPFIND"] {
            let target = if method == "CONNECT" { "t:80" } else { "/" };
            let request = format!("{method} {target} HTTP/1.1\r\nHost: t\r\n\r\n");
            assert_eq!(ask(&server, &request).await.status, 501, "{method}");
        }
    });
}

#[test]
fn each_kind_of_content_has_its_type() {
    run(async {
        let store = Fake::get(|reference, _| {
            let bytes = || Content::bytes(&b"\x00\xff"[..]);
            Answer::ok(Some(match reference.path() {
                "/bytes" => bytes(),
                "/png" => bytes().with_media_type("image/png"),
                "/css" => Content::text("b{}").with_media_type("text/css"),
                "/number" => Content::value(Value::Int(7)),
                "/text" => Content::value(Value::Text("t".into())),
                "/record" => Content::value(Value::Record(vec![("a".into(), Value::Bool(true))])),
                "/list" => Content::value(Value::List(vec![Value::Nil])),
                "/empty" => Content::default(),
                "/odd" => bytes().with_media_type("a\r\nSet-Cookie: x"),
                _ => return Answer::ok(None),
            }))
        });
        let server = start(Rc::new(store)).await;
        for (path, kind, body) in [
            ("/bytes", "application/octet-stream", &b"\x00\xff"[..]),
            ("/png", "image/png", b"\x00\xff"),
            ("/css", "text/css; charset=utf-8", b"b{}"),
            ("/number", "text/plain; charset=utf-8", b"7"),
            ("/text", "text/plain; charset=utf-8", b"t"),
            ("/record", "application/json", br#"{"a":true}"#),
            ("/list", "application/json", b"[null]"),
            ("/odd", "application/octet-stream", b"\x00\xff"),
        ] {
            let response = get(&server, path).await;
            assert_eq!((response.status, response.header("content-type")), (200, Some(kind)));
            assert_eq!(response.body, body, "{path}");
            assert_eq!(response.header("set-cookie"), None);
        }
        let empty = get(&server, "/empty").await;
        assert_eq!((empty.status, empty.header("content-length")), (204, None));
    });
}

/// Rows that know three forms, and a page that is one whatever the form.
struct Rows {
    page: bool,
}

impl Lazy for Rows {
    fn encode(&self, form: Form) -> Answer<bytes::Bytes> {
        let text = match form {
            _ if self.page => "<p>",
            Form::Json => "[]",
            Form::Csv => "a,b",
            Form::Text => "text",
        };
        Answer::later(async move { Ok(text.into()) })
    }

    fn media_type(&self, _: Form) -> Option<Cow<'static, str>> {
        self.page.then_some("text/html".into())
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(Value::List(Vec::new()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn lazy_content_takes_the_form_that_is_asked_for() {
    run(async {
        let store = Fake::get(|reference, _| {
            let page = reference.path() == "/page";
            Answer::ok(Some(Content::lazy(Rc::new(Rows { page }))))
        });
        let server = start(Rc::new(store)).await;
        for (path, accept, kind, body) in [
            ("/", "*/*", "application/json", "[]"),
            ("/", "text/csv", "text/csv; charset=utf-8", "a,b"),
            ("/", "text/plain", "text/plain; charset=utf-8", "text"),
            ("/page", "*/*", "text/html; charset=utf-8", "<p>"),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: t\r\nAccept: {accept}\r\n\r\n");
            let response = ask(&server, &request).await;
            assert_eq!((response.header("content-type"), response.text()), (Some(kind), body));
            assert_eq!(response.header("vary"), Some("accept"));
        }
    });
}

#[test]
fn a_client_that_accepts_no_form_is_told() {
    run(async {
        let get = |reference: &Reference, context: &Context| {
            if let ("/own", Some(exchange)) = (reference.path(), &context.exchange) {
                exchange.set_header("content-type", "application/x-own").unwrap();
            }
            let page = reference.path() == "/page";
            Answer::ok(Some(Content::lazy(Rc::new(Rows { page }))))
        };
        let store = Fake::get(get).post(|_, _, _| {
            let content = Content::lazy(Rc::new(Rows { page: false }));
            Answer::ok(Outcome::changed().with_content(content))
        });
        let server = start(Rc::new(store)).await;
        for (request, accept, status) in [
            ("GET /", "text/html", 406),
            ("HEAD /", "image/*", 406),
            ("GET /", "text/html, */*;q=0.1", 200),
            ("GET /page", "application/json", 200),
            ("GET /own", "text/html", 200),
            ("POST /", "text/html", 200),
        ] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("{request} HTTP/1.1\r\nHost: t\r\nAccept: {accept}\r\n\r\n")).await;
            let response = match request.starts_with("HEAD") {
                true => peer.receive_head().await,
                false => peer.receive().await,
            };
            assert_eq!(response.status, status, "{request} {accept}");
            assert_eq!(response.header("vary"), Some("accept"));
        }
    });
}

#[test]
fn content_with_a_coding_is_not_written() {
    run(async {
        let server = start(site(&[("/a", "a")]).await).await;
        for (coding, status) in [("gzip", 415), ("identity, gzip", 415), ("Identity", 204)] {
            let mut peer = Peer::connect(&server).await;
            let fields = format!("Content-Encoding: {coding}\r\nContent-Length: 2");
            peer.send(format!("PUT /a HTTP/1.1\r\nHost: t\r\n{fields}\r\n\r\nhi")).await;
            let response = peer.receive().await;
            assert_eq!(response.status, status, "{coding}");
            let accepted = (status == 415).then_some("identity");
            assert_eq!(response.header("accept-encoding"), accepted);
        }
    });
}

#[test]
fn a_collection_is_a_page_of_links() {
    run(async {
        let server = start_listed(site(&[("/d/<x>", "1"), ("/d/e/f", "2")]).await).await;
        let page = get(&server, "/d").await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8"))
        );
        assert!(page.text().contains(r#"<a href="/d/%3Cx%3E">&lt;x&gt;</a>"#));
        assert!(page.text().contains(r#"<a href="/d/e/">e/</a>"#));
        // Without the option a server keeps names to itself: they may be secrets.
        let server = start(site(&[("/d/<x>", "1")]).await).await;
        assert_eq!(get(&server, "/d").await.status, 404);
        let headers = "Host: t\r\nAccept: application/vnd.runnel.entries+json";
        let listing = ask(&server, &format!("GET /d HTTP/1.1\r\n{headers}\r\n\r\n")).await;
        assert_eq!(listing.status, 405);
    });
}

#[test]
fn errors_have_statuses_and_keep_their_secrets() {
    run(async {
        let store = Fake::get(|reference, _| {
            let kind = match reference.relative_path() {
                "denied" => Kind::Denied,
                "invalid" => Kind::Invalid,
                "conflict" => Kind::Conflict,
                "unsupported" => Kind::Unsupported,
                "large" => Kind::TooLarge,
                "condition" => Kind::Precondition,
                "timeout" => Kind::Timeout,
                "down" => Kind::Unavailable,
                _ => Kind::Failed,
            };
            Error::new(kind, "the reason").with_detail("the secret").into()
        });
        let server = start(Rc::new(store)).await;
        for (path, status, told) in [
            ("/denied", 403, true),
            ("/invalid", 400, true),
            ("/conflict", 409, true),
            ("/unsupported", 415, true),
            ("/large", 413, true),
            ("/condition", 412, true),
            ("/timeout", 504, false),
            ("/down", 503, false),
            ("/failed", 500, false),
        ] {
            let response = get(&server, path).await;
            assert_eq!(response.status, status);
            assert_eq!(response.text().contains("the reason"), told, "{}", response.text());
            assert!(!response.text().contains("secret"));
            assert_eq!(response.header("retry-after").is_some(), status == 503);
        }
    });
}

#[test]
fn a_program_sees_the_request_and_shapes_the_answer() {
    run(async {
        let store = Fake::get(|_, context| shaped(context).into());
        let server = start(Rc::new(store)).await;
        let request = "GET http://abs.example/x?name=a+b HTTP/1.1\r\nHost: t\r\n\
                       X-A: 1\r\nX-A: 2\r\n\
                       Cookie: s=abc\r\n\r\n";
        let response = ask(&server, request).await;
        assert_eq!(response.status, 202);
        assert_eq!(response.text(), "GET /x?name=a+b 1, 2 abc");
        assert_eq!(response.head.matches("set-cookie").count(), 2);
        assert_eq!(response.header("x-name"), Some("a b"));
        assert_eq!(get(&server, "/x?name=bad").await.status, 500);
        let split = get(&server, "/x?name=a%0D%0AX-Evil:%201").await;
        assert_eq!((split.status, split.header("x-evil")), (400, None));
    });
}

fn shaped(context: &Context) -> Result<Option<Content>> {
    let exchange = context.exchange.as_ref().unwrap();
    let name = exchange.query("name").unwrap_or_default();
    exchange.set_status(if name == "bad" { 99 } else { 202 });
    exchange.set_header("X-Name", &name)?;
    exchange.set_header("Set-Cookie", "a=1")?;
    exchange.set_header("Set-Cookie", "b=2")?;
    let header = exchange.header("x-a").unwrap_or_default();
    let cookie = exchange.cookie("s").unwrap_or_default();
    let (method, target) = (exchange.method(), exchange.target());
    Ok(Some(Content::text(format!("{method} {target} {header} {cookie}"))))
}

#[test]
fn the_host_of_the_target_counts() {
    run(async {
        let store = Fake::get(|_, context| {
            let host = context.exchange.as_ref().unwrap().header("host");
            Answer::ok(Some(Content::text(host.unwrap_or_default())))
        });
        let server = start(Rc::new(store)).await;
        let request = "GET http://abs.example/ HTTP/1.1\r\nHost: t\r\n\r\n";
        assert_eq!(ask(&server, request).await.text(), "abs.example");
        let request = "GET / HTTP/1.0\r\n\r\n";
        assert_eq!(ask(&server, request).await.text(), "");
    });
}

#[test]
fn a_form_has_fields() {
    run(async {
        let store = Fake::default().post(|_, _, context: &Context| {
            let exchange = context.exchange.as_ref().unwrap();
            let fields = format!("{:?} {:?}", exchange.form("a").unwrap(), exchange.body());
            Answer::ok(Outcome::changed().with_content(Content::text(fields)))
        });
        let server = start(Rc::new(store)).await;
        let fields = "Content-Type: application/x-www-form-urlencoded\r\n";
        let response = send(&server, "POST", "/", fields, "a=1+2&b=3").await;
        assert_eq!(response.text(), r#"Some(Text("1 2")) Some("a=1+2&b=3")"#);
    });
}

#[test]
fn another_root_counts_from_the_next_request_on() {
    run(async {
        let server = start(site(&[("/hi", "one")]).await).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET /hi HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "one");
        server.set_root(site(&[("/hi", "two")]).await);
        peer.send("GET /hi HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "two");
    });
}

#[test]
fn a_taken_port_is_an_error() {
    run(async {
        let server = start(site(&[]).await).await;
        let options =
            runnel_http::ServerOptions { address: server.address(), ..Default::default() };
        let result: Result<_> = runnel_http::serve(site(&[]).await, options).await;
        let message = result.err().unwrap().message;
        assert!(message.contains(&format!("port {} is taken", server.port())), "{message}");
    });
}
