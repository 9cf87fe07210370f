//! The future of a write's durability.

use crate::durable::FlushProgress;
use runnel_store::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A write that searches see and that a crash may still lose.
///
/// The future resolves once the write is durable. An error says why it cannot be; the collection
/// then accepts no write until it is opened again. Dropping the future does not undo the write.
#[derive(Debug)]
#[must_use = "a write survives a crash only once this future resolves"]
pub struct PendingWrite {
    /// `None` for a collection in memory.
    log: Option<Arc<FlushProgress>>,
    write: u64,
    /// Whether a waker is registered.
    waits: bool,
}

impl PendingWrite {
    /// A write to memory, which needs no waiting.
    pub(crate) fn ready() -> PendingWrite {
        PendingWrite { log: None, write: 0, waits: false }
    }

    /// The write with this number.
    pub(crate) fn awaiting(log: Arc<FlushProgress>, write: u64) -> PendingWrite {
        PendingWrite { log: Some(log), write, waits: false }
    }

    /// Blocks the thread until the write is durable.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn wait(self) -> Result<(), Error> {
        match &self.log {
            None => Ok(()),
            Some(log) => Ok(log.wait(self.write)?),
        }
    }
}

impl Future for PendingWrite {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(log) = &self.log else { return Poll::Ready(Ok(())) };
        let polled = log.poll(self.write, context.waker());
        self.waits = polled.is_pending();
        polled.map_err(Error::from)
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        if let Some(log) = self.log.as_ref().filter(|_| self.waits) {
            log.forget(self.write);
        }
    }
}
