//! Single-flight: concurrent reads of one reference share one read of the source.

use crate::{Content, Kind, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Notify;

/// The reads under way, by name.
#[derive(Default)]
pub(super) struct Flights(RefCell<HashMap<Box<str>, Rc<Flight>>>);

#[derive(Default)]
struct Flight {
    outcome: RefCell<Option<FlightOutcome>>,
    landed: Notify,
}

/// What a read has brought for the others.
enum FlightOutcome {
    Shared(Result<Option<Content>>),
    /// Content that cannot be shared: each asks for itself.
    Alone,
    /// The leader was cancelled: another caller takes over.
    GivenUp,
}

/// The role of a caller in a single-flight read.
pub(super) enum Boarding<'a> {
    /// Read the source, and share the result by [`Lead::land`].
    Lead(Lead<'a>),
    /// Nothing: another has brought the answer.
    Brought(Result<Option<Content>>),
    /// Ask for itself.
    Alone,
}

/// The leader of a single-flight read. If it is dropped without a result, the next caller takes
/// over.
pub(super) struct Lead<'a> {
    flights: &'a Flights,
    name: &'a str,
    flight: Rc<Flight>,
}

impl Flights {
    /// Waits for a read of the same name that is under way, or begins one.
    pub(super) async fn board<'a>(&'a self, name: &'a str) -> Boarding<'a> {
        loop {
            let under_way = self.0.borrow().get(name).cloned();
            let Some(flight) = under_way else {
                let flight = Rc::<Flight>::default();
                self.0.borrow_mut().insert(name.into(), flight.clone());
                return Boarding::Lead(Lead { flights: self, name, flight });
            };
            // No other task runs between the check and the wait, so no result is missed.
            if flight.outcome.borrow().is_none() {
                flight.landed.notified().await;
            }
            match &*flight.outcome.borrow() {
                Some(FlightOutcome::Shared(Ok(None))) => return Boarding::Brought(Ok(None)),
                Some(FlightOutcome::Shared(Err(error))) => {
                    return Boarding::Brought(Err(error.clone()));
                }
                Some(FlightOutcome::Shared(Ok(Some(content)))) => {
                    let content = content.share();
                    return content.map_or(Boarding::Alone, |it| Boarding::Brought(Ok(Some(it))));
                }
                Some(FlightOutcome::Alone) => return Boarding::Alone,
                Some(FlightOutcome::GivenUp) | None => {}
            }
        }
    }

    /// Whether a read of this name is under way.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.borrow().contains_key(name)
    }

    /// Closes the reads under way to new callers, because their results may be stale.
    pub(super) fn close(&self) {
        self.0.borrow_mut().clear();
    }
}

impl Lead<'_> {
    /// Wakes the waiting callers. The result is theirs where it `may_be_shared`.
    pub(super) fn land(self, result: &Result<Option<Content>>, may_be_shared: bool) {
        let outcome = match result {
            _ if !may_be_shared => FlightOutcome::Alone,
            Ok(None) => FlightOutcome::Shared(Ok(None)),
            Ok(Some(content)) => content
                .share()
                .map_or(FlightOutcome::Alone, |content| FlightOutcome::Shared(Ok(Some(content)))),
            // This caller ran out of time; others may have more.
            Err(error) if !matches!(error.kind, Kind::Timeout | Kind::Cancelled) => {
                FlightOutcome::Shared(Err(error.clone()))
            }
            _ => FlightOutcome::Alone,
        };
        *self.flight.outcome.borrow_mut() = Some(outcome);
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.flight.outcome.borrow_mut().get_or_insert(FlightOutcome::GivenUp);
        let mut flights = self.flights.0.borrow_mut();
        if flights.get(self.name).is_some_and(|flight| Rc::ptr_eq(flight, &self.flight)) {
            flights.remove(self.name);
        }
        drop(flights);
        self.flight.landed.notify_waiters();
    }
}
