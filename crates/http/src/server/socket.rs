//! The socket of a client: reads and writes update the connection state.

use crate::network::wire::{NetworkStream, tcp_stream};
use crate::server::connection_state::ConnectionState;
use crate::server::http1::upload_buffers::UploadBuffer;
use crate::server::response::file_body;
use bytes::Bytes;
use runnel_store::FilePart;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The transport of one connection with its state.
pub(crate) struct Socket {
    wire: NetworkStream,
    state: Rc<ConnectionState>,
    /// Input read before the protocol was known.
    early: Bytes,
}

impl Socket {
    pub(crate) fn new(wire: NetworkStream, state: Rc<ConnectionState>) -> Self {
        Socket { wire, state, early: Bytes::new() }
    }

    /// Puts input back that was read for protocol detection.
    pub(crate) fn after(self, early: Bytes) -> Self {
        Socket { early, ..self }
    }

    /// The TCP socket below.
    pub(crate) fn stream(&self) -> &TcpStream {
        tcp_stream(&self.wire)
    }

    /// The transport.
    pub(crate) fn wire(&self) -> &NetworkStream {
        &self.wire
    }

    /// The transport alone, after all early input was read.
    pub(crate) fn into_wire(self) -> NetworkStream {
        self.wire
    }

    /// Reads into a buffer.
    pub(crate) fn poll_take<'a>(
        &mut self,
        buffer: &'a mut [u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<&'a [u8]>> {
        let mut read = ReadBuf::new(buffer);
        ready!(Pin::new(self).poll_read(context, &mut read))?;
        let count = read.filled().len();
        Poll::Ready(Ok(&buffer[..count]))
    }

    /// Fills a buffer with what has arrived; `None` at the end.
    pub(crate) fn poll_fill(
        &mut self,
        mut buffer: UploadBuffer,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Bytes>>> {
        while !buffer.space().is_empty() {
            let read = self.poll_take(buffer.space(), context).map_ok(|bytes| bytes.len());
            let count = match read {
                Poll::Ready(read) => read?,
                Poll::Pending if buffer.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            };
            if count == 0 {
                break;
            }
            buffer.fill(count);
        }
        Poll::Ready(Ok((!buffer.is_empty()).then(|| buffer.into_bytes())))
    }

    /// Writes some bytes.
    pub(crate) fn poll_write_bytes(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write(context, bytes)
    }

    /// Writes some bytes of several slices.
    pub(crate) fn poll_write_slices(
        &mut self,
        slices: &[IoSlice<'_>],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(context, slices)
    }

    /// Writes some bytes before a file (MSG_MORE).
    pub(crate) fn poll_write_more(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let NetworkStream::Left(stream) = &self.wire else {
            return self.poll_write_bytes(bytes, context);
        };
        let result = file_body::poll_write_more(stream, context, bytes);
        self.state.output_progress(result.is_pending());
        result
    }

    /// Sends a part of a file by sendfile(2).
    ///
    /// # Errors
    /// The connection is broken or encrypted, or the file became shorter.
    pub(crate) fn poll_send_file(
        &mut self,
        part: &FilePart,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<u64>> {
        let NetworkStream::Left(stream) = &self.wire else {
            return Poll::Ready(Err(io::ErrorKind::Unsupported.into()));
        };
        let result = file_body::poll_send(stream, part, context);
        self.state.output_progress(result.is_pending());
        result
    }

    /// Flushes the buffers of TLS.
    pub(crate) fn poll_flush_all(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.early.is_empty() {
            let piece = this.early.split_to(this.early.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            return Poll::Ready(Ok(()));
        }
        let result = Pin::new(&mut this.wire).poll_read(context, buffer);
        if result.is_ready() {
            this.state.input_received();
        }
        result
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.wire).poll_write(context, bytes);
        this.state.output_progress(result.is_pending());
        result
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.wire).poll_write_vectored(context, slices);
        this.state.output_progress(result.is_pending());
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(context)
    }
}
