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
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::mpsc;

/// What goes out with a request.
pub(super) enum Outgoing {
    Nothing,
    Content(Content),
    /// Encoded: can be sent again where a redirect asks for it.
    Bytes(Bytes, HeaderValue),
    /// Read to its end by the first attempt.
    Spent,
}

/// A body as hyper's client takes it: it may go to another thread, so a store's stream reaches
/// it through a channel.
pub(super) enum Payload {
    Whole(Option<Bytes>),
    Channel(mpsc::Receiver<io::Result<Bytes>>, Option<u64>),
}

/// What the sender of a stream knows while the request is under way.
pub(super) struct Feed {
    /// When the last piece left.
    pub(super) last: Cell<Instant>,
    /// Why the stream failed, where it did.
    pub(super) error: RefCell<Option<Error>>,
}

impl Outgoing {
    /// The payload of the next attempt with its media type; what remains in place is for another
    /// attempt.
    pub(super) async fn payload(
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
                let (payload, feed) = feed(stream, length);
                let kind = crate::media::content_type(kind, false);
                return Ok((payload, Some(kind), Some(feed)));
            }
            Body::Bytes(bytes) => (bytes, crate::media::OCTETS, false),
            Body::Text(text) => (text.into_bytes(), crate::media::PLAIN, true),
            Body::Value(value) => {
                let (kind, bytes) = crate::media::of_value(value);
                (bytes, kind.unwrap_or(crate::media::PLAIN), true)
            }
            Body::Lazy(lazy) => {
                let own = lazy.media_type(Form::Json);
                let bytes = lazy.encode(Form::Json).await?;
                let usual = own.map(|own| crate::media::content_type(own, true));
                (bytes, usual.unwrap_or(crate::media::JSON), true)
            }
        };
        let kind = given.map_or(usual, |given| crate::media::content_type(given, text));
        *self = Outgoing::Bytes(bytes.clone(), kind.clone());
        Ok((Payload::Whole(Some(bytes)), Some(kind), None))
    }
}

/// Sends a stream through a channel that holds one piece: the network's pace is the stream's.
/// Ends when the stream ends or the request is given up.
fn feed(mut stream: ByteStream, length: Option<u64>) -> (Payload, Rc<Feed>) {
    let (sender, receiver) = mpsc::channel(1);
    let feed = Rc::new(Feed { last: Cell::new(Instant::now()), error: RefCell::new(None) });
    let ours = feed.clone();
    tokio::task::spawn_local(async move {
        loop {
            let piece = tokio::select! {
                piece = stream.next() => piece,
                () = sender.closed() => return,
            };
            let piece = match piece {
                None => return,
                Some(Ok(bytes)) => Ok(bytes),
                Some(Err(error)) => {
                    *ours.error.borrow_mut() = Some(error);
                    Err(io::Error::other("the content that was to be sent broke off"))
                }
            };
            let last = piece.is_err();
            if sender.send(piece).await.is_err() || last {
                return;
            }
            ours.last.set(Instant::now());
        }
    });
    (Payload::Channel(receiver, length), feed)
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
            Payload::Channel(receiver, _) => {
                receiver.poll_recv(context).map(|piece| piece.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Payload::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Payload::Channel(_, length) => *length == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Payload::Channel(_, Some(length)) => SizeHint::with_exact(*length),
            Payload::Channel(_, None) => SizeHint::default(),
        }
    }
}
