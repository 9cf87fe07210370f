//! The body of a request that goes out.

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

/// What goes out with a request.
pub(crate) enum Outgoing {
    Nothing,
    Content(Content),
    /// Encoded: can be sent again where a redirect asks for it.
    Bytes(Bytes, HeaderValue),
    /// Read to its end by the first attempt.
    Spent,
}

/// A body as it is sent.
pub(crate) enum Payload {
    Whole(Option<Bytes>),
    /// A stream with its length, where that is known: the network's pace is its own.
    Stream(ByteStream, Option<u64>, Rc<Feed>),
}

/// What is known of a stream while the request is under way.
pub(crate) struct Feed {
    /// When the last piece was taken.
    pub(crate) last: Cell<Instant>,
    /// Why the stream failed, where it did.
    pub(crate) error: RefCell<Option<Error>>,
}

impl Outgoing {
    /// The payload of the next attempt with its media type; what remains in place is for another
    /// attempt.
    pub(crate) async fn payload(
        &mut self,
    ) -> Result<(Payload, Option<HeaderValue>, Option<Rc<Feed>>)> {
        let content = match std::mem::replace(self, Outgoing::Spent) {
            Outgoing::Content(content) => content,
            Outgoing::Bytes(bytes, kind) => {
                *self = Outgoing::Bytes(bytes.clone(), kind.clone());
                return Ok((Payload::Whole(Some(bytes)), Some(kind), None));
            }
            other => {
                *self = other;
                return Ok((Payload::Whole(None), None, None));
            }
        };
        let given = content.media_type;
        let (bytes, usual, text) = match content.body {
            Body::Empty => {
                *self = Outgoing::Nothing;
                return Ok((Payload::Whole(None), None, None));
            }
            Body::Stream(stream, length) => {
                let kind = given.unwrap_or("application/octet-stream".into());
                let last = Cell::new(Instant::now());
                let feed = Rc::new(Feed { last, error: RefCell::new(None) });
                let kind = crate::protocol::media_type::content_type(kind, false);
                let payload = Payload::Stream(stream, length, feed.clone());
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
        *self = Outgoing::Bytes(bytes.clone(), kind.clone());
        Ok((Payload::Whole(Some(bytes)), Some(kind), None))
    }
}

impl HttpBody for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Payload::Whole(bytes) => Poll::Ready(bytes.take().map(Frame::data).map(Ok)),
            Payload::Stream(stream, _, feed) => {
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
            Payload::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Payload::Stream(_, length, _) => *length == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Payload::Stream(_, Some(length), _) => SizeHint::with_exact(*length),
            Payload::Stream(_, None, _) => SizeHint::default(),
        }
    }
}
