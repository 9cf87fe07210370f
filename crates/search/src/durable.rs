//! Keeping a collection in a folder: snapshots of the whole, and a log of what came after.
//!
//! The format of the files is described in `docs/design/search-format.md`. A write is appended to
//! the log ([`Log`]) and acknowledged when it is flushed. When the log has become long, a new part
//! of it is begun, and a thread ([`renewal`]) makes a snapshot of what is before that part.

mod fault;
mod folder;
mod frame;
mod input;
mod log;
mod map;
mod opening;
mod output;
mod progress;
mod renewal;
mod snapshot;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use folder::Folder;
pub(crate) use input::{Damaged, Input};
pub(crate) use log::Log;
pub use log::{MAX_WAITING_BYTES, MIN_LOG_BYTES};
pub(crate) use opening::{Shape, put};
pub(crate) use output::Output;
pub(crate) use progress::Progress;
pub(crate) use steps::Steps;
