//! What those who run a server want to see.

use crate::admin::token::AdminToken;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;

/// What is wanted. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct ObserveSettings {
    /// Where health and metrics are served; port 0 takes any free one.
    pub admin: Option<SocketAddr>,
    /// What readers of the admin port have to know. An address that others can reach needs one.
    pub admin_token: Option<AdminToken>,
    /// Names by which the admin port is asked for, beside its address and those of this machine.
    pub admin_hosts: Vec<String>,
    /// The form of the access log.
    pub access_log: Option<LogFormat>,
    /// Where the access log goes.
    pub log_target: LogTarget,
    /// Requests have names also where nothing is logged.
    pub request_ids: bool,
    /// Where traces go.
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

/// The form of a line of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A JSON object.
    Json,
    /// The "combined" form of Apache and nginx.
    Combined,
}

/// Where the access log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogTarget {
    /// Standard output.
    #[default]
    Output,
    /// Standard error.
    Error,
    /// A file, which lines are added to. When it is moved away a new one is begun.
    File(PathBuf),
}

/// Opens a target that is no file: the command alone knows its output.
pub type WriterOf = fn(&LogTarget) -> Box<dyn Write + Send>;

/// A socket for the admin port that somebody else has opened, such as a supervisor; `None` where
/// nobody has.
pub type ListenerOf = fn(SocketAddr) -> runnel_store::Result<Option<TcpListener>>;

/// What the engine of a program says of itself, asked ten times a second at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Fibers that want to run now.
    pub fibers_running: u64,
    /// Fibers that wait for something.
    pub fibers_waiting: u64,
    /// Bytes that the program's objects take.
    pub heap: u64,
}

/// Takes a [`Sample`].
pub type Sampler = Rc<dyn Fn() -> Sample>;

/// How traces are exported; named after the variables of OpenTelemetry.
#[derive(Clone)]
pub struct TraceSettings {
    /// Where batches are posted to (`OTEL_EXPORTER_OTLP_ENDPOINT` and `/v1/traces`).
    pub endpoint: String,
    /// Headers of each post (`OTEL_EXPORTER_OTLP_HEADERS`); they may be secret.
    pub headers: Vec<(String, String)>,
    /// `OTEL_SERVICE_NAME`.
    pub service: String,
    /// The part of traces beginning here that is written down, from 0 to 1
    /// (`OTEL_TRACES_SAMPLER_ARG`).
    pub ratio: f64,
    /// The longest that a finished span waits for others (`OTEL_BSP_SCHEDULE_DELAY`).
    pub delay: std::time::Duration,
}

impl std::fmt::Debug for TraceSettings {
    /// Of headers only the names: their values may be secret.
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
