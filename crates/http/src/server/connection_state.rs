//! The state of a connection and its timeouts, in cells: the hot path pays a store and never a
//! timer.

use crate::network::wire::NetworkStream;
use crate::protocol::fields::FieldLines;
use crate::server::options::Limits;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long a given-up connection may take to close: for TLS, or for GOAWAY.
pub(crate) const GIVING_UP: Duration = Duration::from_secs(1);

/// How long a new connection without a complete request is protected from being given up.
const ARRIVING: Duration = Duration::from_secs(1);

/// The rest of a connection after an upgrade (RFC 9110 section 7.8).
pub(crate) type UpgradedSession = Pin<Box<dyn Future<Output = ()>>>;

/// Starts a session of another protocol on the connection, with the input beyond the request.
pub(crate) type Upgrade = Box<dyn FnOnce(NetworkStream, Bytes) -> UpgradedSession>;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    /// Nothing has been received yet.
    Fresh,
    /// A request head has been received in part.
    Head,
    /// A request is active.
    Busy,
    /// The last response is complete.
    Idle,
    /// Upgraded: the other protocol has its own timeouts.
    Upgraded,
}

/// How expendable a connection is: idle ones before half-open ones, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdleState {
    /// Between two requests.
    Idle(Instant),
    /// With an incomplete request.
    HalfOpen(Instant),
}

/// The action of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutAction {
    /// Close silently: no client waits for a response.
    Close,
    /// Close because the server drains, unless a request has arrived meanwhile.
    Drained,
    /// Respond with 408 and close: a request is incomplete.
    Tell,
    /// Wake the request: its own timeout may have expired.
    Look,
}

/// The timeouts of an active request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestTimeout {
    /// Of its response.
    Answer,
    /// Of the response of an upstream.
    Upstream,
}

/// The state of one connection, shared by its task, its socket, its responses and the server.
pub(crate) struct ConnectionState {
    phase: Cell<ConnectionPhase>,
    since: Cell<Instant>,
    /// The clock, read once for each wake-up of the connection's task.
    now: Cell<Instant>,
    /// The timeouts of the active HTTP/1.1 request.
    answer_by: Cell<Option<Instant>>,
    upstream_by: Cell<Option<Instant>>,
    /// Since when the client accepts no output.
    blocked: Cell<Option<Instant>>,
    /// The number of requests so far.
    requests: Cell<u32>,
    /// HTTP/2: several concurrent streams.
    multiplexed: Cell<bool>,
    /// Active HTTP/2 streams.
    streams: Cell<u32>,
    /// Streams that wait for their store, not for the client.
    waiting: Cell<u32>,
    /// When the client last accepted output, or output became ready.
    progress: Cell<Instant>,
    /// The connection, in the state of an HTTP/2 stream.
    connection: Option<Rc<ConnectionState>>,
    /// Whether this stream waits for its store.
    waits: Cell<bool>,
    /// sendfile(2) is possible: HTTP/1.1 without TLS.
    pub(crate) sends_files: Cell<bool>,
    /// The protocol upgrade after the current response.
    pub(crate) upgrade: RefCell<Option<Upgrade>>,
    /// Interim responses (1xx) of an upstream, to be written before the response.
    interim: RefCell<Vec<u8>>,
    /// The client may still send an unread body: close with lingering.
    pub(crate) linger: Cell<bool>,
    /// The next response is the last one of its connection and announces it.
    pub(crate) leaving: Cell<bool>,
    /// The server drains: the connection closes after this time without a request, and event
    /// streams end.
    drains: Cell<Option<Duration>>,
    /// Finish active requests and close.
    pub(crate) stopping: Cell<bool>,
    /// The connection is given up for another one: its last moment, unless it becomes busy.
    given_up: Cell<Option<Instant>>,
    /// The drain timeout expired: close now.
    pub(crate) cut: Cell<bool>,
    /// The number of the request whose response head is not sent; 0 for none.
    unanswered: Cell<u32>,
    /// Early hints that the connection's task is to send for that request.
    early_links: RefCell<Vec<HeaderValue>>,
    /// Wakes the connection's task.
    waker: RefCell<Option<Waker>>,
    /// Wakes the HTTP/2 streams that end when the server drains.
    drain_wakers: RefCell<Vec<Waker>>,
}

impl ConnectionState {
    pub(crate) fn new(now: Instant) -> Self {
        ConnectionState {
            phase: Cell::new(ConnectionPhase::Fresh),
            since: Cell::new(now),
            now: Cell::new(now),
            answer_by: Cell::new(None),
            upstream_by: Cell::new(None),
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
            interim: RefCell::default(),
            linger: Cell::new(false),
            leaving: Cell::new(false),
            drains: Cell::new(None),
            stopping: Cell::new(false),
            given_up: Cell::new(None),
            cut: Cell::new(false),
            unanswered: Cell::new(0),
            early_links: RefCell::default(),
            waker: RefCell::new(None),
            drain_wakers: RefCell::default(),
        }
    }

    /// The state of one HTTP/2 stream.
    pub(crate) fn stream_of(connection: &Rc<ConnectionState>) -> Rc<ConnectionState> {
        connection.streams.set(connection.streams.get() + 1);
        connection.waiting.set(connection.waiting.get() + 1);
        let mut state = ConnectionState::new(Instant::now());
        state.connection = Some(connection.clone());
        state.waits.set(true);
        Rc::new(state)
    }

    /// Whether this is the state of a stream.
    pub(crate) fn is_of_stream(&self) -> bool {
        self.connection.is_some()
    }

    /// The connection is HTTP/2 from now on.
    pub(crate) fn multiplex(&self) {
        self.multiplexed.set(true);
        self.phase.set(ConnectionPhase::Idle);
        self.since.set(self.now.get());
    }

    /// The connection is upgraded.
    pub(crate) fn upgraded(&self) {
        self.phase.set(ConnectionPhase::Upgraded);
        self.stopping.set(self.stopping.get() || self.is_draining());
    }

    /// Starts the drain: each response says `Connection: close`, and the connection closes after
    /// this time without a request. An upgraded protocol ends at once.
    pub(crate) fn drain(&self, quiet: Duration) {
        self.leaving.set(true);
        self.drains.set(Some(quiet));
        if self.phase.get() == ConnectionPhase::Upgraded {
            self.stopping.set(true);
        }
        self.drain_wakers.borrow().iter().for_each(Waker::wake_by_ref);
    }

    /// Adds an interim response. HTTP/2 streams leave them out: hyper sends none.
    pub(crate) fn add_interim(&self, status: StatusCode, lines: &FieldLines) {
        if self.is_of_stream() {
            return;
        }
        let mut interim = self.interim.borrow_mut();
        let reason = status.canonical_reason().unwrap_or("Status");
        // Writing to memory never fails.
        let _ = write!(interim, "HTTP/1.1 {} {reason}\r\n", status.as_str());
        interim.extend_from_slice(lines.as_bytes());
        interim.extend_from_slice(b"\r\n");
    }

    /// Whether there are interim responses.
    pub(crate) fn has_interim(&self) -> bool {
        !self.interim.borrow().is_empty()
    }

    /// The interim responses that were added.
    pub(crate) fn take_interim(&self) -> Vec<u8> {
        self.interim.take()
    }

    /// Whether the server drains.
    pub(crate) fn is_draining(&self) -> bool {
        let connection = self.connection.as_deref().unwrap_or(self);
        connection.drains.get().is_some()
    }

    /// Also wakes the task of an HTTP/2 stream when the drain starts. The connection's task is
    /// always woken.
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

    /// A piece of a response was polled: whether it is pending.
    pub(crate) fn answering(&self, waits: bool) {
        let Some(connection) = &self.connection else { return };
        if self.waits.replace(waits) == waits {
            return;
        }
        let waiting = connection.waiting.get();
        connection.waiting.set(if waits { waiting + 1 } else { waiting.saturating_sub(1) });
        connection.progress.set(Instant::now());
    }

    /// Reads the clock for this wake-up.
    pub(crate) fn tick(&self) {
        self.now.set(Instant::now());
    }

    /// The clock at this wake-up.
    pub(crate) fn now(&self) -> Instant {
        self.now.get()
    }

    /// The clock: as of this wake-up of the connection's task, which does not read it for HTTP/2 streams.
    pub(crate) fn clock(&self) -> Instant {
        if self.is_of_stream() { Instant::now() } else { self.now() }
    }

    /// Input arrived.
    pub(crate) fn input_received(&self) {
        if self.multiplexed.get() {
            return;
        }
        if matches!(self.phase.get(), ConnectionPhase::Fresh | ConnectionPhase::Idle) {
            // The header timeout of a new connection starts with the connection, not with its first
            // byte.
            if self.phase.get() == ConnectionPhase::Idle {
                self.since.set(self.now.get());
            }
            self.phase.set(ConnectionPhase::Head);
        }
    }

    /// A head is complete and its request starts. Returns its number on the connection.
    pub(crate) fn start_request(&self) -> u32 {
        self.phase.set(ConnectionPhase::Busy);
        let number = self.requests.get().saturating_add(1);
        self.requests.set(number);
        self.unanswered.set(number);
        number
    }

    /// Adds an early hint, unless the head of the response has left.
    pub(crate) fn add_early_link(&self, request: u32, link: HeaderValue) {
        if self.unanswered.get() == request {
            self.early_links.borrow_mut().push(link);
            self.wake();
        }
    }

    /// Takes the early hints of the active request.
    pub(crate) fn take_early_links(&self) -> Vec<HeaderValue> {
        self.early_links.take()
    }

    /// The head of the response is written: no early hint follows.
    pub(crate) fn head_is_sent(&self) {
        self.unanswered.set(0);
        self.early_links.take();
    }

    /// The response is complete.
    pub(crate) fn finish_response(&self) {
        if self.phase.get() == ConnectionPhase::Upgraded {
            return;
        }
        self.phase.set(ConnectionPhase::Idle);
        self.since.set(self.now.get());
    }

    /// The socket accepted output, or blocked.
    pub(crate) fn output_progress(&self, blocked: bool) {
        if self.multiplexed.get() && !blocked {
            self.progress.set(self.now.get());
        }
        match (blocked, self.blocked.get()) {
            (true, None) => self.blocked.set(Some(self.now.get())),
            (false, Some(_)) => {
                self.blocked.set(None);
                if self.phase.get() == ConnectionPhase::Idle {
                    // The response was complete before: the client accepts it only now.
                    self.since.set(self.now.get());
                }
            }
            _ => {}
        }
    }

    /// Sets or clears a wake-up of the connection's task, which costs no timer: it already has one.
    /// Returns whether the task does so: that of HTTP/2 streams does not.
    pub(crate) fn wake_at(&self, timeout: RequestTimeout, moment: Option<Instant>) -> bool {
        match timeout {
            RequestTimeout::Answer => self.answer_by.set(moment),
            RequestTimeout::Upstream => self.upstream_by.set(moment),
        }
        self.connection.is_none()
    }

    /// Clears all timeouts of the active request.
    pub(crate) fn clear_timeouts(&self) {
        self.answer_by.set(None);
        self.upstream_by.set(None);
    }

    /// The next timeout and its action. `None` while there is none.
    pub(crate) fn next_timeout(&self, limits: &Limits) -> Option<(Instant, TimeoutAction)> {
        if self.multiplexed.get() && self.blocked.get().is_none() && self.streams.get() > 0 {
            // A stream has output that flow control blocks (RFC 9113 section 5.2): such a client
            // could hold as many responses as it may open streams.
            let stuck = self.streams.get() > self.waiting.get();
            let at = self.progress.get().checked_add(limits.write_idle)?;
            return stuck.then_some((at, TimeoutAction::Close));
        }
        if let (Some(at), true) = (self.given_up.get(), self.is_not_busy()) {
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
                let timeouts = [self.answer_by.get(), self.upstream_by.get()];
                return Some((timeouts.into_iter().flatten().min()?, TimeoutAction::Look));
            }
            (None, ConnectionPhase::Upgraded) => return None,
        };
        Some((since.checked_add(limit)?, overdue))
    }

    /// Whether the connection can be given up for another one, and how expendable it is.
    pub(crate) fn idle_state(&self) -> Option<IdleState> {
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

    /// When a draining connection closes for lack of a request.
    pub(crate) fn drained_at(&self) -> Option<Instant> {
        let quiet = self.drains.get().filter(|_| !self.stopping.get())?;
        let rests = matches!(self.phase.get(), ConnectionPhase::Fresh | ConnectionPhase::Idle);
        let rests = rests && !self.multiplexed.get() && self.blocked.get().is_none();
        rests.then(|| self.since.get() + quiet)
    }

    fn is_not_busy(&self) -> bool {
        !matches!(self.phase.get(), ConnectionPhase::Busy | ConnectionPhase::Upgraded)
    }

    /// Stores the waker of the connection's task.
    pub(crate) fn keep_waker(&self, waker: &Waker) {
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    /// Wakes the connection's task, unless it is the running one.
    pub(crate) fn wake_from(&self, at_work: &Waker) {
        let waker = self.waker.borrow();
        if let Some(waker) = waker.as_ref().filter(|waker| !waker.will_wake(at_work)) {
            waker.wake_by_ref();
        }
    }

    /// Wakes the connection's task to check the flags.
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
        // It resets its timer.
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
        assert_eq!(
            state.next_timeout(&limits),
            Some((start + limits.header_time, TimeoutAction::Close))
        );
        state.input_received();
        assert_eq!(
            state.next_timeout(&limits),
            Some((start + limits.header_time, TimeoutAction::Tell))
        );
        state.start_request();
        state.input_received();
        assert_eq!(state.next_timeout(&limits), None);
        state.finish_response();
        assert_eq!(
            state.next_timeout(&limits),
            Some((start + limits.keep_alive, TimeoutAction::Close))
        );
    }

    #[test]
    fn a_request_looks_at_the_clock_when_it_wants_to() {
        let limits = Limits::default();
        let start = Instant::now();
        let state = ConnectionState::new(start);
        state.start_request();
        let second = Duration::from_secs(1);
        assert!(state.wake_at(RequestTimeout::Answer, Some(start + second)));
        let due = |later| Some((start + later, TimeoutAction::Look));
        assert_eq!(state.next_timeout(&limits), due(second));
        assert!(state.wake_at(RequestTimeout::Upstream, Some(start)));
        assert_eq!(state.next_timeout(&limits), due(Duration::ZERO));
        assert!(state.wake_at(RequestTimeout::Upstream, None));
        assert_eq!(state.next_timeout(&limits), due(second));
        state.clear_timeouts();
        assert_eq!(state.next_timeout(&limits), None);
        let stream = ConnectionState::stream_of(&Rc::new(state));
        assert!(!stream.wake_at(RequestTimeout::Answer, Some(start)));
    }

    #[test]
    fn a_draining_connection_ends_when_it_rests() {
        let (start, quiet) = (Instant::now(), Duration::from_secs(1));
        let state = ConnectionState::new(start);
        assert_eq!(state.drained_at(), None);
        state.drain(quiet);
        assert_eq!((state.leaving.get(), state.drained_at()), (true, Some(start + quiet)));
        state.input_received();
        assert_eq!(state.drained_at(), None);
        state.start_request();
        assert_eq!(state.drained_at(), None);
        state.finish_response();
        assert_eq!(state.drained_at(), Some(start + quiet));
        state.upgraded();
        assert!(state.stopping.get());
    }

    #[test]
    fn a_client_that_takes_nothing_has_a_time_of_its_own() {
        let limits = Limits::default();
        let start = Instant::now();
        let state = ConnectionState::new(start);
        state.start_request();
        state.output_progress(true);
        assert_eq!(
            state.next_timeout(&limits),
            Some((start + limits.write_idle, TimeoutAction::Close))
        );
        state.output_progress(false);
        assert_eq!(state.next_timeout(&limits), None);
    }
}
