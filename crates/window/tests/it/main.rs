//! The integration tests of the crate: real windows on a display without a screen (Xvfb).
#![allow(clippy::unwrap_used)]

mod accessibility;
mod costs;
mod failures;
mod support;
mod table;
mod widgets;
