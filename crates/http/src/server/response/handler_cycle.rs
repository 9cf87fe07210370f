//! The request cycle of a handler: its request as it was sent, and its response as it is given.

use crate::handler::{Handler, HandlerRequest, HandlerResponse};
use crate::protocol::fields;
use crate::server::connection_state::ConnectionState;
use crate::server::options::Limits;
use crate::server::request::body::RequestBody;
use crate::server::request::exchange::{HttpExchange, is_framing};
use crate::server::request::upload::{self, UploadProgress, UploadReader};
use crate::server::response::body::ResponseBody;
use crate::server::response::panics;
use crate::server::response::problem::{Problem, set_nosniff};
use crate::server::response::reply::{PendingResponse, ResponseTimeLimit, TimedResponse};
use futures_util::{FutureExt, stream};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response};
use runnel_store::{
    Allowance, Body, ByteStream, ClientNetwork, Content, Error, Form, Kind, Result,
};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

/// Smaller bodies are not charged to the memory of requests.
const COUNTED: usize = 4 << 10;

/// What one request of a handler needs.
pub(crate) struct HandlerCycle {
    pub(crate) handler: Rc<dyn Handler>,
    pub(crate) limits: Rc<Limits>,
    pub(crate) state: Rc<ConnectionState>,
    pub(crate) is_secure: bool,
}

impl HandlerCycle {
    /// Asks the handler within the request timeout. The exchange has no other holder yet.
    pub(crate) fn run(self, mut exchange: Rc<HttpExchange>, body: RequestBody) -> PendingResponse {
        let refuse = |problem: Problem, exchange: &HttpExchange| {
            problem.for_request(exchange).respond(HeaderMap::new(), &self.state).into()
        };
        let most = self.handler.max_body().unwrap_or(self.limits.body);
        let (length, trailers) = (body.length(), body.trailers());
        if length.is_some_and(|length| length > most) {
            return refuse(upload::too_large(), &exchange);
        }
        let allowance = Allowance::default();
        let (body, progress) = match self.take_body(body, most, &allowance) {
            Ok(taken) => taken,
            Err(error) => return refuse(upload::out_of_memory(error.kind), &exchange),
        };
        let headers = match Rc::get_mut(&mut exchange) {
            Some(own) => std::mem::take(&mut own.headers),
            None => exchange.headers.clone(),
        };
        let deadline = self.state.now().checked_add(self.limits.request_time);
        let (method, client) = (exchange.method.clone(), exchange.network());
        let request = HandlerRequest {
            method: method.clone(),
            uri: exchange.uri.clone(),
            headers,
            peer: exchange.peer,
            is_secure: self.is_secure,
            body,
            length,
            trailers,
            deadline: deadline.filter(|_| progress.is_none()),
            allowance,
            observed: exchange.observed.clone(),
        };
        let patience = ResponseTimeLimit {
            limit: self.limits.request_time,
            body_idle: self.limits.body_idle,
            upload: progress.clone(),
        };
        let state = self.state.clone();
        let answer = self.answer(request, (method, client), progress);
        PendingResponse::InTime(TimedResponse::new(patience, state, answer))
    }

    /// The body as a stream, with the progress of a body that is still to come.
    fn take_body(
        &self,
        body: RequestBody,
        most: u64,
        allowance: &Allowance,
    ) -> Result<(ByteStream, Option<Rc<UploadProgress>>)> {
        if let RequestBody::Whole(bytes) = body {
            if bytes.len() >= COUNTED {
                allowance.hold_arriving(bytes.len())?;
            }
            let only = (!bytes.is_empty()).then_some(Ok(bytes));
            return Ok((Box::pin(stream::iter(only)), None));
        }
        let reader = UploadReader::new(body, &self.limits, most);
        let progress = reader.progress().clone();
        Ok((Box::pin(reader), Some(progress)))
    }

    async fn answer(
        self,
        request: HandlerRequest,
        (method, client): (Method, ClientNetwork),
        progress: Option<Rc<UploadProgress>>,
    ) -> Response<ResponseBody> {
        let handler = self.handler.clone();
        let answer = async move { encoded(handler.handle(request).await).await };
        let answer = AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|panic| {
            let error = Error::new(Kind::Failed, "a handler panicked");
            Err(error.with_detail(panics::reason(&*panic)))
        });
        let mut response = match answer.and_then(|answer| self.respond(answer, &method, client)) {
            Ok(response) => response,
            Err(error) => {
                let problem = Problem::from_error(error, &method, &self.handler.describe(), None);
                problem.respond(HeaderMap::new(), &self.state)
            }
        };
        if let Some(progress) = progress {
            if !progress.is_over() || progress.has_failed() {
                self.state.linger.set(true);
            }
            if progress.has_failed() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
        }
        response
    }

    /// The response as the handler gives it.
    fn respond(
        &self,
        answer: HandlerResponse,
        method: &Method,
        client: ClientNetwork,
    ) -> Result<Response<ResponseBody>> {
        let HandlerResponse { status, mut headers, body } = answer;
        let given = headers.get(header::CONTENT_LENGTH);
        let given = given.and_then(|given| fields::number(given.as_bytes().trim_ascii()));
        let mut body = match body {
            Body::Empty if *method == Method::HEAD => match given {
                Some(length) => ResponseBody::announced(length, &self.state),
                None => ResponseBody::empty(&self.state),
            },
            Body::Bytes(bytes) => ResponseBody::whole(bytes, &self.state),
            Body::Text(text) => ResponseBody::whole(text.into_bytes(), &self.state),
            Body::Stream(stream, length) => {
                ResponseBody::stream(stream, length.or(given), &self.state)
            }
            // `encoded` leaves no other content.
            Body::Empty | Body::Value(_) | Body::Lazy(_) => ResponseBody::empty(&self.state),
        };
        body.charge_memory(|| client)?;
        let framing: Vec<_> = headers.keys().filter(|name| is_framing(name)).cloned().collect();
        for name in framing {
            headers.remove(name);
        }
        set_nosniff(&mut headers, &self.state);
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// Content that has no bytes of its own is sent as JSON.
async fn encoded(answer: HandlerResponse) -> Result<HandlerResponse> {
    let body = match answer.body {
        body @ (Body::Value(_) | Body::Lazy(_)) => {
            let content = Content { body, ..Content::default() };
            Body::Bytes(content.encode(Form::Json).await?)
        }
        body => body,
    };
    Ok(HandlerResponse { body, ..answer })
}
