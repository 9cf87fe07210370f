//! Traces: spans in OTLP, exported in batches to a collector.

pub(crate) mod exporter;
pub(crate) mod span;
