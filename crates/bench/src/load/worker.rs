//! One thread of the generator and its connections.

use crate::client::connection::{LoadConnection, LoadState, ReceiveOutcome};
use crate::client::tls::TlsClient;
use crate::load::counts::{LoadCounts, RequestFailure};
use crate::load::plan::{Load, LoadSpan, Pace};
use crate::load::schedule::{Schedule, nanoseconds};
use crate::load::timer::Timer;
use mio::event::Event;
use mio::{Events, Poll, Token};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The size of reads, in bytes.
const BUFFER: usize = 128 * 1024;
/// Events of one poll.
const EVENTS: usize = 1024;
/// Interval of timeout checks, in nanoseconds.
const TICK: u64 = 10_000_000;
/// New connections at each tick: more would overflow the accept queue of a server.
const OPENED: usize = 128;
/// In a closed loop, the rest of a lost connection, in nanoseconds.
const REST: u64 = 20_000_000;
/// How long a run with a number of requests continues without a valid response; at least twice the
/// request timeout.
const PATIENCE: Duration = Duration::from_secs(10);
/// The token of the timer; connections have smaller ones.
const TIMER: Token = Token(usize::MAX - 1);

/// The shared state of a run.
#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) address: SocketAddr,
    /// For TLS.
    pub(crate) tls: Option<TlsClient>,
    pub(crate) load: Load,
    /// The request, and its variant that closes the connection.
    pub(crate) request: Arc<[u8]>,
    pub(crate) last_request: Arc<[u8]>,
    pub(crate) bodiless: bool,
    pub(crate) status: Option<u16>,
    pub(crate) length: Option<u64>,
    pub(crate) body: Option<Vec<u8>>,
    /// The start of the run.
    pub(crate) epoch: Instant,
    /// Ends the run early.
    pub(crate) stop: Arc<AtomicBool>,
    /// Valid responses and failures so far.
    pub(crate) replies: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl RunState {
    /// Nanoseconds since the start of the run.
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.epoch.elapsed())
    }
}

/// The result of a thread.
#[derive(Debug)]
pub(crate) struct WorkerResult {
    pub(crate) counts: LoadCounts,
    /// The end of the measured time, in nanoseconds since the start.
    pub(crate) end: u64,
    /// Valid responses stopped arriving.
    pub(crate) gave_up: bool,
}

pub(crate) struct Worker {
    shared: Arc<RunState>,
    poll: Poll,
    timer: Timer,
    connections: Vec<LoadConnection>,
    schedule: Option<Schedule>,
    /// At a rate: idle open connections, least recently used first, and closed ones.
    idle: VecDeque<usize>,
    down: VecDeque<usize>,
    counts: LoadCounts,
    buffer: Box<[u8]>,
    /// Requests to be sent, in a run with a number of them.
    left: Option<u64>,
    /// Active requests.
    busy: usize,
    /// The measured time.
    from: u64,
    until: u64,
    timeout: u64,
    last_good: u64,
    /// Counters already added to the shared ones.
    told: (u64, u64),
}

impl Worker {
    /// The share of one thread, counted from 0.
    pub(crate) fn new(shared: Arc<RunState>, thread: usize) -> io::Result<Worker> {
        let load = &shared.load;
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let share = |all: u64| {
            let threads = load.threads as u64;
            all / threads + u64::from((thread as u64) < all % threads)
        };
        let count = share(load.connections as u64) as usize;
        let schedule = Schedule::new(load, thread);
        let from = nanoseconds(load.warm_up);
        let (left, until) = match (&schedule, load.span) {
            (Some(schedule), _) => (None, schedule.end()),
            (None, LoadSpan::Requests(all)) => (Some(share(all)), u64::MAX),
            (None, LoadSpan::Time(time)) => (None, from.saturating_add(nanoseconds(time))),
        };
        Ok(Worker {
            connections: (0..count).map(|_| LoadConnection::new(shared.bodiless)).collect(),
            timeout: nanoseconds(load.timeout),
            schedule,
            idle: VecDeque::new(),
            down: VecDeque::new(),
            counts: LoadCounts::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            left,
            busy: 0,
            from,
            until,
            last_good: 0,
            told: (0, 0),
            poll,
            timer,
            shared,
        })
    }

    /// Sends requests until the run ends.
    pub(crate) fn work(mut self) -> io::Result<WorkerResult> {
        if self.schedule.is_some() {
            self.down.extend(0..self.connections.len());
            self.connections.iter_mut().for_each(|connection| connection.state = LoadState::Free);
        }
        let mut events = Events::with_capacity(EVENTS);
        let patience = nanoseconds(PATIENCE.max(self.shared.load.timeout * 2));
        let mut next_tick = 0;
        let gave_up = loop {
            let mut now = self.shared.now();
            if now >= next_tick {
                self.tick(now);
                next_tick = now + TICK;
            }
            self.dispatch(now);
            now = self.shared.now();
            let gave_up = self.left.is_some() && now.saturating_sub(self.last_good) > patience;
            if self.is_done(now) || gave_up || self.shared.stop.load(Ordering::Relaxed) {
                break gave_up;
            }
            let limit = self.sleep_limit(now, next_tick)?;
            match self.poll.poll(&mut events, Some(limit)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                if event.token() != TIMER {
                    self.handle_event(event);
                }
            }
        };
        self.publish_counts();
        let end = self.shared.now().min(self.until);
        Ok(WorkerResult { counts: self.counts, end, gave_up })
    }

    fn is_done(&self, now: u64) -> bool {
        match (&self.schedule, self.left) {
            (Some(schedule), _) => schedule.next().is_none() && self.busy == 0,
            (None, Some(left)) => left == 0 && self.busy == 0,
            (None, None) => now >= self.until,
        }
    }

    /// The poll timeout: at most until the next due time.
    fn sleep_limit(&self, now: u64, next_tick: u64) -> io::Result<Duration> {
        let tick = Duration::from_nanos(next_tick.saturating_sub(now));
        let free = !(self.idle.is_empty() && self.down.is_empty());
        let next = self.schedule.as_ref().and_then(Schedule::next).filter(|_| free);
        let Some(next) = next else { return Ok(tick) };
        let after = Duration::from_nanos(next.saturating_sub(now));
        if after >= tick {
            return Ok(tick);
        }
        Ok(self.timer.wake(after)?.map_or(tick, |limit| limit.min(tick)))
    }

    /// Checks timeouts, starts resting connections, and reports progress.
    fn tick(&mut self, now: u64) {
        let mut opened = 0;
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.due > now {
                continue;
            }
            match connection.state {
                LoadState::Connecting => self.fail(index, RequestFailure::ConnectTimeout, now),
                LoadState::Busy => self.fail(index, RequestFailure::Timeout, now),
                LoadState::Resting if opened < OPENED => {
                    opened += 1;
                    self.next(index, now);
                }
                LoadState::Resting | LoadState::Free => {}
            }
        }
        self.publish_counts();
    }

    fn publish_counts(&mut self) {
        let (replies, failed) = (self.counts.replies, self.counts.failed());
        self.shared.replies.fetch_add(replies - self.told.0, Ordering::Relaxed);
        self.shared.failed.fetch_add(failed - self.told.1, Ordering::Relaxed);
        self.told = (replies, failed);
    }

    /// At a rate: sends due requests while there are free connections.
    fn dispatch(&mut self, now: u64) {
        while let Some(intended) = self.schedule.as_ref().and_then(Schedule::next) {
            if intended > now {
                return;
            }
            let late = now - intended > self.timeout;
            let index = match late {
                true => None,
                false => self.idle.pop_front().or_else(|| self.down.pop_front()),
            };
            if index.is_none() && !late {
                return;
            }
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            let measured = intended >= self.from;
            match index {
                Some(index) => self.assign(index, intended, measured, now),
                None if measured => {
                    self.counts.offered += 1;
                    self.count_failure(RequestFailure::Unsent);
                }
                None => {}
            }
        }
    }

    /// A connection is free: in a closed loop it starts the next request.
    fn next(&mut self, index: usize, now: u64) {
        if self.schedule.is_some() {
            let open = self.connections[index].is_open();
            self.connections[index].state = LoadState::Free;
            if open { &mut self.idle } else { &mut self.down }.push_back(index);
            return;
        }
        let measured = match &mut self.left {
            Some(_) if now < self.from => false,
            Some(0) => {
                self.connections[index].state = LoadState::Free;
                return;
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        };
        self.assign(index, now, measured, now);
    }

    /// Assigns a request to a connection, which connects if it is closed.
    fn assign(&mut self, index: usize, begun: u64, measured: bool, now: u64) {
        self.busy += 1;
        let connection = &mut self.connections[index];
        connection.begun = begun;
        connection.due = begun.saturating_add(self.timeout);
        connection.measured = measured;
        let outcome = if connection.is_open() {
            self.send(index)
        } else {
            let tls = self.shared.tls.as_ref();
            connection.open(self.shared.address, tls, self.poll.registry(), Token(index))
        };
        if let Err(failure) = outcome {
            self.fail(index, failure, now);
        }
    }

    /// Starts the request of a connection.
    fn send(&mut self, index: usize) -> Result<(), RequestFailure> {
        let connection = &mut self.connections[index];
        connection.begin(self.shared.load.per_connection);
        self.push(index)
    }

    /// Writes as much of a request as the socket accepts.
    fn push(&mut self, index: usize) -> Result<(), RequestFailure> {
        let request = self.request(index);
        self.connections[index].send(&request)
    }

    fn is_unsent(&self, index: usize) -> bool {
        self.shared.tls.is_some() && self.connections[index].is_unsent(&self.request(index))
    }

    fn request(&self, index: usize) -> Arc<[u8]> {
        let shared = &self.shared;
        match self.connections[index].last {
            true => shared.last_request.clone(),
            false => shared.request.clone(),
        }
    }

    /// Handles an event of a connection.
    fn handle_event(&mut self, event: &Event) {
        let index = event.token().0;
        let outcome = match self.connections.get(index).map(|connection| connection.state) {
            Some(LoadState::Connecting) => self.connecting(index),
            Some(LoadState::Busy) => self.answering(index, event),
            Some(LoadState::Free) => {
                let connection = &mut self.connections[index];
                if connection.is_open() && !connection.is_quiet() {
                    connection.close();
                }
                Ok(())
            }
            Some(LoadState::Resting) | None => Ok(()),
        };
        if let Err(failure) = outcome {
            let now = self.shared.now();
            self.fail(index, failure, now);
        }
    }

    fn connecting(&mut self, index: usize) -> Result<(), RequestFailure> {
        if self.connections[index].is_connected()? {
            if self.is_measured(self.shared.now()) {
                self.counts.connected += 1;
            }
            self.send(index)?;
        }
        Ok(())
    }

    fn answering(&mut self, index: usize, event: &Event) -> Result<(), RequestFailure> {
        if event.is_writable() || self.is_unsent(index) {
            self.push(index)?;
        }
        let closed = event.is_read_closed();
        loop {
            let expected = self.shared.body.as_deref();
            let connection = &mut self.connections[index];
            let mut received = 0;
            let heard = connection.receive(&mut self.buffer, expected, closed, &mut received);
            let now = self.shared.now();
            if self.is_measured(now) {
                self.counts.received += received;
            }
            let ReceiveOutcome::Answer { more } = heard? else {
                // This may have completed the handshake.
                return if self.is_unsent(index) { self.push(index) } else { Ok(()) };
            };
            self.complete(index, closed, now);
            // This event can only announce the next response on the same connection.
            let same = !closed && self.connections[index].state == LoadState::Busy;
            if !(same && more) {
                return Ok(());
            }
        }
    }

    fn is_measured(&self, now: u64) -> bool {
        (self.from..self.until).contains(&now)
    }

    /// Whether the result of a request counts.
    fn counts(&self, index: usize, now: u64) -> bool {
        let counted = self.schedule.is_some() || self.left.is_some();
        self.connections[index].measured && (counted || self.is_measured(now))
    }

    /// A response is complete: validates it, and continues, on another connection if the server
    /// closed this one.
    fn complete(&mut self, index: usize, closed: bool, now: u64) {
        self.busy -= 1;
        let counts = self.counts(index, now);
        let connection = &mut self.connections[index];
        let status = connection.reader.status();
        let length = connection.reader.length();
        let good = match self.shared.status {
            Some(wanted) => wanted == status,
            None => (200..300).contains(&status),
        };
        let failure = if !good {
            Some(RequestFailure::Status)
        } else if self.shared.length.is_some_and(|wanted| wanted != length) {
            Some(RequestFailure::Length)
        } else if !connection.matches(self.shared.body.as_deref()) {
            Some(RequestFailure::Body)
        } else {
            None
        };
        let time = now.saturating_sub(connection.begun);
        if closed || !connection.keeps() {
            connection.close();
        }
        if self.is_measured(now) && (counts || self.schedule.is_some()) {
            *self.counts.statuses.entry(status).or_default() += 1;
            self.counts.replies += u64::from(failure.is_none());
        }
        self.last_good = if failure.is_none() { now } else { self.last_good };
        if counts {
            self.counts.offered += 1;
            match failure {
                Some(failure) => self.count_failure(failure),
                None => self.counts.latency.saturating_record(time.max(1)),
            }
        }
        self.next(index, now);
    }

    /// A request failed, and its connection is lost.
    fn fail(&mut self, index: usize, failure: RequestFailure, now: u64) {
        self.busy -= 1;
        if self.counts(index, now) {
            self.counts.offered += 1;
            self.count_failure(failure);
        }
        let connection = &mut self.connections[index];
        connection.close();
        if self.shared.load.pace == Pace::Closed {
            connection.state = LoadState::Resting;
            connection.due = now + REST;
        } else {
            self.next(index, now);
        }
    }

    fn count_failure(&mut self, failure: RequestFailure) {
        let place = RequestFailure::ALL.iter().position(|one| *one == failure);
        if let Some(count) = place.and_then(|place| self.counts.failures.get_mut(place)) {
            *count += 1;
        }
    }
}
