//! Reads of a request by the handler that answers it.
//!
//! A layer that keeps or shares an answer (a cache, a single flight, a kept answer of a repeated request) has to
//! know whom the answer is for. It cannot find out from the answer: a page for Ann looks like a page for everybody.
//! So it asks its source with a [`RecordingExchange`] in place of the exchange, which notes each read below that
//! layer. Reads above it, such as those of a rate limit in front of the cache, do not count.

use crate::{
    AccessCheck, Allowance, ByteStream, Calling, ChosenFormat, Context, Exchange, LiveTransport,
    PartEvents, Result, Text, Value, VisitorQuestion,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::rc::Rc;

/// The most different reads that are noted. A handler with more answers its visitor alone.
const MOST_READS: usize = 32;

/// A part of a request on which an answer depends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestPart {
    /// A header, by its lowercase name.
    Header(Box<str>),
    /// A cookie.
    Cookie(Box<str>),
    /// The path and query as sent, where they differ from the reference.
    Target,
    /// The address of the client.
    Client,
    /// Whether the connection is encrypted.
    Secure,
    /// The method.
    Method,
}

impl RequestPart {
    /// The value of the part in a request, for comparison; `None` where the request lacks it.
    pub fn value(&self, exchange: &dyn Exchange) -> Option<String> {
        match self {
            RequestPart::Header(name) => exchange.header(name),
            RequestPart::Cookie(name) => exchange.cookie(name),
            RequestPart::Target => Some(exchange.target().to_string()),
            RequestPart::Client => Some(exchange.peer()),
            RequestPart::Secure => Some(exchange.is_secure().to_string()),
            RequestPart::Method => Some(exchange.method().to_string()),
        }
    }
}

/// The visitors to whom an answer may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody whose requests have the same values in these parts; with no parts, everybody.
    Same(Rc<BTreeSet<RequestPart>>),
    /// Only the visitor of this request: a session, key, account or guard was asked, or the answer is not for others
    /// (`private`, `no-store`, `Vary: *`, `Set-Cookie`, a status other than 200).
    Visitor,
}

/// An exchange that notes on what of the request an answer depends.
pub struct RecordingExchange {
    inner: Rc<dyn Exchange>,
    /// Whether the target is the reference that the layer was asked with.
    is_whole: bool,
    /// Whether the answer is not sent: it is asked for in the background.
    is_detached: bool,
    parts: RefCell<BTreeSet<RequestPart>>,
    is_of_visitor: Cell<bool>,
    guards: Cell<u32>,
    users: RefCell<BTreeSet<String>>,
    headers: RefCell<Vec<(String, String)>>,
}

impl RecordingExchange {
    /// Wraps the exchange of a request for `target`: the reference as a request would have it.
    pub fn new(inner: Rc<dyn Exchange>, target: &str) -> Self {
        let is_whole = inner.target() == target;
        RecordingExchange {
            inner,
            is_whole,
            is_detached: false,
            parts: RefCell::default(),
            is_of_visitor: Cell::new(false),
            guards: Cell::new(0),
            users: RefCell::default(),
            headers: RefCell::default(),
        }
    }

    /// For an answer that is not sent: what a handler sets of it has no effect on the response to the request,
    /// which is under way already.
    pub fn detached(self) -> Self {
        RecordingExchange { is_detached: true, ..self }
    }

    /// Whom the answer that was made with this exchange is for.
    pub fn audience(&self) -> Audience {
        match self.is_of_visitor.get() {
            true => Audience::Visitor,
            false => Audience::Same(Rc::new(self.parts.borrow().clone())),
        }
    }

    /// The names of the headers that were read.
    pub fn headers_read(&self) -> Vec<String> {
        let parts = self.parts.borrow();
        let names = parts.iter().filter_map(|part| match part {
            RequestPart::Header(name) => Some(name.to_string()),
            _ => None,
        });
        names.collect()
    }

    /// How many guards of handlers were asked.
    pub fn guards(&self) -> u32 {
        self.guards.get()
    }

    /// What the request has proved to the accounts that were asked.
    pub fn users(&self) -> BTreeSet<String> {
        self.users.borrow().clone()
    }

    /// The headers that were set of the answer. Who keeps the answer sets them again.
    pub fn headers(&self) -> Vec<(String, String)> {
        self.headers.borrow().clone()
    }

    fn note(&self, part: impl FnOnce() -> RequestPart) {
        let mut parts = self.parts.borrow_mut();
        if parts.len() >= MOST_READS {
            self.is_of_visitor.set(true);
            return;
        }
        parts.insert(part());
    }

    fn note_target(&self) {
        if !self.is_whole {
            self.note(|| RequestPart::Target);
        }
    }

    fn note_header(&self, name: &str) {
        self.note(|| RequestPart::Header(name.to_ascii_lowercase().into()));
    }

    /// Notes what a header of the answer says of its audience (RFC 9111 sections 3 and 4.1).
    fn note_set(&self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        let has =
            |word: &str| value.split([',', ' ', '=']).any(|one| one.eq_ignore_ascii_case(word));
        match name.as_str() {
            "set-cookie" => self.is_of_visitor.set(true),
            "cache-control" if has("private") || has("no-store") || has("no-cache") => {
                self.is_of_visitor.set(true);
            }
            "vary" if has("*") => self.is_of_visitor.set(true),
            "vary" => value
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .for_each(|name| self.note_header(name)),
            _ => {}
        }
        let mut headers = self.headers.borrow_mut();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value.to_string()));
    }
}

/// The target of a reference as a request for it would have it.
pub fn target_of(reference: &crate::Reference) -> String {
    match reference.query() {
        Some(query) => format!("{}?{query}", reference.path()),
        None => reference.path().to_string(),
    }
}

impl Context {
    /// This context with an exchange that notes what is read of the request; `None` outside of a request, where
    /// nothing can be read.
    pub fn recorded(
        &self,
        reference: &crate::Reference,
    ) -> (Context, Option<Rc<RecordingExchange>>) {
        let exchange = self.exchange.clone();
        let recording =
            exchange.map(|it| Rc::new(RecordingExchange::new(it, &target_of(reference))));
        let exchange = recording.clone().map(|it| it as Rc<dyn Exchange>);
        (Context { exchange, ..self.clone() }, recording)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Exchange for RecordingExchange {
    fn method(&self) -> &str {
        self.note(|| RequestPart::Method);
        self.inner.method()
    }
    fn target(&self) -> &str {
        self.note_target();
        self.inner.target()
    }
    fn peer(&self) -> String {
        self.note(|| RequestPart::Client);
        self.inner.peer()
    }
    fn client(&self) -> Option<IpAddr> {
        self.note(|| RequestPart::Client);
        self.inner.client()
    }
    fn is_secure(&self) -> bool {
        self.note(|| RequestPart::Secure);
        self.inner.is_secure()
    }
    fn client_certificate(&self) -> Option<Value> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.client_certificate()
    }
    fn asks_visitor(&self, question: VisitorQuestion<'_>) {
        self.is_of_visitor.set(true);
        match question {
            VisitorQuestion::Guard => self.guards.set(self.guards.get() + 1),
            VisitorQuestion::User(proof) => _ = self.users.borrow_mut().insert(proof.to_string()),
            VisitorQuestion::Other => {}
        }
        self.inner.asks_visitor(question);
    }
    fn nonce(&self) -> Option<String> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.nonce()
    }
    fn set_nonce(&self, nonce: &str) {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.set_nonce(nonce);
    }
    fn has_passed(&self, gate: u64) -> bool {
        self.inner.has_passed(gate)
    }
    fn pass(&self, gate: u64) {
        self.inner.pass(gate);
    }
    fn keep_check(&self, check: &dyn Fn() -> Rc<dyn AccessCheck>) {
        self.inner.keep_check(check);
    }
    fn access_checks(&self) -> Vec<Rc<dyn AccessCheck>> {
        self.inner.access_checks()
    }
    fn query(&self, name: &str) -> Option<String> {
        self.note_target();
        self.inner.query(name)
    }
    fn header(&self, name: &str) -> Option<String> {
        self.note_header(name);
        self.inner.header(name)
    }
    fn headers(&self) -> Vec<(String, String)> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.headers()
    }
    fn cookie(&self, name: &str) -> Option<String> {
        self.note(|| RequestPart::Cookie(name.into()));
        self.inner.cookie(name)
    }
    fn form(&self, name: &str) -> Result<Option<Value>> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.form(name)
    }
    fn parts(&self, body: ByteStream) -> Result<PartEvents> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.parts(body)
    }
    fn body(&self) -> Option<Text> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.body()
    }
    fn id(&self) -> Option<String> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.id()
    }
    fn live(&self) -> Option<LiveTransport> {
        self.inner.live().inspect(|_| self.asks_visitor(VisitorQuestion::Other))
    }
    fn allowance(&self) -> Option<&Allowance> {
        self.inner.allowance()
    }
    fn set_route(&self, pattern: &str) {
        if !self.is_detached {
            self.inner.set_route(pattern);
        }
    }
    fn calling(&self, method: &str, target: &str) -> Option<Box<dyn Calling>> {
        self.inner.calling(method, target)
    }
    fn choose_format(&self, format: ChosenFormat) {
        self.asks_visitor(VisitorQuestion::Other);
        if !self.is_detached {
            self.inner.choose_format(format);
        }
    }
    fn prefers_page(&self) -> bool {
        self.note_header("accept");
        self.inner.prefers_page()
    }
    fn tag_answer(&self) {
        if !self.is_detached {
            self.inner.tag_answer();
        }
    }
    fn set_status(&self, status: u16) {
        if status != 200 {
            self.asks_visitor(VisitorQuestion::Other);
        }
        if !self.is_detached {
            self.inner.set_status(status);
        }
    }
    fn set_header(&self, name: &str, value: &str) -> Result<()> {
        if !self.is_detached {
            self.inner.set_header(name, value)?;
        }
        self.note_set(name, value);
        Ok(())
    }
    fn add_early_hint(&self, link: &str) -> Result<()> {
        if self.is_detached { Ok(()) } else { self.inner.add_early_hint(link) }
    }
    fn clear_early_hints(&self) {
        if !self.is_detached {
            self.inner.clear_early_hints();
        }
    }
    fn overrides(&self) -> Vec<(String, String)> {
        self.inner.overrides()
    }
    fn unset(&self, name: &str) {
        if !self.is_detached {
            self.inner.unset(name);
        }
        self.headers.borrow_mut().retain(|(known, _)| known != name);
    }
    /// What looks behind the trait may read anything.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        self.asks_visitor(VisitorQuestion::Other);
        self.inner.as_any()
    }
}
