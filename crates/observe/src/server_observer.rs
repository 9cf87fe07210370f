//! The observer of a server: passes events on to metrics, log and traces.

use crate::log::access_log;
use crate::log::writer::LogWriter;
use crate::metrics::histogram::bump;
use crate::metrics::loop_lag::Pulse;
use crate::metrics::recorder::Recorder;
use crate::settings::LogFormat;
use crate::traces::exporter::Exporter;
use crate::traces::span;
use runnel_http::{ObservedRequest, Observer, OutboundCall, RefusedHead};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Paths of health checks: the log leaves them out.
const HEARTBEATS: [&str; 4] = ["/healthz", "/readyz", "/livez", "/status"];

/// Refused heads that a worker logs in a second: a client can open connections for nothing else.
/// All of them are counted.
const MOST_REFUSALS: u32 = 100;
const RATE_TIME: Duration = Duration::from_secs(1);

/// The observer of one server. Disabled parts are absent.
#[derive(Debug)]
pub(crate) struct ServerObserver {
    pub(crate) recorder: Recorder,
    /// Whether metrics are collected: only with an admin port.
    pub(crate) counts: bool,
    pub(crate) names: bool,
    pub(crate) pulse: Rc<Pulse>,
    pub(crate) log: Option<(LogFormat, Arc<LogWriter>)>,
    pub(crate) exporter: Option<Rc<Exporter>>,
    pub(crate) refusals: RefusalRate,
    /// The line being written.
    pub(crate) line: RefCell<Vec<u8>>,
}

impl ServerObserver {
    fn log(&self, request: &ObservedRequest) {
        let Some((format, _)) = &self.log else { return };
        if HEARTBEATS.contains(&request.uri.path()) && request.status() < 400 {
            return;
        }
        let mut line = self.line.borrow_mut();
        line.clear();
        access_log::write(*format, request, &mut line);
        self.add(&line);
    }

    fn add(&self, line: &[u8]) {
        if let Some((_, writer)) = &self.log
            && !writer.add(line)
        {
            bump(&self.recorder.numbers().lines_lost, 1);
        }
    }
}

/// A rate limit of log lines about refused heads.
#[derive(Debug, Default)]
pub(crate) struct RefusalRate(Cell<Option<(Instant, u32)>>);

impl RefusalRate {
    /// Whether one more may be logged.
    fn may_log(&self, now: Instant) -> bool {
        let (since, count) = match self.0.get() {
            Some((since, count)) if now.duration_since(since) < RATE_TIME => (since, count),
            _ => (now, 0),
        };
        self.0.set(Some((since, count.saturating_add(1))));
        count < MOST_REFUSALS
    }
}

impl Observer for ServerObserver {
    fn opened(&self, _: SocketAddr) {
        self.recorder.opened();
    }

    fn closed(&self, _: SocketAddr) {
        self.recorder.closed();
    }

    fn names_requests(&self) -> bool {
        self.names
    }

    fn samples(&self, trace: u128) -> bool {
        self.exporter.as_ref().is_some_and(|exporter| exporter.samples(trace))
    }

    fn refused(&self, refused: &RefusedHead) {
        if self.counts {
            self.recorder.refused(refused);
        }
        let Some((format, _)) = &self.log else { return };
        if self.refusals.may_log(Instant::now()) {
            let mut line = self.line.borrow_mut();
            line.clear();
            access_log::write_refused(*format, refused, &mut line);
            self.add(&line);
        }
    }

    fn begun(&self, _: &ObservedRequest) {
        self.recorder.begun();
        if self.counts {
            self.pulse.beat();
        }
    }

    fn ended(&self, request: &ObservedRequest) {
        if self.counts {
            self.recorder.ended(request);
        }
        self.log(request);
        if let Some(exporter) = &self.exporter
            && let Some(span) = span::of_request(request)
        {
            exporter.add(span);
        }
    }

    fn held(&self, request: &ObservedRequest, time: Duration) {
        if self.counts {
            self.recorder.held(request, time);
        }
    }

    fn called(&self, _: &ObservedRequest, call: &OutboundCall) {
        self.recorder.called(call);
        if let Some(exporter) = &self.exporter
            && let Some(span) = span::of_call(call)
        {
            exporter.add(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_logged_up_to_a_rate() {
        let rate = RefusalRate::default();
        let start = Instant::now();
        let logged = |now| (0..2 * MOST_REFUSALS).filter(|_| rate.may_log(now)).count();
        assert_eq!((logged(start), logged(start + RATE_TIME)), (100, 100));
    }
}
