//! Durability: the folder of a collection, with snapshots and a write-ahead log after them.
//!
//! `docs/design/search-format.md` describes the format of the files. A write is appended to the log
//! ([`WriteLog`]) and acknowledged once it is flushed. A long log gets a new part, and a thread
//! ([`snapshot_thread`]) takes a snapshot of everything before that part. What a collection holds
//! in memory belongs in [`collection`](crate::collection).

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
pub(crate) use recovery::CollectionLayout;
pub(crate) use section_reader::{DamagedFile, SectionReader};
pub(crate) use section_writer::SectionWriter;
pub(crate) use write_log::WriteLog;
pub use write_log::{MAX_WAITING_BYTES, MIN_LOG_BYTES};
