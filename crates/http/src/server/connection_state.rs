//! What one connection is doing and since when: kept in cells, so that the hot path pays a store
//! and never a timer.

use crate::network::wire::NetworkStream;
use crate::server::options::Limits;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long a connection that is given up may take to end: for TLS, or for GOAWAY.
pub(crate) const GIVING_UP: Duration = Duration::from_secs(1);

/// How long a connection without a whole request is not given up.
const ARRIVING: Duration = Duration::from_secs(1);

/// The rest of a connection after an upgrade (RFC 9110 section 7.8).
pub(crate) type UpgradedSession = Pin<Box<dyn Future<Output = ()>>>;

/// Begins a session of another protocol on the connection, with the bytes that the client has sent
/// beyond its request.
pub(crate) type Upgrade = Box<dyn FnOnce(NetworkStream, Bytes) -> UpgradedSession>;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    /// Nothing has been received yet.
    Fresh,
    /// A part of a request's head has been received.
    Head,
    /// A request is being answered.
    Busy,
    /// The last request has been answered.
    Idle,
    /// Another protocol goes on, which looks after itself.
    Upgraded,
}

/// How a connection could be given up, the first kind before the second, and what has lasted longest
/// before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdleState {
    /// It is between two requests.
    Idle(Instant),
    /// Its request has not arrived as a whole.
    HalfOpen(Instant),
}

/// What to do when the time of a phase is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutAction {
    /// Close without a word: nobody waits for an answer.
    Close,
    /// Close because the server drains, unless a request has arrived meanwhile.
    Drained,
    /// Answer 408 and close: half a request has come.
    Tell,
    /// Let the request look at the clock itself: it has been answered for as long as it may.
    Look,
}

/// The state of one connection, shared by its task, its socket, its answers and the server.
pub(crate) struct ConnectionState {
    phase: Cell<ConnectionPhase>,
    since: Cell<Instant>,
    /// The time when the connection's task was last woken: one clock reading for each wake-up.
    now: Cell<Instant>,
    /// When the request of HTTP/1.1 that is being answered looks at the clock.
    answer_by: Cell<Option<Instant>>,
    /// Since when the client has not taken what is ready for it.
    blocked: Cell<Option<Instant>>,
    /// How many requests there were.
    requests: Cell<u32>,
    /// The requests are those of HTTP/2: several at a time.
    multiplexed: Cell<bool>,
    /// How many requests of HTTP/2 are being answered.
    streams: Cell<u32>,
    /// How many of these wait for their store, and not for the client.
    waiting: Cell<u32>,
    /// When the client last took something, or something became ready for it.
    progress: Cell<Instant>,
    /// The connection, where this is about one request of several.
    connection: Option<Rc<ConnectionState>>,
    /// Whether this one request waits for its store.
    waits: Cell<bool>,
    /// The system may send files by itself: it is HTTP/1.1 on a bare socket.
    pub(crate) sends_files: Cell<bool>,
    /// The protocol that goes on after the answer under way.
    pub(crate) upgrade: RefCell<Option<Upgrade>>,
    /// The client may still be sending what nobody reads: say goodbye before closing.
    pub(crate) linger: Cell<bool>,
    /// The next answer is the last one of its connection and says so.
    pub(crate) leaving: Cell<bool>,
    /// The server drains: the connection closes after this time without a request, and streams of
    /// events end.
    drains: Cell<Option<Duration>>,
    /// Finish the requests under way and close.
    pub(crate) stopping: Cell<bool>,
    /// The connection is given up for another one: when it ends at the latest, unless it has become
    /// busy.
    given_up: Cell<Option<Instant>>,
    /// The server's patience is over: close now.
    pub(crate) cut: Cell<bool>,
    /// Wakes the connection's task.
    waker: RefCell<Option<Waker>>,
    /// Wakes the tasks of its HTTP/2 streams that end when the server drains.
    drain_wakers: RefCell<Vec<Waker>>,
}

impl ConnectionState {
    pub(crate) fn new(now: Instant) -> Self {
        ConnectionState {
            phase: Cell::new(ConnectionPhase::Fresh),
            since: Cell::new(now),
            now: Cell::new(now),
            answer_by: Cell::new(None),
            blocked: Cell::new(None),
            requests: Cell::new(0),
            multiplexed: Cell::new(false),
            streams: Cell::new(0),
            waiting: Cell::new(0),
            progress: Cell::new(now),
            connection: None,
            waits: Cell::new(false),
            sends_files: Cell::new(false),
            upgrade: RefCell::new(None),
            linger: Cell::new(false),
            leaving: Cell::new(false),
            drains: Cell::new(None),
            stopping: Cell::new(false),
            given_up: Cell::new(None),
            cut: Cell::new(false),
            waker: RefCell::new(None),
            drain_wakers: RefCell::default(),
        }
    }

    /// For one request of a connection that carries several at a time.
    pub(crate) fn stream_of(connection: &Rc<ConnectionState>) -> Rc<ConnectionState> {
        connection.streams.set(connection.streams.get() + 1);
        connection.waiting.set(connection.waiting.get() + 1);
        let mut state = ConnectionState::new(Instant::now());
        state.connection = Some(connection.clone());
        state.waits.set(true);
        Rc::new(state)
    }

    /// Whether this is about one request of several.
    pub(crate) fn is_of_stream(&self) -> bool {
        self.connection.is_some()
    }

    /// The connection carries several requests at a time from here on.
    pub(crate) fn multiplex(&self) {
        self.multiplexed.set(true);
        self.phase.set(ConnectionPhase::Idle);
        self.since.set(self.now.get());
    }

    /// Another protocol goes on.
    pub(crate) fn upgraded(&self) {
        self.phase.set(ConnectionPhase::Upgraded);
        self.stopping.set(self.stopping.get() || self.is_draining());
    }

    /// The server stops: each answer says `Connection: close`, and the connection closes after
    /// this time without a request. A protocol without requests ends at once.
    pub(crate) fn drain(&self, quiet: Duration) {
        self.leaving.set(true);
        self.drains.set(Some(quiet));
        if self.phase.get() == ConnectionPhase::Upgraded {
            self.stopping.set(true);
        }
        self.drain_wakers.borrow().iter().for_each(Waker::wake_by_ref);
    }

    /// Whether the server drains.
    pub(crate) fn is_draining(&self) -> bool {
        let connection = self.connection.as_deref().unwrap_or(self);
        connection.drains.get().is_some()
    }

    /// Wakes the task of an HTTP/2 stream too when the server begins to drain. The task of a
    /// connection always is.
    pub(crate) fn wake_at_drain(&self, waker: &Waker) {
        let Some(connection) = &self.connection else { return };
        if !self.waker.borrow().as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            self.forget_drain_waker(connection);
            self.keep_waker(waker);
            connection.drain_wakers.borrow_mut().push(waker.clone());
        }
    }

    fn forget_drain_waker(&self, connection: &ConnectionState) {
        if let Some(own) = self.waker.take() {
            connection.drain_wakers.borrow_mut().retain(|waker| !waker.will_wake(&own));
        }
    }

    /// A piece of an answer was asked for, and is there or not.
    pub(crate) fn answering(&self, waits: bool) {
        let Some(connection) = &self.connection else { return };
        if self.waits.replace(waits) == waits {
            return;
        }
        let waiting = connection.waiting.get();
        connection.waiting.set(if waits { waiting + 1 } else { waiting.saturating_sub(1) });
        connection.progress.set(Instant::now());
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
        if self.multiplexed.get() {
            return;
        }
        if matches!(self.phase.get(), ConnectionPhase::Fresh | ConnectionPhase::Idle) {
            // A new connection's time runs from its start, not from its first byte.
            if self.phase.get() == ConnectionPhase::Idle {
                self.since.set(self.now.get());
            }
            self.phase.set(ConnectionPhase::Head);
        }
    }

    /// A whole head was parsed and a request begins. Answers the how many-th of the connection.
    pub(crate) fn begin(&self) -> u32 {
        self.phase.set(ConnectionPhase::Busy);
        self.requests.set(self.requests.get().saturating_add(1));
        self.requests.get()
    }

    /// The answer has been handed over to the last byte.
    pub(crate) fn finish(&self) {
        if self.phase.get() == ConnectionPhase::Upgraded {
            return;
        }
        self.phase.set(ConnectionPhase::Idle);
        self.since.set(self.now.get());
    }

    /// The socket took bytes (or not).
    pub(crate) fn wrote(&self, blocked: bool) {
        if self.multiplexed.get() && !blocked {
            self.progress.set(self.now.get());
        }
        match (blocked, self.blocked.get()) {
            (true, None) => self.blocked.set(Some(self.now.get())),
            (false, Some(_)) => {
                self.blocked.set(None);
                if self.phase.get() == ConnectionPhase::Idle {
                    // All of the answer was handed over before: the client only now takes it.
                    self.since.set(self.now.get());
                }
            }
            _ => {}
        }
    }

    /// Has the task of the connection woken at a moment, or not any more, which costs no timer: it
    /// has one already. Answers whether it does: that of several requests at a time does not.
    pub(crate) fn wake_at(&self, moment: Option<Instant>) -> bool {
        self.answer_by.set(moment);
        self.connection.is_none()
    }

    /// When the present phase ends at the latest, and what to do then. `None` while nothing is due.
    pub(crate) fn due(&self, limits: &Limits) -> Option<(Instant, TimeoutAction)> {
        if self.multiplexed.get() && self.blocked.get().is_none() && self.streams.get() > 0 {
            // Somebody has something to send, and the client gives no room for it (RFC 9113
            // section 5.2): such a client could keep as many answers as it may ask for.
            let stuck = self.streams.get() > self.waiting.get();
            let at = self.progress.get().checked_add(limits.write_idle)?;
            return stuck.then_some((at, TimeoutAction::Close));
        }
        if let (Some(at), true) = (self.given_up.get(), self.rests_now()) {
            return Some((at, TimeoutAction::Close));
        }
        let (since, limit, overdue) = match (self.blocked.get(), self.phase.get()) {
            (Some(since), _) => (since, limits.write_idle, TimeoutAction::Close),
            (None, ConnectionPhase::Fresh) => {
                (self.since.get(), limits.header_time, TimeoutAction::Close)
            }
            (None, ConnectionPhase::Head) => {
                (self.since.get(), limits.header_time, TimeoutAction::Tell)
            }
            (None, ConnectionPhase::Idle) => {
                (self.since.get(), limits.keep_alive, TimeoutAction::Close)
            }
            (None, ConnectionPhase::Busy) => {
                return Some((self.answer_by.get()?, TimeoutAction::Look));
            }
            (None, ConnectionPhase::Upgraded) => return None,
        };
        Some((since.checked_add(limit)?, overdue))
    }

    /// Whether the connection can be given up for another one, and in which order.
    pub(crate) fn rests(&self) -> Option<IdleState> {
        if self.given_up.get().is_some() || self.blocked.get().is_some() || self.cut.get() {
            return None;
        }
        match self.phase.get() {
            ConnectionPhase::Idle => Some(IdleState::Idle(self.since.get())),
            // The request of a new connection is about to arrive.
            ConnectionPhase::Fresh | ConnectionPhase::Head
                if self.since.get().elapsed() < ARRIVING =>
            {
                None
            }
            ConnectionPhase::Fresh | ConnectionPhase::Head => {
                Some(IdleState::HalfOpen(self.since.get()))
            }
            ConnectionPhase::Busy | ConnectionPhase::Upgraded => None,
        }
    }

    /// Gives the connection up. A request that has arrived meanwhile is still answered.
    pub(crate) fn give_up(&self) {
        self.given_up.set(Instant::now().checked_add(GIVING_UP));
        match self.phase.get() {
            ConnectionPhase::Head => self.cut.set(true),
            _ => self.stopping.set(true),
        }
        self.wake();
    }

    /// When a connection that drains closes for want of a request.
    pub(crate) fn drained_at(&self) -> Option<Instant> {
        let quiet = self.drains.get().filter(|_| !self.stopping.get())?;
        let rests = matches!(self.phase.get(), ConnectionPhase::Fresh | ConnectionPhase::Idle);
        let rests = rests && !self.multiplexed.get() && self.blocked.get().is_none();
        rests.then(|| self.since.get() + quiet)
    }

    fn rests_now(&self) -> bool {
        !matches!(self.phase.get(), ConnectionPhase::Busy | ConnectionPhase::Upgraded)
    }

    /// Remembers how the connection's task is woken.
    pub(crate) fn keep_waker(&self, waker: &Waker) {
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    /// Wakes the connection's task, unless it is the one that is at work.
    pub(crate) fn wake_from(&self, at_work: &Waker) {
        let waker = self.waker.borrow();
        if let Some(waker) = waker.as_ref().filter(|waker| !waker.will_wake(at_work)) {
            waker.wake_by_ref();
        }
    }

    /// Wakes the connection's task, so that it looks at the flags.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        let Some(connection) = &self.connection else { return };
        self.answering(false);
        self.forget_drain_waker(connection);
        connection.streams.set(connection.streams.get().saturating_sub(1));
        if connection.streams.get() == 0 {
            connection.phase.set(ConnectionPhase::Idle);
            connection.since.set(Instant::now());
        }
        // It sets its alarm anew.
        connection.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_follow_one_another() {
        let limits = Limits::default();
        let start = Instant::now();
        let state = ConnectionState::new(start);
        assert_eq!(state.due(&limits), Some((start + limits.header_time, TimeoutAction::Close)));
        state.received();
        assert_eq!(state.due(&limits), Some((start + limits.header_time, TimeoutAction::Tell)));
        state.begin();
        state.received();
        assert_eq!(state.due(&limits), None);
        state.finish();
        assert_eq!(state.due(&limits), Some((start + limits.keep_alive, TimeoutAction::Close)));
    }

    #[test]
    fn a_request_looks_at_the_clock_when_it_wants_to() {
        let limits = Limits::default();
        let start = Instant::now();
        let state = ConnectionState::new(start);
        state.begin();
        assert!(state.wake_at(Some(start)));
        assert_eq!(state.due(&limits), Some((start, TimeoutAction::Look)));
        assert!(state.wake_at(None));
        assert_eq!(state.due(&limits), None);
        let stream = ConnectionState::stream_of(&Rc::new(state));
        assert!(!stream.wake_at(Some(start)));
    }

    #[test]
    fn a_draining_connection_ends_when_it_rests() {
        let (start, quiet) = (Instant::now(), Duration::from_secs(1));
        let state = ConnectionState::new(start);
        assert_eq!(state.drained_at(), None);
        state.drain(quiet);
        assert_eq!((state.leaving.get(), state.drained_at()), (true, Some(start + quiet)));
        state.received();
        assert_eq!(state.drained_at(), None);
        state.begin();
        assert_eq!(state.drained_at(), None);
        state.finish();
        assert_eq!(state.drained_at(), Some(start + quiet));
        state.upgraded();
        assert!(state.stopping.get());
    }

    #[test]
    fn a_client_that_takes_nothing_has_a_time_of_its_own() {
        let limits = Limits::default();
        let start = Instant::now();
        let state = ConnectionState::new(start);
        state.begin();
        state.wrote(true);
        assert_eq!(state.due(&limits), Some((start + limits.write_idle, TimeoutAction::Close)));
        state.wrote(false);
        assert_eq!(state.due(&limits), None);
    }
}
