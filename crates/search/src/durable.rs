//! Keeping a collection in a folder: snapshots of the whole, and a log of what came after.
//!
//! The format of the files is described in `docs/design/search-format.md`. A write is appended to
//! the log ([`Log`]) and acknowledged when it is flushed. When the log has become long, a new part
//! of it is begun, and a thread ([`renewal`]) makes a snapshot of what is before that part.

mod disk_error;
mod disk_steps;
mod flush_progress;
mod folder;
mod log_frame;
mod mapped_file;
mod recovery;
mod section_reader;
mod section_writer;
mod snapshot;
mod snapshot_thread;
#[cfg(test)]
mod tests;
mod write_log;

pub(crate) use disk_steps::Steps;
pub(crate) use flush_progress::Progress;
pub(crate) use folder::Folder;
pub(crate) use recovery::{Shape, put};
pub(crate) use section_reader::{Damaged, Input};
pub(crate) use section_writer::Output;
pub(crate) use write_log::Log;
pub use write_log::{MAX_WAITING_BYTES, MIN_LOG_BYTES};
