//! Seeing inside a server: what it does, told to those who run it and to nobody else.
//!
//! - [`ObserveSettings`] say what is wanted; [`observe`] makes an [`Observing`] of them, whose observer the
//!   server is given.
//! - The **admin port** is a listener of its own: health, readiness, metrics and a page that draws
//!   them.
//! - The **access log** has a line for each request, without secrets, written by a thread of its own.
//! - **Traces** go out over OTLP in batches.
//!
//! Reading order: `server_observer` (what the server tells), `recorder` and `registry` (numbers), then
//! `exposition`, `access_log`, `exporter`, `admin`.

mod admin;
mod log;
mod metrics;
mod observing;
mod server_observer;
mod settings;
mod traces;

pub use admin::dashboard::set_dashboard;
pub use admin::token::AdminToken;
pub use observing::{Observing, Surroundings, observe};
pub use settings::{
    ListenerOf, LogFormat, LogTarget, ObserveSettings, Sample, Sampler, TraceSettings, WriterOf,
};
