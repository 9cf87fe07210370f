//! What a server tells, passed on to the numbers, the log and the traces.

use crate::access_log;
use crate::exporter::Exporter;
use crate::histogram::bump;
use crate::lag::Pulse;
use crate::log_writer::LogWriter;
use crate::recorder::Recorder;
use crate::settings::LogFormat;
use crate::span;
use runnel_http::{Called, Observed, Observer};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Paths by which machines ask whether a server lives: the log does not show them.
const HEARTBEATS: [&str; 4] = ["/healthz", "/readyz", "/livez", "/status"];

/// Watches one server. What is not wanted is not there.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) recorder: Recorder,
    /// Only where somebody may look at the numbers.
    pub(crate) counts: bool,
    pub(crate) names: bool,
    pub(crate) pulse: Rc<Pulse>,
    pub(crate) log: Option<(LogFormat, Arc<LogWriter>)>,
    pub(crate) exporter: Option<Rc<Exporter>>,
    /// The line that is being written.
    pub(crate) line: RefCell<Vec<u8>>,
}

impl Watcher {
    fn log(&self, request: &Observed) {
        let Some((format, writer)) = &self.log else { return };
        if HEARTBEATS.contains(&request.uri().path()) && request.status() < 400 {
            return;
        }
        let mut line = self.line.borrow_mut();
        line.clear();
        access_log::write(*format, request, &mut line);
        if !writer.add(&line) {
            bump(&self.recorder.numbers().lines_lost, 1);
        }
    }
}

impl Observer for Watcher {
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

    fn begun(&self, _: &Observed) {
        self.recorder.begun();
        if self.counts {
            self.pulse.beat();
        }
    }

    fn ended(&self, request: &Observed) {
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

    fn held(&self, request: &Observed, time: Duration) {
        if self.counts {
            self.recorder.held(request, time);
        }
    }

    fn called(&self, _: &Observed, call: &Called) {
        self.recorder.called(call);
        if let Some(exporter) = &self.exporter
            && let Some(span) = span::of_call(call)
        {
            exporter.add(span);
        }
    }
}
