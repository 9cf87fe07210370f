//! The request cycle of a relayed request: the stores in front of a reverse proxy are asked by a verb,
//! and the response of the upstream is sent as it is.

use crate::protocol::fields;
use crate::server::request::body::RequestBody;
use crate::server::request::exchange::add_wished;
use crate::server::request::relay::{Relay, RelayedBody, RelayedRequest, RelayedResponse};
use crate::server::request::upload::{self, UploadProgress, UploadReader};
use crate::server::response::body::ResponseBody;
use crate::server::response::panics::{Guarded, guard};
use crate::server::response::reply::{PendingResponse, TimedResponse};
use crate::server::response::request_cycle::RequestCycle;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response};
use runnel_store::{Content, Context, Outcome, Result, Verb};
use std::net::SocketAddr;
use std::rc::Rc;

/// Smaller bodies are not charged to the memory of requests.
const COUNTED: usize = 4 << 10;

/// The verb by which the stores in front of a proxy are asked. A method that HTTP does not define
/// counts as a write.
pub(crate) fn verb_of(method: &Method) -> Verb {
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Verb::Get,
        Method::PUT => Verb::Put,
        Method::PATCH => Verb::Merge,
        Method::DELETE => Verb::Delete,
        ref method if method.as_str() == "QUERY" => Verb::Get,
        _ => Verb::Post,
    }
}

/// What the stores answered where none of them relayed the request.
enum Answered {
    Content(Option<Content>),
    Outcome(Outcome),
}

/// The verb by which the stores were asked.
enum AskedVerb {
    Read(Guarded<Option<Content>>),
    Write(Guarded<Outcome>),
}

impl RequestCycle {
    /// Relays a request. `nearest` is the peer of the connection.
    pub(crate) fn relay(
        mut self,
        body: RequestBody,
        nearest: SocketAddr,
        is_trusted: bool,
    ) -> PendingResponse {
        let length = body.length();
        if length.is_some_and(|length| length > self.limits.body) {
            return self.problem(upload::too_large()).into();
        }
        let (body, progress) = match self.relayed_body(body, length) {
            Ok(parts) => parts,
            Err(error) => return self.problem(upload::out_of_memory(error.kind)).into(),
        };
        let expects = matches!(body, RelayedBody::Coming(..))
            && self.exchange.headers.contains_key(header::EXPECT);
        let request = RelayedRequest {
            body,
            whole: self.reference.clone(),
            expects,
            nearest,
            is_trusted,
            state: self.state.clone(),
        };
        if let Some(exchange) = Rc::get_mut(&mut self.exchange) {
            exchange.relay = Some(Box::new(Relay::new(request)));
        }
        let context = Context { known: None, ..self.context() };
        let verb = verb_of(&self.exchange.method);
        let asked = self.ask(verb, &context);
        drop(context);
        let (patience, state) = (self.patience(progress.clone()), self.state.clone());
        PendingResponse::InTime(TimedResponse::new(patience, state, async move {
            let result = match asked {
                AskedVerb::Read(answer) => answer.await.map(Answered::Content),
                AskedVerb::Write(answer) => answer.await.map(Answered::Outcome),
            };
            match self.relayed(verb, result, progress.as_deref()) {
                PendingResponse::Ready(Some(response)) => response,
                later => Box::pin(later.finish()).await,
            }
        }))
    }

    /// The body as it is relayed, with the progress of a body that is still to come.
    fn relayed_body(
        &self,
        body: RequestBody,
        length: Option<u64>,
    ) -> Result<(RelayedBody, Option<Rc<UploadProgress>>)> {
        if let RequestBody::Whole(bytes) = body {
            if bytes.len() >= COUNTED {
                self.exchange.allowance.hold_arriving(bytes.len())?;
            }
            let is_empty = bytes.is_empty();
            return Ok(match is_empty {
                true => (RelayedBody::Nothing, None),
                false => (RelayedBody::Whole(bytes), None),
            });
        }
        if body.is_over() {
            return Ok((RelayedBody::Nothing, None));
        }
        let trailers = body.trailers();
        let reader = UploadReader::new(body, &self.limits, self.limits.body);
        let progress = reader.progress().clone();
        Ok((RelayedBody::Coming(Box::pin(reader), length, trailers), Some(progress)))
    }

    fn ask(&self, verb: Verb, context: &Context) -> AskedVerb {
        let (root, reference) = (&self.root, &self.reference);
        let none = Content::default;
        AskedVerb::Write(match verb {
            Verb::Put => guard(|| root.put(reference, none(), context)),
            Verb::Merge => guard(|| root.merge(reference, none(), context)),
            Verb::Delete => guard(|| root.delete(reference, context)),
            Verb::Post => guard(|| root.post(reference, none(), context)),
            _ => return AskedVerb::Read(guard(|| root.get(reference, context))),
        })
    }

    /// The response of the upstream, or that of a store in front of it.
    fn relayed(
        self,
        verb: Verb,
        result: Result<Answered>,
        progress: Option<&UploadProgress>,
    ) -> PendingResponse {
        let state = self.state.clone();
        let given = self.exchange.relay.as_ref().and_then(|relay| relay.take_response());
        if let Some(progress) = progress
            && !progress.is_over()
        {
            state.linger.set(true);
        }
        let failed = progress.and_then(UploadProgress::problem);
        match (failed, result, given) {
            (Some(problem), ..) => self.problem(problem).into(),
            (None, Err(error), _) => self.error_response(error).into(),
            (None, Ok(_), Some(response)) => self.relayed_response(response).into(),
            // A store in front of the proxy has answered, such as a redirect.
            (None, Ok(Answered::Content(content)), None) => self.get_result(Ok(content)),
            (None, Ok(Answered::Outcome(outcome)), None) => self.write_result(verb, Ok(outcome)),
        }
    }

    /// The response of the upstream with the headers that the stores in front of it have set.
    fn relayed_response(self, response: RelayedResponse) -> Response<ResponseBody> {
        let RelayedResponse { status, mut fields, mut body, upgrade } = response;
        if let Err(error) = body.charge_memory(|| self.exchange.network()) {
            return self.error_response(error);
        }
        let wished = self.exchange.overrides.take_headers();
        if let Some(upgrade) = upgrade {
            self.state.upgrade.replace(Some(upgrade));
        } else if !wished.is_empty() {
            add_wished(wished, status, fields.map());
        }
        if self.changes_headers() {
            fields.map();
        }
        let (headers, lines) = fields.into_parts();
        body.relay(lines, self.takes_trailers());
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }

    /// Whether the server looks at the headers of the response, or sets some: those of HTTP/2, of
    /// requests with an id, and of CORS.
    fn changes_headers(&self) -> bool {
        let observed = self.exchange.observed.as_ref();
        self.state.is_of_stream()
            || observed.is_some_and(|observed| observed.id().is_some())
            || !self.limits.access.allowed_origins.is_empty()
    }

    /// Whether the client wants trailer fields (RFC 9110 section 6.5.1).
    fn takes_trailers(&self) -> bool {
        let asked = self.exchange.headers.get_all(header::TE);
        asked
            .iter()
            .map(HeaderValue::as_bytes)
            .any(|line| fields::words(line).any(|word| word.eq_ignore_ascii_case(b"trailers")))
    }
}
