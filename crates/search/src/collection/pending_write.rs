//! Waiting for a write to be durable.

use crate::durable::FlushProgress;
use runnel_store::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A write that is visible to searches and not yet known to survive a crash.
///
/// As a future it is ready when the write is durable; the error says why it cannot be, and then no
/// further write is taken until the collection is opened again. Dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "only a write whose Pending has answered survives a crash"]
pub struct PendingWrite {
    /// Nothing for a collection in memory.
    log: Option<Arc<FlushProgress>>,
    write: u64,
    /// Whether somebody was left to be woken.
    waits: bool,
}

impl PendingWrite {
    /// What is as durable as it ever gets.
    pub(crate) fn ready() -> PendingWrite {
        PendingWrite { log: None, write: 0, waits: false }
    }

    /// A write by its number.
    pub(crate) fn of(log: Arc<FlushProgress>, write: u64) -> PendingWrite {
        PendingWrite { log: Some(log), write, waits: false }
    }

    /// Waits, blocking the thread.
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
