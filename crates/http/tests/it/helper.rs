//! What the tests of the server share: a runtime, stores made of closures, and a client that
//! writes and reads bare bytes.

#![allow(unreachable_pub)]

use runnel_http::{AccessPolicy, HttpServer, Limits, ServerOptions, serve};
use runnel_store::{Answer, Content, Context, Memory, Outcome, Reference, Store, Verbs};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// No step of a test takes so long unless it hangs.
const HANG: Duration = Duration::from_secs(120);

/// Runs a test on one thread, as servers and stores live.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// Waits, but not for ever.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(HANG, future).await {
        Ok(value) => value,
        Err(_) => panic!("hangs: {what}"),
    }
}

/// Serves a store on a free port.
pub async fn start(root: Rc<dyn Store>) -> HttpServer {
    start_with(root, Limits::default()).await
}

/// Serves a store whose names clients may list.
pub async fn start_listed(root: Rc<dyn Store>) -> HttpServer {
    let access = AccessPolicy { listing: true, ..AccessPolicy::default() };
    start_with(root, Limits { access, ..Limits::default() }).await
}

/// Serves a store with other limits.
pub async fn start_with(root: Rc<dyn Store>, limits: Limits) -> HttpServer {
    let address = ([127, 0, 0, 1], 0).into();
    let limits = of_any_host(limits);
    serve(root, ServerOptions { address, limits, ..ServerOptions::default() }).await.unwrap()
}

/// The limits of a server that answers for the names of the tests, unless they name its hosts.
pub fn of_any_host(mut limits: Limits) -> Limits {
    if limits.access.allowed_hosts.is_empty() {
        limits.access.allowed_hosts = vec!["*".to_string()];
    }
    limits
}

/// A site in memory.
pub async fn site(pages: &[(&str, &str)]) -> Rc<Memory> {
    let site = Memory::site();
    for (path, text) in pages {
        let content = Content::text(text.to_string());
        site.put(&Reference::from_path(*path), content, &Context::default()).await.unwrap();
    }
    Rc::new(site)
}

type Getting = Box<dyn Fn(&Reference, &Context) -> Answer<Option<Content>>>;
type Putting = Box<dyn Fn(&Reference, Content, &Context) -> Answer<bool>>;
type Posting = Box<dyn Fn(&Reference, Content, &Context) -> Answer<Outcome>>;

/// A store made of closures.
#[derive(Default)]
pub struct Fake {
    get: Option<Getting>,
    put: Option<Putting>,
    post: Option<Posting>,
    verbs: Option<Verbs>,
}

impl Fake {
    pub fn get(get: impl Fn(&Reference, &Context) -> Answer<Option<Content>> + 'static) -> Fake {
        Fake { get: Some(Box::new(get)), ..Fake::default() }
    }

    pub fn put(
        mut self,
        put: impl Fn(&Reference, Content, &Context) -> Answer<bool> + 'static,
    ) -> Fake {
        self.put = Some(Box::new(put));
        self
    }

    pub fn post(
        mut self,
        post: impl Fn(&Reference, Content, &Context) -> Answer<Outcome> + 'static,
    ) -> Fake {
        self.post = Some(Box::new(post));
        self
    }

    pub fn only(mut self, verbs: Verbs) -> Fake {
        self.verbs = Some(verbs);
        self
    }
}

impl Store for Fake {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match &self.get {
            Some(get) => get(reference, context),
            None => Answer::ok(None),
        }
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match &self.put {
            Some(put) => put(reference, content, context).map(Outcome::put),
            None => runnel_store::Error::not_allowed(runnel_store::Verb::Put, reference).into(),
        }
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match &self.post {
            Some(post) => post(reference, content, context),
            None => runnel_store::Error::not_allowed(runnel_store::Verb::Post, reference).into(),
        }
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        self.verbs.unwrap_or(Verbs::ALL)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "closures".to_string()
    }
}

/// A client that writes and reads bare bytes.
pub struct Peer {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

/// One response as it came.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Peer {
    pub async fn connect(server: &HttpServer) -> Peer {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        Peer { stream, buffer: Vec::new() }
    }

    /// From another address of this machine, such as 127.0.0.2.
    pub async fn connect_from(server: &HttpServer, host: u8) -> Peer {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, host], 0).into()).unwrap();
        Peer { stream: socket.connect(server.address()).await.unwrap(), buffer: Vec::new() }
    }

    /// Writes bytes; a server that has hung up already is no error.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = soon("sending", self.stream.write_all(bytes.as_ref())).await;
    }

    /// The next response to a request that was not HEAD.
    pub async fn receive(&mut self) -> Response {
        self.response(false).await
    }

    /// The next response to HEAD.
    pub async fn receive_head(&mut self) -> Response {
        self.response(true).await
    }

    /// The next head.
    pub async fn head(&mut self) -> String {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at;
            }
            assert!(self.more().await, "closed before the end of a head: {:?}", self.so_far());
        };
        String::from_utf8(self.buffer.drain(..end + 4).collect()).unwrap()
    }

    async fn response(&mut self, head_only: bool) -> Response {
        let head = self.head().await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut response = Response { status, head, body: Vec::new() };
        if head_only || matches!(status, 100..=199 | 204 | 304) {
            return response;
        }
        if let Some(length) = response.header("content-length") {
            response.body = self.exactly(length.parse().unwrap()).await;
        } else if response.header("transfer-encoding") == Some("chunked") {
            while let Some(piece) = self.chunk().await {
                response.body.extend(piece);
            }
        } else {
            while self.more().await {}
            response.body = std::mem::take(&mut self.buffer);
        }
        response
    }

    /// The next chunk of a body in chunks; `None` for the last.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                let text = String::from_utf8(line).unwrap();
                break usize::from_str_radix(text.trim(), 16).unwrap();
            }
            assert!(self.more().await, "closed within a body: {:?}", self.so_far());
        };
        let mut piece = self.exactly(size + 2).await;
        piece.truncate(size);
        (size > 0).then_some(piece)
    }

    async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            assert!(self.more().await, "closed within a body: {:?}", self.so_far());
        }
        self.buffer.drain(..count).collect()
    }

    /// Whether the server closes now, without another byte.
    pub async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.more().await
    }

    /// Everything up to the close.
    pub async fn rest(&mut self) -> String {
        while self.more().await {}
        self.so_far()
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    /// Reads some bytes; false at the end.
    async fn more(&mut self) -> bool {
        let mut some = [0; 16 * 1024];
        let count = soon("receiving", self.stream.read(&mut some)).await.unwrap_or(0);
        self.buffer.extend_from_slice(&some[..count]);
        count > 0
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// One request on a connection of its own.
pub async fn ask(server: &HttpServer, request: &str) -> Response {
    let mut peer = Peer::connect(server).await;
    peer.send(request).await;
    peer.receive().await
}

/// GET.
pub async fn get(server: &HttpServer, path: &str) -> Response {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await
}

/// A request with a body.
pub async fn send(
    server: &HttpServer,
    method: &str,
    path: &str,
    fields: &str,
    body: &str,
) -> Response {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n{fields}\r\n{body}"
    );
    ask(server, &request).await
}
