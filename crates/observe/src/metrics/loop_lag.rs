//! Event loop lag: a timer that measures its own delay, only while requests are active.

use crate::metrics::histogram::{bump, raise};
use crate::metrics::recorder::micros;
use crate::metrics::registry::{WorkerNumbers, locked};
use crate::settings::Sampler;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Interval between two measurements while requests arrive.
const LOOK: Duration = Duration::from_millis(100);
/// Interval while only old requests remain: event streams stay open for hours.
const CALM: Duration = Duration::from_millis(500);
/// The resolution of the event loop's timers.
const RESOLUTION: Duration = Duration::from_millis(1);
/// A lag that is logged.
const LONG: Duration = Duration::from_millis(100);
/// Shortest interval between two such lines.
const QUIET: Duration = Duration::from_secs(1);

/// Wakes the probe.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// A request arrived since the last measurement.
    begun: Cell<bool>,
    looking: Cell<bool>,
    /// When the probe was woken: the delay of its wake-up is a measurement, too.
    woken: Cell<Option<Instant>>,
    wake: Notify,
}

impl Pulse {
    /// A request arrived.
    pub(crate) fn beat(&self) {
        self.begun.set(true);
        if !self.looking.replace(true) {
            self.woken.set(Some(Instant::now()));
            self.wake.notify_one();
        }
    }
}

/// Measures the lag for as long as the event loop runs.
pub(crate) async fn probe(pulse: Rc<Pulse>, numbers: Arc<WorkerNumbers>, sampler: Option<Sampler>) {
    let mut told = None;
    loop {
        pulse.wake.notified().await;
        if let Some(woken) = pulse.woken.take() {
            record(&numbers, woken.elapsed(), &mut told);
        }
        loop {
            let pause = if pulse.begun.replace(false) { LOOK } else { CALM };
            let start = Instant::now();
            tokio::time::sleep(pause).await;
            let lag = start.elapsed().saturating_sub(pause + RESOLUTION);
            record(&numbers, lag, &mut told);
            if let Some(sampler) = &sampler {
                let sample = sampler();
                numbers.fibers_running.store(sample.fibers_running, Relaxed);
                numbers.fibers_waiting.store(sample.fibers_waiting, Relaxed);
                numbers.heap.store(sample.heap, Relaxed);
            }
            if !pulse.begun.get() && numbers.active.load(Relaxed) == 0 {
                break;
            }
        }
        pulse.looking.set(false);
    }
}

fn record(numbers: &WorkerNumbers, lag: Duration, told: &mut Option<Instant>) {
    numbers.lag.record(lag);
    numbers.lag_now.store(micros(lag), Relaxed);
    raise(&numbers.lag_most, micros(lag));
    let holder = locked(&numbers.holder).take();
    if lag < LONG {
        return;
    }
    bump(&numbers.lags, 1);
    if told.is_some_and(|told| told.elapsed() < QUIET) {
        return;
    }
    *told = Some(Instant::now());
    let lag_ms = u64::try_from(lag.as_millis()).unwrap_or(u64::MAX);
    match holder {
        Some(holder) => tracing::warn!(
            lag_ms,
            held_ms = holder.held / 1_000,
            route = holder.name,
            "loop_lag: no other request was answered meanwhile"
        ),
        None => tracing::warn!(
            lag_ms,
            "loop_lag: no request was answered meanwhile, and none held the loop (is the machine busy?)"
        ),
    }
}
