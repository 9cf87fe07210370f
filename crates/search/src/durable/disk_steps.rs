//! The steps in which files are changed, each of which a test can let fail.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Something that is done with the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskStep {
    /// Writes were appended to the log.
    AppendLog,
    /// The log is flushed.
    SyncLog,
    /// A new part of the log is begun.
    NewLog,
    /// A part of a snapshot is written.
    WriteSnapshot,
    /// A snapshot is flushed.
    SyncSnapshot,
    /// A snapshot gets its name.
    Rename,
    /// The folder is flushed.
    SyncFolder,
    /// A file is removed.
    Remove,
}

type StepCheck = dyn Fn(DiskStep) -> io::Result<()> + Send + Sync;

/// Asks before every step whether it shall fail. Outside of tests none does.
#[derive(Clone, Default)]
pub(crate) struct DiskSteps(Option<Arc<StepCheck>>);

impl DiskSteps {
    #[cfg(test)]
    pub(crate) fn checked(
        check: impl Fn(DiskStep) -> io::Result<()> + Send + Sync + 'static,
    ) -> DiskSteps {
        DiskSteps(Some(Arc::new(check)))
    }

    pub(crate) fn take(&self, step: DiskStep) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |check| check(step))
    }
}

impl fmt::Debug for DiskSteps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Steps")
    }
}
