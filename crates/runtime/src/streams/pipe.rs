//! Streaming content: a block writes it in a fiber of its own while a reader polls it.

use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::values::handle::ObjectHandle;
use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{Answer, ByteStream, Context as Call, Error, Form, Kind, Lazy, Result, Value};
use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Unread bytes at which the writer waits (backpressure).
const WAITING: usize = 64 * 1024;

/// The buffer between a block that writes and its reader.
#[derive(Default)]
pub(crate) struct Pipe {
    written: RefCell<Vec<u8>>,
    /// The reader has gone away.
    closed: Cell<bool>,
    /// Wakes the reader.
    reader: RefCell<Option<Waker>>,
    room: tokio::sync::Notify,
}

impl Pipe {
    /// Appends bytes. Answers whether there is room for more.
    pub(crate) fn write(&self, bytes: &[u8]) -> bool {
        if !self.closed.get() {
            self.written.borrow_mut().extend_from_slice(bytes);
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        self.written.borrow().len() < WAITING
    }

    /// Waits for room.
    ///
    /// # Errors
    /// [`Kind::Cancelled`] once the reader has gone away.
    pub(crate) async fn taken(&self) -> Result<()> {
        loop {
            let room = self.room.notified();
            if self.closed.get() {
                return Err(Error::new(Kind::Cancelled, "the reader has gone away"));
            }
            if self.written.borrow().len() < WAITING {
                return Ok(());
            }
            room.await;
        }
    }

    fn take(&self) -> Option<Bytes> {
        let bytes = self.written.take();
        self.room.notify_waiters();
        (!bytes.is_empty()).then(|| bytes.into())
    }
}

/// The content that a block writes: each reader runs the block anew.
pub(crate) struct Written {
    /// The object of the program; the kernel's `runWritten` knows what to do with it.
    object: ObjectHandle,
    media_type: String,
    call: Call,
}

impl Written {
    pub(crate) fn new(object: ObjectHandle, media_type: String) -> Self {
        let mut call = object.isolate().call();
        // It lasts as long as its reader, which may be after a transaction around it.
        (call.deadline, call.transaction, call.known) = (None, None, None);
        Written { object, media_type, call }
    }

    fn run(&self) -> RunningWriter {
        let pipe = Rc::new(Pipe::default());
        let given = pipe.clone();
        let isolate = self.object.isolate();
        let fiber = Fiber::new(
            isolate,
            self.call.clone(),
            |stack| {
                isolate.push_of_kernel(stack, "runWritten");
                self.object.push(stack);
                stack.push_native(given);
                2
            },
            |_, _, _| (),
        );
        RunningWriter { isolate: isolate.clone(), fiber: Some(fiber), pipe, failed: None }
    }
}

impl Lazy for Written {
    fn encode(&self, _: Form) -> Answer<Bytes> {
        let content = runnel_store::Content {
            body: runnel_store::Body::Stream(Box::pin(self.run()), None),
            ..runnel_store::Content::default()
        };
        Answer::later(async move { content.read(runnel_store::COLLECT_LIMIT).await })
    }

    fn media_type(&self, _: Form) -> Option<Cow<'static, str>> {
        Some(Cow::Owned(self.media_type.clone()))
    }

    fn stream(&self, _: Form) -> Option<ByteStream> {
        Some(Box::pin(self.run()))
    }

    fn value(&self) -> Answer<Value> {
        self.encode(Form::Text).map(|bytes| match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(_) => Value::Bytes(bytes),
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A block that writes, as a stream of its output. Dropping it cancels the block.
struct RunningWriter {
    isolate: Isolate,
    fiber: Option<Fiber<()>>,
    pipe: Rc<Pipe>,
    /// The error that follows the output.
    failed: Option<Error>,
}

impl Stream for RunningWriter {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(bytes) = this.pipe.take() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        let Some(fiber) = &mut this.fiber else { return Poll::Ready(this.failed.take().map(Err)) };
        let outcome = Pin::new(fiber).poll(context);
        if let Poll::Ready(result) = outcome {
            this.fiber = None;
            let failed = result.err().map(|fault| fault.into_error(&this.isolate));
            return match (this.pipe.take(), failed) {
                (bytes, None) => Poll::Ready(bytes.map(Ok)),
                (None, Some(error)) => Poll::Ready(Some(Err(error))),
                (Some(bytes), Some(error)) => {
                    // The output before the error is given first.
                    this.failed = Some(error);
                    Poll::Ready(Some(Ok(bytes)))
                }
            };
        }
        if let Some(bytes) = this.pipe.take() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        // Another fiber may write too.
        this.pipe.reader.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for RunningWriter {
    fn drop(&mut self) {
        self.pipe.closed.set(true);
        self.pipe.room.notify_waiters();
        if let Some(cancelled) = self.fiber.take() {
            drop(cancelled);
            // What its `ensure:` blocks print is seen now.
            self.isolate.flush_output();
        }
    }
}
