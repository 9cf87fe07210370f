//! The admin port: health, readiness, metrics, the dashboard and pages of servers, behind a token.

pub(crate) mod dashboard;
pub(crate) mod pages;
pub(crate) mod port;
pub(crate) mod readiness;
pub(crate) mod token;
