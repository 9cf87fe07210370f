//! The admin port: health, readiness, metrics and the dashboard, behind a token.

pub(crate) mod dashboard;
pub(crate) mod port;
pub(crate) mod readiness;
pub(crate) mod token;
