//! Reports: figures as text, JSON and SVG, rising rates, and comparisons of several servers.

pub(crate) mod chart;
pub(crate) mod compare;
pub(crate) mod curve;
pub(crate) mod figures;
pub(crate) mod sweep;
pub(crate) mod text;
