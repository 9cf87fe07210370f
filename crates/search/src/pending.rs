//! Waiting for a write to be durable.

use runnel_store::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A write that is visible to searches and not yet known to survive a crash.
///
/// As a future it is ready when the write is durable. Dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "only a write whose Pending has answered survives a crash"]
pub struct Pending(());

impl Pending {
    /// What is durable already, or as durable as it ever gets.
    pub(crate) fn ready() -> Pending {
        Pending(())
    }

    /// Waits for it, blocking the thread.
    ///
    /// # Errors
    /// As those of the future: the log could not be written.
    pub fn wait(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Future for Pending {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}
