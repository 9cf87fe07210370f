//! The body of a request on its way to an upstream.

use crate::client::failure::BoxedError;
use crate::server::request::relay::RelayedBody;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::HeaderMap;
use runnel_store::{ByteStream, Exchange, Result};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The largest body, in bytes, of an idempotent request that is collected so that it can be sent again.
const MAX_REPEATED: u64 = 64 * 1024;

/// The body of a request, for as many attempts as it allows.
#[derive(Clone)]
pub(super) enum ForwardedContent {
    Nothing,
    Whole(Bytes),
    Coming(Rc<ComingContent>),
}

/// A body that is read once, at the pace of the upstream.
pub(super) struct ComingContent {
    stream: RefCell<ByteStream>,
    length: Option<u64>,
    trailers: Rc<RefCell<HeaderMap>>,
    /// Whether the upstream wants the body: reading it sends 100 Continue to the client.
    is_wanted: Cell<bool>,
    has_started: Cell<bool>,
    /// When the last piece was read.
    last: Cell<Option<Instant>>,
}

impl ForwardedContent {
    /// Takes the body of a request. That of an idempotent request is collected if it is small.
    ///
    /// # Errors
    /// The client did not send it to its end.
    pub(super) async fn of(
        body: RelayedBody,
        expects: bool,
        is_idempotent: bool,
        exchange: &dyn Exchange,
    ) -> Result<Self> {
        let (mut stream, length, trailers) = match body {
            RelayedBody::Nothing => return Ok(ForwardedContent::Nothing),
            RelayedBody::Whole(bytes) => return Ok(ForwardedContent::Whole(bytes)),
            RelayedBody::Coming(stream, length, trailers) => (stream, length, trailers),
        };
        let is_small = length.is_some_and(|length| length <= MAX_REPEATED);
        if !(is_idempotent && is_small && !expects) {
            return Ok(ForwardedContent::Coming(Rc::new(ComingContent {
                stream: RefCell::new(stream),
                length,
                trailers,
                is_wanted: Cell::new(!expects),
                has_started: Cell::new(false),
                last: Cell::new(None),
            })));
        }
        let mut whole = BytesMut::new();
        while let Some(piece) = stream.next().await {
            let piece = piece?;
            if let Some(allowance) = exchange.allowance() {
                allowance.hold_arriving(piece.len())?;
            }
            whole.extend_from_slice(&piece);
        }
        Ok(ForwardedContent::Whole(whole.freeze()))
    }

    /// Whether the client's body was read in part, so that the request cannot be sent again.
    pub(super) fn has_started(&self) -> bool {
        matches!(self, ForwardedContent::Coming(coming) if coming.has_started.get())
    }

    /// Whether the upstream has yet to say that it wants the body.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self, ForwardedContent::Coming(coming) if !coming.is_wanted.get())
    }

    /// The upstream wants the body.
    pub(super) fn want(&self) {
        if let ForwardedContent::Coming(coming) = self {
            coming.is_wanted.set(true);
        }
    }

    /// When the last piece was read.
    pub(super) fn last(&self) -> Option<Instant> {
        match self {
            ForwardedContent::Coming(coming) => coming.last.get(),
            _ => None,
        }
    }

    /// The body of one attempt.
    pub(super) fn body(&self) -> ForwardedBody {
        ForwardedBody { content: self.clone(), has_ended: false }
    }
}

/// The body of one attempt.
pub(super) struct ForwardedBody {
    content: ForwardedContent,
    has_ended: bool,
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, BoxedError>>> {
        let coming = match &mut self.content {
            ForwardedContent::Nothing => return Poll::Ready(None),
            ForwardedContent::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                return Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))));
            }
            ForwardedContent::Coming(coming) => coming.clone(),
        };
        if self.has_ended {
            return Poll::Ready(None);
        }
        if !coming.is_wanted.get() {
            // `Forwarding::head` polls again after `want`.
            return Poll::Pending;
        }
        coming.has_started.set(true);
        let polled = ready!(coming.stream.borrow_mut().as_mut().poll_next(context));
        coming.last.set(Some(Instant::now()));
        match polled {
            Some(Ok(piece)) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            Some(Err(error)) => Poll::Ready(Some(Err(error.to_string().into()))),
            None => {
                self.has_ended = true;
                let trailers = coming.trailers.take();
                let is_sent = coming.length.is_none() && !trailers.is_empty();
                Poll::Ready(is_sent.then(|| Ok(Frame::trailers(trailers))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || matches!(self.content, ForwardedContent::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            ForwardedContent::Nothing => SizeHint::with_exact(0),
            ForwardedContent::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ForwardedContent::Coming(coming) => {
                coming.length.map_or(SizeHint::default(), SizeHint::with_exact)
            }
        }
    }
}
