//! The numbers of all workers of a process that share an admin port: each worker writes its own,
//! whoever asks adds them up.

use crate::metrics::histogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// The classes of statuses, by their first digit.
pub(crate) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The numbers of one route with one method in one worker.
#[derive(Debug)]
pub(crate) struct RouteNumbers {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) classes: [AtomicU64; CLASSES.len()],
    pub(crate) duration: Histogram,
    /// Bytes of bodies that came and went.
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    /// Microseconds for which the thread worked, and the longest without a pause.
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

/// The numbers of one worker. It alone writes them.
#[derive(Debug, Default)]
pub(crate) struct WorkerNumbers {
    pub(crate) accepted: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) active: AtomicU64,
    /// Requests whose client went away before the answer.
    pub(crate) gone: AtomicU64,
    /// Answers that broke off.
    pub(crate) broken: AtomicU64,
    pub(crate) lag: Histogram,
    /// How often it was long.
    pub(crate) lags: AtomicU64,
    /// The last measured lag, in microseconds, and the longest.
    pub(crate) lag_now: AtomicU64,
    pub(crate) lag_most: AtomicU64,
    pub(crate) calls: Histogram,
    pub(crate) calls_failed: AtomicU64,
    /// What the program's engine says of itself.
    pub(crate) fibers_running: AtomicU64,
    pub(crate) fibers_waiting: AtomicU64,
    pub(crate) heap: AtomicU64,
    pub(crate) spans_sent: AtomicU64,
    pub(crate) spans_lost: AtomicU64,
    pub(crate) lines_lost: AtomicU64,
    /// Heads that were refused, by status and reason: what is wrong is one of a few dozen sentences.
    pub(crate) refused: Mutex<BTreeMap<(u16, &'static str), u64>>,
    /// A new route takes the lock; a known one does not.
    pub(crate) routes: Mutex<Vec<Arc<RouteNumbers>>>,
    /// The route that held the loop the longest since it was last looked for.
    pub(crate) holder: Mutex<Option<LoopHolder>>,
}

/// Who held the loop.
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
    /// Those of them that nobody writes any more.
    pub(crate) spare: Mutex<Vec<Arc<WorkerNumbers>>>,
    /// Somebody serves the admin port.
    pub(crate) is_served: AtomicBool,
    pub(crate) draining: AtomicBool,
    pub(crate) started: Instant,
}

/// The registries of this process, by the admin address that was asked for. One without workers is
/// forgotten.
static ALL: Mutex<Option<HashMap<Option<SocketAddr>, Weak<Registry>>>> = Mutex::new(None);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// The one of an admin address, made when it is first asked for.
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

    /// Numbers for one more server. They stay when it ends, so that totals never fall; the next one
    /// goes on with them.
    pub(crate) fn join(&self) -> Arc<WorkerNumbers> {
        if let Some(numbers) = locked(&self.spare).pop() {
            return numbers;
        }
        let numbers = Arc::new(WorkerNumbers::default());
        locked(&self.workers).push(numbers.clone());
        numbers
    }

    /// A server has ended.
    pub(crate) fn leave(&self, numbers: &Arc<WorkerNumbers>) {
        locked(&self.spare).push(numbers.clone());
    }
}
