//! The request cycle of writing verbs.

use crate::protocol::conditions::{self, Validators, Verdict};
use crate::protocol::form;
use crate::protocol::live;
use crate::protocol::media_type;
use crate::protocol::target::escape_path;
use crate::server::request::body::RequestBody;
use crate::server::request::exchange::StreamedBody;
use crate::server::request::path_locks;
use crate::server::request::upload::{self, Upload, UploadProgress, UploadReader};
use crate::server::response::body::ResponseBody;
use crate::server::response::panics::guard;
use crate::server::response::problem::{Problem, allow};
use crate::server::response::reply::{PendingResponse, TimedResponse};
use crate::server::response::request_cycle::{RequestCycle, ResponseFacts};
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use runnel_store::{Body, ClientContent, Condition, Content, Context, Error, Kind, Outcome, Verb};
use std::borrow::Cow;
use std::rc::Rc;
use tokio::sync::OwnedMutexGuard;

/// Smaller bodies are not charged to the memory of requests.
const COUNTED: usize = 4 << 10;

impl RequestCycle {
    /// PUT, POST and PATCH. Everything that can be refused without the body is refused before it is
    /// read, and so before `100 Continue`.
    pub(crate) fn write(self, verb: Verb, body: RequestBody) -> PendingResponse {
        let verbs = self.verbs();
        let is_event = verb == Verb::Post && verbs.has(Verb::Get) && self.may_be_event();
        if !verbs.has(verb) && !is_event {
            self.state.linger.set(true);
            return self.problem(Problem::not_allowed(verbs)).into();
        }
        if self.is_encoded() {
            // No decoder exists, and no store keeps a content coding.
            self.state.linger.set(true);
            let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE);
            let problem = problem.because("send the content without Content-Encoding");
            let mut response = self.problem(problem);
            let identity = HeaderValue::from_static("identity");
            response.headers_mut().insert(header::ACCEPT_ENCODING, identity);
            return response.into();
        }
        if verbs.streams(verb) && !self.is_live_message() {
            return self.write_arriving(verb, body);
        }
        match body {
            RequestBody::Whole(bytes) if bytes.len() as u64 > self.limits.body => {
                self.problem(upload::too_large()).into()
            }
            RequestBody::Whole(bytes) => {
                if bytes.len() >= COUNTED
                    && self.exchange.allowance.hold_arriving(bytes.len()).is_err()
                {
                    return PendingResponse::later(self.wait_and_write(verb, bytes));
                }
                let media_type = self.media_type();
                PendingResponse::InTime(self.write_whole(verb, bytes, media_type))
            }
            body => PendingResponse::later(self.take_and_write(verb, body)),
        }
    }

    /// Whether it may be an event of a live page: its client sends a type of its own, a browser without
    /// JavaScript a form. Stores refuse what is none.
    fn may_be_event(&self) -> bool {
        let given = self.exchange.headers.get(header::CONTENT_TYPE);
        given.and_then(|one| one.to_str().ok()).is_some_and(live::is_event_type)
    }

    /// Whether it is a message of the client of a live page, and no form.
    fn is_live_message(&self) -> bool {
        let media_type = self.media_type();
        self.may_be_event() && media_type.is_some_and(|one| form::size_limit(&one).is_none())
    }

    /// Whether the body has a content coding (RFC 9110 section 8.4).
    fn is_encoded(&self) -> bool {
        let is_identity =
            |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
        self.exchange.headers.get_all(header::CONTENT_ENCODING).iter().any(|one| !is_identity(one))
    }

    /// Writes a complete body.
    fn write_whole(
        mut self,
        verb: Verb,
        bytes: Bytes,
        media_type: Option<Cow<'static, str>>,
    ) -> TimedResponse {
        if let Some(exchange) = Rc::get_mut(&mut self.exchange) {
            exchange.body = Some(bytes.clone());
        }
        let sent = ClientContent { text: Some(bytes.clone()), ..ClientContent::default() };
        let context = Context { known: None, from_client: Some(sent), ..self.context() };
        let (body, media_type) = media_type::text_or_bytes(bytes, media_type);
        let content = Content { body, media_type, ..Content::default() };
        let (patience, state) = (self.patience(None), self.state.clone());
        TimedResponse::new(patience, state, self.write_checked(verb, content, context))
    }

    /// Writes a complete body once there is memory for it.
    async fn wait_and_write(self, verb: Verb, bytes: Bytes) -> Response<ResponseBody> {
        if let Err(problem) = upload::hold_arriving(&self.exchange, bytes.len()).await {
            return self.problem(problem);
        }
        self.state.tick();
        let media_type = self.media_type();
        self.write_whole(verb, bytes, media_type).await
    }

    async fn take_and_write(mut self, verb: Verb, body: RequestBody) -> Response<ResponseBody> {
        let media_type = self.media_type();
        let room = media_type.as_deref().and_then(form::size_limit);
        let (upload, progress) =
            match upload::receive(body, &self.exchange, &self.head, room, &self.limits).await {
                Ok(taken) => taken,
                Err(problem) => return self.problem(problem),
            };
        match upload {
            Upload::Whole(bytes) => {
                self.state.tick();
                self.write_whole(verb, bytes, media_type).await
            }
            Upload::Stream(stream, length) => {
                if let Some(exchange) = Rc::get_mut(&mut self.exchange) {
                    exchange.streamed = Some(StreamedBody::Large);
                }
                self.write_stream(verb, Body::Stream(stream, length), progress).await
            }
        }
    }

    /// Writes a body while it arrives: the store is called before any of it is read.
    fn write_arriving(mut self, verb: Verb, body: RequestBody) -> PendingResponse {
        let length = body.length();
        if length.is_some_and(|length| length > self.limits.body) {
            return self.problem(upload::too_large()).into();
        }
        if let Some(exchange) = Rc::get_mut(&mut self.exchange) {
            exchange.streamed = Some(StreamedBody::Wanted);
        }
        let reader = UploadReader::new(body, &self.limits, self.limits.body);
        let progress = reader.progress().clone();
        let body = Body::Stream(Box::pin(reader), length);
        PendingResponse::later(self.write_stream(verb, body, progress))
    }

    /// Writes a stream. Its client may take as long as it sends fast enough.
    async fn write_stream(
        self,
        verb: Verb,
        body: Body,
        progress: Rc<UploadProgress>,
    ) -> Response<ResponseBody> {
        let media_type = self.media_type();
        let Context { exchange, from_client, .. } = self.context();
        let context = Context { exchange, from_client, ..Context::default() };
        let content = Content { body, media_type, ..Content::default() };
        let state = self.state.clone();
        let patience = self.patience(Some(progress.clone()));
        let write_checked = self.write_checked(verb, content, context);
        let response = TimedResponse::new(patience, state.clone(), write_checked).await;
        if !progress.is_over() {
            state.linger.set(true);
        }
        after_upload(response, &progress, &state)
    }

    /// The media type of the request body.
    fn media_type(&self) -> Option<Cow<'static, str>> {
        let value = self.exchange.headers.get(header::CONTENT_TYPE)?;
        let text = value.to_str().ok()?.trim();
        (!text.is_empty()).then(|| media_type::named(text))
    }

    /// The condition that the store checks atomically with the write; `None` when conditions are
    /// evaluated before, against the current content.
    fn store_condition(&self, verb: Verb) -> Option<Condition> {
        if !self.head.conditional || verb == Verb::Post {
            return None;
        }
        let condition = conditions::for_store(&self.exchange.headers);
        let kept = self.root.conditions(&self.reference);
        condition.filter(|one| kept.admit(Some(one), verb, &self.reference).is_ok())
    }

    /// Writes if the conditions hold.
    async fn write_checked(
        self,
        verb: Verb,
        content: Content,
        mut context: Context,
    ) -> Response<ResponseBody> {
        context.only_if = self.store_condition(verb);
        // A stream takes its time: a write that must fail is better refused before, and others do not
        // wait for it.
        let is_stream = matches!(content.body, Body::Stream(..));
        let looks = context.only_if.is_none() || is_stream;
        let _turn = self.turn(context.only_if.is_none() && !is_stream).await;
        let cycle = match self.if_conditions_hold(looks).await {
            Ok(cycle) => cycle,
            Err(response) => return response,
        };
        let (root, reference) = (cycle.root.clone(), cycle.reference.clone());
        let answer = match verb {
            Verb::Put => guard(|| root.put(&reference, content, &context)),
            Verb::Post => guard(|| root.post(&reference, content, &context)),
            _ => guard(|| root.merge(&reference, content, &context)),
        };
        drop(context);
        match cycle.write_result(verb, answer.await) {
            PendingResponse::Ready(Some(response)) => response,
            later => Box::pin(later.finish()).await,
        }
    }

    /// The outcome of a write (RFC 9110 sections 9.3.3 to 9.3.5, RFC 5789): 201 when something was
    /// created, with `Location` if that is another reference; otherwise 200 with the content that
    /// the store answers, or 204 without; 404 for a delete of nothing. The program's status
    /// overrides all of these.
    pub(crate) fn write_result(
        self,
        verb: Verb,
        result: runnel_store::Result<Outcome>,
    ) -> PendingResponse {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => return self.error_response(error).into(),
        };
        let unsaid = matches!(self.exchange.overrides.status(), Ok(None));
        if verb == Verb::Delete && !outcome.is_something() && unsaid {
            return self.problem(Problem::new(StatusCode::NOT_FOUND)).into();
        }
        let location = outcome.reference.as_ref().and_then(|reference| {
            let path = format!("/{}", escape_path(reference.relative_path()));
            HeaderValue::try_from(path).ok()
        });
        let said = verb == Verb::Post && unsaid && self.exchange.overrides.have(&header::LOCATION);
        let created = outcome.is_created() || location.is_some() || said;
        if let Some(content) = outcome.content {
            let status = if created { StatusCode::CREATED } else { StatusCode::OK };
            return self.respond_with(content, status, location);
        }
        let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        let validators = Validators { tag: outcome.entity_tag, modified: None };
        let facts = ResponseFacts { location, validators, ..ResponseFacts::default() };
        let body = ResponseBody::empty(&self.state);
        self.respond(status, None, facts, body).into()
    }

    /// DELETE.
    pub(crate) fn delete(self) -> PendingResponse {
        let (patience, state) = (self.patience(None), self.state.clone());
        PendingResponse::InTime(TimedResponse::new(patience, state, async move {
            let only_if = self.store_condition(Verb::Delete);
            let _turn = self.turn(only_if.is_none()).await;
            let cycle = match self.if_conditions_hold(only_if.is_none()).await {
                Ok(cycle) => cycle,
                Err(response) => return response,
            };
            let context = Context { known: None, only_if, ..cycle.context() };
            let answer = guard(|| cycle.root.delete(&cycle.reference, &context));
            drop(context);
            match cycle.write_result(Verb::Delete, answer.await) {
                PendingResponse::Ready(Some(response)) => response,
                later => Box::pin(later.finish()).await,
            }
        }))
    }

    /// OPTIONS: the verbs of the reference.
    pub(crate) fn options(self) -> PendingResponse {
        let verbs = self.verbs();
        let mut response = self.without_content();
        response.headers_mut().insert(header::ALLOW, allow(verbs));
        response.into()
    }

    /// 204, or the program's overrides.
    fn without_content(self) -> Response<ResponseBody> {
        let body = ResponseBody::empty(&self.state);
        self.respond(StatusCode::NO_CONTENT, None, ResponseFacts::default(), body)
    }

    /// Waits for other conditional writes of the reference whose condition the store cannot check:
    /// what holds before the write still holds when it begins.
    async fn turn(&self, compares: bool) -> Option<OwnedMutexGuard<()>> {
        match compares && self.head.conditional {
            true => Some(path_locks::lock(self.reference.path()).await),
            false => None,
        }
    }

    /// Continues, or responds with 412. Reads the current content only for conditional requests.
    async fn if_conditions_hold(self, looks: bool) -> Result<RequestCycle, Response<ResponseBody>> {
        match looks && self.head.conditional {
            // Boxed: it is rare, and would enlarge the future of every request.
            true => Box::pin(self.if_present_allows()).await,
            false => Ok(self),
        }
    }

    async fn if_present_allows(self) -> Result<RequestCycle, Response<ResponseBody>> {
        let context = Context { known: None, ..self.context() };
        let present = guard(|| self.root.get(&self.reference, &context)).await;
        drop(context);
        let present = match present {
            Ok(Some(content)) => {
                let modified = content.modified;
                Some(Validators { tag: self.tag_of(content).await, modified })
            }
            Ok(None) | Err(Error { kind: Kind::NotFound | Kind::NotAllowed, .. }) => None,
            Err(error) => {
                self.exchange.overrides.clear();
                return Err(self.error_response(error));
            }
        };
        // Overrides of the program during this read do not count.
        self.exchange.overrides.clear();
        match conditions::evaluate(&self.exchange.headers, present.as_ref(), false) {
            Verdict::Proceed => Ok(self),
            Verdict::Unchanged | Verdict::Failed => {
                Err(self.problem(Problem::new(StatusCode::PRECONDITION_FAILED)))
            }
        }
    }
}

/// A failed upload overrides the response to the failed stream.
fn after_upload(
    response: Response<ResponseBody>,
    progress: &UploadProgress,
    state: &Rc<crate::server::connection_state::ConnectionState>,
) -> Response<ResponseBody> {
    match progress.problem() {
        Some(problem) => problem.respond(HeaderMap::new(), state),
        None => response,
    }
}
