//! Panic isolation: a panic in a store ends one request and not the server.

use bytes::Bytes;
use runnel_store::{Answer, ByteStream, Error, Kind, Result};
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Calls a verb. A panic, also in its future, becomes an error, with the details in the log.
pub(crate) fn guard<T>(verb: impl FnOnce() -> Answer<T>) -> Guarded<T> {
    Guarded(catch_unwind(AssertUnwindSafe(verb)).unwrap_or_else(|panic| broken(&*panic).into()))
}

/// The answer of a guarded verb.
pub(crate) struct Guarded<T>(Answer<T>);

impl<T> Guarded<T> {
    /// The result, if ready; the future otherwise.
    pub(crate) fn at_once(self) -> std::result::Result<Result<T>, Guarded<T>> {
        match self.0 {
            Answer::Ready(result) => Ok(result),
            later => Err(Guarded(later)),
        }
    }
}

impl<T> Future for Guarded<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let answer = Pin::new(&mut self.0);
        catch_unwind(AssertUnwindSafe(|| answer.poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(broken(&*panic)))
    }
}

/// Calls a synchronous method.
pub(crate) fn guard_now<T>(call: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).or_else(|panic| broken(&*panic))
}

fn broken<T>(panic: &(dyn Any + Send)) -> Result<T> {
    Err(Error::new(Kind::Failed, "a store panicked").with_detail(reason(panic)))
}

/// The message of a panic.
pub(crate) fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("(no message)"))
}

/// Polls the stream of a store. The head is already sent, so that a failure is only logged and the
/// connection closes, which the client sees as an incomplete response.
pub(crate) fn poll_stream(
    stream: &mut ByteStream,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes>>> {
    let guarded = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context)));
    let polled = guarded.unwrap_or_else(|panic| {
        let error = Error::new(Kind::Failed, "the stream of a response panicked");
        Poll::Ready(Some(Err(error.with_detail(reason(&*panic)))))
    });
    if let Poll::Ready(Some(Err(error))) = &polled {
        tracing::error!(
            error = %error,
            detail = error.detail.as_deref().unwrap_or_default(),
            "a response ended early"
        );
    }
    polled
}
