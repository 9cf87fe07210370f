//! What a measurement found.

use crate::load::counts::{LoadCounts, RequestFailure};
use crate::load::plan::{Load, Pace};
use serde_json::{Value, json};
use std::time::Duration;

/// The percentiles that are shown.
pub(crate) const SHOWN: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// What a measurement found. Text and JSON are made of it.
#[derive(Debug, Clone)]
pub struct Figures {
    pub(crate) url: String,
    pub(crate) load: Load,
    /// How long was measured.
    pub(crate) elapsed: Duration,
    pub(crate) counts: LoadCounts,
    /// Time on processors: ours, and the server's.
    pub(crate) generator: Duration,
    pub(crate) server: Option<Duration>,
    pub(crate) interrupted: bool,
    pub(crate) gave_up: bool,
}

impl Figures {
    /// Good answers a second.
    pub fn rate(&self) -> f64 {
        per(self.counts.replies, self.elapsed)
    }

    /// Good answers within the time that was measured.
    pub fn replies(&self) -> u64 {
        self.counts.replies
    }

    /// Requests that had an outcome, good or not. At a rate, those that were to be sent within the
    /// time that was measured, whenever their answer came.
    pub fn requests(&self) -> u64 {
        self.counts.offered
    }

    /// Requests without a good answer.
    pub fn failed(&self) -> u64 {
        self.counts.failed()
    }

    /// Those of one kind.
    pub fn failures(&self, kind: RequestFailure) -> u64 {
        self.failed_by_kind().find(|(one, _)| *one == kind).map_or(0, |(_, count)| count)
    }

    /// Nothing failed, something was answered, and it ran to its end.
    pub fn is_good(&self) -> bool {
        self.failed() == 0 && self.counts.replies > 0 && !self.gave_up
    }

    /// It was stopped before its time.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The response time that this percentage of good answers did not exceed, to 0.1 %.
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.counts.latency.value_at_percentile(percent))
    }

    /// The longest response time.
    pub fn slowest(&self) -> Duration {
        Duration::from_nanos(self.counts.latency.max())
    }

    /// Connections made within the time that was measured, a second.
    pub fn connection_rate(&self) -> f64 {
        per(self.counts.connected, self.elapsed)
    }

    /// The rate that was asked for; `None` in a closed loop.
    pub fn offered_rate(&self) -> Option<f64> {
        match self.load.pace {
            Pace::Closed => None,
            Pace::Rate(rate) => Some(rate),
        }
    }

    /// Processor time of the server for each good answer, in microseconds.
    pub fn server_time(&self) -> Option<f64> {
        let answers = self.counts.replies;
        self.server.filter(|_| answers > 0).map(|time| time.as_secs_f64() * 1e6 / answers as f64)
    }

    /// Our own, in microseconds.
    pub fn generator_time(&self) -> f64 {
        self.generator.as_secs_f64() * 1e6 / self.counts.replies.max(1) as f64
    }

    /// Kinds of failures that occurred.
    pub(crate) fn failed_by_kind(&self) -> impl Iterator<Item = (RequestFailure, u64)> {
        RequestFailure::ALL.into_iter().zip(self.counts.failures).filter(|(_, count)| *count > 0)
    }

    /// The same as an object of JSON: times in milliseconds, processor times in microseconds for
    /// each request.
    pub fn json(&self) -> Value {
        let mut latency = serde_json::Map::new();
        for (name, percent) in SHOWN {
            latency.insert(name.to_owned(), milliseconds(self.percentile(percent)));
        }
        latency.insert("max".to_owned(), milliseconds(self.slowest()));
        latency.insert("mean".to_owned(), rounded(self.counts.latency.mean() / 1e6));
        let failures: serde_json::Map<String, Value> = self
            .failed_by_kind()
            .map(|(kind, count)| (kind.name().to_owned(), Value::from(count)))
            .collect();
        let statuses: serde_json::Map<String, Value> = self
            .counts
            .statuses
            .iter()
            .map(|(status, count)| (status.to_string(), Value::from(*count)))
            .collect();
        json!({
            "url": self.url,
            "offered_per_second": self.offered_rate(),
            "connections": self.load.connections,
            "threads": self.load.threads,
            "seconds": rounded(self.elapsed.as_secs_f64()),
            "requests": self.requests(),
            "replies": self.replies(),
            "replies_per_second": rounded(self.rate()),
            "failed": self.failed(),
            "failures": failures,
            "statuses": statuses,
            "bytes_received": self.counts.received,
            "connections_per_second": rounded(self.connection_rate()),
            "latency_ms": latency,
            "generator_us_per_request": rounded(self.generator_time()),
            "server_us_per_request": self.server_time().map(rounded),
            "interrupted": self.interrupted,
        })
    }
}

fn milliseconds(time: Duration) -> Value {
    rounded(time.as_secs_f64() * 1e3)
}

/// Three decimals: nobody measures better.
pub(crate) fn rounded(number: f64) -> Value {
    Value::from((number * 1e3).round() / 1e3)
}

fn per(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}
