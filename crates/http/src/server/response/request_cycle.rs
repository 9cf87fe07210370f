//! The request cycle: one request and its response, reading verbs.

use crate::protocol::conditions::{self, Validators, Verdict};
use crate::protocol::entries;
use crate::protocol::media_type;
use crate::protocol::negotiation;
use crate::server::connection_state::ConnectionState;
use crate::server::options::Limits;
use crate::server::request::exchange::{HttpExchange, add_wished};
use crate::server::request::head::Head;
use crate::server::request::upload::UploadProgress;
use crate::server::response::body::ResponseBody;
use crate::server::response::compression::{self, Compression};
use crate::server::response::events;
use crate::server::response::panics::{guard, guard_now};
use crate::server::response::partial::{self, RangeResult, ResponseContent};
use crate::server::response::problem::{Problem, add_challenge, set_nosniff};
use crate::server::response::reply::{PendingResponse, ResponseTimeLimit, TimedResponse};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use runnel_store::{
    Body, ByteStream, ChosenFormat, ClientContent, Content, Context, EntityTag, Error, Exchange,
    Form, Kind, Lazy, PortContent, Reference, Result, Store, Value, Verb, Verbs,
};
use std::borrow::Cow;
use std::rc::Rc;

/// The message of 406.
const NOT_ACCEPTABLE: &str = "this is sent as application/json, text/csv or text/plain";

/// One request and everything needed to answer it.
pub(crate) struct RequestCycle {
    pub(crate) root: Rc<dyn Store>,
    pub(crate) reference: Reference,
    pub(crate) exchange: Rc<HttpExchange>,
    pub(crate) head: Head,
    pub(crate) limits: Rc<Limits>,
    pub(crate) state: Rc<ConnectionState>,
}

/// Metadata of response content.
#[derive(Default)]
pub(crate) struct ResponseFacts {
    pub(crate) validators: Validators,
    pub(crate) location: Option<HeaderValue>,
    /// The form was negotiated by `Accept`.
    pub(crate) negotiated: bool,
    /// The content supports ranges.
    pub(crate) has_parts: bool,
    /// `Content-Range` of a part.
    pub(crate) content_range: Option<HeaderValue>,
    /// `Link` to the next part of a list (RFC 8288).
    pub(crate) next: Option<HeaderValue>,
}

impl RequestCycle {
    /// The context for the store.
    pub(crate) fn context(&self) -> Context {
        Context {
            known: if self.head.conditional {
                conditions::known_tag(&self.exchange.headers)
            } else {
                None
            },
            deadline: self.state.now().checked_add(self.limits.request_time),
            exchange: Some(self.exchange.clone() as Rc<dyn Exchange>),
            from_client: Some(ClientContent::default()),
            ..Context::default()
        }
    }

    /// GET and HEAD.
    pub(crate) fn get(self) -> PendingResponse {
        if entries::are_wanted(&self.exchange.headers) {
            return self.list();
        }
        let context = self.context();
        let answer = guard(|| self.root.get(&self.reference, &context));
        drop(context);
        match answer.at_once() {
            Ok(result) => self.get_result(result),
            Err(later) => {
                self.wait(|cycle| async move { cycle.get_result(later.await).finish().await })
            }
        }
    }

    /// Awaits a future within the request timeout.
    pub(super) fn wait<F>(self, then: impl FnOnce(RequestCycle) -> F) -> PendingResponse
    where
        F: Future<Output = Response<ResponseBody>> + 'static,
    {
        let (patience, state) = (self.patience(None), self.state.clone());
        PendingResponse::InTime(TimedResponse::new(patience, state, then(self)))
    }

    /// The timeout of this request.
    pub(crate) fn patience(&self, upload: Option<Rc<UploadProgress>>) -> ResponseTimeLimit {
        ResponseTimeLimit {
            limit: self.limits.request_time,
            body_idle: self.limits.body_idle,
            upload,
        }
    }

    pub(crate) fn get_result(self, result: Result<Option<Content>>) -> PendingResponse {
        match result {
            Ok(Some(content)) => self.respond_with(content, StatusCode::OK, None),
            Ok(None) => self.list_missing(),
            Err(error) => self.error_response(error).into(),
        }
    }

    /// Nothing to read: 405 where other methods are supported, and 404 otherwise.
    pub(super) fn missing(self) -> Response<ResponseBody> {
        let verbs = self.verbs();
        self.missing_among(verbs)
    }

    /// [`RequestCycle::missing`], where the supported verbs are known.
    pub(super) fn missing_among(self, verbs: Verbs) -> Response<ResponseBody> {
        match verbs.has(Verb::Get) || verbs.has(Verb::List) {
            true => self.problem(Problem::new(StatusCode::NOT_FOUND)),
            false => self.problem(Problem::not_allowed(verbs)),
        }
    }

    /// Responds with the content of a verb.
    pub(crate) fn respond_with(
        self,
        mut content: Content,
        status: StatusCode,
        location: Option<HeaderValue>,
    ) -> PendingResponse {
        let validators = Validators { tag: content.entity_tag.take(), modified: content.modified };
        let next = content
            .next
            .take()
            .and_then(|next| HeaderValue::try_from(format!("<?{next}>; rel=\"next\"")).ok());
        let facts = ResponseFacts { validators, location, next, ..ResponseFacts::default() };
        let (cycle, facts) = match self.if_changed(content.media_type.as_deref(), facts, None) {
            Ok(parts) => parts,
            Err(response) => return response.into(),
        };
        cycle.respond_with_changed(content, status, facts)
    }

    /// Continues, or responds with 304 or 412 to a read. `bytes` is the encoded content; without
    /// it, an answer whose tag is made from its content waits for them.
    fn if_changed(
        self,
        kind: Option<&str>,
        mut facts: ResponseFacts,
        bytes: Option<&Bytes>,
    ) -> std::result::Result<(RequestCycle, ResponseFacts), Response<ResponseBody>> {
        let overrides = &self.exchange.overrides;
        let reads = matches!(self.exchange.method, Method::GET | Method::HEAD);
        // The program's status is about this response and no content of its own.
        if !reads || !matches!(overrides.status(), Ok(None | Some(StatusCode::OK))) {
            return Ok((self, facts));
        }
        let tagged = overrides.is_tagged() && facts.validators.tag.is_none();
        match bytes {
            Some(bytes) if tagged => facts.validators.tag = Some(conditions::tag_of_bytes(bytes)),
            Some(_) => return Ok((self, facts)),
            None if tagged => return Ok((self, facts)),
            None => {}
        }
        if !self.head.conditional {
            return Ok((self, facts));
        }
        match conditions::evaluate(&self.exchange.headers, Some(&facts.validators), true) {
            Verdict::Proceed => Ok((self, facts)),
            Verdict::Unchanged => Err(self.not_modified(kind, facts)),
            Verdict::Failed => Err(self.problem(Problem::new(StatusCode::PRECONDITION_FAILED))),
        }
    }

    /// Responds with content that the client does not have.
    fn respond_with_changed(
        self,
        content: Content,
        status: StatusCode,
        facts: ResponseFacts,
    ) -> PendingResponse {
        let given = content.media_type;
        let (kind, outgoing) = match content.body {
            Body::Empty => {
                let body = ResponseBody::empty(&self.state);
                let status = if status == StatusCode::OK { StatusCode::NO_CONTENT } else { status };
                return self.respond(status, None, facts, body).into();
            }
            Body::Bytes(bytes) => (media_type::OCTETS, ResponseContent::Bytes(bytes)),
            Body::Text(text) => {
                let kind = match given {
                    Some(given) => media_type::content_type(given, true),
                    None => self.text_type(),
                };
                return self.send(status, kind, facts, ResponseContent::Bytes(text.into_bytes()));
            }
            Body::Stream(stream, length) => {
                (media_type::OCTETS, ResponseContent::Stream(stream, length))
            }
            Body::Value(value @ (Value::List(_) | Value::Record(_))) if value.is_large() => {
                let kind =
                    given.map_or(media_type::JSON, |given| media_type::content_type(given, false));
                let encoded_response = Content::value(value).encode(Form::Json);
                return self.wait(move |cycle| async move {
                    cycle.encoded_response(encoded_response.await, status, kind, facts)
                });
            }
            Body::Value(value) => {
                let (kind, bytes) = media_type::of_value(value);
                (kind.unwrap_or_else(|| self.text_type()), ResponseContent::Bytes(bytes))
            }
            Body::Lazy(lazy) => {
                if let Some(port) = lazy.as_any().downcast_ref::<PortContent>() {
                    return self.open_port(port.0.clone()).into();
                }
                let facts = ResponseFacts { negotiated: true, ..facts };
                return self.lazy(lazy, given, status, facts);
            }
        };
        let kind = given.map_or(kind, |given| media_type::content_type(given, false));
        self.send(status, kind, facts, outgoing)
    }

    /// The media type of text and numbers without one.
    fn text_type(&self) -> HeaderValue {
        if self.limits.html_text { media_type::HTML } else { media_type::PLAIN }
    }

    /// Sends content, or the requested range of it.
    fn send(
        self,
        status: StatusCode,
        kind: HeaderValue,
        facts: ResponseFacts,
        outgoing: ResponseContent,
    ) -> PendingResponse {
        let (cycle, facts) = match &outgoing {
            ResponseContent::Bytes(bytes) => {
                match self.if_changed(kind.to_str().ok(), facts, Some(bytes)) {
                    Ok(parts) => parts,
                    Err(response) => return response.into(),
                }
            }
            _ => (self, facts),
        };
        cycle.send_changed(status, kind, facts, outgoing)
    }

    /// Sends content that the client does not have.
    fn send_changed(
        self,
        status: StatusCode,
        kind: HeaderValue,
        facts: ResponseFacts,
        outgoing: ResponseContent,
    ) -> PendingResponse {
        let has_parts = partial::has_parts(&outgoing, &facts.validators);
        let facts = ResponseFacts { has_parts, ..facts };
        let asked = self.head.ranged
            && has_parts
            && self.exchange.method == Method::GET
            && matches!(self.exchange.overrides.status(), Ok(None | Some(StatusCode::OK)));
        if !asked {
            let body = outgoing.body(&self.state);
            return self.respond(status, Some(kind), facts, body).into();
        }
        let headers = &self.exchange.headers;
        match partial::select_range(headers, outgoing, &facts.validators, &kind, &self.state) {
            RangeResult::All(outgoing) => {
                let body = outgoing.body(&self.state);
                self.respond(status, Some(kind), facts, body).into()
            }
            RangeResult::Part(part) => {
                let facts = ResponseFacts { content_range: part.content_range, ..facts };
                let kind = part.kind.unwrap_or(kind);
                self.respond(StatusCode::PARTIAL_CONTENT, Some(kind), facts, part.body).into()
            }
            RangeResult::Beyond(content_range) => {
                let mut response = self.problem(Problem::new(StatusCode::RANGE_NOT_SATISFIABLE));
                response.headers_mut().insert(header::CONTENT_RANGE, content_range);
                response.into()
            }
        }
    }

    /// Sends lazy content in the form that the client prefers.
    fn lazy(
        self,
        lazy: Rc<dyn Lazy>,
        given: Option<Cow<'static, str>>,
        status: StatusCode,
        facts: ResponseFacts,
    ) -> PendingResponse {
        let Some(form) = self.form(&*lazy, given.is_some()) else {
            let problem = Problem::new(StatusCode::NOT_ACCEPTABLE);
            let mut response = self.problem(problem.because(NOT_ACCEPTABLE));
            response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
            return response.into();
        };
        let (own, stream) = match guard_now(|| (lazy.media_type(form), lazy.stream(form))) {
            Ok(parts) => parts,
            Err(error) => return self.error_response(error).into(),
        };
        // A program's stream is sent as it comes; for data an error at the start still gets a
        // status.
        let is_data = own.is_none();
        let kind = match given.or(own) {
            Some(kind) => media_type::content_type(kind, true),
            None => media_type::of_form(form),
        };
        match stream {
            Some(stream) if is_data && self.exchange.method == Method::GET => {
                return self.wait(|cycle| async move {
                    match stream.into_future().await {
                        (Some(Err(error)), _) => cycle.error_response(error),
                        (first, rest) => {
                            let whole = Box::pin(stream::iter(first).chain(rest));
                            cycle.stream_response(whole, status, kind, facts)
                        }
                    }
                });
            }
            Some(stream) => {
                return self.stream_response(stream, status, kind, facts).into();
            }
            None => {}
        }
        match guard(|| lazy.encode(form)).at_once() {
            Ok(result) => self.encoded_response(result, status, kind, facts).into(),
            Err(later) => self.wait(move |cycle| async move {
                cycle.encoded_response(later.await, status, kind, facts)
            }),
        }
    }

    /// Sends the result of encoding.
    fn encoded_response(
        self,
        content: Result<Bytes>,
        status: StatusCode,
        kind: HeaderValue,
        facts: ResponseFacts,
    ) -> Response<ResponseBody> {
        match content {
            Ok(bytes) => match self.if_changed(kind.to_str().ok(), facts, Some(&bytes)) {
                Ok((cycle, facts)) => {
                    let body = ResponseBody::whole(bytes, &cycle.state);
                    cycle.respond(status, Some(kind), facts, body)
                }
                Err(response) => response,
            },
            Err(error) => self.error_response(error),
        }
    }

    /// The tag that a response with the content would have.
    pub(crate) async fn tag_of(&self, content: Content) -> Option<EntityTag> {
        if content.entity_tag.is_some() || !self.exchange.overrides.is_tagged() {
            return content.entity_tag;
        }
        let bytes = match content.body {
            Body::Bytes(bytes) => bytes,
            Body::Text(text) => text.into_bytes(),
            Body::Value(value) if !value.is_large() => media_type::of_value(value).1,
            Body::Value(value) => Content::value(value).encode(Form::Json).await.ok()?,
            Body::Lazy(lazy) => {
                let form = self.preferred_form().unwrap_or(Form::Json);
                if lazy.stream(form).is_some() {
                    return None;
                }
                lazy.encode(form).await.ok()?
            }
            Body::Empty | Body::Stream(..) => return None,
        };
        Some(conditions::tag_of_bytes(&bytes))
    }

    /// Sends a stream; for events it disables caching and buffering.
    fn stream_response(
        self,
        stream: ByteStream,
        status: StatusCode,
        kind: HeaderValue,
        facts: ResponseFacts,
    ) -> Response<ResponseBody> {
        let are_events = events::are(kind.as_bytes());
        let stream = if are_events { events::beating(stream, &self.state) } else { stream };
        let body = ResponseBody::stream(stream, None, &self.state);
        let mut response = self.respond(status, Some(kind), facts, body);
        if are_events {
            let cached = response.headers_mut().entry(header::CACHE_CONTROL);
            cached.or_insert(HeaderValue::from_static("no-cache"));
            let buffering = response.headers_mut().entry(events::BUFFERING);
            buffering.or_insert(HeaderValue::from_static("no"));
        }
        response
    }

    /// The form of lazy content; `None` when the client accepts none. Content with a single media
    /// type needs no choice, and neither does the response to a write, which is done.
    fn form(&self, lazy: &dyn Lazy, has_type: bool) -> Option<Form> {
        let overrides = &self.exchange.overrides;
        let form = self.preferred_form();
        let has_choice = !has_type
            && matches!(self.exchange.method, Method::GET | Method::HEAD)
            && matches!(overrides.status(), Ok(None | Some(StatusCode::OK)))
            && !overrides.have(&header::CONTENT_TYPE);
        match form {
            None if !has_choice || lazy.media_type(Form::Json).is_some() => Some(Form::Json),
            form => form,
        }
    }

    /// The form that the address names, or else `Accept`.
    fn preferred_form(&self) -> Option<Form> {
        match self.exchange.overrides.format() {
            Some(ChosenFormat::Data(form)) => Some(form),
            Some(ChosenFormat::Page) => None,
            None => negotiation::form(&self.exchange.headers),
        }
    }

    fn not_modified(self, kind: Option<&str>, mut facts: ResponseFacts) -> Response<ResponseBody> {
        let headers = &self.exchange.headers;
        if let Some(tag) = &mut facts.validators.tag
            && let Some(form) = conditions::compressed_form(headers, tag)
        {
            *tag = form;
        }
        // A 304 carries the same `Vary` as the full response.
        let kind = kind.and_then(|kind| HeaderValue::from_str(kind).ok());
        let packing = compression::packing(headers, kind.as_ref(), None, &self.limits);
        let body = ResponseBody::empty(&self.state);
        let mut response = self.respond(StatusCode::NOT_MODIFIED, None, facts, body);
        if packing != Compression::Never {
            compression::add_vary(response.headers_mut());
        }
        response
    }

    /// A successful response with the program's overrides.
    pub(crate) fn respond(
        self,
        status: StatusCode,
        kind: Option<HeaderValue>,
        facts: ResponseFacts,
        body: ResponseBody,
    ) -> Response<ResponseBody> {
        let status = match self.exchange.overrides.status() {
            Ok(_) if matches!(status.as_u16(), 206 | 304) => status,
            Ok(wish) => wish.unwrap_or(status),
            Err(error) => return self.error_response(error),
        };
        let mut body = body;
        if let Err(error) = body.charge_memory(|| self.exchange.network()) {
            return self.unaffordable(error);
        }
        let length = body.length();
        let packing = match status.as_u16() {
            204..=206 | 304 => Compression::Never,
            _ => {
                let asked = &self.exchange.headers;
                compression::packing(asked, kind.as_ref(), length, &self.limits)
            }
        };
        let (wished, links) = (self.exchange.overrides.take_headers(), self.exchange.hints.take());
        let mut headers = self.spare_headers();
        let bare = matches!(status.as_u16(), 204 | 205 | 304);
        if let (Some(kind), false) = (kind, bare) {
            media_type::set_content_type(&mut headers, kind);
        }
        set_nosniff(&mut headers, body.state());
        if let Some(tag) = facts.validators.tag.as_ref().and_then(conditions::tag_header) {
            headers.insert(header::ETAG, tag);
        }
        if let Some(date) = facts.validators.modified.and_then(conditions::date_header) {
            headers.insert(header::LAST_MODIFIED, date);
        }
        if let Some(location) = facts.location {
            headers.insert(header::LOCATION, location);
        }
        if facts.has_parts {
            headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        if let Some(content_range) = facts.content_range {
            headers.insert(header::CONTENT_RANGE, content_range);
        }
        if let Some(next) = facts.next {
            headers.insert(header::LINK, next);
        }
        if facts.negotiated {
            headers.insert(header::VARY, HeaderValue::from_static("accept"));
        }
        add_wished(wished, status, &mut headers);
        for link in links {
            headers.append(header::LINK, link);
        }
        add_challenge(status, &mut headers);
        compression::apply(packing, &mut headers, &mut body);
        let mut response = Response::new(body);
        if bare {
            *response.body_mut() = ResponseBody::empty(response.body().state());
        }
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }

    /// The response when memory is exhausted.
    fn unaffordable(self, error: Error) -> Response<ResponseBody> {
        // Content beyond the share of a request is an error of the program, and never fits.
        let internal = error.kind == Kind::TooLarge;
        self.error_response(Error { internal, ..error })
    }

    /// An error response.
    pub(crate) fn problem(self, problem: Problem) -> Response<ResponseBody> {
        let state = self.state.clone();
        problem.for_request(&self.exchange).respond(self.spare_headers(), &state)
    }

    /// The response to a store's error.
    pub(crate) fn error_response(self, mut error: Error) -> Response<ResponseBody> {
        // A table refuses client content with a list of invalid fields; the 422 of another server
        // has none, and is an error of the program.
        let refused = error.kind == Kind::Unprocessable && !error.fields.is_empty();
        if error.internal && (refused || self.exchange.sent_fields(&error.fields)) {
            error.internal = false;
            error.message.clear();
            if error.kind == Kind::Invalid && !self.exchange.method.is_safe() {
                error.kind = Kind::Unprocessable;
            }
        }
        let problem = if error.kind == Kind::NotAllowed && !error.internal {
            Problem::not_allowed(self.verbs())
        } else {
            let id = self.exchange.observed.as_ref().and_then(|observed| observed.id());
            Problem::from_error(error, &self.exchange.method, self.reference.path(), id)
        };
        self.problem(problem)
    }

    /// The verbs that the reference supports.
    pub(crate) fn verbs(&self) -> Verbs {
        guard_now(|| self.root.verbs(&self.reference)).unwrap_or(Verbs::NONE)
    }

    /// The request's header map, emptied for reuse by the response, unless a program still holds
    /// the request.
    fn spare_headers(mut self) -> HeaderMap {
        match Rc::get_mut(&mut self.exchange) {
            Some(exchange) => {
                let mut headers = std::mem::take(&mut exchange.headers);
                headers.clear();
                headers
            }
            None => HeaderMap::new(),
        }
    }
}
