//! The figures of a measurement.

use crate::load::counts::{LoadCounts, RequestFailure};
use crate::load::plan::{Load, Pace};
use serde_json::{Value, json};
use std::time::Duration;

/// The percentiles shown.
pub(crate) const SHOWN: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// The figures of a measurement, the source of text and JSON.
#[derive(Debug, Clone)]
pub struct Figures {
    pub(crate) url: String,
    pub(crate) load: Load,
    /// The measured time.
    pub(crate) elapsed: Duration,
    pub(crate) counts: LoadCounts,
    /// CPU time of the generator, and of the server.
    pub(crate) generator: Duration,
    pub(crate) server: Option<Duration>,
    pub(crate) interrupted: bool,
    pub(crate) gave_up: bool,
}

impl Figures {
    /// Valid responses a second.
    pub fn rate(&self) -> f64 {
        per(self.counts.replies, self.elapsed)
    }

    /// Valid responses within the measured time.
    pub fn replies(&self) -> u64 {
        self.counts.replies
    }

    /// Requests with a result, valid or not. At a rate, those due within the measured time,
    /// whenever the response arrived.
    pub fn requests(&self) -> u64 {
        self.counts.offered
    }

    /// Requests without a valid response.
    pub fn failed(&self) -> u64 {
        self.counts.failed()
    }

    /// Failures of one kind.
    pub fn failures(&self, kind: RequestFailure) -> u64 {
        self.failed_by_kind().find(|(one, _)| *one == kind).map_or(0, |(_, count)| count)
    }

    /// Whether nothing failed, responses arrived, and the run was complete.
    pub fn is_good(&self) -> bool {
        self.failed() == 0 && self.counts.replies > 0 && !self.gave_up
    }

    /// Whether the run was interrupted.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The latency percentile of valid responses, to 0.1 %.
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.counts.latency.value_at_percentile(percent))
    }

    /// The longest latency.
    pub fn slowest(&self) -> Duration {
        Duration::from_nanos(self.counts.latency.max())
    }

    /// Established connections a second, within the measured time.
    pub fn connection_rate(&self) -> f64 {
        per(self.counts.connected, self.elapsed)
    }

    /// The offered rate; `None` in a closed loop.
    pub fn offered_rate(&self) -> Option<f64> {
        match self.load.pace {
            Pace::Closed => None,
            Pace::Rate(rate) => Some(rate),
        }
    }

    /// CPU time of the server for each valid response, in microseconds.
    pub fn server_time(&self) -> Option<f64> {
        let answers = self.counts.replies;
        self.server.filter(|_| answers > 0).map(|time| time.as_secs_f64() * 1e6 / answers as f64)
    }

    /// The same for the generator.
    pub fn generator_time(&self) -> f64 {
        self.generator.as_secs_f64() * 1e6 / self.counts.replies.max(1) as f64
    }

    /// Failures that occurred, by kind.
    pub(crate) fn failed_by_kind(&self) -> impl Iterator<Item = (RequestFailure, u64)> {
        RequestFailure::ALL.into_iter().zip(self.counts.failures).filter(|(_, count)| *count > 0)
    }

    /// The figures as a JSON object: times in milliseconds, CPU times in microseconds for each
    /// request.
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

/// Three decimals are more than any measurement has.
pub(crate) fn rounded(number: f64) -> Value {
    Value::from((number * 1e3).round() / 1e3)
}

fn per(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}
