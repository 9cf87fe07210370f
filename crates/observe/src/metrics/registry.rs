//! The registry of metrics for all workers behind an admin port: each worker writes its own
//! numbers, readers add them up.

use crate::metrics::histogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// Status classes, by their first digit.
pub(crate) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The metrics of one route and method in one worker.
#[derive(Debug)]
pub(crate) struct RouteNumbers {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) classes: [AtomicU64; CLASSES.len()],
    pub(crate) duration: Histogram,
    /// Bytes of bodies, received and sent.
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    /// Microseconds on the thread: the sum, and the longest without yielding.
    pub(crate) busy: AtomicU64,
    pub(crate) held: AtomicU64,
}

impl RouteNumbers {
    pub(crate) fn new(method: &'static str, route: &str) -> Self {
        RouteNumbers {
            method,
            route: route.to_string(),
            classes: Default::default(),
            duration: Histogram::default(),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            held: AtomicU64::new(0),
        }
    }
}

/// The metrics of one worker, which alone writes them.
#[derive(Debug, Default)]
pub(crate) struct WorkerNumbers {
    pub(crate) accepted: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) active: AtomicU64,
    /// Requests whose client disconnected before the response.
    pub(crate) gone: AtomicU64,
    /// Incomplete responses.
    pub(crate) broken: AtomicU64,
    pub(crate) lag: Histogram,
    /// Lags beyond the logged bound.
    pub(crate) lags: AtomicU64,
    /// The most recent lag in microseconds, and the longest.
    pub(crate) lag_now: AtomicU64,
    pub(crate) lag_most: AtomicU64,
    pub(crate) calls: Histogram,
    pub(crate) calls_failed: AtomicU64,
    /// Samples of the program's engine.
    pub(crate) fibers_running: AtomicU64,
    pub(crate) fibers_waiting: AtomicU64,
    pub(crate) heap: AtomicU64,
    pub(crate) spans_sent: AtomicU64,
    pub(crate) spans_lost: AtomicU64,
    pub(crate) lines_lost: AtomicU64,
    /// Refused heads by status and reason, one of a few dozen sentences.
    pub(crate) refused: Mutex<BTreeMap<(u16, &'static str), u64>>,
    /// Locked only for a new route.
    pub(crate) routes: Mutex<Vec<Arc<RouteNumbers>>>,
    /// The route that held the loop for longest since the last measurement.
    pub(crate) holder: Mutex<Option<LoopHolder>>,
}

/// The request that held the loop.
#[derive(Clone, Debug)]
pub(crate) struct LoopHolder {
    /// In microseconds.
    pub(crate) held: u64,
    /// `GET /path`
    pub(crate) name: String,
}

/// All workers behind one admin port.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) workers: Mutex<Vec<Arc<WorkerNumbers>>>,
    /// Numbers without a worker.
    pub(crate) spare: Mutex<Vec<Arc<WorkerNumbers>>>,
    /// The admin port is being served.
    pub(crate) is_served: AtomicBool,
    pub(crate) draining: AtomicBool,
    pub(crate) started: Instant,
}

/// The registries of this process by admin address. Unused ones are removed.
static ALL: Mutex<Option<HashMap<Option<SocketAddr>, Weak<Registry>>>> = Mutex::new(None);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// The registry of an admin address, created on first use.
    pub(crate) fn of(admin: Option<SocketAddr>) -> Arc<Registry> {
        let mut all = locked(&ALL);
        let all = all.get_or_insert_default();
        all.retain(|_, registry| registry.strong_count() > 0);
        if let Some(known) = all.get(&admin).and_then(Weak::upgrade) {
            return known;
        }
        let made = Arc::new(Registry {
            workers: Mutex::default(),
            spare: Mutex::default(),
            is_served: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            started: Instant::now(),
        });
        all.insert(admin, Arc::downgrade(&made));
        made
    }

    /// Numbers for one more server. They survive its end, so that totals never fall; the next
    /// server continues with them.
    pub(crate) fn join(&self) -> Arc<WorkerNumbers> {
        if let Some(numbers) = locked(&self.spare).pop() {
            return numbers;
        }
        let numbers = Arc::new(WorkerNumbers::default());
        locked(&self.workers).push(numbers.clone());
        numbers
    }

    /// A server ended.
    pub(crate) fn leave(&self, numbers: &Arc<WorkerNumbers>) {
        locked(&self.spare).push(numbers.clone());
    }
}
