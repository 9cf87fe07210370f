//! Busy polling before sleeping.
//!
//! Waking a thread that sleeps in the kernel is most of the latency of a request on a single
//! connection, above all on a virtual machine. While requests follow each other closely, the event
//! loop can poll its sockets instead of sleeping. That keeps a core busy, so it is off by default
//! and ends a short time after the last request.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Keeps the event loop from sleeping for a time after each request.
pub(crate) struct BusyPoll {
    time: Duration,
    last: Cell<Instant>,
    spinning: Cell<bool>,
}

impl BusyPoll {
    /// Busy polling for this time after each request; `None` when the time is zero.
    pub(crate) fn new(time: Duration) -> Option<Rc<BusyPoll>> {
        let last = Cell::new(Instant::now());
        (!time.is_zero()).then(|| Rc::new(BusyPoll { time, last, spinning: Cell::new(false) }))
    }

    /// Restarts the time: a request has arrived.
    pub(crate) fn restart(self: &Rc<Self>) {
        self.last.set(Instant::now());
        if !self.spinning.replace(true) {
            let this = Rounds(self.clone());
            tokio::task::spawn_local(async move {
                while this.0.last.get().elapsed() < this.0.time {
                    // The event loop polls its sockets without sleeping before this task continues.
                    tokio::task::yield_now().await;
                }
            });
        }
    }
}

/// Resets the flag when polling ends, however it ends.
struct Rounds(Rc<BusyPoll>);

impl Drop for Rounds {
    fn drop(&mut self) {
        self.0.spinning.set(false);
    }
}
