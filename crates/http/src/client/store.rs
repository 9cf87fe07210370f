//! The web as a store: the schemes `http:` and `https:`.

use crate::client::address;
use crate::client::body::decoding::ACCEPTED;
use crate::client::call::{HttpClient, VerbCall};
use crate::client::fetch;
use crate::client::incoming::ReceivedResponse;
use crate::client::options::ClientOptions;
use crate::client::outgoing::OutgoingContent;
use crate::protocol::entries;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use runnel_store::{
    Answer, Conditions, Content, Context, Entry, Error, FetchAnswer, FetchRequest, Kind, Outcome,
    RedirectPolicy, Reference, Result, Store, Verb, Verbs,
};
use std::rc::Rc;

/// The web as a store. A reference is a URL: its scheme is `http` or `https` (default `http`), its
/// path is `//host:port/path`.
///
/// | verb | method | answer |
/// | --- | --- | --- |
/// | get | GET | `None` for 404, 410 and a page of links; `Body::Empty` for 204, and for 304 when a tag was known |
/// | put | PUT | created when the answer is 201 |
/// | post | POST | the place from `Location`, the content of the answer |
/// | merge | PATCH | |
/// | delete | DELETE | `false` for 404 and 410 |
/// | list | GET | what a Runnel server answers; `None` for 404 and 410 |
///
/// A response in text (`text/…`, JSON, XML; in UTF-8) is text, any other is bytes; beyond
/// [`ClientOptions::collect`] it is a stream. Records and lists are sent as JSON, text and numbers
/// as `text/plain`, unless the content has a media type. In a path, an existing escape stays
/// (unless it stands for a letter or digit), and other characters are escaped where necessary. TLS
/// certificates are always verified against Mozilla's root certificates.
///
/// Conditions of writes are sent as `If-Match` and `If-None-Match`; the server decides whether it
/// honours them.
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
/// as [`Kind::Denied`] for 403. [`Kind::Unavailable`] is a host that cannot be reached, or whose
/// connections are all in use for longer than [`ClientOptions::wait`]; [`Kind::Timeout`] is a host
/// that does not answer in time. Both are temporary.
pub fn client(options: ClientOptions) -> Rc<dyn Store> {
    let headers = request_headers(&options).map(Rc::new);
    Rc::new(HttpStore { client: Rc::new(HttpClient::new(options)), headers })
}

/// The longest listing that is read, in bytes.
const LISTING: usize = 16 << 20;

struct HttpStore {
    client: Rc<HttpClient>,
    /// The headers of every request; an error when an option is no valid header.
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

/// The error of a verb on an address of WebSockets.
fn socket_alone(verb: Verb, reference: &Reference) -> Error {
    let message = "this is the address of a WebSocket: open it with `connect`";
    Error::new(Kind::NotAllowed, message).on(verb, reference)
}

impl HttpStore {
    /// The call of one verb.
    fn call(
        &self,
        method: Method,
        verb: Verb,
        reference: &Reference,
        content: Option<Content>,
        context: &Context,
    ) -> Result<Box<VerbCall>> {
        let target = address::target(reference).map_err(|error| error.on(verb, reference))?;
        let mut headers = self.headers.clone().map_err(|error| error.on(verb, reference))?;
        if let (true, Some(tag)) = (method == Method::GET, &context.known)
            && let Some(tag) = crate::protocol::conditions::tag_header(tag)
        {
            Rc::make_mut(&mut headers).insert("if-none-match", tag);
        }
        // The tag of encoded content is not that of the content: a caller who wants the tag gets it as it is.
        let is_encoded = context.untagged && method == Method::GET || method == Method::POST;
        if is_encoded && !headers.contains_key(header::ACCEPT_ENCODING) {
            Rc::make_mut(&mut headers).insert(header::ACCEPT_ENCODING, ACCEPTED);
        }
        let only_if = context.only_if.as_ref().filter(|_| method != Method::GET);
        if let Some(condition) = only_if {
            let (name, value) = crate::protocol::conditions::of_condition(condition)
                .map_err(|error| error.on(verb, reference))?;
            Rc::make_mut(&mut headers).insert(name, value);
        }
        let headers_have_cookie = headers.contains_key(header::COOKIE);
        Ok(Box::new(VerbCall {
            client: self.client.clone(),
            method,
            target,
            headers,
            body: content.map_or(OutgoingContent::Nothing, OutgoingContent::Content),
            deadline: context.deadline,
            conditional: only_if.is_some(),
            redirects: RedirectPolicy::Follow,
            timeout: None,
            sends_cookies: !headers_have_cookie,
            followed: context.exchange.clone(),
            verb,
            reference: reference.clone(),
        }))
    }

    /// A put, post or merge.
    fn write(
        &self,
        method: Method,
        verb: Verb,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        match self.call(method, verb, reference, Some(content), context) {
            Ok(call) => Answer::later(async move {
                ReceivedResponse::of(call).await?.accepted().await?.outcome().await
            }),
            Err(error) => error.into(),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for HttpStore {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if matches!(reference.scheme(), Some("ws" | "wss")) {
            return socket_alone(Verb::Get, reference).into();
        }
        match self.call(Method::GET, Verb::Get, reference, None, context) {
            Ok(call) => Answer::later(async move {
                let response = ReceivedResponse::of(call).await?;
                match response.status() {
                    StatusCode::NOT_FOUND | StatusCode::GONE => {
                        response.discard().await;
                        Ok(None)
                    }
                    _ if response.head.headers.contains_key(entries::PAGE) => {
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
        self.write(Method::PUT, Verb::Put, reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.write(Method::POST, Verb::Post, reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.write(Method::PATCH, Verb::Merge, reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        match self.call(Method::DELETE, Verb::Delete, reference, None, context) {
            Ok(call) => Answer::later(async move {
                let response = ReceivedResponse::of(call).await?;
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

    /// The children, from a Runnel server. Other servers have pages for people alone.
    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let context = Context { known: None, ..context.clone() };
        let mut call = match self.call(Method::GET, Verb::List, reference, None, &context) {
            Ok(call) => call,
            Err(error) => return error.into(),
        };
        Rc::make_mut(&mut call.headers).insert(header::ACCEPT, entries::MEDIA_TYPE);
        let reference = reference.clone();
        Answer::later(async move {
            let response = ReceivedResponse::of(call).await?;
            if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE) {
                response.discard().await;
                return Ok(None);
            }
            if response.head.headers.get(header::CONTENT_TYPE) != Some(&entries::MEDIA_TYPE) {
                let response = response.accepted().await?;
                response.discard().await;
                let message = "the server does not list; another Runnel server does";
                return Err(Error::new(Kind::NotAllowed, message).on(Verb::List, &reference));
            }
            let text = response.accepted().await?.content().await?.read(LISTING).await?;
            entries::parse(&text).map(Some).map_err(|error| error.on(Verb::List, &reference))
        })
    }

    fn fetch(
        &self,
        reference: &Reference,
        request: FetchRequest,
        context: &Context,
    ) -> Answer<FetchAnswer> {
        let verb = request.verb();
        let context = Context { known: None, only_if: None, ..context.clone() };
        let is_socket = matches!(reference.scheme(), Some("ws" | "wss"));
        if is_socket && request.port.is_none() {
            return socket_alone(verb, reference).into();
        }
        let call = fetch::method(&request).map_err(|error| error.on(verb, reference));
        match call.and_then(|method| self.call(method, verb, reference, None, &context)) {
            Ok(call) => fetch::send(call, request),
            Err(error) => error.into(),
        }
    }

    fn verbs(&self, _reference: &Reference) -> Verbs {
        Verbs::NONE
            .with(Verb::Get)
            .with(Verb::List)
            .with(Verb::Put)
            .with(Verb::Post)
            .with(Verb::Merge)
            .with(Verb::Delete)
    }

    fn conditions(&self, _reference: &Reference) -> Conditions {
        Conditions::Tags
    }

    runnel_store::without!(
        appends,
        keys,
        keeps_metadata,
        annotate,
        presign,
        relocate,
        query,
        watch,
        tables,
        links,
        as_any,
        sources
    );

    fn describe(&self) -> String {
        "http client".to_string()
    }
}
