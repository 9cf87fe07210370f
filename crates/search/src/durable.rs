//! Keeping a collection in a folder: snapshots of the whole, and a log of what came after.
//!
//! The format of the files is described in `docs/design/search-format.md`. A write is appended to
//! the log ([`WriteLog`]) and acknowledged when it is flushed. When the log has become long, a new part
//! of it is begun, and a thread ([`snapshot_thread`]) makes a snapshot of what is before that part.

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

pub(crate) use disk_steps::DiskSteps;
pub(crate) use flush_progress::FlushProgress;
pub(crate) use folder::CollectionFolder;
pub(crate) use recovery::{CollectionLayout, put};
pub(crate) use section_reader::{DamagedFile, SectionReader};
pub(crate) use section_writer::SectionWriter;
pub(crate) use write_log::WriteLog;
pub use write_log::{MAX_WAITING_BYTES, MIN_LOG_BYTES};
