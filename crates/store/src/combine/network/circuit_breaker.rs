//! A circuit breaker: refuses calls to a source that keeps failing.

use crate::combine::answers::is_failure;
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{Answer, Context, Error, Kind, Reference, Result, Setting, SettingTable, Store, Verb};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The maximum time that the circuit stays open.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// When a [`CircuitBreaker`] opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitBreakerOptions {
    /// Consecutive failures that open the circuit, at least 1.
    pub max_failures: u32,
    /// How long the circuit stays open before a trial call, at most a day.
    pub reset_timeout: Duration,
}

impl Default for CircuitBreakerOptions {
    /// 5 failures, 10 s.
    fn default() -> Self {
        CircuitBreakerOptions { max_failures: 5, reset_timeout: Duration::from_secs(10) }
    }
}

const SETTINGS: SettingTable<CircuitBreakerOptions> = SettingTable(&[
    Setting::new(
        "maxFailures",
        "consecutive failures that open the circuit",
        |options: &mut CircuitBreakerOptions| &mut options.max_failures,
    )
    .range(1.0, 1e6),
    Setting::new(
        "resetTimeout",
        "how long the circuit stays open before a trial call",
        |options: &mut CircuitBreakerOptions| &mut options.reset_timeout,
    ),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "CircuitBreaker",
    aliases: &[],
    help: "refuses calls to a source that keeps failing, until a trial call succeeds",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a CircuitBreaker", &SETTINGS)?;
        Ok(CircuitBreaker::new(parts.source()?, options).into())
    },
};

/// Refuses calls with [`Kind::Unavailable`] after a number of consecutive failures. After a pause,
/// one trial call decides: success closes the circuit, a failure opens it again.
///
/// Temporary errors, [`Kind::Failed`] and [`Kind::InDoubt`] count as failures. Other errors, such as
/// [`Kind::NotFound`], prove that the source responds. A cancelled call counts as neither, nor does a
/// [`Kind::Timeout`] of a call during which the source answered another one: then the call was slow,
/// not the source, and one slow path would close all others.
pub struct CircuitBreaker {
    source: Rc<dyn Store>,
    circuit: Rc<Circuit>,
}

struct Circuit {
    options: CircuitBreakerOptions,
    state: Cell<CircuitState>,
    /// Changes with the state, so that a call which began before the change does not count.
    generation: Cell<u64>,
    /// Counts the calls that the source answered.
    answers: Cell<u64>,
}

#[derive(Clone, Copy)]
enum CircuitState {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// A trial call is in progress.
    HalfOpen,
}

impl CircuitBreaker {
    /// Guards `source`.
    pub fn new(source: Rc<dyn Store>, options: CircuitBreakerOptions) -> Self {
        let options = CircuitBreakerOptions {
            max_failures: options.max_failures.max(1),
            reset_timeout: options.reset_timeout.min(LONGEST),
        };
        let state = Cell::new(CircuitState::Closed { failures: 0 });
        let circuit = Circuit { options, state, generation: Cell::new(0), answers: Cell::new(0) };
        CircuitBreaker { source, circuit: Rc::new(circuit) }
    }
}

impl Circuit {
    fn enter(&self, state: CircuitState) {
        self.state.set(state);
        self.generation.set(self.generation.get() + 1);
    }

    fn open(&self) {
        let until = Instant::now() + self.options.reset_timeout;
        self.enter(CircuitState::Open { until });
    }

    /// Admits a call, or refuses it.
    fn admit(self: &Rc<Self>) -> Result<CallInCircuit> {
        match self.state.get() {
            CircuitState::Closed { .. } => {}
            CircuitState::Open { until } if until <= Instant::now() => {
                self.enter(CircuitState::HalfOpen);
            }
            CircuitState::Open { .. } | CircuitState::HalfOpen => {
                let failures = self.options.max_failures;
                let message = format!(
                    "the circuit breaker is open after {failures} failures in a row; try again later"
                );
                return Err(Error::new(Kind::Unavailable, message));
            }
        }
        let (generation, answers) = (self.generation.get(), self.answers.get());
        Ok(CallInCircuit { circuit: self.clone(), generation, answers, done: false })
    }

    fn record(&self, failed: bool) {
        match (self.state.get(), failed) {
            (CircuitState::Closed { failures }, true) => {
                if failures + 1 >= self.options.max_failures {
                    self.open();
                } else {
                    self.state.set(CircuitState::Closed { failures: failures + 1 });
                }
            }
            (CircuitState::HalfOpen, true) => self.open(),
            (CircuitState::HalfOpen, false) => self.enter(CircuitState::Closed { failures: 0 }),
            (CircuitState::Closed { .. }, false) => {
                self.state.set(CircuitState::Closed { failures: 0 });
            }
            (CircuitState::Open { .. }, _) => {}
        }
    }
}

/// An admitted call. Dropping it without a result is a cancellation.
struct CallInCircuit {
    circuit: Rc<Circuit>,
    generation: u64,
    /// The answers before it began.
    answers: u64,
    done: bool,
}

impl CallInCircuit {
    fn finish<T>(mut self, result: Result<T>) -> Result<T> {
        self.done = true;
        let failed = result.as_ref().is_err_and(is_failure);
        if !failed {
            self.circuit.answers.set(self.circuit.answers.get().wrapping_add(1));
        }
        let is_slow = result.as_ref().is_err_and(|error| error.kind == Kind::Timeout);
        let is_alone = is_slow
            && self.answers != self.circuit.answers.get()
            && matches!(self.circuit.state.get(), CircuitState::Closed { .. });
        if self.generation == self.circuit.generation.get() && !is_alone {
            self.circuit.record(failed);
        }
        result
    }
}

impl Drop for CallInCircuit {
    /// A cancelled trial call lets the next call try.
    fn drop(&mut self) {
        let current = self.generation == self.circuit.generation.get();
        if !self.done && current && matches!(self.circuit.state.get(), CircuitState::HalfOpen) {
            self.circuit.enter(CircuitState::Open { until: Instant::now() });
        }
    }
}

impl Layer for CircuitBreaker {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(CircuitBreaker { source: inner, circuit: self.circuit.clone() }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("circuit breaker after {} failures", self.circuit.options.max_failures)
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let call = match self.circuit.admit() {
            Ok(call) => call,
            Err(error) => return error.on(verb, reference).into(),
        };
        match act(&*self.source, reference, context) {
            Answer::Ready(result) => Answer::Ready(call.finish(result)),
            Answer::Later(answer) => Answer::later(async move { call.finish(answer.await) }),
        }
    }
}
