//! Observability of a server: metrics, access log, traces, and a port for its operators alone.
//!
//! - [`ObserveSettings`] select what is observed; [`observe`] turns them into an [`Observing`],
//!   whose observer goes to the server.
//! - The **admin port** is a listener of its own: health, readiness, metrics and a dashboard.
//! - The **access log** has one line for each request, redacted, written by a thread of its own.
//! - **Traces** are exported over OTLP in batches.
//!
//! Reading order: `server_observer` (events of the server), `metrics::recorder` and `registry`,
//! then `exposition`, `log::access_log`, `traces::exporter`, `admin::port`.

mod admin;
mod log;
mod metrics;
mod observing;
mod server_observer;
mod settings;
mod traces;

pub use admin::dashboard::set_dashboard;
pub use admin::pages::AdminPage;
pub use admin::token::AdminToken;
pub use log::program_log::{LOG_LEVELS, program_line};
pub use metrics::program_metrics::record_metric;
pub use observing::{Observing, Surroundings, observe};
pub use settings::{
    ListenerOf, LogFormat, LogTarget, ObserveSettings, Sample, Sampler, TraceSettings, WriterOf,
};
