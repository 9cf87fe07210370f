//! A bounded FIFO pool of connection slots.

use crate::resources::counters::{Count, Counters, Level};
use crate::{Error, Kind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of slots and the limits of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLimits {
    /// The slots, at least 1.
    pub slots: usize,
    /// How many may wait for one; more are refused at once.
    pub waiting: usize,
    /// How long one waits at most; the deadline of the caller counts when it is earlier.
    pub wait: Duration,
}

/// A FIFO pool of connection slots. A caller that gives up leaves the queue, and none overtakes
/// another. Threads may share it.
#[derive(Debug)]
pub struct Slots {
    limits: SlotLimits,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    counters: Arc<Counters>,
}

/// A slot that is in use until it is dropped.
#[derive(Debug)]
pub struct Slot {
    _permit: OwnedSemaphorePermit,
    counters: Arc<Counters>,
}

/// Why there was no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSlot {
    /// The queue is full, with its length.
    Crowded(usize),
    /// No slot, of this many, became free within this time.
    Late(usize, Duration),
    /// No slot, of this many, became free before the caller's deadline.
    Deadline(usize),
}

impl Slots {
    /// Creates free slots that report to the counters.
    pub fn new(limits: SlotLimits, counters: Arc<Counters>) -> Arc<Self> {
        let slots = limits.slots.clamp(1, Semaphore::MAX_PERMITS);
        counters.rise(Level::Slots, slots as u64);
        Arc::new(Slots {
            limits: SlotLimits { slots, ..limits },
            permits: Arc::new(Semaphore::new(slots)),
            waiting: AtomicUsize::new(0),
            counters,
        })
    }

    /// A slot, as soon as it is our turn. Dropping the future leaves the line.
    ///
    /// # Errors
    /// Too many wait, or it took too long.
    pub async fn take(&self, deadline: Option<Instant>) -> Result<Slot, NoSlot> {
        match self.permits.clone().try_acquire_owned() {
            Ok(permit) => Ok(self.slot(permit)),
            // Boxed, so that the future of the usual case is small.
            Err(_) => Box::pin(self.wait(deadline)).await,
        }
    }

    /// Whether all slots are free and the queue is empty.
    pub fn is_idle(&self) -> bool {
        self.permits.available_permits() == self.limits.slots && self.waiting.load(Relaxed) == 0
    }

    /// Whether all slots are in use now.
    pub fn is_full(&self) -> bool {
        self.permits.available_permits() == 0
    }

    async fn wait(&self, deadline: Option<Instant>) -> Result<Slot, NoSlot> {
        let waiting = SlotRequest(self);
        let before = self.waiting.fetch_add(1, Relaxed);
        self.counters.rise(Level::Waiting, 1);
        if before >= self.limits.waiting {
            self.counters.add(Count::Refused, 1);
            return Err(NoSlot::Crowded(before));
        }
        let start = Instant::now();
        let end = start.checked_add(self.limits.wait);
        let until = [end, deadline].into_iter().flatten().min();
        let asked = self.permits.clone().acquire_owned();
        let got = match until {
            Some(until) => tokio::time::timeout_at(until.into(), asked).await.ok(),
            None => Some(asked.await),
        };
        drop(waiting);
        self.counters.waits.record(start.elapsed());
        // The semaphore is never closed.
        if let Some(Ok(permit)) = got {
            return Ok(self.slot(permit));
        }
        self.counters.add(Count::Late, 1);
        Err(match until == deadline && until != end {
            true => NoSlot::Deadline(self.limits.slots),
            false => NoSlot::Late(self.limits.slots, self.limits.wait),
        })
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        self.counters.rise(Level::Used, 1);
        Slot { _permit: permit, counters: self.counters.clone() }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.counters.fall(Level::Slots, self.limits.slots as u64);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.counters.fall(Level::Used, 1);
    }
}

/// Counts one who waits, also when they give up.
struct SlotRequest<'a>(&'a Slots);

impl Drop for SlotRequest<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
        self.0.counters.fall(Level::Waiting, 1);
    }
}

impl NoSlot {
    /// The kind of error that it is. All are temporary.
    pub fn kind(self) -> Kind {
        match self {
            NoSlot::Crowded(_) | NoSlot::Late(..) => Kind::Unavailable,
            NoSlot::Deadline(_) => Kind::Timeout,
        }
    }

    /// One sentence; `what` there are too few of, such as `connections to PostgreSQL at db`.
    pub fn message(self, what: &str) -> String {
        match self {
            NoSlot::Crowded(waiting) => {
                format!("all {what} are in use, and {waiting} wait for one already")
            }
            NoSlot::Late(slots, time) => {
                let time = time.as_secs_f64();
                format!(
                    "all {slots} {what} are in use, and none was free within {time} s; allow more \
                     of them, or use them for a shorter time"
                )
            }
            NoSlot::Deadline(slots) => {
                format!("all {slots} {what} are in use, and none was free before the deadline")
            }
        }
    }

    /// As an error of a store.
    pub fn error(self, what: &str) -> Error {
        Error::new(self.kind(), self.message(what))
    }
}
