//! Content that a program takes while it arrives: the body of a request, or a part of a form.
//!
//! It is read once: piece by piece, as a whole within a limit, or by the store that it is put to. What was
//! looked at in advance is read again by the reader.

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use runnel_store::{Body, ByteStream, Content, Error, Kind, Result};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A stream of bytes that can be read once.
pub(crate) struct ArrivingContent {
    media_type: Option<String>,
    length: Option<u64>,
    source: RefCell<StreamSource>,
    /// The bytes that may still come, where the program has set a limit, and this limit.
    room: Cell<Option<(u64, u64)>>,
    is_taken: Cell<bool>,
    fault: Rc<StreamFault>,
}

/// What failed while the body of a request was read: the client's fault, whatever the program made of it.
#[derive(Default)]
pub(crate) struct StreamFault(RefCell<Option<Error>>);

impl StreamFault {
    /// The first failure.
    pub(crate) fn get(&self) -> Option<Error> {
        self.0.borrow().clone()
    }

    pub(super) fn note(&self, error: &Error) {
        self.0.borrow_mut().get_or_insert_with(|| error.clone());
    }
}

struct StreamSource {
    /// Absent once the rest is not wanted.
    stream: Option<ByteStream>,
    /// What was looked at in advance.
    ahead: VecDeque<Bytes>,
    /// What ended it.
    failed: Option<Error>,
}

impl ArrivingContent {
    pub(crate) fn new(
        stream: ByteStream,
        length: Option<u64>,
        media_type: Option<String>,
        fault: Rc<StreamFault>,
    ) -> Rc<Self> {
        let source = StreamSource { stream: Some(stream), ahead: VecDeque::new(), failed: None };
        Rc::new(ArrivingContent {
            media_type,
            length,
            source: RefCell::new(source),
            room: Cell::new(None),
            is_taken: Cell::new(false),
            fault,
        })
    }

    pub(crate) fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// The number of bytes, where the client names it.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// What failed.
    pub(crate) fn fault(&self) -> &Rc<StreamFault> {
        &self.fault
    }

    /// Ends it with [`Kind::TooLarge`] behind this many bytes; the least of several limits counts.
    pub(crate) fn limit(&self, most: u64) {
        if self.room.get().is_none_or(|(left, _)| most < left) {
            self.room.set(Some((most, most)));
        }
    }

    /// Becomes its reader.
    ///
    /// # Errors
    /// It has one already.
    pub(crate) fn take(self: &Rc<Self>) -> Result<ByteStream> {
        if self.is_taken.replace(true) {
            let message = "this stream was read already: a stream can be read once";
            return Err(Error::new(Kind::Failed, message));
        }
        Ok(Box::pin(TakenStream(self.clone())))
    }

    /// It as the content of a write. Taken a second time, the content fails when it is read.
    pub(crate) fn content(self: &Rc<Self>) -> Content {
        let (stream, length) = match self.take() {
            Ok(stream) => (stream, self.length),
            Err(error) => {
                let failed: ByteStream =
                    Box::pin(futures_util::stream::iter([Err::<Bytes, Error>(error)]));
                (failed, None)
            }
        };
        let media_type = self.media_type.clone().map(Into::into);
        Content { body: Body::Stream(stream, length), media_type, ..Content::default() }
    }

    /// The first bytes, which remain to be read: this many, or all where there are fewer.
    ///
    /// # Errors
    /// It has a reader, or it fails.
    pub(crate) async fn start(self: &Rc<Self>, count: usize) -> Result<Bytes> {
        if self.is_taken.get() {
            let message = "this stream was read already: look at its beginning before";
            return Err(Error::new(Kind::Failed, message));
        }
        let mut start = BytesMut::new();
        for piece in &self.source.borrow().ahead {
            start.extend_from_slice(piece);
        }
        while start.len() < count {
            let Some(piece) = poll_fn(|context| self.poll_source(context)).await else { break };
            let piece = piece?;
            start.extend_from_slice(&piece);
            self.source.borrow_mut().ahead.push_back(piece);
        }
        start.truncate(count);
        Ok(start.freeze())
    }

    /// Nobody wants the rest, unless a reader has it.
    pub(crate) fn close(&self) {
        if !self.is_taken.replace(true) {
            self.give_up();
        }
    }

    fn give_up(&self) {
        let unread = {
            let mut source = self.source.borrow_mut();
            (source.stream.take(), std::mem::take(&mut source.ahead))
        };
        drop(unread);
    }

    /// The next piece of the source; an error again after an error.
    fn poll_source(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let mut source = self.source.borrow_mut();
        if let Some(error) = &source.failed {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let Some(stream) = &mut source.stream else { return Poll::Ready(None) };
        let polled = ready!(stream.as_mut().poll_next(context));
        if !matches!(polled, Some(Ok(_))) {
            source.stream = None;
        }
        if let Some(Err(error)) = &polled {
            self.fault.note(error);
            source.failed = Some(error.clone());
        }
        Poll::Ready(polled)
    }

    fn poll_piece(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let ahead = self.source.borrow_mut().ahead.pop_front();
        let piece = match ahead {
            Some(piece) => Some(Ok(piece)),
            None => ready!(self.poll_source(context)),
        };
        let (Some(Ok(bytes)), Some((left, most))) = (&piece, self.room.get()) else {
            return Poll::Ready(piece);
        };
        let Some(left) = left.checked_sub(bytes.len() as u64) else {
            let error = Error::new(Kind::TooLarge, format!("more than {most} bytes came"));
            self.fault.note(&error);
            self.give_up();
            self.source.borrow_mut().failed = Some(error.clone());
            return Poll::Ready(Some(Err(error)));
        };
        self.room.set(Some((left, most)));
        Poll::Ready(piece)
    }
}

/// The one reader. Dropping it gives up the rest.
struct TakenStream(Rc<ArrivingContent>);

impl Stream for TakenStream {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_piece(context)
    }
}

impl Drop for TakenStream {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Closes a body when its handler has ended, or was cancelled.
pub(crate) struct CloseWhenDropped(pub(crate) Rc<ArrivingContent>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.close();
    }
}
