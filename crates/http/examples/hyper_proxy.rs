//! A reverse proxy written by hand with hyper, the peer of `benches/reverse`: HTTP/1.1 on both sides,
//! one thread, kept connections to one upstream, and the same forwarded headers as `Proxy` sends.
//!
//! `cargo run --release -p runnel-http --example hyper_proxy -- PORT UPSTREAM`
//!
//! It has no timeouts, limits, retries, health checks or upgrades.

use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

/// The fields that belong to one connection (RFC 9110 section 7.6.1).
const HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

type Failure = Box<dyn Error + Send + Sync>;

/// The idle connections to the upstream.
struct Upstream {
    address: SocketAddr,
    idle: RefCell<Vec<SendRequest<Incoming>>>,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(port), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err("usage: hyper_proxy PORT UPSTREAM, such as 8080 127.0.0.1:8081".into());
    };
    let (port, address) = (port.parse()?, upstream.parse()?);
    let upstream = Rc::new(Upstream { address, idle: RefCell::default() });
    let options = tokio::runtime::LocalOptions::default();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build_local(options)?;
    runtime.block_on(async move {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        loop {
            let (stream, peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            spawn_local(serve(stream, peer, upstream.clone()));
        }
    })
}

/// Serves one client connection. An error closes this connection only.
async fn serve(stream: TcpStream, peer: SocketAddr, upstream: Rc<Upstream>) {
    let service = service_fn(move |request| {
        let upstream = upstream.clone();
        async move { upstream.forward(request, peer).await }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

impl Upstream {
    /// Sends a request to the upstream, and returns its response.
    async fn forward(
        self: Rc<Self>,
        mut request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response<Incoming>, Failure> {
        remove_hop_fields(request.headers_mut());
        let host = request.headers().get(header::HOST).cloned();
        let headers = request.headers_mut();
        headers.insert("x-forwarded-for", HeaderValue::try_from(peer.ip().to_string())?);
        headers.insert("x-forwarded-proto", HeaderValue::from_static("http"));
        if let Some(host) = host {
            headers.insert("x-forwarded-host", host);
        }
        let mut sender = self.connection().await?;
        let mut response = sender.send_request(request).await?;
        remove_hop_fields(response.headers_mut());
        self.keep(sender);
        Ok(response)
    }

    /// An idle connection, or a new one.
    async fn connection(&self) -> Result<SendRequest<Incoming>, Failure> {
        loop {
            let idle = self.idle.borrow_mut().pop();
            match idle {
                Some(sender) if sender.is_closed() => {}
                Some(sender) => return Ok(sender),
                None => break,
            }
        }
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        spawn_local(connection);
        Ok(sender)
    }

    /// Keeps a connection, once its response has been read to its end.
    fn keep(self: Rc<Self>, mut sender: SendRequest<Incoming>) {
        if sender.is_ready() {
            return self.idle.borrow_mut().push(sender);
        }
        spawn_local(async move {
            if sender.ready().await.is_ok() {
                self.idle.borrow_mut().push(sender);
            }
        });
    }
}

fn remove_hop_fields(headers: &mut HeaderMap) {
    for name in HOP {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}
