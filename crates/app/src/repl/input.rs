//! Standard input, line by line.

use runnel_store::{Error, Kind};
use std::cell::OnceCell;
use std::io::{BufRead, IsTerminal, Read};
use std::rc::Rc;
use tokio::sync::{Mutex, mpsc};

/// Lines of a pipe or file that are read ahead of the program.
const AHEAD: usize = 64;
/// Bytes that one line may have.
const LONGEST: u64 = 16 * 1024 * 1024;

/// A line, or why there is none: as plain data, for it comes from another thread.
type Line = Result<String, (Kind, String)>;

/// Standard input, read by a thread of its own from the first request on.
pub(crate) struct Input {
    lines: OnceCell<Rc<Lines>>,
}

/// The lines of standard input.
pub(crate) struct Lines {
    /// Asks for a line of a terminal: only what is wanted is taken from it.
    wanted: Option<std::sync::mpsc::Sender<()>>,
    receiver: Mutex<mpsc::Receiver<Line>>,
}

impl Input {
    pub(crate) fn new() -> Self {
        Input { lines: OnceCell::new() }
    }

    /// The lines; the same for all who ask.
    pub(crate) fn lines(&self) -> Rc<Lines> {
        self.lines.get_or_init(|| Rc::new(Lines::start())).clone()
    }
}

impl Lines {
    fn start() -> Lines {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (want, wanted) = std::sync::mpsc::channel();
        let terminal = std::io::stdin().is_terminal();
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut number = 0;
            while !terminal || wanted.recv().is_ok() {
                number += 1;
                let Some(line) = read(&mut input, number) else { break };
                // After a line without end there is no next one.
                let last = line.as_ref().is_err_and(|(kind, _)| *kind != Kind::Invalid);
                if sender.blocking_send(line).is_err() || last {
                    break;
                }
            }
        });
        Lines { wanted: terminal.then_some(want), receiver: Mutex::new(receiver) }
    }

    /// The next line; `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// For a line that is no UTF-8 text: others may follow. For a line that is too long, and when the
    /// input cannot be read: none follows.
    pub(crate) async fn next(&self) -> Option<Result<String, Error>> {
        let mut receiver = self.receiver.lock().await;
        if let Some(wanted) = &self.wanted {
            // When the thread has ended, the receiver returns an error.
            let _ = wanted.send(());
        }
        let line = receiver.recv().await?;
        Some(line.map_err(|(kind, message)| Error::new(kind, message)))
    }
}

/// Reads a line without its end.
fn read(input: &mut impl BufRead, number: u64) -> Option<Line> {
    let mut line = Vec::new();
    let fault =
        |kind, what: &str| Some(Err((kind, format!("standard input, line {number}: {what}"))));
    match input.take(LONGEST + 1).read_until(b'\n', &mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return fault(Kind::Failed, &format!("it cannot be read: {error}")),
    }
    if line.ends_with(b"\n") {
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
    } else if line.len() as u64 > LONGEST {
        return fault(Kind::TooLarge, &format!("it is longer than {LONGEST} bytes"));
    }
    match String::from_utf8(line) {
        Ok(line) => Some(Ok(line)),
        Err(_) => fault(Kind::Invalid, "this is no UTF-8 text"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_files_of_all_systems_end_them() {
        let mut input: &[u8] = b"one\r\n\ntwo\r\r\nlast";
        let mut lines = Vec::new();
        while let Some(line) = read(&mut input, 1) {
            lines.push(line.unwrap());
        }
        assert_eq!(lines, ["one", "", "two\r", "last"]);
    }

    #[test]
    fn a_line_that_is_no_text_does_not_end_the_input() {
        let mut input: &[u8] = b"one\n\xff\ntwo\n";
        assert_eq!(read(&mut input, 1).unwrap().unwrap(), "one");
        let error = read(&mut input, 2).unwrap().unwrap_err();
        assert_eq!(error.1, "standard input, line 2: this is no UTF-8 text");
        assert_eq!(read(&mut input, 3).unwrap().unwrap(), "two");
        assert!(read(&mut input, 4).is_none());
    }

    #[test]
    fn a_line_without_end_is_not_read_into_memory() {
        let mut input = std::io::BufReader::new(std::io::repeat(b'x'));
        assert_eq!(read(&mut input, 1).unwrap().unwrap_err().0, Kind::TooLarge);
    }
}
