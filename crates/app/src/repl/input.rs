//! Standard input, line by line.

use std::cell::OnceCell;
use std::io::{BufRead, IsTerminal};
use std::rc::Rc;
use tokio::sync::{Mutex, mpsc};

/// Lines of a pipe or file that are read ahead of the program.
const AHEAD: usize = 64;

/// Standard input, read by a thread of its own once somebody asks for it.
pub(crate) struct Input {
    lines: OnceCell<Rc<Lines>>,
}

/// The lines of standard input.
pub(crate) struct Lines {
    /// Asks for a line of a terminal: only what is wanted is taken from it.
    wanted: Option<std::sync::mpsc::Sender<()>>,
    receiver: Mutex<mpsc::Receiver<String>>,
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
            while !terminal || wanted.recv().is_ok() {
                let mut line = String::new();
                if !matches!(input.read_line(&mut line), Ok(1..)) {
                    break;
                }
                line.truncate(line.trim_end_matches(['\n', '\r']).len());
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Lines { wanted: terminal.then_some(want), receiver: Mutex::new(receiver) }
    }

    /// The next line; `None` at the end of the input.
    pub(crate) async fn next(&self) -> Option<String> {
        let mut receiver = self.receiver.lock().await;
        if let Some(wanted) = &self.wanted {
            // When the thread has ended the receiver says so.
            let _ = wanted.send(());
        }
        receiver.recv().await
    }
}
