//! What one connection is doing and since when: kept in cells, so that the hot path pays a store
//! and never a timer.

use crate::options::Limits;
use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::Instant;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing has been received yet.
    Fresh,
    /// A part of a request's head has been received.
    Head,
    /// A request is being answered.
    Busy,
    /// The last request has been answered.
    Idle,
}

/// What to do when the time of a phase is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// Close without a word: nobody waits for an answer.
    Close,
    /// Answer 408 and close: half a request has come.
    Tell,
}

/// The state of one connection, shared by its task, its socket, its answers and the server.
pub(crate) struct Meter {
    phase: Cell<Phase>,
    since: Cell<Instant>,
    /// The time when the connection's task was last woken: one clock reading for each wake-up.
    now: Cell<Instant>,
    /// Since when the client has not taken what is ready for it.
    blocked: Cell<Option<Instant>>,
    /// How many requests there were.
    requests: Cell<u32>,
    /// The client may still be sending what nobody reads: say goodbye before closing.
    pub(crate) linger: Cell<bool>,
    /// The server is stopping: finish what is under way and close.
    pub(crate) stopping: Cell<bool>,
    /// The server's patience is over: close now.
    pub(crate) cut: Cell<bool>,
    /// Wakes the connection's task.
    waker: RefCell<Option<Waker>>,
}

impl Meter {
    pub(crate) fn new(now: Instant) -> Self {
        Meter {
            phase: Cell::new(Phase::Fresh),
            since: Cell::new(now),
            now: Cell::new(now),
            blocked: Cell::new(None),
            requests: Cell::new(0),
            linger: Cell::new(false),
            stopping: Cell::new(false),
            cut: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// Reads the clock, for all that happens in this wake-up.
    pub(crate) fn tick(&self) {
        self.now.set(Instant::now());
    }

    pub(crate) fn now(&self) -> Instant {
        self.now.get()
    }

    /// Bytes came from the client.
    pub(crate) fn received(&self) {
        if matches!(self.phase.get(), Phase::Fresh | Phase::Idle) {
            // A new connection's time runs from its start, not from its first byte.
            if self.phase.get() == Phase::Idle {
                self.since.set(self.now.get());
            }
            self.phase.set(Phase::Head);
        }
    }

    /// A whole head was parsed and a request begins. Answers the how many-th of the connection.
    pub(crate) fn begin(&self) -> u32 {
        self.phase.set(Phase::Busy);
        self.requests.set(self.requests.get().saturating_add(1));
        self.requests.get()
    }

    /// The answer has been handed over to the last byte.
    pub(crate) fn finish(&self) {
        self.phase.set(Phase::Idle);
        self.since.set(self.now.get());
    }

    /// The socket took bytes (or not).
    pub(crate) fn wrote(&self, blocked: bool) {
        match (blocked, self.blocked.get()) {
            (true, None) => self.blocked.set(Some(self.now.get())),
            (false, Some(_)) => self.blocked.set(None),
            _ => {}
        }
    }

    /// When the present phase ends at the latest, and what to do then. `None` while a request is
    /// being answered: that has a deadline of its own.
    pub(crate) fn due(&self, limits: &Limits) -> Option<(Instant, Overdue)> {
        let (since, limit, overdue) = match (self.blocked.get(), self.phase.get()) {
            (Some(since), _) => (since, limits.write_idle, Overdue::Close),
            (None, Phase::Fresh) => (self.since.get(), limits.header_time, Overdue::Close),
            (None, Phase::Head) => (self.since.get(), limits.header_time, Overdue::Tell),
            (None, Phase::Idle) => (self.since.get(), limits.keep_alive, Overdue::Close),
            (None, Phase::Busy) => return None,
        };
        Some((since.checked_add(limit)?, overdue))
    }

    /// Remembers how the connection's task is woken.
    pub(crate) fn keep_waker(&self, waker: &Waker) {
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    /// Wakes the connection's task, so that it looks at the flags.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_follow_one_another() {
        let limits = Limits::default();
        let start = Instant::now();
        let meter = Meter::new(start);
        assert_eq!(meter.due(&limits), Some((start + limits.header_time, Overdue::Close)));
        meter.received();
        assert_eq!(meter.due(&limits), Some((start + limits.header_time, Overdue::Tell)));
        meter.begin();
        meter.received();
        assert_eq!(meter.due(&limits), None);
        meter.finish();
        assert_eq!(meter.due(&limits), Some((start + limits.keep_alive, Overdue::Close)));
    }

    #[test]
    fn a_client_that_takes_nothing_has_a_time_of_its_own() {
        let limits = Limits::default();
        let start = Instant::now();
        let meter = Meter::new(start);
        meter.begin();
        meter.wrote(true);
        assert_eq!(meter.due(&limits), Some((start + limits.write_idle, Overdue::Close)));
        meter.wrote(false);
        assert_eq!(meter.due(&limits), None);
    }
}
