//! Content as the bytes that the library reads, and how long the server takes for them.

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use runnel_store::{Body, ByteStream, Content, Error, Result};
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes in memory or a stream.
pub(super) struct ContentReader {
    chunk: Bytes,
    stream: Option<ByteStream>,
    progress: Rc<ReadProgress>,
}

/// Whose turn it is, and what went wrong with the stream.
pub(super) struct ReadProgress {
    /// Since when the server has something to do; nothing while the stream is waited for.
    busy: Cell<Option<Instant>>,
    failure: RefCell<Option<Error>>,
}

impl ContentReader {
    /// Content to be read once.
    pub(super) async fn open(content: Content) -> Result<(ContentReader, Rc<ReadProgress>)> {
        let busy = Cell::new(Some(Instant::now()));
        let progress = Rc::new(ReadProgress { busy, failure: RefCell::default() });
        let (chunk, stream) = match content.body {
            Body::Stream(stream, _) => (Bytes::new(), Some(stream)),
            _ => (content.read(usize::MAX).await?, None),
        };
        Ok((ContentReader { chunk, stream, progress: progress.clone() }, progress))
    }
}

impl ReadProgress {
    /// The error of the stream, which the library knows only as one of reading.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.borrow_mut().take()
    }

    /// Ends when the server took longer than that for one piece.
    pub(super) async fn stuck(&self, time: Duration) {
        loop {
            let until = match self.busy.get() {
                Some(since) if since.elapsed() >= time => return,
                Some(since) => since + time,
                None => Instant::now() + time,
            };
            tokio::time::sleep_until(until.into()).await;
        }
    }
}

impl AsyncRead for ContentReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.chunk.is_empty() {
            self.progress.busy.set(None);
            let Some(stream) = &mut self.stream else { break };
            match ready!(stream.poll_next_unpin(context)) {
                Some(Ok(chunk)) => self.chunk = chunk,
                Some(Err(error)) => {
                    *self.progress.failure.borrow_mut() = Some(error);
                    return Poll::Ready(Err(io::Error::other("the stream failed")));
                }
                None => self.stream = None,
            }
        }
        let some = self.chunk.len().min(buffer.remaining());
        buffer.put_slice(&self.chunk[..some]);
        self.chunk.advance(some);
        self.progress.busy.set(Some(Instant::now()));
        Poll::Ready(Ok(()))
    }
}
