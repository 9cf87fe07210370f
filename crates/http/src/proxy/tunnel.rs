//! An upgraded connection: bytes in both directions between a client and an upstream.

use crate::client::connection::line::ClientConnection;
use crate::network::wire::NetworkStream;
use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Bytes that are read at once in each direction. An idle tunnel holds no buffer.
const PIECE: usize = 16 * 1024;

/// Passes bytes on until both sides have closed, one of them fails, nothing moves for the idle timeout,
/// or the server stops.
pub(super) async fn run(
    mut client: NetworkStream,
    mut upstream: ClientConnection,
    (early_request, early_response): (Bytes, Bytes),
    idle: Duration,
    state: Rc<ConnectionState>,
) {
    let mut up = TunnelDirection::starting_with(&early_request);
    let mut down = TunnelDirection::starting_with(&early_response);
    drop((early_request, early_response));
    let mut timer = Box::pin(tokio::time::sleep(idle));
    let passing = poll_fn(|context| {
        if state.stopping.get() {
            return Poll::Ready(Ok(()));
        }
        let mut has_moved = false;
        let mut client = Pin::new(&mut client);
        let up_over = up.poll(client.as_mut(), upstream.wire(), &mut has_moved, context)?;
        let down_over = down.poll(upstream.wire(), client, &mut has_moved, context)?;
        if up_over.is_ready() && down_over.is_ready() {
            return Poll::Ready(Ok(()));
        }
        if has_moved {
            timer.as_mut().reset(Instant::now() + idle);
        }
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    });
    let end: io::Result<()> = passing.await;
    if let Err(error) = end {
        tracing::debug!(%error, "an upgraded connection ended early");
    }
}

/// One direction of a tunnel.
struct TunnelDirection {
    buffer: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// The source has closed.
    has_ended: bool,
    /// The target knows.
    is_over: bool,
}

impl TunnelDirection {
    fn starting_with(early: &[u8]) -> Self {
        TunnelDirection {
            buffer: early.to_vec(),
            written: 0,
            is_flushed: true,
            has_ended: false,
            is_over: false,
        }
    }

    /// Passes on what there is. Ready when the source has closed and the target knows.
    fn poll<S: AsyncRead, T: AsyncWrite>(
        &mut self,
        mut source: Pin<&mut S>,
        mut target: Pin<&mut T>,
        has_moved: &mut bool,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_over {
            while self.written < self.buffer.len() {
                let rest = &self.buffer[self.written..];
                let count = ready!(target.as_mut().poll_write(context, rest))?;
                if count == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.written += count;
                self.is_flushed = false;
                *has_moved = true;
            }
            self.buffer.clear();
            self.written = 0;
            if !self.is_flushed {
                ready!(target.as_mut().poll_flush(context))?;
                self.is_flushed = true;
            }
            if self.has_ended {
                ready!(target.as_mut().poll_shutdown(context))?;
                self.is_over = true;
                break;
            }
            let mut piece = [0; PIECE];
            let mut read = ReadBuf::new(&mut piece);
            let Poll::Ready(result) = source.as_mut().poll_read(context, &mut read) else {
                self.buffer = Vec::new();
                return Poll::Pending;
            };
            result?;
            self.has_ended = read.filled().is_empty();
            self.buffer.extend_from_slice(read.filled());
        }
        Poll::Ready(Ok(()))
    }
}
