//! What follows when a connection goes over to another protocol (RFC 9110 section 7.8).

use crate::server::socket::Socket;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

/// The rest of a connection.
pub(crate) type Session = Pin<Box<dyn Future<Output = ()>>>;

/// Begins a session on the connection, with what the client has sent beyond its request.
pub(crate) type Upgrade = Box<dyn FnOnce(Socket, Bytes) -> Session>;
