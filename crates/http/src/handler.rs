//! Protocols over HTTP whose requests are no verbs of a store: a [`Handler`] sees the request as it
//! was sent and answers as it likes. Framing, limits, timeouts, connections, TLS, metrics and the log
//! stay the server's.

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode, Uri};
use runnel_store::{Allowance, Body, ByteStream};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

/// Answers the requests of a server.
pub trait Handler {
    /// Answers one request. The head arrives before the body, so that a request can be refused
    /// without reading its body.
    fn handle(self: Rc<Self>, request: HandlerRequest) -> HandlerAnswer;

    /// A description in a word or two, for logs: `S3`.
    fn describe(&self) -> String;
}

/// The answer of a handler, usually later.
pub type HandlerAnswer = Pin<Box<dyn Future<Output = HandlerResponse>>>;

/// A request as it was sent.
pub struct HandlerRequest {
    /// The method.
    pub method: Method,
    /// The target: path and query are not decoded.
    pub uri: Uri,
    /// The header fields, with the authority of an absolute target as `Host`.
    pub headers: HeaderMap,
    /// The client, also behind trusted proxies.
    pub peer: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// The body, read on demand and within the server's limits. Reading it sends `100 Continue`.
    pub body: ByteStream,
    /// The length of the body, where the client announced it: 0 without a body, `None` when
    /// chunked.
    pub length: Option<u64>,
    /// When the answer has to begin; a body that is still being read extends it.
    pub deadline: Option<Instant>,
    /// What this request may hold of the memory of all requests.
    pub allowance: Allowance,
}

/// An answer. Where the body has no `Content-Length` of its own, the server adds its length or
/// sends it in chunks. A body for HEAD gives the length and is not sent.
pub struct HandlerResponse {
    /// The status.
    pub status: StatusCode,
    /// The header fields, sent as they are; `Date`, `Content-Length` and those of the connection
    /// are the server's, unless `Content-Length` is given for HEAD.
    pub headers: HeaderMap,
    /// Bytes, text, a stream (a file is sent by the system) or nothing.
    pub body: Body,
}
