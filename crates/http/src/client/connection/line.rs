//! A connection to a server, counted as long as it is open.

use crate::network::wire::NetworkStream;
use runnel_store::{Count, Counters, Level};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The memory for what goes out that an idle connection keeps, in bytes.
const KEPT_OUTPUT: usize = 2 * 1024;

/// An open connection.
pub(crate) struct ClientConnection {
    wire: NetworkStream,
    counters: Arc<Counters>,
    /// What is still to be written of a request; the memory is that of the next request as well.
    pub(crate) output: Vec<u8>,
}

impl ClientConnection {
    pub(crate) fn new(wire: NetworkStream, counters: Arc<Counters>) -> Self {
        counters.add(Count::Opened, 1);
        counters.rise(Level::Open, 1);
        ClientConnection { wire, counters, output: Vec::new() }
    }

    pub(crate) fn wire(&mut self) -> Pin<&mut NetworkStream> {
        Pin::new(&mut self.wire)
    }

    /// Where to write, and what.
    pub(crate) fn writing(&mut self) -> (Pin<&mut NetworkStream>, &[u8]) {
        (Pin::new(&mut self.wire), &self.output)
    }

    /// Ready as soon as no request can be sent here any more, while none is under way: the server
    /// has closed, or said something that nobody asked for. Costs no call of the system unless
    /// there is something.
    pub(crate) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut unasked = [0];
        self.wire().poll_read(context, &mut ReadBuf::new(&mut unasked)).map(drop)
    }

    /// Gives back what an idle connection need not keep.
    pub(crate) fn rest(&mut self) {
        if self.output.capacity() > KEPT_OUTPUT {
            self.output = Vec::new();
        }
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        if let NetworkStream::Secure(_) = self.wire {
            // Says that it is over (RFC 8446 section 6.1), if there is room for that: nobody waits.
            let _ = self.wire().poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
        self.counters.fall(Level::Open, 1);
    }
}
