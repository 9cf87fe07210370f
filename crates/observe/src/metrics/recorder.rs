//! The recorder of one worker's metrics: lock-free after the first request of a route.

use crate::metrics::histogram::{bump, raise};
use crate::metrics::registry::{CLASSES, LoopHolder, RouteNumbers, WorkerNumbers, locked};
use crate::metrics::route_labels::{self, METHODS, MOST, OTHER};
use runnel_http::{CLIENT_GONE, ObservedRequest, OutboundCall, RefusedHead};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The metrics of one worker, for its own thread.
#[derive(Debug)]
pub(crate) struct Recorder {
    numbers: Arc<WorkerNumbers>,
    /// By method and route.
    routes: RefCell<[HashMap<String, Arc<RouteNumbers>>; METHODS.len()]>,
    known: Cell<usize>,
}

impl Recorder {
    /// Continues with existing numbers.
    pub(crate) fn new(numbers: Arc<WorkerNumbers>) -> Self {
        let mut routes: [HashMap<String, Arc<RouteNumbers>>; METHODS.len()] = Default::default();
        let known = locked(&numbers.routes).clone();
        for one in &known {
            routes[route_labels::method(one.method)].insert(one.route.clone(), one.clone());
        }
        Recorder { numbers, routes: RefCell::new(routes), known: Cell::new(known.len()) }
    }

    pub(crate) fn numbers(&self) -> &Arc<WorkerNumbers> {
        &self.numbers
    }

    pub(crate) fn opened(&self) {
        bump(&self.numbers.accepted, 1);
        bump(&self.numbers.open, 1);
    }

    pub(crate) fn closed(&self) {
        less(&self.numbers.open);
    }

    pub(crate) fn refused(&self, refused: &RefusedHead) {
        let mut counts = locked(&self.numbers.refused);
        *counts.entry((refused.status, refused.reason)).or_default() += 1;
    }

    pub(crate) fn begun(&self) {
        bump(&self.numbers.active, 1);
    }

    pub(crate) fn ended(&self, request: &ObservedRequest) {
        less(&self.numbers.active);
        let status = request.status();
        match status {
            CLIENT_GONE => bump(&self.numbers.gone, 1),
            _ if !request.is_whole() && status >= 200 => bump(&self.numbers.broken, 1),
            _ => {}
        }
        let class = usize::from(status / 100);
        let took = request.started.elapsed();
        route_labels::with(request, |route| {
            self.with(request.method.as_str(), route, |numbers| {
                bump(&numbers.classes[if class < CLASSES.len() { class } else { 0 }], 1);
                numbers.duration.record(took);
                bump(&numbers.received, request.length.unwrap_or(0));
                bump(&numbers.sent, request.sent());
                bump(&numbers.busy, micros(request.busy()));
                raise(&numbers.held, micros(request.held()));
            });
        });
    }

    /// A request held the thread for long.
    pub(crate) fn held(&self, request: &ObservedRequest, time: Duration) {
        let held = micros(time);
        let mut holder = locked(&self.numbers.holder);
        if holder.as_ref().is_none_or(|longest| longest.held < held) {
            *holder = Some(LoopHolder { held, name: name(request) });
        }
    }

    pub(crate) fn called(&self, call: &OutboundCall) {
        self.numbers.calls.record(call.took);
        if !matches!(call.outcome, Ok(..500)) {
            bump(&self.numbers.calls_failed, 1);
        }
    }

    fn with(&self, method: &str, route: &str, act: impl FnOnce(&RouteNumbers)) {
        let method = route_labels::method(method);
        if let Some(numbers) = self.routes.borrow()[method].get(route) {
            return act(numbers);
        }
        let route = if self.known.get() < MOST { route } else { OTHER };
        let mut routes = self.routes.borrow_mut();
        let numbers = routes[method].entry(route.to_string()).or_insert_with(|| {
            self.known.set(self.known.get() + 1);
            let made = Arc::new(RouteNumbers::new(METHODS[method], route));
            locked(&self.numbers.routes).push(made.clone());
            made
        });
        act(numbers);
    }
}

/// The name of a request in messages: its method and its route, or else its path.
pub(crate) fn name(request: &ObservedRequest) -> String {
    request.with_route(|route| {
        format!("{} {}", request.method, route.unwrap_or_else(|| request.uri.path()))
    })
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn less(number: &std::sync::atomic::AtomicU64) {
    number.store(number.load(Relaxed).saturating_sub(1), Relaxed);
}
