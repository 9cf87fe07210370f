//! The prompt: inside the running program, with or without a terminal.

use crate::console::Console;
use crate::report::Report;
use runnel_runtime::Isolate;
use std::io::{BufRead, IsTerminal};
use std::rc::Rc;
use tokio::sync::mpsc;

/// Lines of input read ahead of the program.
const AHEAD: usize = 64;

/// Standard input, read by a thread of its own once somebody asks for it.
pub(crate) struct Input {
    lines: std::cell::OnceCell<Rc<Lines>>,
}

/// The lines of standard input.
pub(crate) struct Lines {
    receiver: tokio::sync::Mutex<mpsc::Receiver<String>>,
}

impl Input {
    pub(crate) fn new() -> Self {
        Input { lines: std::cell::OnceCell::new() }
    }

    /// The lines; the same for all who ask.
    pub(crate) fn lines(&self) -> Rc<Lines> {
        self.lines
            .get_or_init(|| {
                let (sender, receiver) = mpsc::channel(AHEAD);
                std::thread::spawn(move || {
                    for line in std::io::stdin().lock().lines() {
                        let Ok(line) = line else { break };
                        if sender.blocking_send(line).is_err() {
                            break;
                        }
                    }
                });
                Rc::new(Lines { receiver: tokio::sync::Mutex::new(receiver) })
            })
            .clone()
    }
}

impl Lines {
    /// The next line; `None` at the end of the input.
    pub(crate) async fn next(&self) -> Option<String> {
        self.receiver.lock().await.recv().await
    }
}

/// What is typed at a prompt, line by line.
pub(crate) struct Session {
    report: Report,
    /// Lines of a statement that is not complete.
    source: String,
    /// Statements so far: they are named by it.
    count: usize,
}

impl Session {
    pub(crate) fn new(report: Report) -> Self {
        Session { report, source: String::new(), count: 0 }
    }

    /// Takes a line; runs the statements that it completes and answers what to show.
    pub(crate) async fn line(&mut self, isolate: &Isolate, line: &str) -> Option<String> {
        self.source.push_str(line);
        self.source.push('\n');
        if runnel_syntax::is_incomplete(&self.source) {
            return None;
        }
        let text = std::mem::take(&mut self.source);
        if text.trim().is_empty() {
            return None;
        }
        self.count += 1;
        let name = format!("prompt {}", self.count);
        match isolate.run(&text, &name).await {
            Ok(outcome) if outcome.silent => None,
            Ok(outcome) => outcome.text,
            Err(why) => {
                let sources = |name: &str| isolate.source(name);
                Some(self.report.rendered_failure(&sources, &text, &name, &why))
            }
        }
    }
}

/// Reads statements and runs them in the program until the input ends. With a terminal the end of
/// the input is the end of the prompt; without one the program goes on serving.
pub(crate) async fn interact(isolate: &Isolate, lines: Rc<Lines>) {
    let mut session = Session::new(Report::new(false));
    while let Some(line) = lines.next().await {
        if let Some(said) = session.line(isolate, &line).await {
            Console::line(&said);
        }
    }
    if !std::io::stdin().is_terminal() && isolate.is_serving().await {
        std::future::pending::<()>().await;
    }
}
