//! The body of an outgoing request.

use bytes::Bytes;
use futures_util::StreamExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::HeaderValue;
use runnel_store::{Body, ByteStream, Content, Error, Form, Result};
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The content of a request.
pub(crate) enum OutgoingContent {
    Nothing,
    Content(Content),
    /// Encoded content: can be sent again after a redirect.
    Bytes(Bytes, HeaderValue),
    /// A stream that the first attempt has consumed.
    Spent,
}

/// The body of one attempt.
pub(crate) enum RequestPayload {
    Whole(Option<Bytes>),
    /// A stream, its length if known, and its progress: the network sets the pace.
    Stream(ByteStream, Option<u64>, Rc<StreamProgress>),
}

/// The progress of a stream while the request is active.
pub(crate) struct StreamProgress {
    /// When the last piece was taken.
    pub(crate) last: Cell<Instant>,
    /// The error of the stream.
    pub(crate) error: RefCell<Option<Error>>,
}

impl OutgoingContent {
    /// The payload of the next attempt and its media type. What stays in place serves another
    /// attempt.
    pub(crate) async fn payload(
        &mut self,
    ) -> Result<(RequestPayload, Option<HeaderValue>, Option<Rc<StreamProgress>>)> {
        let content = match std::mem::replace(self, OutgoingContent::Spent) {
            OutgoingContent::Content(content) => content,
            OutgoingContent::Bytes(bytes, kind) => {
                *self = OutgoingContent::Bytes(bytes.clone(), kind.clone());
                return Ok((RequestPayload::Whole(Some(bytes)), Some(kind), None));
            }
            other => {
                *self = other;
                return Ok((RequestPayload::Whole(None), None, None));
            }
        };
        let given = content.media_type;
        let (bytes, usual, text) = match content.body {
            Body::Empty => {
                *self = OutgoingContent::Nothing;
                return Ok((RequestPayload::Whole(None), None, None));
            }
            Body::Stream(stream, length) => {
                let kind = given.unwrap_or("application/octet-stream".into());
                let last = Cell::new(Instant::now());
                let feed = Rc::new(StreamProgress { last, error: RefCell::new(None) });
                let kind = crate::protocol::media_type::content_type(kind, false);
                let payload = RequestPayload::Stream(stream, length, feed.clone());
                return Ok((payload, Some(kind), Some(feed)));
            }
            Body::Bytes(bytes) => (bytes, crate::protocol::media_type::OCTETS, false),
            Body::Text(text) => (text.into_bytes(), crate::protocol::media_type::PLAIN, true),
            Body::Value(value) => {
                let (kind, bytes) = crate::protocol::media_type::of_value(value);
                (bytes, kind.unwrap_or(crate::protocol::media_type::PLAIN), true)
            }
            Body::Lazy(lazy) => {
                let own = lazy.media_type(Form::Json);
                let bytes = lazy.encode(Form::Json).await?;
                let usual = own.map(|own| crate::protocol::media_type::content_type(own, true));
                (bytes, usual.unwrap_or(crate::protocol::media_type::JSON), true)
            }
        };
        let kind =
            given.map_or(usual, |given| crate::protocol::media_type::content_type(given, text));
        *self = OutgoingContent::Bytes(bytes.clone(), kind.clone());
        Ok((RequestPayload::Whole(Some(bytes)), Some(kind), None))
    }
}

impl HttpBody for RequestPayload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            RequestPayload::Whole(bytes) => Poll::Ready(bytes.take().map(Frame::data).map(Ok)),
            RequestPayload::Stream(stream, _, feed) => {
                let piece = ready!(stream.poll_next_unpin(context));
                feed.last.set(Instant::now());
                Poll::Ready(piece.map(|piece| match piece {
                    Ok(bytes) => Ok(Frame::data(bytes)),
                    Err(error) => {
                        *feed.error.borrow_mut() = Some(error);
                        Err(io::Error::other("it broke off"))
                    }
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RequestPayload::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            RequestPayload::Stream(_, length, _) => *length == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestPayload::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            RequestPayload::Stream(_, Some(length), _) => SizeHint::with_exact(*length),
            RequestPayload::Stream(_, None, _) => SizeHint::default(),
        }
    }
}
