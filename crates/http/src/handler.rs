//! Protocols over HTTP whose requests are no verbs of a store: a [`Handler`] sees the request as it
//! was sent and answers as it likes. Framing, limits, timeouts, connections, TLS, metrics and the log
//! stay the server's.

use crate::server::observer::ObservedRequest;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode, Uri};
use runnel_store::{Allowance, Body, ByteStream, Store};
use std::cell::RefCell;
use std::fmt;
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

    /// The largest request body, in bytes; more is 413. `None` for [`crate::Limits::body`].
    fn max_body(&self) -> Option<u64> {
        None
    }

    /// A description in a word or two, for logs: `S3`.
    fn describe(&self) -> String;
}

/// The answer of a handler, usually later.
pub type HandlerAnswer = Pin<Box<dyn Future<Output = HandlerResponse>>>;

/// What a server serves: a store, whose verbs are the requests, or a handler.
#[derive(Clone)]
pub enum Served {
    /// A store.
    Store(Rc<dyn Store>),
    /// A handler.
    Handler(Rc<dyn Handler>),
}

impl From<Rc<dyn Store>> for Served {
    fn from(store: Rc<dyn Store>) -> Served {
        Served::Store(store)
    }
}

impl<S: Store + 'static> From<Rc<S>> for Served {
    fn from(store: Rc<S>) -> Served {
        Served::Store(store)
    }
}

impl From<Rc<dyn Handler>> for Served {
    fn from(handler: Rc<dyn Handler>) -> Served {
        Served::Handler(handler)
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Served::Store(store) => out.debug_tuple("Store").field(&store.describe()).finish(),
            Served::Handler(handler) => {
                out.debug_tuple("Handler").field(&handler.describe()).finish()
            }
        }
    }
}

/// A request as it was sent.
pub struct HandlerRequest {
    /// The method.
    pub method: Method,
    /// The target: its path and query are not decoded. In HTTP/2 and where the client sent an
    /// absolute target, it has a scheme and an authority.
    pub uri: Uri,
    /// The header fields, with the authority of an absolute target as `Host`.
    pub headers: HeaderMap,
    /// The client, also behind trusted proxies.
    pub peer: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// The body, read on demand and within the server's limits. Reading it sends `100 Continue`.
    /// After an error the connection closes; the response to the error is the handler's.
    pub body: ByteStream,
    /// The length of the body, where the client announced it: 0 without a body, `None` when
    /// chunked.
    pub length: Option<u64>,
    /// The trailer fields: empty until the body was read to its end.
    pub trailers: Rc<RefCell<HeaderMap>>,
    /// When the response has to begin; `None` while the body is still to come, because the time
    /// starts with its end.
    pub deadline: Option<Instant>,
    /// What this request may hold of the memory of all requests.
    pub allowance: Allowance,
    /// The request as metrics and the log see it, with its id; `None` without an observer.
    pub observed: Option<Rc<ObservedRequest>>,
}

impl HandlerRequest {
    /// Names the route for metrics and traces, such as `GetObject`; the first name stays.
    pub fn set_route(&self, name: &str) {
        if let Some(observed) = &self.observed {
            observed.set_route(name);
        }
    }
}

/// An answer. The server adds the length of the body, or sends it in chunks where it is unknown.
/// A body for HEAD gives the length and is not sent.
#[derive(Default)]
pub struct HandlerResponse {
    /// The status.
    pub status: StatusCode,
    /// The header fields, sent as they are. Those of the connection and its framing are the
    /// server's; `Content-Length` counts for a stream of unknown length, and for HEAD.
    pub headers: HeaderMap,
    /// Bytes, text, a stream (a file is sent by the system) or nothing. Values are sent as JSON.
    pub body: Body,
}
