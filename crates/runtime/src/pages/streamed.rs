//! Streaming of pages: a client gets a page while the program writes it.
//!
//! A `get` of the program may answer a page whose parts wait. While the kernel writes such a page for a
//! client, its buffer lies in the kernel's table `sending` (element.lua). When the fiber waits longer than
//! [`PATIENCE`], the client gets the buffered part, and the rest as a stream. A page that is complete
//! before is one piece with a length, and its errors have a status.

use super::whole::document_type;
use crate::engine::stack::{Slot, Stack, Type};
use crate::fibers::fault::Fault;
use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{Answer, Body, Content, Form, Result};
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a page that has begun may wait before its buffer is sent.
const PATIENCE: Duration = Duration::from_millis(10);

/// A `get` that runs, and the page that it has begun to write.
struct PageFiber {
    fiber: Fiber<Option<Content>>,
    page: PageBuffer,
}

/// A page that was begun.
struct PageBuffer {
    isolate: Isolate,
    buffer: Option<Slot>,
    media_type: Cow<'static, str>,
}

type Read = std::result::Result<Option<Content>, Fault>;

impl PageFiber {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Read> {
        self.page.poll(&mut self.fiber, context)
    }
}

impl PageBuffer {
    /// Polls the fiber that writes it.
    fn poll(
        &mut self,
        fiber: &mut Fiber<Option<Content>>,
        context: &mut Context<'_>,
    ) -> Poll<Read> {
        let isolate = &self.isolate;
        let stack = isolate.stack();
        stack.reserve(8);
        // A page around this one: its program asked for this `get`.
        let outer = isolate.scheduler().is_within().then(|| begun(isolate, stack)).flatten();
        let outcome = Pin::new(fiber).poll(context);
        let stack = isolate.stack();
        if !matches!(outcome, Poll::Ready(Ok(_)))
            && let Some(buffer) = begun(isolate, stack)
        {
            self.media_type = media_type(isolate, stack);
            if let Some(old) = self.buffer.replace(buffer) {
                stack.release(old);
            }
        }
        if let Some(outer) = outer {
            stack.push_kept(isolate.slots().sending);
            stack.push_kept(outer);
            stack.set_element(-2, 1);
            stack.pop(1);
            stack.release(outer);
        }
        outcome
    }

    /// The bytes written since the last call.
    fn take(&self) -> Bytes {
        let Some(buffer) = self.buffer else { return Bytes::new() };
        let stack = self.isolate.stack();
        stack.reserve(8);
        let top = stack.top();
        stack.push_kept(self.isolate.slots().take_markup);
        stack.push_kept(buffer);
        let taken = match stack.protected_call(1, 1) {
            true => stack.copied_bytes(-1),
            false => Bytes::new(),
        };
        stack.set_top(top);
        taken
    }
}

impl Drop for PageBuffer {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.isolate.stack().release(buffer);
        }
    }
}

/// Takes the buffer of a page that was begun out of its table.
fn begun(isolate: &Isolate, stack: Stack) -> Option<Slot> {
    stack.push_kept(isolate.slots().sending);
    stack.get_element(-1, 1);
    if stack.kind(-1) == Type::Nil {
        stack.pop(2);
        return None;
    }
    let buffer = stack.keep();
    stack.push_nil();
    stack.set_element(-2, 1);
    stack.pop(1);
    Some(buffer)
}

fn media_type(isolate: &Isolate, stack: Stack) -> Cow<'static, str> {
    stack.push_kept(isolate.slots().sending);
    stack.get_element(-1, 2);
    let media_type = stack.with_bytes(-1, document_type);
    stack.pop(2);
    media_type
}

/// Runs the fiber of a `get`.
pub(crate) fn answer(
    isolate: &Isolate,
    mut fiber: Fiber<Option<Content>>,
) -> Answer<Option<Content>> {
    let mut page =
        PageBuffer { isolate: isolate.clone(), buffer: None, media_type: Cow::Borrowed("") };
    match isolate.scheduler().at_once(|context| page.poll(&mut fiber, context)) {
        Poll::Ready(result) => Answer::Ready(result.map_err(|fault| fault.into_error(isolate))),
        Poll::Pending => {
            let writing = PageFiber { fiber, page };
            Answer::later(PendingPage { writing: Some(writing), patience: None })
        }
    }
}

/// A `get` that waits: it ends with the content, or with a stream of the page.
struct PendingPage {
    writing: Option<PageFiber>,
    patience: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Future for PendingPage {
    type Output = Result<Option<Content>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(mut writing) = self.writing.take() else { return Poll::Ready(Ok(None)) };
        if let Poll::Ready(result) = writing.poll(context) {
            return Poll::Ready(result.map_err(|fault| fault.into_error(&writing.page.isolate)));
        }
        if writing.page.buffer.is_some() {
            let patience =
                self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
            if patience.as_mut().poll(context).is_ready() {
                let first = writing.page.take();
                if !first.is_empty() {
                    let media_type = std::mem::take(&mut writing.page.media_type);
                    let stream = PageStream { writing: Some(writing), first: Some(first) };
                    let body = Body::Stream(Box::pin(stream), None);
                    let content = Content { body, ..Content::default() };
                    return Poll::Ready(Ok(Some(content.with_media_type(media_type))));
                }
                // Nothing to send yet: the buffer is read again when the fiber continues.
                self.patience = None;
            }
        }
        self.writing = Some(writing);
        Poll::Pending
    }
}

/// The pieces of a page that is sent while it is written.
struct PageStream {
    writing: Option<PageFiber>,
    first: Option<Bytes>,
}

impl Stream for PageStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let Some(writing) = &mut self.writing else { return Poll::Ready(None) };
        match writing.poll(context) {
            Poll::Pending => match writing.page.take() {
                piece if piece.is_empty() => Poll::Pending,
                piece => Poll::Ready(Some(Ok(piece))),
            },
            Poll::Ready(Err(fault)) => {
                let error = fault.into_error(&writing.page.isolate);
                self.writing = None;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(Ok(content)) => {
                self.writing = None;
                match content.map(|content| content.body) {
                    Some(Body::Text(rest)) if rest.is_empty() => Poll::Ready(None),
                    Some(Body::Text(rest)) => Poll::Ready(Some(Ok(rest.into_bytes()))),
                    Some(Body::Bytes(rest)) => Poll::Ready(Some(Ok(rest))),
                    Some(Body::Lazy(rest)) => match rest.encode(Form::Text) {
                        Answer::Ready(Ok(bytes)) if bytes.is_empty() => Poll::Ready(None),
                        Answer::Ready(result) => Poll::Ready(Some(result)),
                        Answer::Later(_) => Poll::Ready(None),
                    },
                    _ => Poll::Ready(None),
                }
            }
        }
    }
}
