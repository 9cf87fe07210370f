//! Standard output and error: the only place that writes to them.

use std::cell::RefCell;
use std::io::{ErrorKind, IsTerminal, Write};

/// Bytes of output kept before they are written.
const KEPT: usize = 64 * 1024;

/// Output of a program. A terminal sees every line at once; a pipe gets larger pieces, and what is
/// kept goes out whenever the program waits.
pub(crate) struct Console {
    kept: RefCell<Vec<u8>>,
    terminal: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        Console { kept: RefCell::default(), terminal: std::io::stdout().is_terminal() }
    }

    /// Writes to standard output.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut kept = self.kept.borrow_mut();
        kept.extend_from_slice(bytes);
        if kept.len() >= KEPT || (self.terminal && bytes.contains(&b'\n')) {
            drop(kept);
            self.flush();
        }
    }

    /// Sends out what is kept.
    pub(crate) fn flush(&self) {
        let mut kept = self.kept.borrow_mut();
        if kept.is_empty() {
            return;
        }
        let mut out = std::io::stdout().lock();
        let written = out.write_all(&kept).and_then(|()| out.flush());
        kept.clear();
        if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            // Nobody reads any more, as after `| head`: that is a good end, as for other commands.
            std::process::exit(0);
        }
    }

    /// One message on standard error.
    pub(crate) fn error(text: &str) {
        let mut out = std::io::stderr().lock();
        // Nowhere to tell when this fails.
        let _ = writeln!(out, "{text}");
    }

    /// Bytes on standard error.
    pub(crate) fn error_bytes(bytes: &[u8]) {
        let _ = std::io::stderr().lock().write_all(bytes);
    }

    /// One line on standard output, at once: for commands other than running a program.
    pub(crate) fn line(text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}");
    }

    /// A piece of a line on standard output, at once: for progress.
    pub(crate) fn part(text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
