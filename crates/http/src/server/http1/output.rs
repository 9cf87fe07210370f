//! The output of a connection: a buffer of small pieces, a large piece without a copy, or a file by
//! sendfile(2). A large piece that is charged stays in the memory budget's reach until it is written.

use crate::protocol::fields;
use crate::server::response::file_body::BodyPiece;
use crate::server::socket::Socket;
use bytes::{Buf, Bytes};
use hyper::header::HeaderMap;
use runnel_store::{FilePart, UnreadContent};
use std::io::{self, IoSlice, Write};
use std::task::{Context, Poll, ready};

/// A piece is copied into the buffer while both fit into this size: a plain write is about 0.2 µs
/// cheaper than a vectored one on Linux.
const JOINED: usize = 8 * 1024;
/// Buffered bytes of small responses before they are written.
const ENOUGH: usize = 16 * 1024;
/// Bytes of files that a connection sends before the task yields.
const TURN: u64 = 1 << 20;

/// The output of a connection.
#[derive(Default)]
pub(crate) struct ResponseOutput {
    pub(crate) buffer: Vec<u8>,
    written: usize,
    /// A large piece after the buffer.
    piece: Bytes,
    /// The same, which the memory budget may take back.
    unread: Option<Box<UnreadContent>>,
    file: Option<FilePart>,
    /// The chunk end after the piece.
    tail: &'static [u8],
    /// Bytes of files that may still be sent before yielding.
    turn: u64,
}

impl ResponseOutput {
    /// Resets the budget of files.
    pub(crate) fn begin_turn(&mut self) {
        self.turn = TURN;
    }

    /// Whether all output is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty() && !self.is_full()
    }

    /// Whether to write before more is added.
    pub(crate) fn has_enough(&self) -> bool {
        self.is_full() || self.buffer.len() >= ENOUGH
    }

    /// Whether nothing can be added before a write.
    fn is_full(&self) -> bool {
        !self.piece.is_empty()
            || self.unread.is_some()
            || self.file.is_some()
            || !self.tail.is_empty()
    }

    /// Adds a piece of content, as a chunk if wanted (RFC 9112 section 7.1).
    pub(crate) fn push(&mut self, piece: BodyPiece, chunked: bool) {
        debug_assert!(!self.is_full(), "what is full must be written first");
        let length = piece.length();
        if length == 0 {
            // An empty chunk would end the content.
            return;
        }
        if chunked {
            debug_assert!(matches!(piece, BodyPiece::Bytes(_)), "a file has a length");
            // Writing to memory never fails.
            let _ = write!(self.buffer, "{length:x}\r\n");
            self.tail = b"\r\n";
        }
        match piece {
            BodyPiece::Bytes(bytes) if self.buffer.len() + bytes.len() <= JOINED => {
                self.buffer.extend_from_slice(&bytes);
                self.buffer.extend_from_slice(std::mem::take(&mut self.tail));
            }
            BodyPiece::Bytes(bytes) => self.piece = bytes,
            BodyPiece::Unread(unread) => self.unread = Some(unread),
            BodyPiece::File(part) => self.file = Some(part),
        }
    }

    /// Adds the last chunk, with trailer fields.
    pub(crate) fn push_last_chunk(&mut self, trailers: Option<HeaderMap>) {
        if let Some(trailers) = trailers {
            self.push_trailers(&trailers);
        } else if self.tail.is_empty() {
            self.buffer.extend_from_slice(b"0\r\n\r\n");
        } else {
            self.tail = b"\r\n0\r\n\r\n";
        }
    }

    /// Adds the last chunk before a trailer section (RFC 9112 section 7.1.2).
    fn push_trailers(&mut self, trailers: &HeaderMap) {
        let mut section = b"0\r\n".to_vec();
        for (name, value) in trailers {
            fields::write(name.as_str(), value.as_bytes(), &mut section);
        }
        section.extend_from_slice(b"\r\n");
        if !self.is_full() {
            return self.buffer.extend_from_slice(&section);
        }
        // The rare case: they follow a piece that is not written yet.
        let piece = std::mem::take(&mut self.piece);
        let tail = std::mem::take(&mut self.tail);
        self.piece = [&piece[..], tail, &section].concat().into();
    }

    /// Writes all output. Pending when the client accepts no more, or to yield to others.
    ///
    /// # Errors
    /// The connection is broken, or a file is shorter than announced.
    pub(crate) fn poll_write(
        &mut self,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            if self.unread.is_some() {
                ready!(self.poll_unread(socket, context))?;
            } else if !self.buffer.is_empty() || !self.piece.is_empty() || !self.tail.is_empty() {
                ready!(self.poll_memory(socket, context))?;
            } else if let Some(part) = &self.file {
                if self.turn == 0 {
                    // The client accepts more: only a yield.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                let sent = ready!(socket.poll_send_file(part, context))?;
                self.turn = self.turn.saturating_sub(sent);
                let left = part.length().saturating_sub(sent);
                self.file = (left > 0).then(|| part.part(sent, left));
            }
        }
        socket.poll_flush_all(context)
    }

    /// Writes some of the buffer and of the charged piece after it.
    ///
    /// # Errors
    /// The connection is broken, or the memory budget has taken the piece back.
    fn poll_unread(
        &mut self,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(unread) = &mut self.unread else { return Poll::Ready(Ok(())) };
        let buffered = &self.buffer[self.written..];
        let write =
            |bytes: &[u8]| socket.poll_write_slices(&[buffered, bytes].map(IoSlice::new), context);
        let Some(wrote) = unread.with_unread(write) else {
            tracing::debug!("memory was short: a response that its client did not read was cut");
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        };
        let Poll::Ready(count) = wrote else {
            unread.wake_when_taken(context.waker());
            return Poll::Pending;
        };
        let count = count?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let of_buffer = count.min(buffered.len());
        unread.advance(count - of_buffer);
        if unread.left() == 0 {
            self.unread = None;
        }
        self.written += of_buffer;
        if self.written == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes some of the memory.
    fn poll_memory(
        &mut self,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let buffered = &self.buffer[self.written..];
        let count = match self.piece.is_empty() && self.tail.is_empty() {
            true if self.file.is_some() => ready!(socket.poll_write_more(buffered, context))?,
            true => ready!(socket.poll_write_bytes(buffered, context))?,
            false => {
                let slices = [buffered, &self.piece, self.tail].map(IoSlice::new);
                ready!(socket.poll_write_slices(&slices, context))?
            }
        };
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let of_buffer = count.min(buffered.len());
        let of_piece = (count - of_buffer).min(self.piece.len());
        self.written += of_buffer;
        if self.written == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
        }
        self.piece.advance(of_piece);
        self.tail = &self.tail[count - of_buffer - of_piece..];
        Poll::Ready(Ok(()))
    }
}
