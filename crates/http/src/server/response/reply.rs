//! The answer of one request as its connection waits for it: ready at once, or later within a time.

use crate::server::connection_state::ConnectionState;
use crate::server::observer::RequestWatch;
use crate::server::request::upload::UploadProgress;
use crate::server::response::body::ResponseBody;
use crate::server::response::problem::{Problem, may_log};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// An answer, now or later. The ready one costs no allocation.
pub(crate) enum PendingResponse {
    Ready(Option<Response<ResponseBody>>),
    Later(Pin<Box<dyn Future<Output = Response<ResponseBody>>>>),
    /// Later, within a time.
    InTime(TimedResponse),
    /// Later, and somebody is told of it.
    Watched(Option<RequestWatch>, Pin<Box<dyn Future<Output = Response<ResponseBody>>>>),
}

impl PendingResponse {
    pub(crate) fn ready(response: Response<ResponseBody>) -> Self {
        PendingResponse::Ready(Some(response))
    }

    pub(crate) fn later(future: impl Future<Output = Response<ResponseBody>> + 'static) -> Self {
        PendingResponse::Later(Box::pin(future))
    }

    /// The same, and the last of its connection.
    pub(crate) fn closing(self) -> Self {
        self.with(|response| {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        })
    }

    /// The same, with something more said in it.
    pub(crate) fn with(self, say: impl FnOnce(&mut Response<ResponseBody>) + 'static) -> Self {
        let change = move |mut response: Response<ResponseBody>| {
            say(&mut response);
            response
        };
        match self {
            PendingResponse::Ready(response) => PendingResponse::Ready(response.map(change)),
            later => PendingResponse::later(async move { change(later.finish().await) }),
        }
    }

    /// Watched until its body is over.
    pub(crate) fn watched(self, watch: RequestWatch) -> Self {
        watch.dispatched();
        match self {
            PendingResponse::Ready(Some(response)) => {
                PendingResponse::ready(ResponseBody::observe(watch, response))
            }
            PendingResponse::Later(future) => PendingResponse::Watched(Some(watch), future),
            PendingResponse::InTime(answer) => {
                PendingResponse::Watched(Some(watch), Box::pin(answer))
            }
            other => other,
        }
    }

    /// The answer, from within another one that is waited for.
    pub(crate) async fn finish(self) -> Response<ResponseBody> {
        match self {
            PendingResponse::Ready(Some(response)) => response,
            PendingResponse::Ready(None) => std::future::pending().await,
            PendingResponse::Later(future) => future.await,
            PendingResponse::InTime(answer) => answer.await,
            PendingResponse::Watched(watch, future) => match (watch, future.await) {
                (Some(watch), response) => ResponseBody::observe(watch, response),
                (None, response) => response,
            },
        }
    }
}

impl Future for PendingResponse {
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            PendingResponse::Ready(response) => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                // Nobody asks again for what was answered.
                None => Poll::Pending,
            },
            PendingResponse::Later(future) => future.as_mut().poll(context).map(Ok),
            PendingResponse::InTime(answer) => Pin::new(answer).poll(context).map(Ok),
            PendingResponse::Watched(watch, future) => {
                let polled = match watch {
                    Some(watch) => watch.during(|| future.as_mut().poll(context)),
                    None => return Poll::Pending,
                };
                polled.map(|response| match watch.take() {
                    Some(watch) => Ok(ResponseBody::observe(watch, response)),
                    None => Ok(response),
                })
            }
        }
    }
}

/// How long a request may take.
pub(crate) struct ResponseTimeLimit {
    /// From the whole request to the head of its answer.
    pub(crate) limit: Duration,
    /// Between two pieces of its body.
    pub(crate) body_idle: Duration,
    /// The body, where the store reads it while it works.
    pub(crate) upload: Option<Rc<UploadProgress>>,
}

impl ResponseTimeLimit {
    /// Where a body is still being read, or was until a moment ago, the end of the waiting.
    fn extended(&self) -> Option<Instant> {
        let upload = self.upload.as_ref()?;
        let idle = if upload.is_over() { Duration::ZERO } else { self.body_idle };
        upload.last().checked_add(idle)?.checked_add(self.limit)
    }
}

/// An answer that is waited for as long as a request may take; after that it is 504. Time in which
/// the body of the request is still being read does not count, as long as the store goes on reading it.
pub(crate) struct TimedResponse {
    answer: Pin<Box<dyn Future<Output = Response<ResponseBody>>>>,
    patience: ResponseTimeLimit,
    state: Rc<ConnectionState>,
    until: Option<Instant>,
    /// Where the connection has no timer for this one request.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl TimedResponse {
    pub(crate) fn new(
        patience: ResponseTimeLimit,
        state: Rc<ConnectionState>,
        answer: impl Future<Output = Response<ResponseBody>> + 'static,
    ) -> TimedResponse {
        let until = Instant::now().checked_add(patience.limit);
        TimedResponse { answer: Box::pin(answer), patience, state, until, sleep: None }
    }

    /// Has this polled again at a moment. Answers whether it has passed.
    fn is_late(&mut self, until: Instant, context: &mut Context<'_>) -> bool {
        if self.state.wake_at(Some(until)) {
            return until <= self.state.now();
        }
        let sleep =
            self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until.into())));
        if sleep.deadline() != until.into() {
            sleep.as_mut().reset(until.into());
        }
        sleep.as_mut().poll(context).is_ready()
    }

    fn too_late(&mut self) -> Response<ResponseBody> {
        if let Some(left_out) = may_log(StatusCode::GATEWAY_TIMEOUT) {
            let limit = self.patience.limit;
            tracing::error!(?limit, left_out, "a request took longer than it may");
        }
        let unread = self.patience.upload.take().is_some_and(|upload| !upload.is_over());
        let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT);
        let problem = if unread { problem.closing() } else { problem };
        problem.respond(HeaderMap::new(), &self.state)
    }
}

impl Future for TimedResponse {
    type Output = Response<ResponseBody>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(response) = this.answer.as_mut().poll(context) {
            return Poll::Ready(response);
        }
        while let Some(until) = this.until {
            if !this.is_late(until, context) {
                break;
            }
            this.until = this.patience.extended();
            if this.until.is_none_or(|until| until <= Instant::now()) {
                return Poll::Ready(this.too_late());
            }
        }
        Poll::Pending
    }
}

impl Drop for TimedResponse {
    fn drop(&mut self) {
        self.state.wake_at(None);
    }
}
