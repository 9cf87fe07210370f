//! How a verb answers: at once or later.

use crate::Result;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The answer of a verb. The ready case costs no allocation and no wake-up; the later case is a
/// future of the current worker (not `Send`). It is `'static`, so that a caller can keep it while
/// the store itself changes. Dropping it cancels the work that can still be cancelled.
pub enum Answer<T> {
    /// The verb was answered at once.
    Ready(Result<T>),
    /// The verb waits for something outside (a disk, a network, a script).
    Later(Pin<Box<dyn Future<Output = Result<T>>>>),
}

impl<T: 'static> Answer<T> {
    /// A good answer, at once.
    pub fn ok(value: T) -> Self {
        Answer::Ready(Ok(value))
    }

    /// An answer that a future will give.
    pub fn later(future: impl Future<Output = Result<T>> + 'static) -> Self {
        Answer::Later(Box::pin(future))
    }

    /// Changes the good answer. Stays ready when it was ready.
    pub fn map<U: 'static>(self, change: impl FnOnce(T) -> U + 'static) -> Answer<U> {
        match self {
            Answer::Ready(result) => Answer::Ready(result.map(change)),
            Answer::Later(future) => Answer::later(async move { future.await.map(change) }),
        }
    }

    /// Runs another verb after a success. Stays ready when both are.
    pub fn and_then<U: 'static>(self, next: impl FnOnce(T) -> Answer<U> + 'static) -> Answer<U> {
        match self {
            Answer::Ready(Ok(value)) => next(value),
            Answer::Ready(Err(error)) => Answer::Ready(Err(error)),
            Answer::Later(future) => Answer::later(async move { next(future.await?).await }),
        }
    }

    /// Runs another verb with the result, success or failure. Stays ready when both are.
    pub fn then<U: 'static>(
        self,
        next: impl FnOnce(Result<T>) -> Answer<U> + 'static,
    ) -> Answer<U> {
        match self {
            Answer::Ready(result) => next(result),
            Answer::Later(future) => Answer::later(async move { next(future.await).await }),
        }
    }

    /// Adds the verb and the reference to an error that does not have them ([`crate::Error::on`]).
    pub fn on(self, verb: crate::Verb, reference: &crate::Reference) -> Self {
        match self {
            Answer::Ready(Err(error)) => Answer::Ready(Err(error.on(verb, reference))),
            Answer::Ready(good) => Answer::Ready(good),
            Answer::Later(future) => {
                let reference = reference.clone();
                Answer::later(
                    async move { future.await.map_err(|error| error.on(verb, &reference)) },
                )
            }
        }
    }
}

impl<T> From<Result<T>> for Answer<T> {
    fn from(result: Result<T>) -> Self {
        Answer::Ready(result)
    }
}

impl<T> From<crate::Error> for Answer<T> {
    fn from(error: crate::Error) -> Self {
        Answer::Ready(Err(error))
    }
}

impl<T> Unpin for Answer<T> {}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    /// A ready answer can be polled once; polled again it answers an internal error.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Answer::Later(future) => future.as_mut().poll(context),
            Answer::Ready(result) => {
                // Every answer that is awaited comes by here: an error without words costs nothing.
                let taken = crate::Error::new(crate::Kind::Failed, String::new());
                Poll::Ready(std::mem::replace(result, Err(taken)))
            }
        }
    }
}
