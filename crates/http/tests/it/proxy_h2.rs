//! The reverse proxy with clients of HTTP/2: the upstream gets HTTP/1.1.

use crate::helper::{run, soon};
use crate::proxy_upstream::{Act, Upstream, fields, relay, relay_to};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Version};
use hyper_util::rt::TokioIo;
use runnel_http::{HttpServer, ProxyOptions};
use std::future::Future;
use std::time::Duration;
use tokio::net::TcpStream;

#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

async fn connect(server: &HttpServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (client, connection) = http2::handshake(Local, TokioIo::new(stream)).await.unwrap();
    tokio::task::spawn_local(async move {
        let _ = connection.await;
    });
    client
}

#[test]
fn clients_of_http_2_are_relayed() {
    run(async {
        let upstream = Upstream::saying(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n",
        )
        .await;
        let server = relay_to(&[&upstream]).await;
        let mut client = connect(&server).await;
        let request = |method: &str, body: &'static str| {
            let builder = Request::builder().method(method).uri("http://shop.example/a%20b?c");
            let builder =
                builder.version(Version::HTTP_2).header("cookie", "a=1").header("cookie", "b=2");
            builder
                .header("te", "trailers")
                .body(Full::new(Bytes::from_static(body.as_bytes())))
                .unwrap()
        };
        let answer =
            soon("an answer", client.send_request(request("POST", "content"))).await.unwrap();
        let headers = answer.headers().clone();
        assert!(
            !headers.contains_key("keep-alive") && !headers.contains_key("x-content-type-options")
        );
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
        let body = soon("a body", answer.into_body().collect()).await.unwrap();
        assert_eq!(body.trailers().unwrap()["x-sum"], "7");
        assert_eq!(body.to_bytes(), "hello");
        let seen = upstream.only();
        assert!(
            seen.starts_with("POST /a%20b?c HTTP/1.1\r\n") && seen.ends_with("\r\n\r\ncontent"),
            "{seen}"
        );
        let seen = fields(&seen);
        for field in ["host: shop.example", "cookie: a=1; b=2", "content-length: 7", "te: trailers"]
        {
            assert!(seen.iter().any(|line| line == field), "{field}: {seen:?}");
        }
        let answer = soon("a head", client.send_request(request("HEAD", ""))).await.unwrap();
        assert_eq!(answer.status(), 200);
    });
}

#[test]
fn a_silent_upstream_is_504_over_http_2() {
    run(async {
        let upstream = Upstream::start(|_| Act::Hang).await;
        let answer_time = Duration::from_millis(50);
        let to = vec![upstream.address()];
        let server = relay(ProxyOptions { to, answer_time, ..ProxyOptions::default() }).await;
        let mut client = connect(&server).await;
        let request = Request::builder().uri("http://shop.example/").body(Full::default()).unwrap();
        let answer = soon("an answer", client.send_request(request)).await.unwrap();
        assert_eq!(answer.status(), 504);
    });
}
