//! A short spin before sleeping.
//!
//! A thread that sleeps in the system until a socket has something costs a wake-up: on a virtual
//! machine that is most of what a request on a single connection takes. While requests follow
//! each other closely, the event loop can look at its sockets again and again instead. That uses a
//! processor's core for itself, so it is off unless somebody asks for it, and it ends a short time
//! after the last request: an idle server sleeps.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Keeps the event loop from sleeping for a time after each request.
pub(crate) struct Spin {
    time: Duration,
    last: Cell<Instant>,
    spinning: Cell<bool>,
}

impl Spin {
    /// For a time after each request; none when the time is zero.
    pub(crate) fn new(time: Duration) -> Option<Rc<Spin>> {
        let last = Cell::new(Instant::now());
        (!time.is_zero()).then(|| Rc::new(Spin { time, last, spinning: Cell::new(false) }))
    }

    /// A request has come.
    pub(crate) fn touch(self: &Rc<Self>) {
        self.last.set(Instant::now());
        if !self.spinning.replace(true) {
            let this = Rounds(self.clone());
            tokio::task::spawn_local(async move {
                while this.0.last.get().elapsed() < this.0.time {
                    // The loop looks at its sockets, without sleeping, before this goes on.
                    tokio::task::yield_now().await;
                }
            });
        }
    }
}

/// The rounds of the loop while it spins, however they end.
struct Rounds(Rc<Spin>);

impl Drop for Rounds {
    fn drop(&mut self) {
        self.0.spinning.set(false);
    }
}
