//! The reverse proxy: requests and responses pass as they are, but for what belongs to the hop.

use crate::helper::{Peer, get, run, soon, start, start_with};
use crate::proxy_upstream::{Act, Upstream, ask, fields, relay, relay_to, relay_within};
use runnel_http::{AccessPolicy, HostField, Limits, ProxyOptions, TrustedProxy, proxy};
use runnel_store::{Guard, GuardOptions, Headers, HeadersOptions, Route, Store};
use std::rc::Rc;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_request_arrives_as_it_was_sent() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let server = relay_to(&[&upstream]).await;
        let answer = ask(
            &server,
            "GET /a%20b/%41?q=%zz&x HTTP/1.1\r\nHost: shop.example:81\r\nCookie: a=b\r\nAuthorization: x\r\n\
             If-None-Match: \"1\"\r\nRange: bytes=0-1\r\nAccept-Encoding: gzip\r\nX-Two: 1\r\nX-Two: 2\r\n\r\n",
        )
        .await;
        assert_eq!((answer.status, answer.text()), (200, "hello"));
        let request = upstream.only();
        assert!(request.starts_with("GET /a%20b/%41?q=%zz&x HTTP/1.1\r\n"), "{request}");
        assert_eq!(
            fields(&request),
            [
                "accept-encoding: gzip",
                "authorization: x",
                "cookie: a=b",
                "host: shop.example:81",
                "if-none-match: \"1\"",
                "range: bytes=0-1",
                "x-forwarded-for: 127.0.0.1",
                "x-forwarded-host: shop.example:81",
                "x-forwarded-proto: http",
                "x-two: 1",
                "x-two: 2",
            ]
        );
    });
}

#[test]
fn every_method_passes_but_those_that_a_proxy_must_not() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let server = relay_to(&[&upstream]).await;
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY"] {
            let answer = ask(&server, &format!("{method} /x HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            assert_eq!(answer.status, 200, "{method}");
            let last = upstream.seen.borrow().last().unwrap().clone();
            assert!(last.starts_with(&format!("{method} /x HTTP/1.1\r\n")), "{last}");
        }
        let count = upstream.seen.borrow().len();
        for (method, status) in [("TRACE", 405), ("CONNECT", 501)] {
            let answer = ask(&server, &format!("{method} /x HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            assert_eq!(answer.status, status, "{method}");
        }
        assert_eq!(upstream.seen.borrow().len(), count);
    });
}

#[test]
fn fields_of_the_hop_stay_on_it() {
    run(async {
        let upstream = Upstream::saying(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Inner\r\nKeep-Alive: timeout=5\r\nX-Inner: 1\r\n\
             Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Outer: 2\r\nContent-Length: 2\r\n\r\nok",
        )
        .await;
        let server = relay_to(&[&upstream]).await;
        let answer = ask(
            &server,
            "GET / HTTP/1.1\r\nHost: t\r\nConnection: authorization, X-Mine, host\r\nAuthorization: a\r\n\
             X-Mine: 1\r\nProxy-Authorization: b\r\nKeep-Alive: 1\r\nTE: gzip\r\nUpgrade: h2c\r\nX-Kept: 3\r\n\r\n",
        )
        .await;
        assert_eq!(
            fields(&upstream.only()),
            [
                "host: t",
                "x-forwarded-for: 127.0.0.1",
                "x-forwarded-host: t",
                "x-forwarded-proto: http",
                "x-kept: 3"
            ]
        );
        for name in ["keep-alive", "x-inner", "proxy-authenticate", "upgrade"] {
            assert_eq!(answer.header(name), None, "{name}");
        }
        assert_eq!(answer.header("x-outer"), Some("2"));
    });
}

#[test]
fn a_client_cannot_pretend_to_be_a_proxy() {
    const SPOOFED: &str = "GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.7\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\nForwarded: for=6.6.6.6\r\n\
         X-Real-IP: 6.6.6.6\r\nConnection: x-forwarded-for\r\n\r\n";
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let options = || ProxyOptions { to: vec![upstream.address()], ..ProxyOptions::default() };
        let own = [
            "host: t",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: t",
            "x-forwarded-proto: http",
        ];
        for trusted in [None, TrustedProxy::parse("10.0.0.0/8")] {
            let mut limits = Limits::default();
            limits.access.trusted_proxies = trusted.into_iter().collect();
            let server = relay_within(options(), limits).await;
            ask(&server, SPOOFED).await;
            assert_eq!(fields(&upstream.seen.take()[0]), own);
        }
        let mut limits = Limits::default();
        limits.access.trusted_proxies = vec![TrustedProxy::parse("127.0.0.1").unwrap()];
        let server = relay_within(options(), limits).await;
        ask(&server, SPOOFED).await;
        let seen = fields(&upstream.seen.take()[0]);
        for field in [
            "x-forwarded-for: 6.6.6.6, 127.0.0.1",
            "x-forwarded-proto: https",
            "x-forwarded-host: evil",
        ] {
            assert!(seen.iter().any(|line| line == field), "{field}: {seen:?}");
        }
    });
}

#[test]
fn a_response_passes_as_it_is() {
    run(async {
        let upstream = Upstream::saying(
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
             Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nServer: other\r\nContent-Type: text/html\r\n\
             ETag: \"x\"\r\nContent-Length: 2000\r\n\r\n",
        )
        .await;
        let server = relay_to(&[&upstream]).await;
        let mut peer = Peer::connect(&server).await;
        peer.send(
            "HEAD / HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\nIf-None-Match: \"x\"\r\n\r\n",
        )
        .await;
        let answer = peer.receive_head().await;
        let mut lines: Vec<&str> = answer.head.trim_end().split("\r\n").collect();
        assert_eq!(lines.remove(0), "HTTP/1.1 302 Found");
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "content-length: 2000",
                "content-type: text/html",
                "date: Thu, 01 Jan 1970 00:00:00 GMT",
                "etag: \"x\"",
                "location: /elsewhere",
                "server: other",
                "set-cookie: a=1",
                "set-cookie: b=2",
            ]
        );
    });
}

#[test]
fn responses_without_content_keep_the_connection() {
    run(async {
        let upstream = Upstream::start(|request| {
            Act::Answer(match request.split(' ').nth(1).unwrap() {
                "/none" => "HTTP/1.1 204 No Content\r\n\r\n".into(),
                "/same" => {
                    "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 9\r\n\r\n".into()
                }
                "/chunks" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
                _ => HELLO.into(),
            })
        })
        .await;
        let server = relay_to(&[&upstream]).await;
        let mut peer = Peer::connect(&server).await;
        for (request, status, length) in [
            ("GET /none", 204, None),
            ("GET /same", 304, None),
            ("HEAD /hello", 200, Some("5")),
            ("HEAD /chunks", 200, None),
        ] {
            peer.send(format!("{request} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            let answer = peer.receive_head().await;
            assert_eq!(
                (answer.status, answer.header("content-length")),
                (status, length),
                "{request}"
            );
        }
        peer.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "hello");
    });
}

#[test]
fn early_hints_pass() {
    run(async {
        let upstream = Upstream::saying(&format!(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n{HELLO}"
        ))
        .await;
        let server = relay_to(&[&upstream]).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        let hints = peer.receive().await;
        assert_eq!((hints.status, hints.header("link")), (103, Some("</a.css>; rel=preload")));
        assert_eq!(peer.receive().await.text(), "hello");
        peer.send("GET / HTTP/1.0\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.status, 200);
    });
}

#[test]
fn bodies_are_framed_anew() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let server = relay_to(&[&upstream]).await;
        let chunked = "POST / HTTP/1.1\r\nHost: t\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n\
             2;a=b\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 1\r\n\r\n";
        ask(&server, chunked).await;
        let request = upstream.seen.take().remove(0);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("transfer-encoding: chunked") && !head.contains("content-length"),
            "{head}"
        );
        assert!(head.contains("te: trailers") && head.contains("connection: te"), "{head}");
        assert_eq!(
            body.replace("2\r\nab\r\n1\r\nc\r\n", "3\r\nabc\r\n"),
            "3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n"
        );
        ask(&server, "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc").await;
        let request = upstream.seen.take().remove(0);
        assert!(
            request.contains("content-length: 3\r\n") && request.ends_with("\r\n\r\nabc"),
            "{request}"
        );
        for smuggled in [
            "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "GET / HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nX: a\n b: c\r\n\r\n",
        ] {
            let answer = ask(&server, smuggled).await;
            assert!((400..502).contains(&answer.status), "{smuggled}");
        }
        assert!(upstream.seen.borrow().is_empty(), "{:?}", upstream.seen);
    });
}

#[test]
fn trailers_of_a_response_reach_a_client_that_wants_them() {
    run(async {
        let upstream = Upstream::saying(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
        )
        .await;
        let server = relay_to(&[&upstream]).await;
        for (te, end) in [("TE: trailers\r\n", "0\r\nx-sum: 7\r\n\r\n"), ("", "0\r\n\r\n")] {
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n{te}\r\n")).await;
            let text = soon("an answer", peer.rest()).await;
            assert!(text.ends_with(&format!("3\r\nabc\r\n{end}")), "{text}");
        }
    });
}

#[test]
fn the_upstream_says_whether_a_body_is_wanted() {
    run(async {
        let upstream = Upstream::start(|request| match request {
            head if head.starts_with("POST /no") => {
                Act::Answer("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n".into())
            }
            _ => Act::Want(4, HELLO.into()),
        })
        .await;
        let server = relay_to(&[&upstream]).await;
        let post = |path: &str| {
            format!(
                "POST {path} HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
            )
        };
        let mut peer = Peer::connect(&server).await;
        peer.send(post("/no")).await;
        let refused = peer.receive().await;
        assert_eq!((refused.status, refused.header("connection")), (417, Some("close")));
        let mut peer = Peer::connect(&server).await;
        peer.send(post("/yes")).await;
        assert_eq!(peer.receive().await.status, 100);
        peer.send("body").await;
        assert_eq!(peer.receive().await.text(), "hello");
        assert_eq!(upstream.seen.borrow().last().unwrap(), "body");
    });
}

#[test]
fn an_address_may_have_a_path_and_host_is_a_choice() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let to = vec![format!("{}/v1/", upstream.address())];
        let server =
            relay(ProxyOptions { to, host: HostField::Upstream, ..ProxyOptions::default() }).await;
        get(&server, "/a%20b?c").await;
        let request = upstream.only();
        assert!(request.starts_with("GET /v1/a%20b?c HTTP/1.1\r\n"), "{request}");
        let host = format!("host: 127.0.0.1:{}\r\n", upstream.port);
        assert!(
            request.contains(&host) && request.contains("x-forwarded-host: t\r\n"),
            "{request}"
        );
    });
}

fn proxy_to(upstream: &Upstream) -> Rc<dyn Store> {
    let to = vec![upstream.address()];
    proxy(ProxyOptions { to, ..ProxyOptions::default() }).unwrap()
}

#[test]
fn stores_in_front_of_it_see_every_request() {
    run(async {
        let upstream =
            Upstream::saying("HTTP/1.1 200 OK\r\nX-Theirs: 1\r\nContent-Length: 2\r\n\r\nok").await;
        let bearer = vec!["a-token-of-sufficient-length-1234".to_string()];
        let guarded = Guard::new(
            proxy_to(&upstream),
            GuardOptions { bearer, ..GuardOptions::default() },
            None,
        )
        .unwrap();
        let route = Route::by_segment();
        route.mount("open", proxy_to(&upstream));
        route.mount("admin", Rc::new(guarded));
        let set = vec![("x-own".to_string(), "2".to_string())];
        let options = HeadersOptions { set, remove: vec!["x-theirs".to_string()] };
        let server = start(Rc::new(Headers::new(Rc::new(route), options))).await;
        let answer = ask(&server, "PROPFIND /open/a%20b?c HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!((answer.header("x-own"), answer.header("x-theirs")), (Some("2"), None));
        assert!(upstream.seen.take()[0].starts_with("PROPFIND /a%20b?c HTTP/1.1\r\n"));
        for path in ["/admin/x", "//admin/x", "/open/../admin/x", "/open/%2e%2e/admin/x"] {
            for method in ["GET", "POST", "MKCOL"] {
                let answer =
                    ask(&server, &format!("{method} {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
                assert_eq!(answer.status, 401, "{method} {path}");
            }
        }
        for path in ["/open/..%2fadmin", "/open/a%5Cb", "/open/a\\b", "/open/a;b", "/open%2Fx"] {
            assert_eq!(get(&server, path).await.status, 400, "{path}");
        }
        for path in ["/admin%2Fx", "/admin%5Cx", "/admin\\x", "/%2Fadmin/x", "/open%2F../admin"] {
            assert_eq!(get(&server, path).await.status, 401, "{path}");
        }
        assert_eq!(get(&server, "/elsewhere").await.status, 404);
        assert!(upstream.seen.borrow().is_empty());
        let token = "Authorization: Bearer a-token-of-sufficient-length-1234";
        let answer =
            ask(&server, &format!("GET /admin/x HTTP/1.1\r\nHost: t\r\n{token}\r\n\r\n")).await;
        assert_eq!(answer.status, 200);
        let request = format!("GET /admin%2Fx HTTP/1.1\r\nHost: t\r\n{token}\r\n\r\n");
        assert_eq!(ask(&server, &request).await.status, 400);
    });
}

#[test]
fn names_with_an_underscore_are_dropped() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let server = relay_to(&[&upstream]).await;
        ask(
            &server,
            "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent_Length: 9\r\nX-A: 1\r\n\
             Transfer_Encoding: chunked\r\nX_Api_Key: 1\r\n\r\na",
        )
        .await;
        let seen = fields(&upstream.only());
        assert!(seen.iter().any(|line| line == "x-a: 1"), "{seen:?}");
        assert!(!seen.iter().any(|line| line.contains('_')), "{seen:?}");
    });
}

#[test]
fn a_store_that_keeps_answers_cannot_stand_before_it() {
    run(async {
        let upstream = Upstream::saying(HELLO).await;
        let cache = runnel_store::Cache::in_memory(proxy_to(&upstream));
        let server = start_with(Rc::new(cache), Limits::default()).await;
        assert_eq!(get(&server, "/").await.status, 405);
        assert!(upstream.seen.borrow().is_empty());
    });
}

#[test]
fn the_server_sets_its_fields_in_place_of_those_of_the_upstream() {
    run(async {
        let upstream = Upstream::saying(
            "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nVary: accept\r\nDate: then\r\n\
             Server: theirs\r\nContent-Length: 2\r\n\r\nok",
        )
        .await;
        let allowed_origins = vec!["https://a.example".to_string()];
        let access = AccessPolicy { allowed_origins, ..AccessPolicy::default() };
        let limits = Limits { access, ..Limits::default() };
        let options = ProxyOptions { to: vec![upstream.address()], ..ProxyOptions::default() };
        let server = relay_within(options, limits).await;
        let request = "GET / HTTP/1.1\r\nHost: t\r\nOrigin: https://a.example\r\n\r\n";
        let mut peer = Peer::connect(&server).await;
        peer.send(&request.replace("Host", "Connection: close\r\nHost")).await;
        let text = soon("the end", peer.rest()).await.to_ascii_lowercase();
        let of = |name: &str| -> Vec<&str> {
            text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect()
        };
        assert_eq!(of("access-control-allow-origin"), ["https://a.example"]);
        assert!(of("vary").iter().any(|value| value.contains("accept")), "{text}");
        assert_eq!((of("date"), of("server")), (vec!["then"], vec!["theirs"]));
    });
}
