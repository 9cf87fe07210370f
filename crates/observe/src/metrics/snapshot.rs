//! A snapshot of the metrics of all workers, summed up; also as JSON for the dashboard.

use crate::metrics::backends::{self, BackendCounters};
use crate::metrics::histogram::{BOUNDS, HistogramTotals};
use crate::metrics::process::Process;
use crate::metrics::registry::{CLASSES, Registry, WorkerNumbers, locked};
use runnel_store::{BackupLag, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One route in all workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteTotals {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) classes: [u64; CLASSES.len()],
    pub(crate) duration: HistogramTotals,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) busy: u64,
    pub(crate) held: u64,
}

/// The snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricsSnapshot {
    pub(crate) workers: u64,
    pub(crate) uptime: f64,
    pub(crate) is_draining: bool,
    pub(crate) accepted: u64,
    pub(crate) open: u64,
    pub(crate) active: u64,
    pub(crate) gone: u64,
    pub(crate) broken: u64,
    /// Refused heads by status and reason.
    pub(crate) refused: BTreeMap<(u16, &'static str), u64>,
    pub(crate) lag: HistogramTotals,
    pub(crate) lags: u64,
    /// Of the slowest worker, in microseconds.
    pub(crate) lag_now: u64,
    pub(crate) lag_most: u64,
    pub(crate) calls: HistogramTotals,
    pub(crate) calls_failed: u64,
    pub(crate) fibers_running: u64,
    pub(crate) fibers_waiting: u64,
    pub(crate) heap: u64,
    pub(crate) spans_sent: u64,
    pub(crate) spans_lost: u64,
    pub(crate) lines_lost: u64,
    pub(crate) routes: Vec<RouteTotals>,
    pub(crate) backends: Vec<BackendCounters>,
    /// The lag of each continuous backup of this process: its database, its target, seconds.
    pub(crate) backups: Vec<(String, String, f64)>,
    pub(crate) process: Option<Process>,
}

impl MetricsSnapshot {
    pub(crate) fn of(registry: &Registry) -> Self {
        let workers = locked(&registry.workers).clone();
        let sum = |number: fn(&WorkerNumbers) -> &AtomicU64| -> u64 {
            workers.iter().map(|worker| number(worker).load(Relaxed)).sum()
        };
        let most = |number: fn(&WorkerNumbers) -> &AtomicU64| -> u64 {
            workers.iter().map(|worker| number(worker).load(Relaxed)).max().unwrap_or(0)
        };
        let mut snapshot = MetricsSnapshot {
            workers: workers.len().saturating_sub(locked(&registry.spare).len()) as u64,
            uptime: registry.started.elapsed().as_secs_f64(),
            is_draining: registry.draining.load(Relaxed),
            accepted: sum(|worker| &worker.accepted),
            open: sum(|worker| &worker.open),
            active: sum(|worker| &worker.active),
            gone: sum(|worker| &worker.gone),
            broken: sum(|worker| &worker.broken),
            lags: sum(|worker| &worker.lags),
            lag_now: most(|worker| &worker.lag_now),
            lag_most: most(|worker| &worker.lag_most),
            calls_failed: sum(|worker| &worker.calls_failed),
            fibers_running: sum(|worker| &worker.fibers_running),
            fibers_waiting: sum(|worker| &worker.fibers_waiting),
            heap: sum(|worker| &worker.heap),
            spans_sent: sum(|worker| &worker.spans_sent),
            spans_lost: sum(|worker| &worker.spans_lost),
            lines_lost: sum(|worker| &worker.lines_lost),
            routes: routes(&workers),
            backends: backends::sample(),
            backups: backups(),
            process: Process::sample(),
            ..MetricsSnapshot::default()
        };
        for worker in &workers {
            for (what, count) in locked(&worker.refused).iter() {
                *snapshot.refused.entry(*what).or_default() += count;
            }
            snapshot.lag.add(&worker.lag);
            snapshot.calls.add(&worker.calls);
        }
        snapshot
    }

    /// The data of the dashboard: totals since the start, so that the page chooses the period.
    pub(crate) fn json(&self) -> Value {
        let mut record = Value::record([
            ("workers", Value::from(self.workers)),
            ("uptime", Value::Float(self.uptime)),
            ("draining", Value::Bool(self.is_draining)),
            ("accepted", Value::from(self.accepted)),
            ("open", Value::from(self.open)),
            ("active", Value::from(self.active)),
            ("gone", Value::from(self.gone)),
            ("broken", Value::from(self.broken)),
            ("refused", Value::from(self.refused.values().sum::<u64>())),
            ("lags", Value::from(self.lags)),
            ("lag", Value::from(self.lag_now)),
            ("longestLag", Value::from(self.lag_most)),
            ("calls", Value::from(self.calls.count())),
            ("callsFailed", Value::from(self.calls_failed)),
            ("fibersRunning", Value::from(self.fibers_running)),
            ("fibersWaiting", Value::from(self.fibers_waiting)),
            ("heap", Value::from(self.heap)),
            ("bounds", list(&BOUNDS)),
            ("places", Value::List(self.backends.iter().map(BackendCounters::json).collect())),
            ("routes", Value::List(self.routes.iter().map(RouteTotals::json).collect())),
        ]);
        if let Some(process) = &self.process {
            record.set("cpu", Value::Float(process.cpu));
            record.set("resident", Value::from(process.resident));
            record.set("descriptors", Value::from(process.descriptors));
        }
        record
    }
}

impl RouteTotals {
    fn json(&self) -> Value {
        Value::record([
            ("method", Value::Text(self.method.to_string())),
            ("route", Value::Text(self.route.clone())),
            ("classes", list(&self.classes)),
            ("counts", list(&self.duration.counts)),
            ("time", Value::from(self.duration.sum)),
            ("received", Value::from(self.received)),
            ("sent", Value::from(self.sent)),
            ("busy", Value::from(self.busy)),
            ("held", Value::from(self.held)),
        ])
    }
}

fn backups() -> Vec<(String, String, f64)> {
    let all = BackupLag::all();
    let lag =
        |one: &Arc<BackupLag>| Some((one.database.clone(), one.target.clone(), one.seconds()?));
    all.iter().filter_map(lag).collect()
}

/// The routes of all workers, by name and method.
fn routes(workers: &[Arc<WorkerNumbers>]) -> Vec<RouteTotals> {
    let mut all: BTreeMap<(String, &'static str), RouteTotals> = BTreeMap::new();
    for worker in workers {
        for route in locked(&worker.routes).iter() {
            let totals = all.entry((route.route.clone(), route.method)).or_default();
            totals.method = route.method;
            totals.route.clone_from(&route.route);
            for (total, class) in totals.classes.iter_mut().zip(&route.classes) {
                *total += class.load(Relaxed);
            }
            totals.duration.add(&route.duration);
            totals.received += route.received.load(Relaxed);
            totals.sent += route.sent.load(Relaxed);
            totals.busy += route.busy.load(Relaxed);
            totals.held = totals.held.max(route.held.load(Relaxed));
        }
    }
    all.into_values().collect()
}

fn list(numbers: &[u64]) -> Value {
    Value::List(numbers.iter().copied().map(Value::from).collect())
}
