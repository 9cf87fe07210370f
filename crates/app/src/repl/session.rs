//! What is typed at a prompt, statement by statement.

use crate::exit_status;
use crate::report::Report;
use runnel_runtime::{Failure, Isolate};

/// What a line leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Nothing to show: an assignment, a definition, nil, or an incomplete statement.
    Quiet,
    /// A value to show.
    Value(String),
    /// An error to show, and the exit status that goes with it.
    Error(String, u8),
    /// A shell command to run.
    Command(String),
    /// The program asked to end.
    Leave(u8),
}

/// The statements of a prompt. They run in the program: what they change is changed at once.
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

    /// Takes a line, or several; runs the statements that it completes.
    pub(crate) async fn line(&mut self, isolate: &Isolate, line: &str) -> Reaction {
        if self.source.is_empty()
            && let Some(command) = line.trim_start().strip_prefix('!')
        {
            return Reaction::Command(command.trim().to_string());
        }
        if self.source.is_empty()
            && let Some(answer) = super::help::answer(isolate, line)
        {
            return match answer {
                Ok(text) => Reaction::Value(text),
                Err(text) => Reaction::Error(text, exit_status::USAGE),
            };
        }
        self.source.push_str(line);
        self.source.push('\n');
        if runnel_syntax::is_incomplete(&self.source) {
            return Reaction::Quiet;
        }
        self.finish(isolate).await
    }

    /// Runs what was taken so far, complete or not: at the end of the input.
    pub(crate) async fn finish(&mut self, isolate: &Isolate) -> Reaction {
        let source = std::mem::take(&mut self.source);
        if source.trim().is_empty() {
            return Reaction::Quiet;
        }
        self.count += 1;
        let name = format!("prompt {}", self.count);
        match isolate.run(&source, &name).await {
            Ok(outcome) if outcome.silent => Reaction::Quiet,
            Ok(outcome) => outcome.text.map_or(Reaction::Quiet, Reaction::Value),
            Err(Failure::Fault(fault)) if fault.exit.is_some() => {
                Reaction::Leave(fault.exit.unwrap_or(0).clamp(0, 255) as u8)
            }
            Err(why) => {
                let sources = |name: &str| isolate.source(name);
                let text = self.report.rendered_failure(&sources, &source, &name, &why);
                let status = match why {
                    Failure::Compile(_) => exit_status::DATA,
                    Failure::Fault(_) => exit_status::SOFTWARE,
                };
                Reaction::Error(text, status)
            }
        }
    }
}
