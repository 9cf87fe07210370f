//! Counters of a run.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The longest recorded duration, in nanoseconds: a day and a bit.
const LONGEST: u64 = 100_000 * 1_000_000_000;
/// Significant digits of a duration.
const DIGITS: u8 = 3;

/// Why a request has no valid response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestFailure {
    /// The connection was refused.
    Refused,
    /// No connection within the timeout.
    ConnectTimeout,
    /// No connection for another reason: no route, or this machine's limits (ports, files).
    Connect,
    /// The connection was reset before the response was complete.
    Reset,
    /// The connection was closed before the response started.
    Closed,
    /// The connection was closed within the response.
    Short,
    /// No complete response within the timeout.
    Timeout,
    /// At a rate: not sent within the timeout, because all connections were busy.
    Unsent,
    /// The input is no HTTP/1.1 response.
    Malformed,
    /// Unexpected status.
    Status,
    /// Unexpected length.
    Length,
    /// Unexpected body.
    Body,
}

impl RequestFailure {
    /// All kinds, in display order.
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

    /// The display name.
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

/// The counters of one thread, or of all.
#[derive(Debug, Clone)]
pub(crate) struct LoadCounts {
    /// Valid responses within the measured time.
    pub(crate) replies: u64,
    /// Requests of the measured time, whatever their result.
    pub(crate) offered: u64,
    /// Failures of the measured time, in the order of [`RequestFailure::ALL`].
    pub(crate) failures: [u64; RequestFailure::ALL.len()],
    /// Responses by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Received bytes, with heads.
    pub(crate) received: u64,
    /// Established connections.
    pub(crate) connected: u64,
    /// Latency of valid responses in nanoseconds.
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
            // The bounds are valid constants.
            latency: latency.unwrap_or_else(|_| unreachable!("constant bounds")),
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Adds other counters.
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
