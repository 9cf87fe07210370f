//! A client that writes bare requests to our own server.

use crate::support::run;
use runnel_http::{Handler, HttpServer, ServerOptions, serve};
use runnel_s3::{S3Service, S3ServiceOptions, S3User};
use runnel_store::{Disk, Memory, Store};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server of buckets.
pub(crate) struct BucketServer {
    server: HttpServer,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl BucketServer {
    /// Serves a store on a free port, without users.
    pub(crate) async fn start(store: Rc<dyn Store>) -> Self {
        BucketServer::start_for(Vec::new(), store).await
    }

    /// Serves a store for users.
    pub(crate) async fn start_for(users: Vec<S3User>, store: Rc<dyn Store>) -> Self {
        let options = S3ServiceOptions { users, ..S3ServiceOptions::default() };
        let service: Rc<dyn Handler> = S3Service::new(store, options).unwrap();
        let address: SocketAddr = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { address, ..ServerOptions::default() };
        BucketServer { server: serve(service, options).await.unwrap() }
    }

    /// The address for a client that signs.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Serves a store without S3.
    pub(crate) async fn start_plain(store: Rc<dyn Store>) -> Self {
        let address: SocketAddr = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { address, ..ServerOptions::default() };
        BucketServer { server: serve(store, options).await.unwrap() }
    }

    /// Sends a request without a body.
    pub(crate) async fn ask(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Reply {
        self.send(method, target, fields, b"").await
    }

    /// Sends a request, and reads the answer until the connection closes.
    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let socket = self.request(method, target, fields, body).await;
        BucketServer::finish(socket, Vec::new()).await
    }

    /// Sends a request with a document, whose answer is to be read.
    pub(crate) async fn begin(&self, method: &str, target: &str, document: &str) -> TcpStream {
        self.request(method, target, &[], document.as_bytes()).await
    }

    async fn request(
        &self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut socket = TcpStream::connect(self.server.address()).await.unwrap();
        // An answer of unknown length is not in chunks, and ends with the connection.
        let mut head = format!("{method} {target} HTTP/1.0\r\nHost: s3\r\n");
        head += &format!("Content-Length: {}\r\n", body.len());
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        socket.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        // A server that refuses the head need not read the body.
        let _ = socket.write_all(body).await;
        socket
    }

    /// Reads one byte of an answer.
    pub(crate) async fn read_byte(socket: &mut TcpStream) -> u8 {
        socket.read_u8().await.unwrap()
    }

    /// Reads an answer of which the beginning was read, until the connection closes.
    pub(crate) async fn finish(mut socket: TcpStream, begun: Vec<u8>) -> Reply {
        let mut answer = begun;
        let _ = socket.read_to_end(&mut answer).await;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head[9..12].parse().unwrap();
        Reply { status, head, body: answer[end + 4..].to_vec() }
    }

    /// Puts an object, which has to succeed.
    pub(crate) async fn put(&self, target: &str, body: &str) -> Reply {
        let reply = self.send("PUT", target, &[], body.as_bytes()).await;
        assert_eq!(reply.status, 200, "PUT {target}: {}", reply.text());
        reply
    }

    /// The text of an object, or the status without one.
    pub(crate) async fn get(&self, target: &str) -> Result<String, u16> {
        let reply = self.ask("GET", target, &[]).await;
        if reply.status < 300 { Ok(reply.text()) } else { Err(reply.status) }
    }

    /// The texts of an element in a document.
    pub(crate) async fn list(&self, target: &str, element: &str) -> Vec<String> {
        let reply = self.ask("GET", target, &[]).await;
        assert_eq!(reply.status, 200, "GET {target}: {}", reply.text());
        reply.elements(element)
    }
}

impl Reply {
    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The texts of all elements of a name.
    pub(crate) fn elements(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
        let parts = text.split(&begin).skip(1);
        parts.filter_map(|part| Some(part.split_once(&end)?.0.to_string())).collect()
    }

    /// The code of a fault.
    pub(crate) fn code(&self) -> String {
        self.elements("Code").pop().unwrap_or_default()
    }
}

/// Runs a test over a store in memory and over files.
pub(crate) fn over_stores<F: Future<Output = ()>>(test: impl Fn(Rc<dyn Store>) -> F) {
    run(test(Rc::new(Memory::dictionary())));
    let folder = tempfile::tempdir().unwrap();
    run(test(Rc::new(Disk::new(folder.path()).unwrap())));
}
