//! The web as a store: the schemes `http:` and `https:`.

use crate::client::address;
use crate::client::call::{Call, Wire};
use crate::client::outgoing::Outgoing;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use runnel_store::{
    Answer, Conditions, Content, Context, Error, Kind, Outcome, Reference, Result, Store, Verb,
    Verbs,
};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// How the client behaves.
#[derive(Clone)]
pub struct ClientOptions {
    /// From the first attempt to a connection. Default 10 s.
    pub connect_time: Duration,
    /// From the whole request to the head of the answer, the connection included; a deadline of
    /// the context counts when it is earlier. Default 30 s.
    pub answer_time: Duration,
    /// Between two pieces of an answer, but for streams of events. Default 30 s.
    pub body_idle: Duration,
    /// How many redirects are followed. Default 10.
    pub redirects: usize,
    /// Answers up to this size are collected, in bytes; larger ones are streams, so that no
    /// answer is ever held in memory as a whole without the caller asking. Default 1 MiB.
    pub collect: u64,
    /// How many idle connections are kept for each host. Default 1,024.
    pub idle_connections: usize,
    /// How many connections each host gets, idle ones not counted. One is in use until all of its
    /// answer has come. Default 1,024.
    pub connections: usize,
    /// How many requests to a host wait for one of them; more are refused. Default 4,096.
    pub waiting: usize,
    /// How long each of them waits, in the order of asking; a deadline of the context counts when
    /// it is earlier. Default 5 s.
    pub wait: Duration,
    /// A Unix socket that all connections are made to; the host of an address is then only said in
    /// the request. None by default.
    pub socket: Option<PathBuf>,
    /// Headers of every request, such as `Authorization`. One that a redirect to another host
    /// must not see (`Authorization`, `Cookie`, `Proxy-Authorization`) is left out there.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ClientOptions {
    /// Of headers only the names: their values may be secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("ClientOptions")
            .field("connect_time", &self.connect_time)
            .field("answer_time", &self.answer_time)
            .field("body_idle", &self.body_idle)
            .field("redirects", &self.redirects)
            .field("collect", &self.collect)
            .field("idle_connections", &self.idle_connections)
            .field("connections", &self.connections)
            .field("waiting", &self.waiting)
            .field("wait", &self.wait)
            .field("socket", &self.socket)
            .field("headers", &names)
            .finish()
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            connect_time: Duration::from_secs(10),
            answer_time: Duration::from_secs(30),
            body_idle: Duration::from_secs(30),
            redirects: 10,
            collect: 1024 * 1024,
            idle_connections: 1024,
            connections: 1024,
            waiting: 4096,
            wait: Duration::from_secs(5),
            socket: None,
            headers: Vec::new(),
        }
    }
}

/// A store of all that HTTP reaches. A reference is a URL: its scheme is `http` or `https`
/// (`http` when there is none), its path is `//host:port/path`.
///
/// | verb | method | answer |
/// | --- | --- | --- |
/// | get | GET | `None` for 404 and 410; `Body::Empty` for 204, and for 304 when a tag was known |
/// | put | PUT | created when the answer is 201 |
/// | post | POST | the place from `Location`, the content of the answer |
/// | merge | PATCH | |
/// | delete | DELETE | `false` for 404 and 410 |
///
/// An answer of text (`text/…`, JSON, XML; in UTF-8) is text, everything else is bytes; larger
/// than [`ClientOptions::collect`] it is a stream. Records and lists go out as JSON, text and
/// numbers as `text/plain`, unless the content says otherwise. In a path, what looks like an
/// escape stays one (unless it stands for a letter or digit), and what has to be escaped is. TLS
/// certificates are always verified, against the roots that Mozilla trusts.
///
/// The conditions of writes go out as `If-Match` and `If-None-Match`; whether they are kept is the
/// server's affair.
///
/// Connections are kept and used again, but for those that the server has closed meanwhile. A get,
/// put or delete whose connection was closed without an answer, be it a kept or a new one, is sent
/// once more (RFC 9110 section 9.2.2: they do the same when done twice), unless its content was a
/// stream or it has a condition, which the first attempt may have made untrue. Posts and merges are
/// never repeated. Must be used within a [`tokio::runtime::LocalRuntime`] or a
/// [`tokio::task::LocalSet`].
///
/// # Errors
/// Every status from 400 on that has no meaning above is an error of the kind that fits it, such
/// as [`Kind::Denied`] for 403. A host that cannot be reached, or has all its connections in use
/// for longer than [`ClientOptions::wait`], is [`Kind::Unavailable`], one that
/// does not answer in time [`Kind::Timeout`]; both are temporary.
pub fn client(options: ClientOptions) -> Rc<dyn Store> {
    let headers = request_headers(&options).map(Rc::new);
    Rc::new(Client { wire: Rc::new(Wire::new(options)), headers })
}

struct Client {
    wire: Rc<Wire>,
    /// What every request says; an error when an option cannot stand in a header.
    headers: Result<Rc<HeaderMap>>,
}

fn request_headers(options: &ClientOptions) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("*/*"));
    headers.insert("user-agent", HeaderValue::from_static(USER_AGENT));
    for (name, value) in &options.headers {
        let (Ok(key), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        else {
            let name = name.escape_debug();
            return Err(Error::new(Kind::Invalid, format!("`{name}` cannot be sent as a header")));
        };
        headers.insert(key, value);
    }
    Ok(headers)
}

const USER_AGENT: &str = concat!("runnel/", env!("CARGO_PKG_VERSION"));

impl Client {
    /// What is needed for one verb.
    fn call(
        &self,
        method: Method,
        verb: Verb,
        reference: &Reference,
        content: Option<Content>,
        context: &Context,
    ) -> Result<Box<Call>> {
        let target = address::target(reference).map_err(|error| error.on(verb, reference))?;
        let mut headers = self.headers.clone().map_err(|error| error.on(verb, reference))?;
        if let (true, Some(tag)) = (method == Method::GET, &context.known)
            && let Some(tag) = crate::protocol::conditions::tag_header(tag)
        {
            Rc::make_mut(&mut headers).insert("if-none-match", tag);
        }
        let only_if = context.only_if.as_ref().filter(|_| method != Method::GET);
        if let Some(condition) = only_if {
            let (name, value) = crate::protocol::conditions::of_condition(condition)
                .map_err(|error| error.on(verb, reference))?;
            Rc::make_mut(&mut headers).insert(name, value);
        }
        Ok(Box::new(Call {
            wire: self.wire.clone(),
            method,
            target,
            headers,
            body: content.map_or(Outgoing::Nothing, Outgoing::Content),
            deadline: context.deadline,
            conditional: only_if.is_some(),
            followed: context.exchange.clone(),
            verb,
            reference: reference.clone(),
        }))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Client {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match self.call(Method::GET, Verb::Get, reference, None, context) {
            Ok(call) => Answer::later(async move {
                let response = call.send().await?;
                match response.status() {
                    StatusCode::NOT_FOUND | StatusCode::GONE => {
                        response.discard().await;
                        Ok(None)
                    }
                    _ => response.accepted().await?.content().await.map(Some),
                }
            }),
            Err(error) => error.into(),
        }
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match self.call(Method::PUT, Verb::Put, reference, Some(content), context) {
            Ok(call) => {
                Answer::later(async move { call.send().await?.accepted().await?.outcome().await })
            }
            Err(error) => error.into(),
        }
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match self.call(Method::POST, Verb::Post, reference, Some(content), context) {
            Ok(call) => {
                Answer::later(async move { call.send().await?.accepted().await?.outcome().await })
            }
            Err(error) => error.into(),
        }
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match self.call(Method::PATCH, Verb::Merge, reference, Some(content), context) {
            Ok(call) => {
                Answer::later(async move { call.send().await?.accepted().await?.outcome().await })
            }
            Err(error) => error.into(),
        }
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        match self.call(Method::DELETE, Verb::Delete, reference, None, context) {
            Ok(call) => Answer::later(async move {
                let response = call.send().await?;
                let missing = matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE);
                if missing {
                    response.discard().await;
                    return Ok(Outcome::deleted(false));
                }
                response.accepted().await?.outcome().await
            }),
            Err(error) => error.into(),
        }
    }

    fn verbs(&self, _reference: &Reference) -> Verbs {
        Verbs::NONE
            .with(Verb::Get)
            .with(Verb::Put)
            .with(Verb::Post)
            .with(Verb::Merge)
            .with(Verb::Delete)
    }

    fn conditions(&self, _reference: &Reference) -> Conditions {
        Conditions::Tags
    }

    runnel_store::without!(list, keys, query, watch, tables, links, as_any, sources);

    fn describe(&self) -> String {
        "http client".to_string()
    }
}
