//! One request and its response in HTTP/1.1. The task awaiting the response also drives the
//! connection, so no background task is needed.

use crate::client::connection::line::ClientConnection;
use crate::client::connection::pool::IdleConnections;
use crate::client::connection::request_head::OutgoingHead;
use crate::client::connection::response_head::{self, ReceivedHead, ResponseHead};
use crate::client::connection::sending::RequestSender;
use crate::client::failure::{BoxedError, RoundTripFailure};
use crate::protocol::fields;
use crate::protocol::framing::{BAD_TRAILER, Framing, FramingStep, MANY_TRAILERS};
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use hyper::{HeaderMap, Method, StatusCode};
use runnel_store::Slot;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// The longest head of a response, in bytes.
const LONGEST_HEAD: usize = 256 * 1024;
/// The most interim responses (1xx).
const INTERIM: u8 = 32;
/// The most trailer fields of a response that are kept.
const TRAILERS: usize = 100;
/// Size of reads before the head is known. Most responses are smaller.
const FIRST: usize = 16 * 1024;

thread_local! {
    /// Reads go into this buffer first, so that a waiting connection needs no memory.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; FIRST].into());
}

const UNREQUESTED: RoundTripFailure =
    RoundTripFailure::Malformed("it switches to an unrequested protocol");

/// What follows a head.
enum AfterHead {
    /// Another protocol (101).
    Switched,
    /// Another head.
    Interim,
    /// Content with this framing; whether the connection persists, and whether the status refuses the
    /// rest of the request.
    Content(Framing, bool, bool),
}

/// The body of a response over HTTP/2.
pub(crate) struct StreamBody {
    body: Incoming,
    /// Says that the connection is in use.
    _active: Arc<()>,
}

impl StreamBody {
    pub(crate) fn new(body: Incoming, active: Arc<()>) -> Self {
        StreamBody { body, _active: active }
    }

    /// The next piece. Trailers are passed over.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, RoundTripFailure>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame.map(|frame| frame.map(|frame| frame.into_data())) {
                None => return Poll::Ready(None),
                Some(Ok(Ok(piece))) if !piece.is_empty() => return Poll::Ready(Some(Ok(piece))),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    let error = RoundTripFailure::Broken(io::Error::other(error));
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

/// An active request. Dropping it closes the connection unless the response is complete.
pub(crate) struct RoundTrip<B, H = ReceivedHead> {
    /// The connection, until the response is complete.
    line: Option<ClientConnection>,
    /// The pool that then takes the connection.
    pool: Option<Arc<IdleConnections>>,
    /// The response over HTTP/2, in place of a connection of its own.
    stream: Option<StreamBody>,
    /// The slot among the host's connections.
    slot: Option<Slot>,
    /// The unsent rest of the request.
    sending: Option<RequestSender<B>>,
    answers_head: bool,
    interim: u8,
    /// The interim responses that the caller has not taken, where a caller takes them.
    kept: Option<Vec<H>>,
    /// Whether the request asks for another protocol (101).
    may_switch: bool,
    /// The trailer fields of the response, where the caller wants them.
    trailers: Option<HeaderMap>,
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

impl<B, H> RoundTrip<B, H>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxedError>,
    H: ResponseHead,
{
    pub(crate) fn new(
        mut line: ClientConnection,
        pool: Arc<IdleConnections>,
        head: &impl OutgoingHead,
        body: B,
    ) -> Self {
        RoundTrip {
            sending: Some(RequestSender::new(head, body, &mut line)),
            line: Some(line),
            pool: Some(pool),
            stream: None,
            slot: None,
            answers_head: *head.method() == Method::HEAD,
            interim: 0,
            kept: None,
            may_switch: false,
            trailers: None,
            input: BytesMut::new(),
            framing: Framing::Close,
            persists: false,
            is_refused: false,
            unsent: None,
        }
    }

    /// A response over HTTP/2 whose head has arrived.
    pub(crate) fn of_stream(stream: StreamBody) -> Self {
        RoundTrip {
            sending: None,
            line: None,
            pool: None,
            stream: (!stream.body.is_end_stream()).then_some(stream),
            slot: None,
            answers_head: false,
            interim: 0,
            kept: None,
            may_switch: false,
            trailers: None,
            input: BytesMut::new(),
            framing: Framing::Length(0),
            persists: false,
            is_refused: false,
            unsent: None,
        }
    }

    /// Holds a slot of the host while the connection is in use.
    pub(crate) fn hold(&mut self, slot: Slot) {
        if self.line.is_some() || self.stream.is_some() {
            self.slot = Some(slot);
        }
    }

    /// Keeps interim responses and trailer fields for the caller, and a connection that changes its
    /// protocol, where the request asks for that: what a proxy passes on.
    pub(crate) fn keep_all(&mut self, may_switch: bool) {
        self.kept = Some(Vec::new());
        self.trailers = Some(HeaderMap::new());
        self.may_switch = may_switch;
    }

    /// The interim responses since the last call.
    pub(crate) fn take_interim(&mut self) -> Vec<H> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The trailer fields of the response, after its end.
    pub(crate) fn take_trailers(&mut self) -> HeaderMap {
        self.trailers.take().unwrap_or_default()
    }

    /// The connection after 101, with the input beyond the head.
    pub(crate) fn into_switched(mut self) -> Option<(ClientConnection, Bytes)> {
        Some((self.line.take()?, std::mem::take(&mut self.input).freeze()))
    }

    /// Sends no more of the request, since its response has arrived. The connection is not used again.
    pub(crate) fn end_request(&mut self) {
        if self.sending.take().is_some() {
            self.persists = false;
        }
    }

    /// The head of the response. Must not be polled again once it has arrived.
    pub(crate) fn poll_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<H, RoundTripFailure>> {
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
    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<H>, RoundTripFailure> {
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
            let (answers_head, may_switch) = (self.answers_head, self.may_switch);
            let parsed = response_head::parse(rest, |head| {
                let next = match head.status {
                    StatusCode::SWITCHING_PROTOCOLS if may_switch => AfterHead::Switched,
                    StatusCode::SWITCHING_PROTOCOLS => return Err(UNREQUESTED),
                    status if status.is_informational() => AfterHead::Interim,
                    status => {
                        let (framing, persists) = head.framing(answers_head)?;
                        AfterHead::Content(framing, persists, status.as_u16() >= 400)
                    }
                };
                Ok((H::of(head)?, next))
            });
            let Some(((head, next), length)) = parsed? else {
                return self.keep_for_later(rest.into());
            };
            rest = &rest[length..];
            match next {
                AfterHead::Switched => {
                    self.input = BytesMut::from(rest);
                    return Ok(Some(head));
                }
                AfterHead::Content(framing, persists, is_refused) => {
                    (self.framing, self.persists) = (framing, persists);
                    self.is_refused = is_refused;
                    self.begin_content(rest);
                    return Ok(Some(head));
                }
                AfterHead::Interim => {}
            }
            self.interim += 1;
            if self.interim > INTERIM {
                return Err(RoundTripFailure::Malformed("it has too many interim responses"));
            }
            if let Some(kept) = &mut self.kept {
                kept.push(head);
            }
        }
    }

    fn keep_for_later(&mut self, input: BytesMut) -> Result<Option<H>, RoundTripFailure> {
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
        if let Some(stream) = &mut self.stream {
            let polled = ready!(stream.poll_piece(context));
            if !matches!(polled, Some(Ok(_))) || stream.body.is_end_stream() {
                (self.stream, self.slot) = (None, None);
            }
            return Poll::Ready(polled);
        }
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
                FramingStep::Trailer(line) => {
                    self.add_trailer(&line)?;
                    continue;
                }
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

    fn add_trailer(&mut self, line: &[u8]) -> Result<(), RoundTripFailure> {
        let Some(trailers) = &mut self.trailers else { return Ok(()) };
        let (name, value) = fields::parse(line).ok_or(BAD_TRAILER)?;
        if trailers.len() >= TRAILERS {
            return Err(MANY_TRAILERS.into());
        }
        trailers.append(name, value);
        Ok(())
    }

    /// Whether both the response and the request are complete.
    pub(crate) fn is_over(&self) -> bool {
        self.line.is_none() && self.stream.is_none() && self.framing == Framing::Length(0)
    }

    /// Whether all of the response is here: its next piece is its only one.
    pub(crate) fn has_arrived(&self) -> bool {
        self.line.is_none() && self.stream.is_none()
    }

    /// All of the content, where it arrived with the head.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        match self.framing {
            Framing::Length(length) if self.has_arrived() && length == self.input.len() as u64 => {
                self.framing = Framing::Length(0);
                Some(std::mem::take(&mut self.input).freeze())
            }
            _ => None,
        }
    }

    /// Closes the connection; there are no more pieces.
    pub(crate) fn give_up(&mut self) {
        self.framing = Framing::Length(0);
        self.persists = false;
        self.stream = None;
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
        let Some(line) = self.line.take() else {
            self.slot = None;
            return;
        };
        if is_clean
            && self.persists
            && self.sending.is_none()
            && self.unsent.is_none()
            && let Some(pool) = &self.pool
        {
            pool.put(line);
        }
        // The next holder of the slot finds the connection in the pool.
        self.slot = None;
    }
}

fn joined_with(mut earlier: BytesMut, bytes: &[u8]) -> BytesMut {
    earlier.extend_from_slice(bytes);
    earlier
}
