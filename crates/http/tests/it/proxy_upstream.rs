//! Upstreams for tests of the reverse proxy: servers that write down what they get, byte for byte, and
//! answer with given bytes.

use crate::helper::{Peer, Response, soon, start_with};
use runnel_http::{HttpServer, Limits, ProxyOptions, proxy};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What an upstream does with a request.
pub(crate) enum Act {
    /// Answers and reads the next request.
    Answer(String),
    /// Wants the body of a request that expects 100 Continue, reads this many bytes of it, and answers.
    Want(usize, String),
    /// Answers and closes.
    Last(String),
    /// Closes without an answer.
    Close,
    /// Says nothing until the other side goes.
    Hang,
}

type Script = Rc<dyn Fn(&str) -> Act>;

/// An upstream.
pub(crate) struct Upstream {
    pub(crate) port: u16,
    /// The requests with their bodies, byte for byte.
    pub(crate) seen: Rc<RefCell<Vec<String>>>,
    /// Connections that are open.
    pub(crate) open: Rc<Cell<usize>>,
}

impl Upstream {
    /// Answers each request by a function of its bytes.
    pub(crate) async fn start(script: impl Fn(&str) -> Act + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, open) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)));
        let upstream = Upstream { port, seen: seen.clone(), open: open.clone() };
        let script: Script = Rc::new(script);
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen, open) = (script.clone(), seen.clone(), open.clone());
                tokio::task::spawn_local(async move {
                    open.set(open.get() + 1);
                    converse(stream, script, seen).await;
                    open.set(open.get() - 1);
                });
            }
        });
        upstream
    }

    /// Answers each request with these bytes.
    pub(crate) async fn saying(answer: &str) -> Upstream {
        let answer = answer.to_string();
        Upstream::start(move |_| Act::Answer(answer.clone())).await
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The only request so far.
    pub(crate) fn only(&self) -> String {
        let seen = self.seen.borrow();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

async fn converse(mut stream: TcpStream, script: Script, seen: Rc<RefCell<Vec<String>>>) {
    let mut input = Vec::new();
    loop {
        while !is_complete(&input) {
            let mut some = [0; 4096];
            match stream.read(&mut some).await {
                Ok(count @ 1..) => input.extend_from_slice(&some[..count]),
                _ => return,
            }
        }
        let request = String::from_utf8_lossy(&std::mem::take(&mut input)).into_owned();
        seen.borrow_mut().push(request.clone());
        let (answer, is_last) = match script(&request) {
            Act::Answer(answer) => (answer, false),
            Act::Want(length, answer) => {
                let mut body = vec![0; length];
                let wanted = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
                if wanted.is_err() || stream.read_exact(&mut body).await.is_err() {
                    return;
                }
                seen.borrow_mut().push(String::from_utf8(body).unwrap());
                (answer, false)
            }
            Act::Last(answer) => (answer, true),
            Act::Close => return,
            Act::Hang => {
                let mut rest = [0; 64];
                while matches!(stream.read(&mut rest).await, Ok(1..)) {}
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() || is_last {
            return;
        }
    }
}

/// Whether this is a head with all of its body. A request that expects 100 Continue is complete without.
fn is_complete(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    if head.contains("transfer-encoding: chunked") {
        return body.starts_with("0\r\n") && body.ends_with("\r\n\r\n")
            || body.contains("\r\n0\r\n") && body.ends_with("\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    body.len() >= length || head.contains("expect:")
}

/// A server that relays to these addresses.
pub(crate) async fn relay_to(to: &[&Upstream]) -> HttpServer {
    let to = to.iter().map(|upstream| upstream.address()).collect();
    relay(ProxyOptions { to, ..ProxyOptions::default() }).await
}

/// A server that is a reverse proxy.
pub(crate) async fn relay(options: ProxyOptions) -> HttpServer {
    relay_within(options, Limits::default()).await
}

/// The same with limits of the server.
pub(crate) async fn relay_within(options: ProxyOptions, limits: Limits) -> HttpServer {
    start_with(proxy(options).unwrap(), limits).await
}

/// One request as it is written, on a connection of its own.
pub(crate) async fn ask(server: &HttpServer, request: &str) -> Response {
    let mut peer = Peer::connect(server).await;
    peer.send(request).await;
    soon("an answer", peer.receive()).await
}

/// The lines of a head, in order, without the request line.
pub(crate) fn fields(request: &str) -> Vec<String> {
    let head = request.split("\r\n\r\n").next().unwrap();
    let mut lines: Vec<String> = head.split("\r\n").skip(1).map(str::to_string).collect();
    lines.sort();
    lines
}
