//! A client's connection: what passes is told to the state.

use crate::network::wire::NetworkStream;
use crate::server::connection_state::ConnectionState;
use crate::server::response::file_body;
use bytes::Bytes;
use runnel_store::FilePart;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The bytes of one connection.
pub(crate) struct Socket {
    wire: NetworkStream,
    state: Rc<ConnectionState>,
    /// What was read before it was known which protocol it is.
    early: Bytes,
}

impl Socket {
    pub(crate) fn new(wire: NetworkStream, state: Rc<ConnectionState>) -> Self {
        Socket { wire, state, early: Bytes::new() }
    }

    /// The same, with what was read of it before.
    pub(crate) fn after(self, early: Bytes) -> Self {
        Socket { early, ..self }
    }

    /// The bare socket.
    pub(crate) fn stream(&self) -> &TcpStream {
        self.wire.stream()
    }

    /// What carries it.
    pub(crate) fn wire(&self) -> &NetworkStream {
        &self.wire
    }

    /// The transport alone, once nothing of it is kept here.
    pub(crate) fn into_wire(self) -> NetworkStream {
        self.wire
    }

    /// Reads what has come.
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

    /// Writes some bytes.
    pub(crate) fn poll_write_bytes(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write(context, bytes)
    }

    /// Writes some bytes of several pieces.
    pub(crate) fn poll_write_slices(
        &mut self,
        slices: &[IoSlice<'_>],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(context, slices)
    }

    /// Writes some bytes that a file follows.
    pub(crate) fn poll_write_more(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let NetworkStream::Plain(stream) = &self.wire else {
            return self.poll_write_bytes(bytes, context);
        };
        let result = file_body::poll_write_more(stream, context, bytes);
        self.state.wrote(result.is_pending());
        result
    }

    /// Sends some of a file.
    ///
    /// # Errors
    /// The connection is broken, or its bytes have to be seen, or the file has become shorter.
    pub(crate) fn poll_send_file(
        &mut self,
        part: &FilePart,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<u64>> {
        let NetworkStream::Plain(stream) = &self.wire else {
            return Poll::Ready(Err(io::ErrorKind::Unsupported.into()));
        };
        let result = file_body::poll_send(stream, part, context);
        self.state.wrote(result.is_pending());
        result
    }

    /// Nothing stays behind: TLS keeps bytes.
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
            this.state.received();
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
        this.state.wrote(result.is_pending());
        result
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.wire).poll_write_vectored(context, slices);
        this.state.wrote(result.is_pending());
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
