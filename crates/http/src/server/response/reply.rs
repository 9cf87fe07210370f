//! The pending response of a request: ready at once, or later within the request timeout.

use crate::server::connection_state::{ConnectionState, RequestTimeout};
use crate::server::observer::RequestWatch;
use crate::server::request::timer::RequestTimer;
use crate::server::request::upload::UploadProgress;
use crate::server::response::body::ResponseBody;
use crate::server::response::problem::{Problem, log_permit};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// What a handler whose deadline has passed gets for its `ensure:` blocks and its own response, which names its path.
/// The deadline and the request timeout end at the same moment.
const GRACE: Duration = Duration::from_millis(250);

/// A response, now or later. A ready one costs no allocation.
pub(crate) enum PendingResponse {
    Ready(Option<Response<ResponseBody>>),
    Later(Pin<Box<dyn Future<Output = Response<ResponseBody>>>>),
    /// Later, with a timeout.
    InTime(TimedResponse),
    /// Later, with an observer.
    Watched(Option<RequestWatch>, Pin<Box<dyn Future<Output = Response<ResponseBody>>>>),
}

impl From<Response<ResponseBody>> for PendingResponse {
    fn from(response: Response<ResponseBody>) -> Self {
        PendingResponse::Ready(Some(response))
    }
}

impl PendingResponse {
    pub(crate) fn later(future: impl Future<Output = Response<ResponseBody>> + 'static) -> Self {
        PendingResponse::Later(Box::pin(future))
    }

    /// Adds `Connection: close`.
    pub(crate) fn closing(self) -> Self {
        self.with(|response| {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        })
    }

    /// Changes the response once it is ready.
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

    /// Attaches an observer until the body ends.
    pub(crate) fn watched(self, watch: RequestWatch) -> Self {
        watch.dispatched();
        match self {
            PendingResponse::Ready(Some(response)) => ResponseBody::observe(watch, response).into(),
            PendingResponse::Later(future) => PendingResponse::Watched(Some(watch), future),
            PendingResponse::InTime(answer) => {
                PendingResponse::Watched(Some(watch), Box::pin(answer))
            }
            other => other,
        }
    }

    /// Awaits the response inside another future.
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
                // The response was taken: no caller polls again.
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

/// The timeout of a request.
pub(crate) struct ResponseTimeLimit {
    /// From the complete request to the head of its response.
    pub(crate) limit: Duration,
    /// Between two pieces of its body.
    pub(crate) body_idle: Duration,
    /// The progress of a body that the store reads while it works.
    pub(crate) upload: Option<Rc<UploadProgress>>,
}

impl ResponseTimeLimit {
    /// The extended timeout while the body is still read, or was until a moment ago.
    fn extended(&self) -> Option<Instant> {
        let upload = self.upload.as_ref()?;
        let idle = if upload.is_over() { Duration::ZERO } else { self.body_idle };
        let limit = self.limit.saturating_add(upload.time_to_store());
        upload.last().checked_add(idle)?.checked_add(limit)
    }
}

/// A response with the request timeout, after which it is 504. The time starts when the store has
/// read the body of the request, and is longer after a large one.
pub(crate) struct TimedResponse {
    answer: Pin<Box<dyn Future<Output = Response<ResponseBody>>>>,
    patience: ResponseTimeLimit,
    timer: RequestTimer,
    until: Option<Instant>,
    /// The timeout has expired, and the handler is in its last moments.
    is_ending: bool,
}

impl TimedResponse {
    pub(crate) fn new(
        patience: ResponseTimeLimit,
        state: Rc<ConnectionState>,
        answer: impl Future<Output = Response<ResponseBody>> + 'static,
    ) -> TimedResponse {
        let until = state.clock().checked_add(patience.limit);
        let timer = RequestTimer::new(state, RequestTimeout::Answer);
        TimedResponse { answer: Box::pin(answer), patience, timer, until, is_ending: false }
    }

    fn too_late(&mut self) -> Response<ResponseBody> {
        if let Some(left_out) = log_permit(StatusCode::GATEWAY_TIMEOUT) {
            let limit = self.patience.limit;
            tracing::error!(?limit, left_out, "a request exceeded the request timeout");
        }
        let unread = self.patience.upload.take().is_some_and(|upload| !upload.is_over());
        let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT);
        let problem = if unread { problem.closing() } else { problem };
        problem.respond(HeaderMap::new(), &self.timer.state)
    }
}

impl Future for TimedResponse {
    type Output = Response<ResponseBody>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(response) = this.answer.as_mut().poll(context) {
            // What is only ready after the timeout is too late, unless it says so itself.
            let is_late = this.is_ending && response.status() != StatusCode::GATEWAY_TIMEOUT;
            return Poll::Ready(if is_late { this.too_late() } else { response });
        }
        while let Some(until) = this.until {
            if this.timer.poll(until, context).is_pending() {
                break;
            }
            let now = Instant::now();
            match this.patience.extended().filter(|until| *until > now) {
                Some(until) => {
                    this.until = Some(until);
                    this.is_ending = false;
                }
                None if this.is_ending => return Poll::Ready(this.too_late()),
                None => {
                    this.until = now.checked_add(GRACE);
                    this.is_ending = true;
                }
            }
        }
        Poll::Pending
    }
}
