//! The answer of one request as its connection waits for it: ready at once, or later within a time.

use crate::server::connection_state::Meter;
use crate::server::observer::Watch;
use crate::server::request::upload::Progress;
use crate::server::response::body::AnswerBody;
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
pub(crate) enum Reply {
    Ready(Option<Response<AnswerBody>>),
    Later(Pin<Box<dyn Future<Output = Response<AnswerBody>>>>),
    /// Later, within a time.
    InTime(InTime),
    /// Later, and somebody is told of it.
    Watched(Option<Watch>, Pin<Box<dyn Future<Output = Response<AnswerBody>>>>),
}

impl Reply {
    pub(crate) fn ready(response: Response<AnswerBody>) -> Self {
        Reply::Ready(Some(response))
    }

    pub(crate) fn later(future: impl Future<Output = Response<AnswerBody>> + 'static) -> Self {
        Reply::Later(Box::pin(future))
    }

    /// The same, and the last of its connection.
    pub(crate) fn closing(self) -> Self {
        self.with(|response| {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        })
    }

    /// The same, with something more said in it.
    pub(crate) fn with(self, say: impl FnOnce(&mut Response<AnswerBody>) + 'static) -> Self {
        let change = move |mut response: Response<AnswerBody>| {
            say(&mut response);
            response
        };
        match self {
            Reply::Ready(response) => Reply::Ready(response.map(change)),
            later => Reply::later(async move { change(later.finish().await) }),
        }
    }

    /// The answer, from within another one that is waited for.
    pub(crate) async fn finish(self) -> Response<AnswerBody> {
        match self {
            Reply::Ready(Some(response)) => response,
            Reply::Ready(None) => std::future::pending().await,
            Reply::Later(future) => future.await,
            Reply::InTime(answer) => answer.await,
            Reply::Watched(watch, future) => match (watch, future.await) {
                (Some(watch), response) => watch.attach(response),
                (None, response) => response,
            },
        }
    }
}

impl Future for Reply {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Reply::Ready(response) => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                // Nobody asks again for what was answered.
                None => Poll::Pending,
            },
            Reply::Later(future) => future.as_mut().poll(context).map(Ok),
            Reply::InTime(answer) => Pin::new(answer).poll(context).map(Ok),
            Reply::Watched(watch, future) => {
                let polled = match watch {
                    Some(watch) => watch.during(|| future.as_mut().poll(context)),
                    None => return Poll::Pending,
                };
                polled.map(|response| match watch.take() {
                    Some(watch) => Ok(watch.attach(response)),
                    None => Ok(response),
                })
            }
        }
    }
}

/// How long a request may take.
pub(crate) struct Patience {
    /// From the whole request to the head of its answer.
    pub(crate) limit: Duration,
    /// Between two pieces of its body.
    pub(crate) body_idle: Duration,
    /// The body, where the store reads it while it works.
    pub(crate) upload: Option<Rc<Progress>>,
}

impl Patience {
    /// Where a body is still being read, or was until a moment ago, the end of the waiting.
    fn extended(&self) -> Option<Instant> {
        let upload = self.upload.as_ref()?;
        let idle = if upload.is_over() { Duration::ZERO } else { self.body_idle };
        upload.last().checked_add(idle)?.checked_add(self.limit)
    }
}

/// An answer that is waited for as long as a request may take; after that it is 504. Time in which
/// the body of the request is still being read does not count, as long as the store goes on reading it.
pub(crate) struct InTime {
    answer: Pin<Box<dyn Future<Output = Response<AnswerBody>>>>,
    patience: Patience,
    meter: Rc<Meter>,
    until: Option<Instant>,
    /// Where the connection has no timer for this one request.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl InTime {
    pub(crate) fn new(
        patience: Patience,
        meter: Rc<Meter>,
        answer: impl Future<Output = Response<AnswerBody>> + 'static,
    ) -> InTime {
        let until = Instant::now().checked_add(patience.limit);
        InTime { answer: Box::pin(answer), patience, meter, until, sleep: None }
    }

    /// Has this polled again at a moment. Answers whether it has passed.
    fn is_late(&mut self, until: Instant, context: &mut Context<'_>) -> bool {
        if self.meter.wake_at(Some(until)) {
            return until <= self.meter.now();
        }
        let sleep =
            self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until.into())));
        if sleep.deadline() != until.into() {
            sleep.as_mut().reset(until.into());
        }
        sleep.as_mut().poll(context).is_ready()
    }

    fn too_late(&mut self) -> Response<AnswerBody> {
        if let Some(left_out) = may_log(StatusCode::GATEWAY_TIMEOUT) {
            let limit = self.patience.limit;
            tracing::error!(?limit, left_out, "a request took longer than it may");
        }
        let unread = self.patience.upload.take().is_some_and(|upload| !upload.is_over());
        let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT);
        let problem = if unread { problem.closing() } else { problem };
        problem.respond(HeaderMap::new(), &self.meter)
    }
}

impl Future for InTime {
    type Output = Response<AnswerBody>;

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

impl Drop for InTime {
    fn drop(&mut self) {
        self.meter.wake_at(None);
    }
}
