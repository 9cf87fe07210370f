//! An outgoing request: its head, then its content at the pace of the connection.

use crate::client::connection::line::ClientConnection;
use crate::client::connection::request_head::{Length, OutgoingHead};
use crate::client::failure::{BoxedError, RoundTripFailure};
use crate::protocol::fields;
use bytes::{Buf, Bytes};
use hyper::HeaderMap;
use hyper::body::Body;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// Content up to this size is copied behind the head, in bytes: a small request is one system call.
const JOINED: usize = 8 * 1024;

/// A request that is not sent completely.
pub(crate) struct RequestSender<B> {
    /// Bytes of the connection's output that are written.
    written: usize,
    /// A large piece after the output.
    piece: Bytes,
    /// The end of the chunk after it.
    tail: &'static [u8],
    body: Option<Pin<Box<B>>>,
    length: Length,
    /// The trailer fields, which only follow chunks.
    trailers: Option<HeaderMap>,
}

impl<B> RequestSender<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxedError>,
{
    /// Starts with the head.
    pub(crate) fn new(head: &impl OutgoingHead, body: B, line: &mut ClientConnection) -> Self {
        let length = match (body.is_end_stream(), body.size_hint().exact()) {
            (true, _) | (_, Some(0)) => Length::Nothing,
            (_, Some(length)) => Length::Known(length),
            (_, None) => Length::Chunked,
        };
        line.output.clear();
        head.write(length, line.proxy.as_deref(), &mut line.output);
        let body = (length != Length::Nothing).then(|| Box::pin(body));
        RequestSender { written: 0, piece: Bytes::new(), tail: b"", body, length, trailers: None }
    }

    /// Ready when the request is sent.
    pub(crate) fn poll(
        &mut self,
        line: &mut ClientConnection,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RoundTripFailure>> {
        loop {
            let waits = self.fill(&mut line.output, context)?;
            ready!(self.poll_write(line, context)).map_err(RoundTripFailure::Broken)?;
            if self.body.is_none() || waits {
                ready!(line.wire().poll_flush(context)).map_err(RoundTripFailure::Broken)?;
                return if waits { Poll::Pending } else { Poll::Ready(Ok(())) };
            }
        }
    }

    /// Collects small pieces of content. Returns whether the body is pending.
    fn fill(
        &mut self,
        output: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) -> Result<bool, RoundTripFailure> {
        while self.piece.is_empty() && output.len() < JOINED {
            let Some(body) = &mut self.body else { return Ok(false) };
            match body.as_mut().poll_frame(context) {
                Poll::Pending => return Ok(true),
                Poll::Ready(Some(Err(error))) => {
                    return Err(RoundTripFailure::Content(error.into()));
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => self.push(piece, output)?,
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
                Poll::Ready(None) => {
                    self.body = None;
                    match self.length {
                        Length::Chunked => {
                            output.extend_from_slice(b"0\r\n");
                            for (name, value) in self.trailers.take().iter().flatten() {
                                fields::write(name.as_str(), value.as_bytes(), output);
                            }
                            output.extend_from_slice(b"\r\n");
                        }
                        Length::Known(1..) => return Err(wrong_length("shorter")),
                        Length::Known(0) | Length::Nothing => {}
                    }
                }
            }
            if self.length == Length::Known(0) {
                self.body = None;
            }
        }
        Ok(false)
    }

    fn push(&mut self, piece: Bytes, output: &mut Vec<u8>) -> Result<(), RoundTripFailure> {
        match &mut self.length {
            // An empty chunk would end the content.
            Length::Chunked if piece.is_empty() => return Ok(()),
            Length::Chunked => {
                // Writing to memory never fails.
                let _ = write!(output, "{:x}\r\n", piece.len());
                self.tail = b"\r\n";
            }
            Length::Known(left) => {
                *left =
                    left.checked_sub(piece.len() as u64).ok_or_else(|| wrong_length("longer"))?;
            }
            Length::Nothing => {}
        }
        if output.len().saturating_add(piece.len()) <= JOINED {
            output.extend_from_slice(&piece);
            output.extend_from_slice(std::mem::take(&mut self.tail));
        } else {
            self.piece = piece;
        }
        Ok(())
    }

    /// Writes the collected output.
    fn poll_write(
        &mut self,
        line: &mut ClientConnection,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            while self.written < line.output.len() {
                let (mut wire, bytes) = line.writing();
                let count = ready!(wire.as_mut().poll_write(context, &bytes[self.written..]))?;
                self.written += written_bytes(count)?;
            }
            line.output.clear();
            self.written = 0;
            while !self.piece.is_empty() {
                let count = ready!(line.wire().poll_write(context, &self.piece))?;
                self.piece.advance(written_bytes(count)?);
            }
            if self.tail.is_empty() {
                return Poll::Ready(Ok(()));
            }
            line.output.extend_from_slice(std::mem::take(&mut self.tail));
        }
    }
}

/// A write of zero bytes without `Pending` never makes progress.
fn written_bytes(count: usize) -> io::Result<usize> {
    if count == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(count) }
}

fn wrong_length(how: &str) -> RoundTripFailure {
    RoundTripFailure::Content(format!("the content is {how} than announced").into())
}
