//! The host's own messages, on standard error.

use std::io::Write;

/// The exit status after a frame that was malformed.
const DATA: i32 = 65;

/// Writes one line to standard error, if it is open.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "runnel-window: {message}");
}

/// Ends the process: what the program sends cannot be trusted any more.
pub(crate) fn fail(reason: &str) {
    complain(reason);
    std::process::exit(DATA);
}
