//! Settings of observability.

use crate::admin::token::AdminToken;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;

/// What to observe. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct ObserveSettings {
    /// The address of the admin port; port 0 takes a free one.
    pub admin: Option<SocketAddr>,
    /// The token of the admin port. Required for an address that other machines can reach.
    pub admin_token: Option<AdminToken>,
    /// Host names of the admin port, beside its address and those of this machine.
    pub admin_hosts: Vec<String>,
    /// The format of the access log.
    pub access_log: Option<LogFormat>,
    /// The target of the access log.
    pub log_target: LogTarget,
    /// Assign request ids even when nothing is logged.
    pub request_ids: bool,
    /// The export of traces.
    pub traces: Option<TraceSettings>,
}

impl ObserveSettings {
    /// Whether a server needs an observer at all.
    pub fn is_wanted(&self) -> bool {
        self.admin.is_some()
            || self.access_log.is_some()
            || self.request_ids
            || self.traces.is_some()
    }
}

/// The format of an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A JSON object.
    Json,
    /// The "combined" format of Apache and nginx.
    Combined,
}

/// The target of the access log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogTarget {
    /// Standard output.
    #[default]
    Output,
    /// Standard error.
    Error,
    /// A file, opened for appending. After log rotation a new one is created.
    File(PathBuf),
}

/// Opens a target that is no file: only the command knows its output.
pub type WriterOf = fn(&LogTarget) -> Box<dyn Write + Send>;

/// An inherited socket for the admin port, as from a supervisor; `None` without one.
pub type ListenerOf = fn(SocketAddr) -> runnel_store::Result<Option<TcpListener>>;

/// A sample of the program's engine, taken ten times a second at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Runnable fibers.
    pub fibers_running: u64,
    /// Waiting fibers.
    pub fibers_waiting: u64,
    /// The heap of the program, in bytes.
    pub heap: u64,
}

/// Takes a [`Sample`].
pub type Sampler = Rc<dyn Fn() -> Sample>;

/// The export of traces; named after the variables of OpenTelemetry.
#[derive(Clone)]
pub struct TraceSettings {
    /// The endpoint for batches (`OTEL_EXPORTER_OTLP_ENDPOINT` and `/v1/traces`).
    pub endpoint: String,
    /// Headers of each request (`OTEL_EXPORTER_OTLP_HEADERS`); they may be secret.
    pub headers: Vec<(String, String)>,
    /// `OTEL_SERVICE_NAME`.
    pub service: String,
    /// The sampled part of the traces that start here, from 0 to 1 (`OTEL_TRACES_SAMPLER_ARG`).
    pub ratio: f64,
    /// The longest delay of a finished span (`OTEL_BSP_SCHEDULE_DELAY`).
    pub delay: std::time::Duration,
}

impl std::fmt::Debug for TraceSettings {
    /// Shows only the names of headers: their values may be secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("TraceSettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &names)
            .field("service", &self.service)
            .field("ratio", &self.ratio)
            .field("delay", &self.delay)
            .finish()
    }
}
