//! The parts of a form while its body arrives.

use crate::protocol::multipart::decoder::{DecoderStep, MultipartDecoder};
use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{ByteStream, PartEvent, PartHead, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The parts of a body. A file input without a file is left out.
pub(crate) struct ArrivingParts {
    body: ByteStream,
    decoder: MultipartDecoder,
    /// A file without a name, which is a part only if it has data.
    nameless: Option<PartHead>,
    /// Data behind the head of such a part.
    data: Option<Bytes>,
    is_over: bool,
}

impl ArrivingParts {
    pub(crate) fn new(body: ByteStream, boundary: &str) -> Self {
        let decoder = MultipartDecoder::new(boundary);
        ArrivingParts { body, decoder, nameless: None, data: None, is_over: false }
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<PartEvent>>> {
        if let Some(data) = self.data.take() {
            return Poll::Ready(Some(Ok(PartEvent::Data(data))));
        }
        loop {
            match self.decoder.step()? {
                DecoderStep::Head(head) if head.file_name.as_deref() == Some("") => {
                    self.nameless = Some(head);
                }
                DecoderStep::Head(head) => {
                    self.nameless = None;
                    return Poll::Ready(Some(Ok(PartEvent::Begin(head))));
                }
                DecoderStep::Data(data) => match self.nameless.take() {
                    None => return Poll::Ready(Some(Ok(PartEvent::Data(data)))),
                    Some(head) => {
                        self.data = Some(data);
                        return Poll::Ready(Some(Ok(PartEvent::Begin(head))));
                    }
                },
                // What follows is read, too: the connection is free for the next request.
                DecoderStep::End => match ready!(self.body.as_mut().poll_next(context)) {
                    None => return Poll::Ready(None),
                    Some(piece) => drop(piece?),
                },
                DecoderStep::More => match ready!(self.body.as_mut().poll_next(context)) {
                    None => return Poll::Ready(Some(Err(self.decoder.unfinished()))),
                    Some(piece) => self.decoder.feed(piece?),
                },
            }
        }
    }
}

impl Stream for ArrivingParts {
    type Item = Result<PartEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.poll_event(context);
        self.is_over = matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }
}
