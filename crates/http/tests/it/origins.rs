//! Pages of other origins that write, and hosts that are not answered, over HTTP/1.1.

use crate::helper::{Fake, Peer, run, start, start_with};
use runnel_http::{AccessPolicy, HttpServer, Limits, TrustedProxy};
use runnel_store::{Answer, Content, Outcome, Store};
use std::cell::Cell;
use std::rc::Rc;

/// Counts what is written.
fn store(writes: &Rc<Cell<usize>>) -> Rc<dyn Store> {
    let (puts, posts) = (writes.clone(), writes.clone());
    let store = Fake::get(|_, _| Answer::ok(Some(Content::text("read"))));
    let store = store.put(move |_, _, _| {
        puts.set(puts.get() + 1);
        Answer::ok(false)
    });
    Rc::new(store.post(move |_, _, _| {
        posts.set(posts.get() + 1);
        Answer::ok(Outcome::changed().with_content(Content::text("written")))
    }))
}

async fn status(server: &HttpServer, method: &str, fields: &str) -> u16 {
    let mut peer = Peer::connect(server).await;
    let head = format!("{method} /x HTTP/1.1\r\nHost: a.example:8080\r\n{fields}");
    peer.send(format!("{head}Content-Length: 2\r\n\r\nhi")).await;
    let response = peer.receive().await;
    if response.status == 403 {
        assert!(response.text().contains("allowedOrigins:"), "{}", response.text());
    }
    response.status
}

const EVIL: &str = "Origin: https://evil.example\r\n";
const CROSS: &str = "Sec-Fetch-Site: cross-site\r\n";

fn with_access(access: AccessPolicy) -> Limits {
    Limits { access, ..Limits::default() }
}

#[test]
fn a_page_of_another_origin_reads_and_does_not_write() {
    run(async {
        let writes = Rc::default();
        let server = start(store(&writes)).await;
        for fields in [EVIL, CROSS, "Origin: null\r\n", "Origin: http://a.example\r\n"] {
            for method in ["POST", "PUT", "PATCH", "DELETE"] {
                assert_eq!(status(&server, method, fields).await, 403, "{method} {fields}");
            }
            assert_eq!(status(&server, "GET", fields).await, 200, "{fields}");
            assert_eq!(status(&server, "OPTIONS", fields).await, 204, "{fields}");
        }
        assert_eq!(writes.get(), 0);
        for fields in [
            "",
            "Origin: https://a.example:8080\r\n",
            "Origin: http://A.Example:8080\r\n",
            "Sec-Fetch-Site: same-origin\r\n",
            "Sec-Fetch-Site: none\r\n",
        ] {
            assert_eq!(status(&server, "POST", fields).await, 200, "{fields}");
        }
        assert_eq!(writes.get(), 5);
    });
}

#[test]
fn a_named_origin_writes_and_any_origin_without_credentials() {
    run(async {
        let origins = vec!["*".to_string(), "https://named.example".to_string()];
        let limits = with_access(AccessPolicy {
            allowed_origins: origins,
            allow_credentials: true,
            ..AccessPolicy::default()
        });
        let server = start_with(store(&Rc::default()), limits).await;
        let named = "Origin: https://named.example\r\n";
        for (origin, more, expected) in [
            (named, "Cookie: s=1\r\n", 200),
            (EVIL, "", 200),
            (EVIL, "Cookie: s=1\r\n", 403),
            (EVIL, "Authorization: Basic YTpi\r\n", 403),
            (EVIL, "Authorization: Bearer x\r\n", 200),
        ] {
            let fields = format!("{origin}{CROSS}{more}");
            assert_eq!(status(&server, "POST", &fields).await, expected, "{fields}");
        }
    });
}

#[test]
fn the_host_is_what_a_trusted_proxy_says() {
    run(async {
        let origin = "Origin: https://public.example\r\nX-Forwarded-Host: public.example\r\n";
        let proxies = vec![TrustedProxy::parse("127.0.0.1").unwrap()];
        let limits =
            with_access(AccessPolicy { trusted_proxies: proxies, ..AccessPolicy::default() });
        let server = start_with(store(&Rc::default()), limits).await;
        assert_eq!(status(&server, "POST", origin).await, 200);
        let inner = "Origin: http://a.example:8080\r\nX-Forwarded-Host: public.example\r\n";
        assert_eq!(status(&server, "POST", inner).await, 403);
        let server = start(store(&Rc::default())).await;
        assert_eq!(status(&server, "POST", origin).await, 403, "of a client it does not count");
        let proxies = vec![TrustedProxy::parse("10.0.0.1").unwrap()];
        let limits =
            with_access(AccessPolicy { trusted_proxies: proxies, ..AccessPolicy::default() });
        let server = start_with(store(&Rc::default()), limits).await;
        assert_eq!(status(&server, "POST", origin).await, 403, "of another proxy neither");
    });
}

#[test]
fn a_request_without_a_host_is_for_no_named_host() {
    run(async {
        let ask = async |hosts: &[&str], request: &str| {
            let hosts = hosts.iter().map(ToString::to_string).collect();
            let limits =
                with_access(AccessPolicy { allowed_hosts: hosts, ..AccessPolicy::default() });
            let server = start_with(store(&Rc::default()), limits).await;
            let mut peer = Peer::connect(&server).await;
            peer.send(request).await;
            peer.receive().await.status
        };
        let old = "GET /x HTTP/1.0\r\n\r\n";
        assert_eq!(ask(&[], old).await, 200);
        assert_eq!(ask(&["a.example"], old).await, 421);
        assert_eq!(ask(&["a.example", ""], old).await, 200);
        assert_eq!(ask(&["a.example", ""], "GET /x HTTP/1.1\r\nHost: b\r\n\r\n").await, 421);
        let empty = "GET /x HTTP/1.1\r\nHost:\r\n\r\n";
        assert_eq!((ask(&[], empty).await, ask(&[""], empty).await), (400, 400));
        let absolute = "GET http://a.example/x HTTP/1.1\r\nHost:\r\n\r\n";
        assert_eq!(ask(&["a.example"], absolute).await, 200);
    });
}
