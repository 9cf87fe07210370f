//! Why a request got no whole answer.

use crate::protocol::framing::Malformed;
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// What others fail with.
pub(crate) type BoxedError = Box<dyn StdError + Send + Sync>;

/// Why a request got no whole answer.
#[derive(Debug)]
pub(crate) enum RoundTripFailure {
    /// The host's name leads nowhere.
    Name(io::Error),
    /// There was no connection, so nothing was sent.
    Connect(io::Error),
    /// The connection ended, in order, before the answer was whole.
    Closed,
    /// Something went wrong with the connection.
    Broken(io::Error),
    /// The other side does not speak HTTP.
    Malformed(&'static str),
    /// The content that was to be sent broke off.
    Content(BoxedError),
}

/// What the innermost cause of a failure is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FailureCause {
    Io(io::ErrorKind),
    Tls(String),
    Name,
    Closed,
    Malformed,
    Content,
}

impl RoundTripFailure {
    /// What reading from a connection failed with. Servers that end TLS without saying so are many.
    pub(crate) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => RoundTripFailure::Closed,
            _ => RoundTripFailure::Broken(error),
        }
    }

    /// Whether there was no connection: the server has seen nothing of the request.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self, RoundTripFailure::Name(_) | RoundTripFailure::Connect(_))
    }

    /// What it comes from.
    pub(crate) fn root(&self) -> FailureCause {
        match self {
            RoundTripFailure::Name(_) => FailureCause::Name,
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

/// TLS's own error, which those of input and output wrap, at times twice. Their `source` does not
/// show it.
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

/// For the log.
impl fmt::Display for RoundTripFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoundTripFailure::Name(error) => write!(out, "the name cannot be found: {error}"),
            RoundTripFailure::Connect(error) => write!(out, "connecting: {error}"),
            RoundTripFailure::Closed => out.write_str("the connection was closed"),
            RoundTripFailure::Broken(error) => write!(out, "the connection: {error}"),
            RoundTripFailure::Malformed(what) => write!(out, "the answer: {what}"),
            RoundTripFailure::Content(error) => write!(out, "the content: {error}"),
        }
    }
}
