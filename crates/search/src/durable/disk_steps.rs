//! Fault injection: the steps that change files, each of which a test can fail.

use std::fmt;
use std::io;
use std::sync::Arc;

/// An operation on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskStep {
    /// Append writes to the log.
    AppendLog,
    /// Flush the log (fsync).
    SyncLog,
    /// Begin a part of the log.
    NewLog,
    /// Write a part of a snapshot.
    WriteSnapshot,
    /// Flush a snapshot.
    SyncSnapshot,
    /// Rename a snapshot to its final name.
    Rename,
    /// Flush the folder.
    SyncFolder,
    /// Remove a file.
    Remove,
}

type StepCheck = dyn Fn(DiskStep) -> io::Result<()> + Send + Sync;

/// The hook that runs before every step; without a test it allows all of them.
#[derive(Clone, Default)]
pub(crate) struct DiskSteps(Option<Arc<StepCheck>>);

impl DiskSteps {
    #[cfg(test)]
    pub(crate) fn checked(
        check: impl Fn(DiskStep) -> io::Result<()> + Send + Sync + 'static,
    ) -> DiskSteps {
        DiskSteps(Some(Arc::new(check)))
    }

    pub(crate) fn enter(&self, step: DiskStep) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |check| check(step))
    }
}

impl fmt::Debug for DiskSteps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Steps")
    }
}
