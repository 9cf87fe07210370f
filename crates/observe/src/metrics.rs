//! Metrics: counters and histograms of each worker, their sum, and the text that Prometheus reads.

pub(crate) mod backends;
pub(crate) mod exposition;
pub(crate) mod histogram;
pub(crate) mod loop_lag;
pub(crate) mod process;
pub(crate) mod program_metrics;
pub(crate) mod recorder;
pub(crate) mod registry;
pub(crate) mod route_labels;
pub(crate) mod snapshot;
pub(crate) mod text_format;
