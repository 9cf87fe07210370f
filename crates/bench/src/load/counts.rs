//! What is counted.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The longest time that is told apart, in nanoseconds: a day and a bit.
const LONGEST: u64 = 100_000 * 1_000_000_000;
/// Decimal digits of a time that are kept.
const DIGITS: u8 = 3;

/// Why a request has no good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestFailure {
    /// Nothing takes connections at the address.
    Refused,
    /// No connection within the time limit.
    ConnectTimeout,
    /// No connection for another reason: no route, or this machine's own limits (ports, files).
    Connect,
    /// The connection was reset before the answer was complete.
    Reset,
    /// The connection was closed before anything of the answer came.
    Closed,
    /// The connection was closed in the middle of the answer.
    Short,
    /// No complete answer within the time limit.
    Timeout,
    /// At a rate: not sent within the time limit, because all connections were busy.
    Unsent,
    /// What came is no answer of HTTP/1.1.
    Malformed,
    /// The status is not the expected one.
    Status,
    /// The length is not the expected one.
    Length,
    /// The body is not the expected one.
    Body,
}

impl RequestFailure {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [RequestFailure; 12] = [
        RequestFailure::Refused,
        RequestFailure::ConnectTimeout,
        RequestFailure::Connect,
        RequestFailure::Reset,
        RequestFailure::Closed,
        RequestFailure::Short,
        RequestFailure::Timeout,
        RequestFailure::Unsent,
        RequestFailure::Malformed,
        RequestFailure::Status,
        RequestFailure::Length,
        RequestFailure::Body,
    ];

    /// The name of the kind, as it is shown.
    pub fn name(self) -> &'static str {
        match self {
            RequestFailure::Refused => "connection refused",
            RequestFailure::ConnectTimeout => "connect timeout",
            RequestFailure::Connect => "no connection",
            RequestFailure::Reset => "connection reset",
            RequestFailure::Closed => "closed before the answer",
            RequestFailure::Short => "answer cut short",
            RequestFailure::Timeout => "timeout",
            RequestFailure::Unsent => "not sent in time",
            RequestFailure::Malformed => "not HTTP/1.1",
            RequestFailure::Status => "wrong status",
            RequestFailure::Length => "wrong length",
            RequestFailure::Body => "wrong body",
        }
    }
}

/// What one thread, or all of them, counted.
#[derive(Debug, Clone)]
pub(crate) struct LoadCounts {
    /// Good answers that came within the time that is measured.
    pub(crate) replies: u64,
    /// Requests of the measured time, whatever became of them.
    pub(crate) offered: u64,
    /// Failures of the measured time, in the order of [`RequestFailure::ALL`].
    pub(crate) failures: [u64; RequestFailure::ALL.len()],
    /// Answers by their status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Bytes that came, heads and all.
    pub(crate) received: u64,
    /// Connections that were made.
    pub(crate) connected: u64,
    /// Nanoseconds of good answers.
    pub(crate) latency: Histogram<u64>,
}

impl LoadCounts {
    pub(crate) fn new() -> Self {
        let latency = Histogram::new_with_bounds(1, LONGEST, DIGITS);
        LoadCounts {
            replies: 0,
            offered: 0,
            failures: [0; RequestFailure::ALL.len()],
            statuses: BTreeMap::new(),
            received: 0,
            connected: 0,
            // The bounds are constants that are in order.
            latency: latency.unwrap_or_else(|_| unreachable!("constant bounds")),
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Adds what another one counted.
    pub(crate) fn add(&mut self, other: &LoadCounts) {
        self.replies += other.replies;
        self.offered += other.offered;
        for (sum, one) in self.failures.iter_mut().zip(other.failures) {
            *sum += one;
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.received += other.received;
        self.connected += other.connected;
        // Both have the same bounds.
        let _ = self.latency.add(&other.latency);
    }
}
