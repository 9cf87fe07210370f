//! One request to another server as the program words it, and the answer with its status and headers.

use crate::{Content, Error, Kind, Port, Reference, Result, Verb};
use std::rc::Rc;
use std::time::Duration;

/// What a redirect does to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectPolicy {
    /// The request continues at the new address, within the limits of the client.
    #[default]
    Follow,
    /// The redirect is the answer.
    Manual,
    /// The redirect is an error.
    Refuse,
}

/// One request: method, headers and content beside the reference.
#[derive(Default)]
pub struct FetchRequest {
    /// The method in capitals; empty for GET.
    pub method: String,
    /// Headers beside those of the client, which they replace.
    pub headers: Vec<(String, String)>,
    /// The content to send; [`crate::Body::Empty`] for none.
    pub content: Content,
    /// What a redirect does.
    pub redirects: RedirectPolicy,
    /// The timeout for the head of the answer, and between two pieces of its body.
    pub timeout: Option<Duration>,
    /// Opens a WebSocket with this port in place of a body (status 101).
    pub port: Option<Rc<dyn Port>>,
    /// The largest body of the answer in bytes, after it was decoded.
    pub most: Option<u64>,
}

impl FetchRequest {
    /// The verb that the method is for stores in between, such as those that refuse writes.
    pub fn verb(&self) -> Verb {
        match self.method.as_str() {
            "" | "GET" | "HEAD" | "OPTIONS" => Verb::Get,
            "PUT" => Verb::Put,
            "PATCH" => Verb::Merge,
            "DELETE" => Verb::Delete,
            _ => Verb::Post,
        }
    }
}

/// The answer of another server, whatever its status.
pub struct FetchAnswer {
    /// The status code.
    pub status: u16,
    /// The headers in order, with lowercase names. Several fields of a name stand apart. The coding of the
    /// content and its length are left out where the content was decoded.
    pub headers: Vec<(String, String)>,
    /// The body: bytes where it is small, a stream otherwise.
    pub content: Content,
    /// The address that answered, after redirects.
    pub address: String,
}

/// The error of a store that is no part of the web.
///
/// # Errors
/// Always [`Kind::NotAllowed`].
pub fn no_web<T>(reference: &Reference) -> Result<T> {
    let message = format!("{reference} is no web address: `fetch` asks stores of http: and https:");
    Err(Error::new(Kind::NotAllowed, message))
}
