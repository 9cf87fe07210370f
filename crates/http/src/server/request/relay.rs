//! A request that is relayed to an upstream as it was sent, on its way through the stores in front of
//! the reverse proxy, and its response on the way back.
//!
//! The stores on the way see a verb, so that they can refuse it; the request itself and its response
//! lie in the exchange of the verb's context.

use crate::protocol::fields::FieldLines;
use crate::server::connection_state::{ConnectionState, Upgrade};
use crate::server::response::body::ResponseBody;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use runnel_store::{ByteStream, Reference};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

thread_local! {
    /// Whether this worker has a reverse proxy: without one, a request pays this comparison alone.
    static HAS_PROXY: Cell<bool> = const { Cell::new(false) };
}

/// Whether this worker has a reverse proxy.
pub(crate) fn has_proxy() -> bool {
    HAS_PROXY.get()
}

/// This worker has a reverse proxy from now on.
pub(crate) fn expect_proxies() {
    HAS_PROXY.set(true);
}

/// What a relayed request has beside the fields of its exchange.
pub(crate) struct RelayedRequest {
    pub(crate) body: RelayedBody,
    /// The reference of the request before any store on the way has changed it.
    pub(crate) whole: Reference,
    /// The client waits for 100 Continue.
    pub(crate) expects: bool,
    /// The peer of the connection: the client, or a proxy in front of this server.
    pub(crate) nearest: SocketAddr,
    /// Whether that peer is a trusted proxy, whose forwarding fields count.
    pub(crate) is_trusted: bool,
    pub(crate) state: Rc<ConnectionState>,
}

/// The body of a relayed request.
pub(crate) enum RelayedBody {
    Nothing,
    Whole(Bytes),
    /// Read on demand, with the length if it is known, and the trailer fields after its end.
    Coming(ByteStream, Option<u64>, Rc<RefCell<HeaderMap>>),
}

/// The fields of a relayed response: lines as they were received, or a map once someone changes them.
#[derive(Default)]
pub(crate) struct RelayedFields {
    lines: FieldLines,
    headers: HeaderMap,
}

impl RelayedFields {
    pub(crate) fn new(lines: FieldLines) -> Self {
        RelayedFields { lines, headers: HeaderMap::new() }
    }

    /// The fields, to be changed. They are no lines from then on.
    pub(crate) fn map(&mut self) -> &mut HeaderMap {
        let lines = std::mem::take(&mut self.lines);
        if !lines.as_bytes().is_empty() {
            self.headers = lines.to_headers();
        }
        &mut self.headers
    }

    /// The map and the lines, one of which is empty.
    pub(crate) fn into_parts(self) -> (HeaderMap, FieldLines) {
        (self.headers, self.lines)
    }
}

/// The response of an upstream.
pub(crate) struct RelayedResponse {
    pub(crate) status: StatusCode,
    pub(crate) fields: RelayedFields,
    pub(crate) body: ResponseBody,
    /// The rest of the connection after 101.
    pub(crate) upgrade: Option<Upgrade>,
}

/// A relayed request and its response, in their exchange.
pub(crate) struct Relay {
    request: RefCell<Option<RelayedRequest>>,
    response: RefCell<Option<RelayedResponse>>,
}

impl Relay {
    pub(crate) fn new(request: RelayedRequest) -> Self {
        Relay { request: RefCell::new(Some(request)), response: RefCell::default() }
    }

    /// The request, once.
    pub(crate) fn take_request(&self) -> Option<RelayedRequest> {
        self.request.take()
    }

    pub(crate) fn respond(&self, response: RelayedResponse) {
        self.response.replace(Some(response));
    }

    pub(crate) fn take_response(&self) -> Option<RelayedResponse> {
        self.response.take()
    }

    /// Removes a header of the response.
    pub(crate) fn remove_header(&self, name: &str) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Some(response), Ok(name)) = (&mut *self.response.borrow_mut(), name) {
            response.fields.map().remove(name);
        }
    }
}
