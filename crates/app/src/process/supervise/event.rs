//! The events of the supervisor.

use std::path::PathBuf;
use std::process::ExitStatus;
use tokio::sync::mpsc;

/// An event of the supervisor's loop. Numbers are process IDs.
pub(crate) enum SupervisorEvent {
    /// A program opened its control connection; the sender writes lines to it.
    Reports(u32, mpsc::UnboundedSender<String>),
    /// A program serves.
    Ready(u32),
    /// A watched program reads a file while it starts.
    Reads(u32, PathBuf),
    /// A watched program writes a file.
    Writes(PathBuf),
    /// A program has exited, with the end of its standard error.
    Ended(u32, Option<ExitStatus>, String),
    /// A timeout of a program has passed.
    Overdue(u32),
    /// The pause before the next start is over.
    Start,
    /// A new version is requested.
    Exchange,
    /// A stop is requested, with this exit status.
    Stop(u8),
}
