//! Reasons why a request got no complete response.

use crate::protocol::framing::Malformed;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// The error type of bodies.
pub(crate) type BoxedError = Box<dyn StdError + Send + Sync>;

/// Why a request got no complete response.
#[derive(Debug)]
pub(crate) enum RoundTripFailure {
    /// DNS lookup of the host failed.
    Name(io::Error),
    /// Connecting failed: nothing was sent.
    Connect(io::Error),
    /// The name means no public address, and the options ask for one: the class of the address.
    NotPublic(&'static str, IpAddr),
    /// The proxy gave no way to the server: what it did.
    Proxy(String),
    /// The server closed the connection before the response was complete.
    Closed,
    /// An I/O error on the connection.
    Broken(io::Error),
    /// The server does not speak HTTP.
    Malformed(&'static str),
    /// The request body failed.
    Content(BoxedError),
}

/// The innermost cause of a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FailureCause {
    Io(io::ErrorKind),
    Tls(String),
    Name,
    NotPublic(&'static str, IpAddr),
    Proxy(String),
    Closed,
    Malformed,
    Content,
}

impl RoundTripFailure {
    /// The failure of a read. Many servers close TLS without close_notify.
    pub(crate) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => RoundTripFailure::Closed,
            _ => RoundTripFailure::Broken(error),
        }
    }

    /// Whether connecting failed: the server has seen nothing of the request.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(
            self,
            RoundTripFailure::Name(_)
                | RoundTripFailure::Connect(_)
                | RoundTripFailure::NotPublic(..)
                | RoundTripFailure::Proxy(_)
        )
    }

    /// The innermost cause.
    pub(crate) fn root(&self) -> FailureCause {
        match self {
            RoundTripFailure::Name(_) => FailureCause::Name,
            RoundTripFailure::NotPublic(class, address) => FailureCause::NotPublic(class, *address),
            RoundTripFailure::Proxy(what) => FailureCause::Proxy(what.clone()),
            RoundTripFailure::Closed => FailureCause::Closed,
            RoundTripFailure::Malformed(_) => FailureCause::Malformed,
            RoundTripFailure::Content(_) => FailureCause::Content,
            RoundTripFailure::Connect(error) | RoundTripFailure::Broken(error) => {
                match tls_cause(error) {
                    Some(tls) => FailureCause::Tls(tls.to_string()),
                    None => FailureCause::Io(error.kind()),
                }
            }
        }
    }
}

/// The TLS error inside an I/O error, which may be wrapped twice. Its `source` does not show it.
fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    match inner.downcast_ref::<io::Error>() {
        Some(nested) => tls_cause(nested),
        None => inner.downcast_ref::<rustls::Error>(),
    }
}

impl From<Malformed> for RoundTripFailure {
    fn from(malformed: Malformed) -> Self {
        RoundTripFailure::Malformed(malformed.0)
    }
}

/// The text for the log.
impl fmt::Display for RoundTripFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoundTripFailure::Name(error) => write!(out, "the name cannot be found: {error}"),
            RoundTripFailure::Connect(error) => write!(out, "connecting: {error}"),
            RoundTripFailure::NotPublic(class, address) => write!(out, "{address} is {class}"),
            RoundTripFailure::Proxy(what) => write!(out, "the proxy {what}"),
            RoundTripFailure::Closed => out.write_str("the connection was closed"),
            RoundTripFailure::Broken(error) => write!(out, "the connection: {error}"),
            RoundTripFailure::Malformed(what) => write!(out, "the answer: {what}"),
            RoundTripFailure::Content(error) => write!(out, "the content: {error}"),
        }
    }
}
