//! Rate and concurrency limits.

use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{Answer, Context, Error, Kind, Reference, Result, Setting, SettingTable, Store, Verb};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

/// The minimum rate: one call in about eleven days. A lower rate, or NaN, becomes this one.
const SLOWEST: f64 = 1e-6;

/// The limits of a [`Limit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitOptions {
    /// Calls a second, in the long run; any number when absent.
    pub rate: Option<f64>,
    /// Calls that may come at once after a quiet time, at least 1.
    pub burst: u32,
    /// The maximum number of concurrent calls, at least 1; unlimited when absent.
    pub max_concurrent: Option<usize>,
    /// Calls that may wait for their turn. Those beyond fail at once.
    pub max_waiting: usize,
}

impl Default for LimitOptions {
    /// No limit to the rate, 16 at once, 1024 that wait.
    fn default() -> Self {
        LimitOptions { rate: None, burst: 1, max_concurrent: Some(16), max_waiting: 1024 }
    }
}

const SETTINGS: SettingTable<LimitOptions> = SettingTable(&[
    Setting::new(
        "rate",
        "the rate limit in calls a second (a token bucket)",
        |options: &mut LimitOptions| &mut options.rate,
    )
    .range(f64::MIN_POSITIVE, 1e9)
    .was(&["perSecond"]),
    Setting::new("burst", "calls at once after a quiet time", |options: &mut LimitOptions| {
        &mut options.burst
    }),
    Setting::new("maxConcurrent", "calls at the same time", |options: &mut LimitOptions| {
        &mut options.max_concurrent
    })
    .was(&["concurrent"]),
    Setting::new("maxWaiting", "calls that wait for their turn", |options: &mut LimitOptions| {
        &mut options.max_waiting
    })
    .was(&["waiting"]),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Limit",
    aliases: &["LimitStore"],
    help: "limits the rate and the number of concurrent calls",
    settings: &SETTINGS,
    make: |parts| {
        let mut options = parts.read("a Limit", &SETTINGS)?;
        // A rate alone limits no more than the rate.
        if options.rate.is_some() && !parts.has("maxConcurrent") {
            options.max_concurrent = None;
        }
        Ok(Limit::new(parts.source()?, options).into())
    },
};

/// Limits the rate (a token bucket) and the concurrency of calls to a source. Excess calls wait in
/// FIFO order until their deadline. A full queue is refused at once with [`Kind::Unavailable`].
///
/// A cancelled waiting call uses no capacity. A call holds its permit until it is answered: a
/// returned stream or watch no longer counts.
pub struct Limit {
    source: Rc<dyn Store>,
    gate: Rc<Gate>,
}

struct Gate {
    options: LimitOptions,
    bucket: Option<Bucket>,
    /// Only the first waiting call, which holds this permit, uses the bucket and the slots.
    turn: Semaphore,
    slots: Option<Arc<Semaphore>>,
    waiting: Cell<usize>,
}

/// A token bucket, refilled over time.
struct Bucket {
    per_second: f64,
    full: f64,
    tokens: Cell<f64>,
    counted: Cell<Instant>,
}

/// RAII guard of a slot.
type CallPermit = Option<OwnedSemaphorePermit>;

impl Limit {
    /// Limits the calls to `source` by the options.
    pub fn new(source: Rc<dyn Store>, options: LimitOptions) -> Self {
        let full = f64::from(options.burst.max(1));
        let bucket = options.rate.map(|rate| Bucket {
            per_second: rate.max(SLOWEST),
            full,
            tokens: Cell::new(full),
            counted: Cell::new(Instant::now()),
        });
        let slots = |slots: usize| Arc::new(Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS)));
        let slots = options.max_concurrent.map(slots);
        let (turn, waiting) = (Semaphore::new(1), Cell::new(0));
        Limit { source, gate: Rc::new(Gate { options, bucket, turn, slots, waiting }) }
    }
}

impl Bucket {
    /// Takes a token, or says how long there will be none.
    fn take(&self) -> std::result::Result<(), Duration> {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.counted.get()).as_secs_f64();
        let tokens = (self.tokens.get() + passed * self.per_second).min(self.full);
        self.counted.set(now);
        if tokens >= 1.0 {
            self.tokens.set(tokens - 1.0);
            return Ok(());
        }
        self.tokens.set(tokens);
        // A millisecond more, because timers count in milliseconds.
        let pause = Duration::from_secs_f64((1.0 - tokens) / self.per_second);
        Err(pause + Duration::from_millis(1))
    }
}

impl Gate {
    /// Takes a permit at once if the queue is empty and capacity is left.
    fn try_pass(&self) -> Option<CallPermit> {
        let _turn = self.turn.try_acquire().ok()?;
        let slot = match &self.slots {
            Some(slots) => Some(slots.clone().try_acquire_owned().ok()?),
            None => None,
        };
        self.bucket.as_ref().is_none_or(|bucket| bucket.take().is_ok()).then_some(slot)
    }

    /// Waits in FIFO order, which semaphores provide.
    async fn pass(&self) -> Option<CallPermit> {
        let _turn = self.turn.acquire().await.ok()?;
        let slot = match &self.slots {
            Some(slots) => Some(slots.clone().acquire_owned().await.ok()?),
            None => None,
        };
        // Taken last, because a cancelled call cannot return a token.
        while let Some(Err(pause)) = self.bucket.as_ref().map(Bucket::take) {
            sleep(pause).await;
        }
        Some(slot)
    }

    /// One more that waits, until the guard is dropped.
    fn queue(self: &Rc<Self>) -> Result<WaitingCall> {
        let waiting = self.waiting.get();
        if waiting >= self.options.max_waiting {
            let message = format!("{waiting} calls wait for their turn already; try again later");
            return Err(Error::new(Kind::Unavailable, message));
        }
        self.waiting.set(waiting + 1);
        Ok(WaitingCall(self.clone()))
    }
}

struct WaitingCall(Rc<Gate>);

impl WaitingCall {
    async fn pass(self, deadline: Option<std::time::Instant>) -> Result<CallPermit> {
        let passed = match deadline {
            Some(deadline) => timeout_at(Instant::from_std(deadline), self.0.pass()).await,
            None => Ok(self.0.pass().await),
        };
        match passed {
            Ok(Some(slot)) => Ok(slot),
            Ok(None) => Err(Error::new(Kind::Failed, "the limit was closed")),
            Err(_) => {
                let message = "its turn did not come within the caller's deadline";
                Err(Error::new(Kind::Timeout, message))
            }
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

impl Layer for Limit {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Limit { source: inner, gate: self.gate.clone() }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        let rate = self.gate.options.rate.map(|rate| format!(" {rate}/s"));
        let slots = self.gate.options.max_concurrent.map(|slots| format!(" {slots} at once"));
        format!("limit{}{}", rate.unwrap_or_default(), slots.unwrap_or_default())
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if let Some(slot) = self.gate.try_pass() {
            return match act(&*self.source, reference, context) {
                Answer::Later(answer) => Answer::later(async move {
                    let _slot = slot;
                    answer.await
                }),
                ready => ready,
            };
        }
        let waiting = match self.gate.queue() {
            Ok(waiting) => waiting,
            Err(error) => return error.on(verb, reference).into(),
        };
        let (source, on, context) = (self.source.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            let slot = waiting.pass(context.deadline).await.map_err(|error| error.on(verb, &on))?;
            let answer = act(&*source, &on, &context).await;
            drop(slot);
            answer
        })
    }
}
