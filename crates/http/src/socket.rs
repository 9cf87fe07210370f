//! A client's connection as hyper sees it: what passes is told to the meter, and requests of
//! HTTP/1.1 are looked at first.

use crate::file_body;
use crate::meter::{Meter, Refused};
use crate::protocols::Scratch;
use crate::screen::Screen;
use crate::wire::Wire;
use bytes::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Up to so many bytes, the head and the body of an answer are copied together: a plain write is
/// cheaper than one of several pieces, by about 0.2 µs on Linux.
const JOINED: usize = 2048;

/// The bytes of one connection.
pub(crate) struct Socket {
    wire: Wire,
    meter: Rc<Meter>,
    scratch: Scratch,
    /// What was read before it was known which protocol it is.
    early: Bytes,
    /// Looks at requests; absent where they are not those of HTTP/1.1.
    screen: Option<Screen>,
}

impl Socket {
    pub(crate) fn new(wire: Wire, meter: Rc<Meter>, scratch: Scratch) -> Self {
        Socket { wire, meter, scratch, early: Bytes::new(), screen: None }
    }

    /// The bare socket.
    pub(crate) fn stream(&self) -> &TcpStream {
        self.wire.stream()
    }

    /// What carries it.
    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// What was read before anything else.
    pub(crate) fn early(&self) -> &[u8] {
        &self.early
    }

    /// From now on requests are looked at.
    pub(crate) fn look_at_requests(&mut self, longest_target: usize) {
        self.screen = Some(Screen::new(longest_target));
    }

    /// Whether requests are looked at.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.screen.is_some()
    }

    /// From now on it is another protocol.
    pub(crate) fn look_no_more(&mut self) {
        self.screen = None;
    }

    /// Reads the first bytes, or the first after a rest, and keeps them. Answers whether there were any.
    pub(crate) fn poll_early(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let scratch = self.scratch.clone();
        let mut scratch = scratch.borrow_mut();
        let mut read = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.wire).poll_read(context, &mut read))?;
        self.meter.received();
        self.early = Bytes::copy_from_slice(read.filled());
        Poll::Ready(Ok(!self.early.is_empty()))
    }

    /// How many of these bytes may go on. A fault is left with the meter.
    fn passing(&mut self, bytes: &[u8]) -> usize {
        let Some(screen) = &mut self.screen else { return bytes.len() };
        let count = screen.pass(bytes);
        self.meter.between.set(screen.is_between());
        if let Some(fault) = screen.fault() {
            let (heads, is_head) = (screen.heads(), screen.is_head());
            self.meter.refused.set(Some(Refused { fault, heads, is_head }));
        }
        count
    }

    /// Notes whether the client took what was offered.
    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        self.meter.wrote(result.is_pending());
    }

    /// Writes pieces some of which are files, as far as one call of the system goes.
    fn poll_write_file(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let before = slices.iter().take_while(|slice| !file_body::stands_for_file(slice)).count();
        let Wire::Plain(stream) = &self.wire else {
            return Poll::Ready(Err(io::ErrorKind::Unsupported.into()));
        };
        let outbound = &self.meter.outbound;
        if before == 0 && outbound.is_turn_over() {
            // Others have waited long enough; the client has room and is not late.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let result = match before {
            0 => outbound.poll_send(stream, context),
            1 if slices.len() > 1 => file_body::poll_write_more(stream, context, &slices[0]),
            _ => {
                let wire = Pin::new(&mut self.wire);
                AsyncWrite::poll_write_vectored(wire, context, &slices[..before])
            }
        };
        self.wrote(&result);
        result
    }

    /// Writes some bytes at once, if there is room for all of them.
    pub(crate) fn say(&mut self, bytes: &[u8], context: &mut Context<'_>) -> bool {
        let written = AsyncWrite::poll_write(Pin::new(&mut self.wire), context, bytes);
        let flushed = AsyncWrite::poll_flush(Pin::new(&mut self.wire), context);
        matches!(written, Poll::Ready(Ok(count)) if count == bytes.len())
            && matches!(flushed, Poll::Ready(Ok(())))
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.meter.refused.get().is_some() {
            // What had come before is answered first: see `Conversation`.
            return Poll::Pending;
        }
        if !this.early.is_empty() {
            let piece = this.early.split_to(this.early.len().min(buffer.remaining()));
            let count = this.passing(&piece);
            buffer.put_slice(&piece[..count]);
            return if count == 0 { Poll::Pending } else { Poll::Ready(Ok(())) };
        }
        if this.screen.is_none() {
            let result = Pin::new(&mut TokioIo::new(&mut this.wire)).poll_read(context, buffer);
            if result.is_ready() {
                this.meter.received();
            }
            return result;
        }
        let scratch = this.scratch.clone();
        let mut scratch = scratch.borrow_mut();
        let room = buffer.remaining().min(scratch.len());
        let mut read = ReadBuf::new(&mut scratch[..room]);
        ready!(Pin::new(&mut this.wire).poll_read(context, &mut read))?;
        this.meter.received();
        let bytes = read.filled();
        let count = this.passing(bytes);
        buffer.put_slice(&bytes[..count]);
        // Nothing at all would mean that the client has closed.
        if count == 0 && !bytes.is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.meter.outbound.check()?;
        let result = AsyncWrite::poll_write(Pin::new(&mut self.wire), context, bytes);
        self.wrote(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.meter.outbound.check()?;
        if self.meter.outbound.waits() {
            return self.poll_write_file(context, slices);
        }
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        if length <= JOINED && slices.len() > 1 {
            let mut joined = [0; JOINED];
            let mut at = 0;
            for slice in slices {
                joined[at..at + slice.len()].copy_from_slice(slice);
                at += slice.len();
            }
            return Write::poll_write(self, context, &joined[..length]);
        }
        let wire = Pin::new(&mut self.wire);
        let result = AsyncWrite::poll_write_vectored(wire, context, slices);
        self.wrote(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        AsyncWrite::is_write_vectored(&self.wire)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.wire), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.wire), context)
    }
}

/// For protocols that follow HTTP on the same connection.
impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Write::poll_write(self, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_flush(self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_shutdown(self, context)
    }
}
