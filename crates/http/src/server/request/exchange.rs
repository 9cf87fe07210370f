//! The exchange of one request with a program: the request as the program reads it, and its
//! overrides of the response.

use crate::network::unix_socket::UNIX_PEER;
use crate::protocol::multipart::{self, FormPart};
use crate::protocol::{form, live, negotiation};
use crate::server::observer::{self, ObservedRequest};
use crate::server::request::early_hints::EarlyHints;
use crate::server::request::forwarded::DisplayedPeer;
use crate::server::request::parts::ArrivingParts;
use crate::server::request::relay::Relay;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri, Version};
use runnel_store::{
    AccessCheck, Allowance, ByteStream, Calling, ChosenFormat, ClientNetwork, Error, Exchange,
    FieldProblem, Kind, LiveTransport, PartEvents, Result, Text, Value, VisitorQuestion, json,
};
use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

/// One active request.
pub(crate) struct HttpExchange {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    /// The client, also behind trusted proxies.
    pub(crate) peer: SocketAddr,
    /// Whether the client's connection is encrypted, up to a trusted proxy at least.
    pub(crate) is_secure: bool,
    /// The verified certificate of the client, where it sent one.
    pub(crate) client_certificate: Option<Rc<Value>>,
    /// The body, if small enough to be collected.
    pub(crate) body: Option<Bytes>,
    /// The memory that this request holds of the budget of all requests.
    pub(crate) allowance: Allowance,
    /// Who reads the body, where it was not collected.
    pub(crate) streamed: Option<StreamedBody>,
    /// The fields of the form, parsed on first use.
    form: OnceCell<Result<Vec<FormPart>>>,
    pub(crate) overrides: ResponseOverrides,
    pub(crate) hints: EarlyHints,
    /// The observed request, if there is an observer.
    pub(crate) observed: Option<Rc<ObservedRequest>>,
    /// The request itself and its response, where it is relayed to an upstream.
    pub(crate) relay: Option<Box<Relay>>,
}

/// Why a body is a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamedBody {
    /// It is too large to be collected.
    Large,
    /// The handler takes it while it arrives.
    Wanted,
}

/// Status and headers that a program sets on the response.
#[derive(Default)]
pub(crate) struct ResponseOverrides {
    status: Cell<Option<u16>>,
    headers: RefCell<Vec<(HeaderName, HeaderValue)>>,
    is_tagged: Cell<bool>,
    format: Cell<Option<ChosenFormat>>,
    /// The nonce of the content security policy. It stays when the rest is discarded.
    nonce: OnceCell<Box<str>>,
    /// The gates that the request has passed, which stay as well; 0 is none.
    gates: Cell<[u64; MOST_GATES]>,
    /// Access checks that a live page or a WebSocket asks again.
    checks: RefCell<Vec<Rc<dyn AccessCheck>>>,
}

impl ResponseOverrides {
    /// The status that was set. An invalid one is an error of the program.
    pub(crate) fn status(&self) -> Result<Option<StatusCode>> {
        let Some(number) = self.status.get() else { return Ok(None) };
        match StatusCode::from_u16(number) {
            Ok(status) if (200..600).contains(&number) => Ok(Some(status)),
            _ => Err(Error::new(
                Kind::Failed,
                format!("the status of a response must be between 200 and 599 (got {number})"),
            )),
        }
    }

    /// Whether a header was set.
    pub(crate) fn have(&self, name: &HeaderName) -> bool {
        self.headers.borrow().iter().any(|(known, _)| known == name)
    }

    /// The format that the address names.
    pub(crate) fn format(&self) -> Option<ChosenFormat> {
        self.format.get()
    }

    /// Whether the response gets an entity tag made from its content.
    pub(crate) fn is_tagged(&self) -> bool {
        self.is_tagged.get()
    }

    /// The error status that was set; an error response keeps it.
    pub(crate) fn error_status(&self) -> Option<StatusCode> {
        let number = self.status.get().filter(|number| (400..600).contains(number))?;
        StatusCode::from_u16(number).ok()
    }

    /// The nonce of the content security policy.
    pub(crate) fn nonce(&self) -> Option<&str> {
        self.nonce.get().map(|nonce| &**nonce)
    }

    /// Discards what is about this response: it did not belong to it.
    pub(crate) fn clear(&self) {
        self.status.set(None);
        self.headers.borrow_mut().clear();
        self.is_tagged.set(false);
        self.format.set(None);
    }

    /// Takes the headers that were set.
    pub(crate) fn take_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        self.headers.take()
    }
}

/// Adds the headers that the program set to a response.
pub(crate) fn add_wished(
    wished: Vec<(HeaderName, HeaderValue)>,
    status: StatusCode,
    headers: &mut HeaderMap,
) {
    let mut cookies = 0;
    for (name, value) in wished {
        if status == StatusCode::NOT_MODIFIED && name == header::CONTENT_SECURITY_POLICY {
            // The page that the client has carries the nonce of the policy that it has.
            continue;
        }
        if name == header::SET_COOKIE && cookies > 0 {
            headers.append(name, value);
        } else {
            cookies += usize::from(name == header::SET_COOKIE);
            headers.insert(name, value);
        }
    }
}

impl HttpExchange {
    /// A request from this peer, without overrides.
    pub(crate) fn new(
        method: Method,
        uri: Uri,
        version: Version,
        headers: HeaderMap,
        peer: SocketAddr,
    ) -> HttpExchange {
        HttpExchange {
            method,
            uri,
            version,
            headers,
            peer,
            is_secure: false,
            client_certificate: None,
            body: None,
            allowance: Allowance::default(),
            streamed: None,
            form: OnceCell::new(),
            overrides: ResponseOverrides::default(),
            hints: EarlyHints::default(),
            observed: None,
            relay: None,
        }
    }

    /// The network of the client, for what limits count together.
    pub(crate) fn network(&self) -> ClientNetwork {
        ClientNetwork::of(self.client())
    }

    /// Whether the client sent the invalid fields, in its content, form or query: then it may read
    /// the details.
    pub(crate) fn sent_fields(&self, fields: &[FieldProblem]) -> bool {
        if fields.is_empty() {
            return false;
        }
        let content = self.body.as_deref().and_then(|body| json::parse(body).ok());
        let has = |value: &Value, name: &str| match value {
            Value::List(items) => items.iter().any(|item| item.get(name).is_some()),
            value => value.get(name).is_some(),
        };
        fields.iter().all(|field| {
            if field.pointer.is_empty() {
                return content.is_some() || self.form_type().is_some();
            }
            let mut steps = field.pointer.trim_start_matches('/').split('/');
            let first = steps.next().unwrap_or_default();
            // In an array the first step is an index.
            let is_position = first.bytes().all(|byte| byte.is_ascii_digit());
            let name = if is_position { steps.next().unwrap_or(first) } else { first };
            let name = name.replace("~1", "/").replace("~0", "~");
            content.as_ref().is_some_and(|content| has(content, &name))
                || self.form(&name).is_ok_and(|field| field.is_some())
                || self.query(&name).is_some()
        })
    }

    /// The media type of the body, if it is a form.
    fn form_type(&self) -> Option<&str> {
        let value = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        form::size_limit(value).is_some().then_some(value)
    }

    /// The fields of the form, parsed once.
    fn form_fields(&self) -> Result<&[FormPart]> {
        let Some(media_type) = self.form_type() else { return Ok(&[]) };
        let fields = self.form.get_or_init(|| match &self.body {
            Some(body) => form::fields(body, media_type),
            None => match self.streamed {
                None => Ok(Vec::new()),
                Some(StreamedBody::Large) => {
                    let most = form::size_limit(media_type).unwrap_or_default();
                    Err(Error::new(Kind::TooLarge, format!("a form has at most {most} bytes")))
                }
                Some(StreamedBody::Wanted) => Err(Error::new(
                    Kind::Failed,
                    "the form of a `streamed` handler has not arrived: read it by `parts:stream`",
                )),
            },
        });
        fields.as_deref().map_err(Clone::clone)
    }
}

/// Without headers and query: they may hold secrets.
impl fmt::Debug for HttpExchange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HttpExchange")
            .field("method", &self.method)
            .field("path", &self.uri.path())
            .finish_non_exhaustive()
    }
}

impl Exchange for HttpExchange {
    fn method(&self) -> &str {
        self.method.as_str()
    }

    fn target(&self) -> &str {
        self.uri.path_and_query().map_or("/", |target| target.as_str())
    }

    fn peer(&self) -> String {
        DisplayedPeer(self.peer).to_string()
    }

    fn client(&self) -> Option<IpAddr> {
        (self.peer != UNIX_PEER).then(|| self.peer.ip().to_canonical())
    }

    fn is_secure(&self) -> bool {
        self.is_secure
    }

    fn client_certificate(&self) -> Option<Value> {
        self.client_certificate.as_deref().cloned()
    }

    /// The response goes to this visitor alone.
    fn asks_visitor(&self, _: VisitorQuestion<'_>) {}

    fn nonce(&self) -> Option<String> {
        self.overrides.nonce().map(str::to_string)
    }

    fn set_nonce(&self, nonce: &str) {
        // The first one stays: parts of the response may have it already.
        let _ = self.overrides.nonce.set(nonce.into());
    }

    fn has_passed(&self, gate: u64) -> bool {
        self.overrides.gates.get().contains(&gate)
    }

    fn pass(&self, gate: u64) {
        let mut gates = self.overrides.gates.get();
        if !gates.contains(&gate)
            && let Some(free) = gates.iter_mut().find(|known| **known == 0)
        {
            *free = gate;
            self.overrides.gates.set(gates);
        }
    }

    fn keep_check(&self, check: &dyn Fn() -> Rc<dyn AccessCheck>) {
        if self.live().is_some() {
            self.overrides.checks.borrow_mut().push(check());
        }
    }

    fn access_checks(&self) -> Vec<Rc<dyn AccessCheck>> {
        self.overrides.checks.borrow().clone()
    }

    fn query(&self, name: &str) -> Option<String> {
        runnel_text::form::field(self.uri.query()?.as_bytes(), name).map(Cow::into_owned)
    }

    fn live(&self) -> Option<LiveTransport> {
        if live::is_offered(&self.headers) {
            return Some(LiveTransport::WebSocket);
        }
        if self.headers.contains_key(header::SEC_WEBSOCKET_KEY) {
            return Some(LiveTransport::Own);
        }
        let hello = self.headers.get(&live::HEADER)?;
        Some(LiveTransport::Events(String::from_utf8_lossy(hello.as_bytes()).into_owned()))
    }

    fn header(&self, name: &str) -> Option<String> {
        // Repeated fields are joined by commas, cookies by semicolons (RFC 9113 section 8.2.3).
        let comma = if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " };
        let mut values = self.headers.get_all(name).iter();
        let mut joined = String::from_utf8_lossy(values.next()?.as_bytes()).into_owned();
        for value in values {
            joined.push_str(comma);
            joined.push_str(&String::from_utf8_lossy(value.as_bytes()));
        }
        Some(joined)
    }

    fn headers(&self) -> Vec<(String, String)> {
        let joined = |name: &HeaderName| self.header(name.as_str()).unwrap_or_default();
        self.headers.keys().map(|name| (name.to_string(), joined(name))).collect()
    }

    fn cookie(&self, name: &str) -> Option<String> {
        self.headers.get_all(header::COOKIE).iter().find_map(|line| {
            String::from_utf8_lossy(line.as_bytes()).split(';').find_map(|pair| {
                let (key, value) = pair.split_once('=')?;
                (key.trim() == name).then(|| value.trim().trim_matches('"').to_string())
            })
        })
    }

    fn form(&self, name: &str) -> Result<Option<Value>> {
        let fields = self.form_fields()?;
        if name.is_empty() {
            return Ok(self.form_type().map(|_| form::record(fields.to_vec())));
        }
        Ok(fields.iter().find(|field| field.name == name).map(|field| field.value.clone()))
    }

    fn parts(&self, body: ByteStream) -> Result<PartEvents> {
        let media_type = self.headers.get(header::CONTENT_TYPE).and_then(|one| one.to_str().ok());
        let Some(boundary) = media_type.and_then(multipart::boundary) else {
            let message = "the request is no multipart/form-data";
            return Err(Error::new(Kind::Unsupported, message));
        };
        Ok(Box::pin(ArrivingParts::new(body, &boundary?)))
    }

    fn body(&self) -> Option<Text> {
        self.body.clone().and_then(|body| Text::from_utf8(body).ok())
    }

    fn id(&self) -> Option<String> {
        self.observed.as_ref()?.id().map(str::to_string)
    }

    fn allowance(&self) -> Option<&Allowance> {
        Some(&self.allowance)
    }

    fn set_route(&self, pattern: &str) {
        if let Some(observed) = &self.observed {
            observed.set_route(pattern);
        }
    }

    fn calling(&self, method: &str, target: &str) -> Option<Box<dyn Calling>> {
        observer::calling(self.observed.as_ref()?, method, target)
    }

    fn choose_format(&self, format: ChosenFormat) {
        self.overrides.format.set(Some(format));
    }

    fn prefers_page(&self) -> bool {
        match self.overrides.format.get() {
            Some(format) => format == ChosenFormat::Page,
            None => negotiation::prefers_page(&self.headers),
        }
    }

    fn tag_answer(&self) {
        self.overrides.is_tagged.set(true);
    }

    fn set_status(&self, status: u16) {
        self.overrides.status.set(Some(status));
    }

    fn add_early_hint(&self, link: &str) -> Result<()> {
        self.hints.add(link)
    }

    fn clear_early_hints(&self) {
        self.hints.clear();
    }

    fn overrides(&self) -> Vec<(String, String)> {
        let status = self.overrides.status.get();
        let status = status.map(|status| ("status".to_string(), status.to_string()));
        let headers = self.overrides.headers.borrow();
        let headers = headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_string(), value.to_str().ok()?.to_string()))
        });
        status.into_iter().chain(headers).collect()
    }

    fn unset(&self, name: &str) {
        if name == "status" {
            return self.overrides.status.set(None);
        }
        self.overrides.headers.borrow_mut().retain(|(known, _)| known.as_str() != name);
        if let Some(relay) = &self.relay {
            relay.remove_header(name);
        }
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn set_header(&self, name: &str, value: &str) -> Result<()> {
        let wrong = |what: &str| {
            Err(Error::new(
                Kind::Invalid,
                format!("{what} of the header `{}`", name.escape_debug()),
            ))
        };
        let Ok(key) = HeaderName::from_bytes(name.as_bytes()) else {
            return wrong("a character is not allowed in the name");
        };
        let Ok(content) = HeaderValue::from_str(value) else {
            return wrong("a character is not allowed in the value");
        };
        if is_framing(&key) {
            return wrong("the server itself decides the value");
        }
        let mut headers = self.overrides.headers.borrow_mut();
        if headers.len() >= MOST_HEADERS {
            return wrong("a response has at most 100 headers: no room for the value");
        }
        // Set-Cookie is the one header that cannot be joined into a list (RFC 6265 section 3).
        if key != header::SET_COOKIE {
            headers.retain(|(other, _)| *other != key);
        }
        headers.push((key, content));
        Ok(())
    }
}

/// Headers that frame a message: a program that set them could split responses.
const FRAMING: [HeaderName; 7] = [
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Whether the server alone sets a header.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    FRAMING.contains(name)
}

/// The most headers that a program can set.
const MOST_HEADERS: usize = 100;
/// The most gates that a request notes; it has to pass others each time.
const MOST_GATES: usize = 4;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn exchange(target: &str, fields: &[(&str, &str)], body: &str) -> HttpExchange {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let uri = target.parse().unwrap();
        let peer = ([127, 0, 0, 1], 9).into();
        let body = Some(Bytes::copy_from_slice(body.as_bytes()));
        HttpExchange {
            body,
            ..HttpExchange::new(Method::POST, uri, Version::HTTP_11, headers, peer)
        }
    }

    #[test]
    fn a_program_sees_the_request() {
        let seen = exchange(
            "/x/y?a=1&b=two+words&a=2",
            &[("X-One", "1"), ("x-one", "2"), ("Cookie", "s=abc; t=\"q\"")],
            "",
        );
        assert_eq!(seen.method(), "POST");
        assert_eq!(seen.target(), "/x/y?a=1&b=two+words&a=2");
        assert_eq!(seen.query("a").as_deref(), Some("1"));
        assert_eq!(seen.query("b").as_deref(), Some("two words"));
        assert_eq!(seen.query("c"), None);
        assert_eq!(seen.header("X-ONE").as_deref(), Some("1, 2"));
        assert_eq!(seen.header("not a name"), None);
        let lines = exchange("/", &[("cookie", "a=1"), ("cookie", "b=2")], "");
        assert_eq!(lines.header("Cookie").as_deref(), Some("a=1; b=2"));
        assert_eq!(seen.cookie("t").as_deref(), Some("q"));
        assert_eq!(seen.cookie("u"), None);
        assert_eq!(seen.peer(), "127.0.0.1:9");
    }

    #[test]
    fn only_a_form_has_fields() {
        let body = "name=J%C3%B6rg&x=1+2";
        let form = exchange("/", &[("content-type", "application/x-www-form-urlencoded")], body);
        let field = |name| form.form(name).unwrap().unwrap();
        assert_eq!(field("name").as_str(), Some("Jörg"));
        assert_eq!(field("x").as_str(), Some("1 2"));
        assert_eq!(field("").get("x").and_then(Value::as_str), Some("1 2"));
        let other = exchange("/", &[("content-type", "text/plain")], body);
        assert_eq!(other.form("name").unwrap(), None);
        assert_eq!(&*other.body().unwrap(), body);
    }

    #[test]
    fn headers_of_the_answer_are_checked() {
        let exchange = exchange("/", &[], "");
        for (name, value) in
            [("x y", "1"), ("x", "a\r\nb: c"), ("Content-Length", "3"), ("connection", "x")]
        {
            assert_eq!(exchange.set_header(name, value).unwrap_err().kind, Kind::Invalid, "{name}");
        }
        exchange.set_header("X-A", "1").unwrap();
        exchange.set_header("x-a", "2").unwrap();
        exchange.set_header("Set-Cookie", "a=1").unwrap();
        exchange.set_header("Set-Cookie", "b=2").unwrap();
        assert_eq!(exchange.overrides.take_headers().len(), 3);
    }

    #[test]
    fn a_status_that_no_answer_has_is_an_error() {
        let exchange = exchange("/", &[], "");
        assert!(exchange.overrides.status().unwrap().is_none());
        exchange.set_status(201);
        assert_eq!(exchange.overrides.status().unwrap(), Some(StatusCode::CREATED));
        for number in [0, 100, 199, 600, 999, 65535] {
            exchange.set_status(number);
            assert!(exchange.overrides.status().is_err(), "{number}");
        }
    }
}
