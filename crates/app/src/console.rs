//! Standard output and error: the only place that writes to them.

use std::cell::RefCell;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

/// Bytes of output kept before they are written.
const KEPT: usize = 64 * 1024;

/// Prints above the edited line while a prompt is open.
static PROMPT: Mutex<Option<SyncSender<String>>> = Mutex::new(None);

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
        if !printed_above(&kept) {
            let mut out = std::io::stdout().lock();
            ended_well(out.write_all(&kept).and_then(|()| out.flush()));
        }
        kept.clear();
    }

    /// One message on standard error.
    pub(crate) fn error(text: &str) {
        Console::error_bytes(format!("{text}\n").as_bytes());
    }

    /// Bytes on standard error.
    pub(crate) fn error_bytes(bytes: &[u8]) {
        if !printed_above(bytes) {
            // Nowhere to tell when this fails.
            let _ = std::io::stderr().lock().write_all(bytes);
        }
    }

    /// A line on a terminal that the next one replaces; an empty one takes it away. Nothing where
    /// standard error is no terminal, and nothing while a prompt is open.
    pub(crate) fn progress(text: &str) {
        let prompt = PROMPT.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = std::io::stderr().lock();
        if prompt.is_none() && out.is_terminal() {
            // Nowhere to tell when this fails.
            let _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
        }
    }

    /// One line on standard output, at once: for commands other than running a program.
    pub(crate) fn line(text: &str) {
        Console::part(&format!("{text}\n"));
    }

    /// A piece of text on standard output, at once.
    pub(crate) fn part(text: &str) {
        let mut out = std::io::stdout().lock();
        ended_well(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Bytes on standard output, at once, for text that has to be whole.
    pub(crate) fn bytes(bytes: &[u8]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    }

    /// From now on a line is edited: output goes to its editor, which prints it above. `None`: no
    /// more.
    pub(crate) fn above_prompt(print: Option<SyncSender<String>>) {
        *PROMPT.lock().unwrap_or_else(PoisonError::into_inner) = print;
    }
}

/// Gives output to the editor of the prompt; `false` when no line is edited, or when the editor
/// does not keep up.
fn printed_above(bytes: &[u8]) -> bool {
    let prompt = PROMPT.lock().unwrap_or_else(PoisonError::into_inner);
    prompt
        .as_ref()
        .is_some_and(|print| print.try_send(String::from_utf8_lossy(bytes).into_owned()).is_ok())
}

/// The reader has closed the pipe, as `head` does: a normal end, as for other commands.
fn ended_well(written: std::io::Result<()>) {
    if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
}
