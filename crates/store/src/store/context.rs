//! The context of a verb: conditions, deadline, transaction, and the HTTP exchange it is part of.

pub(crate) mod program_place;
pub(crate) mod visitor;

use crate::{
    Allowance, Answer, ByteStream, ChosenFormat, Condition, Conditions, Content, EntityTag, Error,
    PartEvents, ProgramPlace, Reference, Result, Text, Transaction, Value, Verb,
};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Instant;

/// What a caller says beside the reference. The default asks for nothing special.
#[derive(Clone, Default)]
pub struct Context {
    /// The validator of what the caller has: a store that knows its own cheaply may answer
    /// [`crate::Body::Empty`] with the same tag instead of the content.
    pub known: Option<EntityTag>,
    /// The precondition of a put, merge or delete ([`Store::conditions`]). A post may support or
    /// refuse it; reads ignore it.
    pub only_if: Option<Condition>,
    /// Whether a read answers the attributes of content, where reading them costs a step of its own
    /// ([`crate::Disk`]): its metadata, and the media type that was put; in memory the time of the
    /// last change.
    pub attributes: bool,
    /// Whether the caller ignores the entity tag of what it reads: a store that would have to compute one may
    /// leave it out.
    pub untagged: bool,
    /// How many collections above deleted content are deleted with it where they are empty then: those
    /// below the root of the caller's store. None, where no store around has said so ([`crate::Disk`]).
    pub prunes: Option<usize>,
    /// When the caller stops waiting. Stores that wait for others should stop by then.
    pub deadline: Option<Instant>,
    /// The HTTP exchange of this call, for programs that read requests.
    pub exchange: Option<Rc<dyn Exchange>>,
    /// The innermost transaction that the caller is in.
    pub transaction: Option<Rc<dyn Transaction>>,
    /// Set when the content of a write came from a client of a server.
    pub from_client: Option<ClientContent>,
    /// The place in the program that asks, for the log.
    pub place: ProgramPlace,
}

/// Content that a client sent: it obeys the class of its table.
#[derive(Clone, Debug, Default)]
pub struct ClientContent {
    /// The fields that the program has set in it, which may be any of the class.
    pub granted: Option<Rc<[String]>>,
    /// The text that the client sent, where it was read at once.
    pub text: Option<bytes::Bytes>,
    /// The content while it arrives, in the hands of the program that takes it so.
    pub stream: Option<Rc<dyn std::any::Any>>,
}

impl ClientContent {
    /// The fields that the program has set.
    pub fn granted(&self) -> &[String] {
        self.granted.as_deref().unwrap_or_default()
    }
}

impl Context {
    /// Refuses a condition, for stores and verbs that keep none.
    ///
    /// # Errors
    /// [`crate::Kind::NotAllowed`] when there is a condition.
    pub fn unconditional(&self, verb: Verb, reference: &Reference) -> Result<()> {
        Conditions::None.admit(self.only_if.as_ref(), verb, reference)
    }

    /// Charges the request for memory of the engine, such as that of parsed values, until the values
    /// are collected after its end. Programs outside of requests have the engine's limit alone.
    ///
    /// # Errors
    /// As [`crate::Held::add`].
    pub fn hold(&self, bytes: usize) -> Result<()> {
        match self.exchange.as_ref().and_then(|exchange| exchange.allowance()) {
            Some(allowance) => allowance.hold(bytes),
            None => Ok(()),
        }
    }

    /// Charges the request for the engine's copy of content that has arrived, as [`Context::hold`].
    ///
    /// # Errors
    /// As [`crate::Held::add_arriving`].
    pub fn hold_arrived(&self, bytes: usize) -> Result<()> {
        match self.exchange.as_ref().and_then(|exchange| exchange.allowance()) {
            Some(allowance) => allowance.hold_arrived(bytes),
            None => Ok(()),
        }
    }

    /// Whether content is the short answer to a caller who has it already: [`crate::Body::Empty`]
    /// with the tag that the caller knows.
    pub fn knows(&self, content: &Content) -> bool {
        self.known.is_some()
            && self.known == content.entity_tag
            && matches!(content.body, crate::Body::Empty)
    }
}

/// What carries the session of a live page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveTransport {
    /// Messages in both directions.
    WebSocket,
    /// Server-sent events; each event of the client is a request of its own. With the first message.
    Events(String),
    /// A WebSocket of the program's own protocol. Its guards are recorded, since it outlives its request.
    Own,
}

/// A question about the visitor of a request. An answer that is kept is repeated only after the same questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitorQuestion<'a> {
    /// A guard of a handler.
    Guard,
    /// The user of a session or a key, with what the request proves; empty for an anonymous visitor.
    User(&'a str),
    /// Anything else that only this visitor has, such as a certificate.
    Other,
}

/// An access check that has let a request in. What outlives the request asks it again.
pub trait AccessCheck {
    /// Lets the request in again, or says why not. The context has its exchange.
    fn ask_again(&self, context: &Context) -> Answer<()>;
}

/// A request being answered, as a program may see it: the schemes `query:`, `header:`, `cookie:`,
/// `form:`, `body:` and `response:`.
pub trait Exchange {
    /// The method, such as `GET`.
    fn method(&self) -> &str;
    /// The path with its query, as sent.
    fn target(&self) -> &str;
    /// The address of the client.
    fn peer(&self) -> String;
    /// The address of the client, also behind trusted proxies; `None` where it has none, as on a
    /// Unix socket.
    fn client(&self) -> Option<IpAddr> {
        None
    }
    /// Whether the client's connection is encrypted, up to a trusted proxy at least.
    fn is_secure(&self) -> bool {
        false
    }
    /// The verified certificate of the client, where it sent one: a record of `subject`, `names` and
    /// `fingerprint`.
    fn client_certificate(&self) -> Option<Value> {
        None
    }
    /// Notes that the answer depends on who asks: a session, key, account or guard was asked. No default, so that no
    /// exchange around another one loses it ([`crate::RecordingExchange`]).
    fn asks_visitor(&self, question: VisitorQuestion<'_>);
    /// The nonce that inline scripts and styles of the answer carry, where its policy has one.
    fn nonce(&self) -> Option<String> {
        None
    }
    /// Sets the nonce of the answer's content security policy.
    fn set_nonce(&self, nonce: &str) {
        let _ = nonce;
    }
    /// Whether the request has passed a gate, such as an access check or a rate limit. A server asks
    /// a store twice for some requests: to list what a get did not find, to compare a tag.
    fn has_passed(&self, gate: u64) -> bool {
        let _ = gate;
        false
    }
    /// Notes that the request has passed a gate. Of many gates the first few are noted.
    fn pass(&self, gate: u64) {
        let _ = gate;
    }
    /// Notes an access check, where the answer may be a live page or a WebSocket: those outlive the request.
    fn keep_check(&self, check: &dyn Fn() -> Rc<dyn AccessCheck>) {
        let _ = check;
    }
    /// The access checks that [`Exchange::keep_check`] has noted.
    fn access_checks(&self) -> Vec<Rc<dyn AccessCheck>> {
        Vec::new()
    }
    /// A parameter of the query, unescaped; the first when it stands twice.
    fn query(&self, name: &str) -> Option<String>;
    /// A header of the request; several fields of a name are joined by `, `.
    fn header(&self, name: &str) -> Option<String>;
    /// All headers of the request by their lowercase names, in the order of first occurrence.
    /// Repeated fields are joined as [`Exchange::header`] does.
    fn headers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// A cookie of the request.
    fn cookie(&self, name: &str) -> Option<String>;
    /// The first field of a name in a form body: text, or for a file a record of `name`,
    /// `mediaType` and `data`. All fields, as a record with a list for a name that stands more than
    /// once, where the name is empty.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::Kind::Invalid) for a malformed form,
    /// [`Kind::TooLarge`](crate::Kind::TooLarge) for one above the limits of forms.
    fn form(&self, name: &str) -> Result<Option<Value>>;
    /// The parts of a form whose body arrives as this stream.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::Kind::Unsupported): the request is no form with parts;
    /// [`Kind::Invalid`](crate::Kind::Invalid): its media type is malformed.
    fn parts(&self, body: ByteStream) -> Result<PartEvents> {
        drop(body);
        Err(Error::new(crate::Kind::Unsupported, "the request is no multipart/form-data"))
    }
    /// The unparsed body of the request.
    fn body(&self) -> Option<Text>;
    /// The name of the request that log lines of all servers share, where it has one.
    fn id(&self) -> Option<String> {
        None
    }
    /// How the client asks for the session of a live page at this address, instead of its text.
    fn live(&self) -> Option<LiveTransport> {
        None
    }
    /// What this request may hold of the memory of all requests, where it is counted.
    fn allowance(&self) -> Option<&Allowance> {
        None
    }
    /// Sets the matched route pattern, such as `/item/:id`, for metrics.
    fn set_route(&self, pattern: &str) {
        let _ = pattern;
    }
    /// Reports the start of a call to another server for this request. `None` without an observer.
    /// The target has no query and no password.
    fn calling(&self, method: &str, target: &str) -> Option<Box<dyn Calling>> {
        let _ = (method, target);
        None
    }
    /// Answers in this format, whatever the client accepts.
    fn choose_format(&self, format: ChosenFormat) {
        let _ = format;
    }
    /// Whether the client prefers a page to data.
    fn prefers_page(&self) -> bool {
        false
    }
    /// Asks for an entity tag made from the answer, where the answer has none of its own.
    fn tag_answer(&self) {}
    /// Sets the status of the answer.
    fn set_status(&self, status: u16);
    /// Sets a header of the answer; an invalid name or value is an error.
    fn set_header(&self, name: &str, value: &str) -> Result<()>;
    /// Names a link that the client will need, before the answer is ready; something else is an error.
    fn add_early_hint(&self, link: &str) -> Result<()> {
        let _ = link;
        Ok(())
    }
    /// Forgets these links.
    fn clear_early_hints(&self) {}
    /// What was set of the answer: headers by their lowercase names, and the `status`.
    fn overrides(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// Reverts a setting: a header by its name, or the `status`.
    fn unset(&self, name: &str) {
        let _ = name;
    }
    /// For a store that belongs to the server of the exchange; `None` for all others.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

/// A call to another server in progress: dropping it reports a cancellation.
pub trait Calling {
    /// Headers that the call carries, so that the other server's work belongs to the same trace.
    fn headers(&self) -> Vec<(&'static str, String)>;
    /// Reports the status of the response, or the error without a response.
    fn ended(self: Box<Self>, outcome: std::result::Result<u16, &Error>);
}
