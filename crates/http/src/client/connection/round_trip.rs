//! One request and its response in HTTP/1.1. The task awaiting the response also drives the
//! connection, so no background task is needed.

use crate::client::connection::line::ClientConnection;
use crate::client::connection::pool::IdleConnections;
use crate::client::connection::request_head::RequestHead;
use crate::client::connection::response_head::ReceivedHead;
use crate::client::connection::sending::RequestSender;
use crate::client::failure::{BoxedError, RoundTripFailure};
use crate::protocol::framing::{Framing, FramingStep};
use bytes::{Bytes, BytesMut};
use hyper::Method;
use hyper::body::Body;
use runnel_store::Slot;
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// The longest head of a response, in bytes.
const LONGEST_HEAD: usize = 256 * 1024;
/// The most interim responses (1xx).
const INTERIM: u8 = 32;
/// Size of reads before the head is known. Most responses are smaller.
const FIRST: usize = 16 * 1024;

thread_local! {
    /// Reads go into this buffer first, so that a waiting connection needs no memory.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; FIRST].into());
}

/// An active request. Dropping it closes the connection unless the response is complete.
pub(crate) struct RoundTrip<B> {
    /// The connection, until the response is complete.
    line: Option<ClientConnection>,
    /// The pool that then takes the connection.
    pool: Arc<IdleConnections>,
    /// The slot among the host's connections.
    slot: Option<Slot>,
    /// The unsent rest of the request.
    sending: Option<RequestSender<B>>,
    answers_head: bool,
    interim: u8,
    /// Unparsed input.
    input: BytesMut,
    framing: Framing,
    /// Whether the connection can be reused.
    persists: bool,
    /// Whether the status refuses the rest of the request.
    is_refused: bool,
    /// Why the request could not be sent completely: the response may still tell more.
    unsent: Option<RoundTripFailure>,
}

impl<B> RoundTrip<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxedError>,
{
    pub(crate) fn new(
        mut line: ClientConnection,
        pool: Arc<IdleConnections>,
        head: &RequestHead<'_>,
        body: B,
    ) -> Self {
        RoundTrip {
            sending: Some(RequestSender::new(head, body, &mut line)),
            line: Some(line),
            pool,
            slot: None,
            answers_head: *head.method == Method::HEAD,
            interim: 0,
            input: BytesMut::new(),
            framing: Framing::Close,
            persists: false,
            is_refused: false,
            unsent: None,
        }
    }

    /// Holds a slot of the host while the connection is in use.
    pub(crate) fn hold(&mut self, slot: Slot) {
        if self.line.is_some() {
            self.slot = Some(slot);
        }
    }

    /// The head of the response. Must not be polled again once it has arrived.
    pub(crate) fn poll_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<ReceivedHead, RoundTripFailure>> {
        self.send(context)?;
        loop {
            let taken = SCRATCH.with_borrow_mut(|scratch| {
                let Some(line) = &mut self.line else {
                    return Poll::Ready(Err(RoundTripFailure::Closed));
                };
                let mut read = ReadBuf::new(scratch);
                ready!(line.wire().poll_read(context, &mut read))
                    .map_err(RoundTripFailure::of_reading)?;
                if read.filled().is_empty() {
                    return Poll::Ready(Err(RoundTripFailure::Closed));
                }
                Poll::Ready(self.take_head(read.filled()))
            });
            match ready!(taken) {
                Ok(None) => {}
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Err(error) => return Poll::Ready(Err(self.unsent.take().unwrap_or(error))),
            }
        }
    }

    /// Parses the head in the input, and starts the content after it.
    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<ReceivedHead>, RoundTripFailure> {
        let earlier = std::mem::take(&mut self.input);
        let joined;
        let mut rest = bytes;
        if !earlier.is_empty() {
            joined = joined_with(earlier, bytes);
            if memchr::memchr(b'\n', bytes).is_none() {
                return self.keep_for_later(joined);
            }
            rest = &joined;
        }
        loop {
            let Some((head, length)) = ReceivedHead::parse(rest)? else {
                return self.keep_for_later(rest.into());
            };
            rest = &rest[length..];
            if head.status == hyper::StatusCode::SWITCHING_PROTOCOLS {
                return Err(RoundTripFailure::Malformed("it switches to an unrequested protocol"));
            }
            if !head.status.is_informational() {
                (self.framing, self.persists) = head.framing(self.answers_head)?;
                self.is_refused = head.status.as_u16() >= 400;
                self.begin_content(rest);
                return Ok(Some(head));
            }
            self.interim += 1;
            if self.interim > INTERIM {
                return Err(RoundTripFailure::Malformed("it has too many interim responses"));
            }
        }
    }

    fn keep_for_later(
        &mut self,
        input: BytesMut,
    ) -> Result<Option<ReceivedHead>, RoundTripFailure> {
        self.input = input;
        match self.input.len() > LONGEST_HEAD {
            true => Err(RoundTripFailure::Malformed("its head is too long")),
            false => Ok(None),
        }
    }

    /// Keeps the bytes after the head. If they complete the response, the connection is free at
    /// once.
    fn begin_content(&mut self, rest: &[u8]) {
        self.input = BytesMut::from(rest);
        if let Framing::Length(length) = self.framing
            && let Ok(length) = usize::try_from(length)
            && length <= rest.len()
        {
            self.input.truncate(length);
            self.finish(length == rest.len());
        }
    }

    /// The next piece of the response; `None` at its end, and after an error.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, RoundTripFailure>>> {
        let polled = self.poll_content(context);
        if let Poll::Ready(Some(Err(_))) = &polled {
            self.give_up();
        }
        polled
    }

    fn poll_content(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, RoundTripFailure>>> {
        self.send(context)?;
        loop {
            match self.framing.next(&mut self.input)? {
                FramingStep::Piece(piece) => {
                    if self.framing == Framing::Length(0) {
                        self.finish(self.input.is_empty());
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                FramingStep::End => {
                    self.finish(self.input.is_empty());
                    // An early response, and the server still reads the rest of the request.
                    return if self.line.is_some() { Poll::Pending } else { Poll::Ready(None) };
                }
                // No caller wants the trailers of a response.
                FramingStep::Trailer(_) => continue,
                FramingStep::More => {}
            }
            let Some(line) = &mut self.line else { return Poll::Ready(None) };
            self.input.reserve(self.framing.read_size());
            let read = pin!(line.wire().get_mut().read_buf(&mut self.input)).poll(context);
            match ready!(read) {
                Ok(0) if self.framing == Framing::Close => {
                    self.finish(false);
                    return Poll::Ready(None);
                }
                Ok(0) => return Poll::Ready(Some(Err(RoundTripFailure::Closed))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(RoundTripFailure::of_reading(error)))),
            }
        }
    }

    /// Whether both the response and the request are complete.
    pub(crate) fn is_over(&self) -> bool {
        self.line.is_none() && self.framing == Framing::Length(0)
    }

    /// Closes the connection; there are no more pieces.
    pub(crate) fn give_up(&mut self) {
        self.framing = Framing::Length(0);
        self.persists = false;
        self.finish(false);
    }

    /// Continues sending the request. A response may arrive even if that fails.
    fn send(&mut self, context: &mut Context<'_>) -> Result<(), RoundTripFailure> {
        let (Some(sending), Some(line)) = (&mut self.sending, &mut self.line) else {
            return Ok(());
        };
        match sending.poll(line, context) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.sending = None,
            Poll::Ready(Err(error @ RoundTripFailure::Content(_))) => return Err(error),
            Poll::Ready(Err(error)) => {
                tracing::debug!(%error, "a request could not be sent to its end");
                self.sending = None;
                self.unsent = Some(error);
            }
        }
        Ok(())
    }

    /// The response is complete: returns the connection to the pool if it is clean. A server that
    /// still reads after its response gets the rest of the request first.
    fn finish(&mut self, is_clean: bool) {
        if self.sending.is_some() && self.persists && !self.is_refused {
            return;
        }
        let Some(line) = self.line.take() else { return };
        if is_clean && self.persists && self.sending.is_none() && self.unsent.is_none() {
            self.pool.put(line);
        }
        // The next holder of the slot finds the connection in the pool.
        self.slot = None;
    }
}

fn joined_with(mut earlier: BytesMut, bytes: &[u8]) -> BytesMut {
    earlier.extend_from_slice(bytes);
    earlier
}
