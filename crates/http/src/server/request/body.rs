//! The body of a request as the server reads it.

use crate::protocol::framing::HUGE_CHUNK;
use crate::server::http1::body_channel::{BodyError, BodyReceiver};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;
use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body of a request.
pub(crate) enum RequestBody {
    /// Complete, received with its head.
    Whole(Bytes),
    /// Read by the connection on demand.
    Coming(BodyReceiver),
    /// An HTTP/2 stream, with its trailer fields after its end.
    Multiplexed(Incoming, Rc<RefCell<HeaderMap>>),
}

impl RequestBody {
    /// The length, if known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            RequestBody::Whole(bytes) => Some(bytes.len() as u64),
            RequestBody::Coming(reader) => reader.length(),
            RequestBody::Multiplexed(body, _) => body.size_hint().exact(),
        }
    }

    /// Whether the body is complete.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            RequestBody::Whole(bytes) => bytes.is_empty(),
            RequestBody::Coming(_) => false,
            RequestBody::Multiplexed(body, _) => body.is_end_stream(),
        }
    }

    /// The trailer fields, complete at the end of the body.
    pub(crate) fn trailers(&self) -> Rc<RefCell<HeaderMap>> {
        match self {
            RequestBody::Whole(_) => Rc::default(),
            RequestBody::Coming(reader) => reader.trailers().clone(),
            RequestBody::Multiplexed(_, trailers) => trailers.clone(),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, RequestBodyError>>> {
        match self {
            RequestBody::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
            }
            RequestBody::Coming(reader) => reader
                .poll_piece(context)
                .map(|next| next.map(|piece| piece.map_err(RequestBodyError::Http1))),
            RequestBody::Multiplexed(body, trailers) => loop {
                let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) else {
                    return Poll::Pending;
                };
                match frame {
                    None => return Poll::Ready(None),
                    Some(Err(error)) => {
                        return Poll::Ready(Some(Err(RequestBodyError::Http2(error))));
                    }
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(piece) => return Poll::Ready(Some(Ok(piece))),
                        // The connection limits the size of a header block.
                        Err(frame) => {
                            *trailers.borrow_mut() = frame.into_trailers().unwrap_or_default();
                        }
                    },
                }
            },
        }
    }
}

/// Why a body ended early.
#[derive(Debug)]
pub(crate) enum RequestBodyError {
    Http1(BodyError),
    Http2(hyper::Error),
}

impl RequestBodyError {
    /// Whether the announced size exceeds the limit.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, RequestBodyError::Http1(BodyError::Malformed(HUGE_CHUNK)))
    }
}

/// The text for the log.
impl fmt::Display for RequestBodyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestBodyError::Http1(broken) => broken.fmt(out),
            RequestBodyError::Http2(error) => error.fmt(out),
        }
    }
}
