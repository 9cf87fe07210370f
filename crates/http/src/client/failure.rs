//! Why a request got no whole answer.

use crate::protocol::framing::Malformed;
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// What others fail with.
pub(crate) type Cause = Box<dyn StdError + Send + Sync>;

/// Why a request got no whole answer.
#[derive(Debug)]
pub(crate) enum Failure {
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
    Content(Cause),
}

/// What the innermost cause of a failure is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Io(io::ErrorKind),
    Tls(String),
    Name,
    Closed,
    Malformed,
    Content,
}

impl Failure {
    /// What reading from a connection failed with. Servers that end TLS without saying so are many.
    pub(crate) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::Closed,
            _ => Failure::Broken(error),
        }
    }

    /// Whether there was no connection: the server has seen nothing of the request.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self, Failure::Name(_) | Failure::Connect(_))
    }

    /// What it comes from.
    pub(crate) fn root(&self) -> Root {
        match self {
            Failure::Name(_) => Root::Name,
            Failure::Closed => Root::Closed,
            Failure::Malformed(_) => Root::Malformed,
            Failure::Content(_) => Root::Content,
            Failure::Connect(error) | Failure::Broken(error) => match tls_cause(error) {
                Some(tls) => Root::Tls(tls.to_string()),
                None => Root::Io(error.kind()),
            },
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

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Failure::Malformed(malformed.0)
    }
}

/// For the log.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Name(error) => write!(out, "the name cannot be found: {error}"),
            Failure::Connect(error) => write!(out, "connecting: {error}"),
            Failure::Closed => out.write_str("the connection was closed"),
            Failure::Broken(error) => write!(out, "the connection: {error}"),
            Failure::Malformed(what) => write!(out, "the answer: {what}"),
            Failure::Content(error) => write!(out, "the content: {error}"),
        }
    }
}
