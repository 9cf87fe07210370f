//! Handlers over HTTP/2.

use crate::handlers::{echo, start_with, text};
use crate::helper::{run, site, soon, start};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use runnel_http::{HandlerRequest, HandlerResponse, HttpServer, Limits};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
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

type Frames = Pin<Box<dyn futures_util::Stream<Item = Result<Frame<Bytes>, Infallible>>>>;
type Client = SendRequest<StreamBody<Frames>>;

async fn connect(server: &HttpServer) -> Client {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (client, connection) = http2::handshake(Local, TokioIo::new(stream)).await.unwrap();
    tokio::task::spawn_local(async move {
        let _ = connection.await;
    });
    client
}

async fn ask(
    client: &mut Client,
    method: &str,
    path: &str,
    frames: Vec<Frame<Bytes>>,
) -> Response<hyper::body::Incoming> {
    let frames: Frames = Box::pin(stream::iter(frames.into_iter().map(Ok)));
    let request = Request::builder()
        .method(method)
        .uri(format!("http://a.example{path}"))
        .version(Version::HTTP_2)
        .body(StreamBody::new(frames))
        .unwrap();
    soon("a response", client.send_request(request)).await.unwrap()
}

async fn text_of(response: Response<hyper::body::Incoming>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn bodies_and_trailers_arrive() {
    run(async {
        let server = start_with(Limits::default(), None, echo).await;
        let mut client = connect(&server).await;
        let mut trailers = HeaderMap::new();
        trailers.insert("x-a", HeaderValue::from_static("1"));
        let data = || Frame::data(Bytes::from("a".repeat(100_000)));
        let frames = vec![data(), data(), Frame::trailers(trailers)];
        let response = ask(&mut client, "PUT", "/a%2Fb?c", frames).await;
        let expected = "PUT /a%2Fb?c None 200000 x-a=1";
        assert_eq!(text_of(response).await, expected);
        let response = ask(&mut client, "GET", "/", Vec::new()).await;
        assert_eq!(text_of(response).await, "GET / None 0");
    });
}

#[test]
fn a_response_to_head_has_the_length_only() {
    run(async {
        let handler = async |request: HandlerRequest| match request.uri.path() {
            "/given" => {
                let mut headers = HeaderMap::new();
                headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("77"));
                HandlerResponse { headers, ..Default::default() }
            }
            "/none" => HandlerResponse { status: StatusCode::NO_CONTENT, ..Default::default() },
            _ => text("hello"),
        };
        let served = [
            start_with(Limits::default(), None, handler).await,
            start(site(&[("/text", "hello")]).await).await,
        ];
        for (server, path, status, length) in [
            (&served[0], "/given", 200, Some("77")),
            (&served[0], "/none", 204, None),
            (&served[0], "/text", 200, Some("5")),
            (&served[1], "/text", 200, Some("5")),
        ] {
            let mut client = connect(server).await;
            let response = ask(&mut client, "HEAD", path, Vec::new()).await;
            let given = response.headers().get("content-length").cloned();
            assert_eq!(
                (response.status().as_u16(), given.as_ref().map(|g| g.to_str().unwrap())),
                (status, length),
                "{path}"
            );
            assert_eq!(text_of(response).await, "");
        }
    });
}

#[test]
fn an_early_response_leaves_the_connection() {
    run(async {
        let server = start_with(Limits::default(), None, async |request: HandlerRequest| {
            match request.uri.path() {
                "/early" => text("early"),
                _ => echo(request).await,
            }
        })
        .await;
        let mut client = connect(&server).await;
        for _ in 0..3 {
            let frames = vec![Frame::data(Bytes::from("a".repeat(1000)))];
            let response = ask(&mut client, "PUT", "/early", frames).await;
            assert_eq!(response.status(), StatusCode::OK);
            let response = ask(&mut client, "GET", "/x", Vec::new()).await;
            assert_eq!(text_of(response).await, "GET /x None 0");
        }
    });
}
