//! The transport of a connection: a TCP socket, plain or with TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// The bytes of one connection, with a client or with a server.
pub(crate) enum NetworkStream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl NetworkStream {
    /// The TCP socket below.
    pub(crate) fn stream(&self) -> &TcpStream {
        match self {
            NetworkStream::Plain(stream) => stream,
            NetworkStream::Secure(stream) => stream.get_ref().0,
        }
    }

    /// Whether ALPN chose HTTP/2 (RFC 7301).
    pub(crate) fn chose_http2(&self) -> bool {
        match self {
            NetworkStream::Plain(_) => false,
            NetworkStream::Secure(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

impl AsyncRead for NetworkStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            NetworkStream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            NetworkStream::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for NetworkStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            NetworkStream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            NetworkStream::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            NetworkStream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            NetworkStream::Secure(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            NetworkStream::Plain(stream) => stream.is_write_vectored(),
            NetworkStream::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            NetworkStream::Plain(stream) => Pin::new(stream).poll_flush(context),
            NetworkStream::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            NetworkStream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            NetworkStream::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
