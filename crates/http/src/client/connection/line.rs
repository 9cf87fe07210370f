//! An open connection to a server, counted in metrics.

use crate::client::connection::forward_proxy::ForwardProxy;
use crate::network::wire::NetworkStream;
use runnel_store::{Count, Counters, Level};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Capacity of the output buffer that an idle connection keeps, in bytes.
const KEPT_OUTPUT: usize = 2 * 1024;

/// An open connection.
pub(crate) struct ClientConnection {
    wire: NetworkStream,
    counters: Arc<Counters>,
    /// Unsent bytes of a request; the buffer is reused by the next one.
    pub(crate) output: Vec<u8>,
    /// The proxy at its other end: requests to it have an absolute form.
    pub(crate) proxy: Option<Arc<ForwardProxy>>,
}

impl ClientConnection {
    pub(crate) fn new(wire: NetworkStream, counters: Arc<Counters>) -> Self {
        counters.add(Count::Opened, 1);
        counters.rise(Level::Open, 1);
        ClientConnection { wire, counters, output: Vec::new(), proxy: None }
    }

    pub(crate) fn wire(&mut self) -> Pin<&mut NetworkStream> {
        Pin::new(&mut self.wire)
    }

    /// The stream, and the bytes to write to it.
    pub(crate) fn writing(&mut self) -> (Pin<&mut NetworkStream>, &[u8]) {
        (Pin::new(&mut self.wire), &self.output)
    }

    /// Ready when an idle connection is unusable: the server closed it or sent unexpected bytes.
    /// Costs a system call only when the event loop has seen something.
    pub(crate) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut unasked = [0];
        self.wire().poll_read(context, &mut ReadBuf::new(&mut unasked)).map(drop)
    }

    /// Whether an idle connection is unusable, by the readiness that the event loop last reported.
    pub(crate) fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        match &self.wire {
            // Registers no waker: the next request does so when it waits.
            NetworkStream::Left(stream) => {
                let waits = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
                !stream.try_read(&mut [0]).is_err_and(waits)
            }
            NetworkStream::Right(_) => self.poll_over(context).is_ready(),
        }
    }

    /// Releases memory that an idle connection does not need.
    pub(crate) fn release_memory(&mut self) {
        if self.output.capacity() > KEPT_OUTPUT {
            self.output = Vec::new();
        }
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        if let NetworkStream::Right(_) = self.wire {
            // Sends close_notify (RFC 8446 section 6.1) if there is room; nothing waits for it.
            let _ = self.wire().poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
        self.counters.fall(Level::Open, 1);
    }
}
