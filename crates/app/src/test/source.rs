//! Running the source blocks of one section in one program.

use super::conversation;
use super::expect::{matches, trimmed};
use super::host::TestHost;
use super::outcome::{Edit, Failure};
use super::page::{Fence, FenceKind};
use super::statement::{Expectation, pieces};
use super::{TIME, client, took_too_long};
use crate::report::Report;
use runnel_runtime::Isolate;
use std::collections::HashMap;
use std::rc::Rc;

/// The program of a section.
pub(crate) struct PageProgram {
    isolate: Isolate,
    host: Rc<TestHost>,
    report: Report,
    /// The source blocks run so far, for showing their lines.
    sources: HashMap<String, Rc<str>>,
    tests_run: usize,
}

/// A source block with the blocks that belong to it.
#[derive(Clone, Copy)]
struct Example<'a> {
    fence: &'a Fence,
    others: &'a [Fence],
    name: &'a str,
}

impl<'a> Example<'a> {
    fn other(&self, kind: FenceKind) -> Option<&'a Fence> {
        self.others.iter().find(|fence| fence.kind == kind)
    }
}

impl PageProgram {
    pub(crate) fn new() -> Result<PageProgram, String> {
        let host = TestHost::new();
        let isolate = Isolate::new(host.clone(), crate::memory::limits())?;
        let (report, sources) = (Report::plain(), HashMap::new());
        Ok(PageProgram { isolate, host, report, sources, tests_run: 0 })
    }

    /// Runs a source block with the blocks that belong to it.
    pub(crate) async fn run(&mut self, fence: &Fence, others: &[Fence]) -> Vec<Failure> {
        let name = match self.sources.len() {
            0 => "example.st".to_string(),
            count => format!("example{}.st", count + 1),
        };
        self.sources.insert(name.clone(), fence.text.as_str().into());
        let example = Example { fence, others, name: &name };
        let mut failures = Vec::new();
        if let Some(failure) = format_failure(&fence.text, fence.line) {
            failures.push(failure);
        }
        self.host.set_input(example.other(FenceKind::Input).map_or("", |fence| &fence.text));
        let running = self.execute(example, &mut failures);
        let result = match tokio::time::timeout(TIME, running).await {
            Ok(result) => result,
            Err(_) => Err(took_too_long()),
        };
        failures.extend(compare_error(example, result));
        let talks: Vec<&Fence> =
            others.iter().filter(|one| one.kind == FenceKind::Conversation).collect();
        for talk in &talks {
            failures.extend(self.converse(talk, "").await);
        }
        failures.extend(compare_output(example, &self.host.take_output()));
        for talk in talks.iter().filter(|talk| !talk.says("once")) {
            if failures.is_empty() {
                failures.extend(self.converse(talk, " the second time").await);
            }
        }
        self.host.take_output();
        failures
    }

    /// Runs the pieces of the source, its result where it has one, and its tests. Answers how it
    /// fails without an expectation of the error.
    async fn execute(
        &mut self,
        example: Example<'_>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let Example { fence, name, .. } = example;
        if let Err(diagnostics) = self.isolate.compiles(&fence.text, name) {
            let rendered =
                diagnostics.iter().map(|one| self.report.rendered(&fence.text, name, one));
            return Err(rendered.collect::<Vec<String>>().join("\n"));
        }
        let pieces = match pieces(&fence.text) {
            Ok(pieces) => pieces,
            Err(line) => {
                let wrong = "this expectation stands at the end of no statement";
                failures.push(Failure::plain(fence.line + line, wrong, ""));
                return Ok(());
            }
        };
        let mut value = None;
        for piece in pieces {
            match (self.isolate.run(&piece.text, name).await, piece.expected) {
                (Ok(outcome), expected) => {
                    let text = outcome.text.unwrap_or_else(|| "nil".into());
                    failures.extend(expected.and_then(|one| compare_value(fence, &one, &text)));
                    value = Some(outcome.value);
                }
                (Err(why), expected) => {
                    let message = match (&why, expected) {
                        (runnel_runtime::Failure::Fault(fault), Some(expected)) => {
                            let message = format!("error: {}", fault.message);
                            failures.extend(compare_value(fence, &expected, &message));
                            continue;
                        }
                        _ => self.rendered(example, &why),
                    };
                    return Err(message);
                }
            }
        }
        let signature = runnel_syntax::parse(&fence.text).program.signature;
        let declared =
            signature.is_some_and(|one| one.result.is_none_or(|result| result.text != "void"));
        let serves = example.other(FenceKind::Conversation).is_some() && self.host.port().is_none();
        if let Some(value) = value.filter(|_| declared || serves)
            && let Err(fault) = self.isolate.run_result(value).await
        {
            return Err(self.rendered(example, &runnel_runtime::Failure::Fault(fault)));
        }
        self.run_tests(example).await
    }

    async fn run_tests(&mut self, example: Example<'_>) -> Result<(), String> {
        let tests = self.isolate.tests().await;
        let first = std::mem::replace(&mut self.tests_run, tests.len());
        for test in tests.iter().skip(first) {
            if let Err(fault) = self.isolate.run_test(test.number).await {
                return Err(self.rendered(example, &runnel_runtime::Failure::Fault(fault)));
            }
        }
        Ok(())
    }

    fn rendered(&self, example: Example<'_>, why: &runnel_runtime::Failure) -> String {
        let sources = |name: &str| self.sources.get(name).cloned();
        self.report.rendered_failure(&sources, &example.fence.text, example.name, why)
    }

    async fn converse(&self, fence: &Fence, when: &str) -> Vec<Failure> {
        let start = fence.line + 1;
        let turns = match conversation::read(&fence.text) {
            Ok(turns) => turns,
            Err((line, wrong)) => return vec![Failure::plain(start + line, wrong, "")],
        };
        let Some(port) = self.host.port() else {
            return vec![Failure::plain(fence.line, "the program serves nothing", "")];
        };
        let mut failures = Vec::new();
        for turn in turns {
            let request = format!("{} {}{when}", turn.method, turn.target);
            let line = start + turn.line;
            match tokio::time::timeout(TIME, client::talk(port, &turn)).await {
                Err(_) => failures.push(Failure::plain(line, request, took_too_long())),
                Ok(Err(error)) => failures.push(Failure::plain(line, request, error)),
                Ok(Ok(reply)) => {
                    for mut failure in turn.compare(&reply, start) {
                        failure.what.push_str(when);
                        failure.edit = failure.edit.filter(|_| when.is_empty());
                        failures.push(failure);
                    }
                }
            }
        }
        failures
    }
}

fn compare_value(fence: &Fence, expected: &Expectation, value: &str) -> Option<Failure> {
    let value = value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    if matches(&expected.text, &value) {
        return None;
    }
    let line = fence.line + expected.line;
    let edit = Some(Edit { from: line, to: line + 1, text: expected.with(&value) });
    let (what, expected) = ("value".into(), expected.text.clone());
    Some(Failure { line, what, expected, actual: value, edit })
}

fn compare_error(example: Example<'_>, result: Result<(), String>) -> Option<Failure> {
    let line = example.fence.line;
    match (example.other(FenceKind::Error), result) {
        (None, Ok(())) => None,
        (None, Err(text)) => Some(Failure::plain(line, "this block fails", text)),
        (Some(fence), Ok(())) => {
            let mut failure = Failure::plain(line, "this block does not fail", "");
            failure.expected = trimmed(&fence.text);
            Some(failure)
        }
        (Some(fence), Err(text)) if matches(&fence.text, &text) => None,
        (Some(fence), Err(text)) => Some(replaced(fence, "error", &text)),
    }
}

fn compare_output(example: Example<'_>, output: &str) -> Option<Failure> {
    match example.other(FenceKind::Output) {
        Some(fence) if matches(&fence.text, output) => None,
        Some(fence) => Some(replaced(fence, "output", output)),
        None if output.trim().is_empty() => None,
        None => {
            let end = example.fence.end() + 1;
            let mut failure = Failure::plain(
                example.fence.line,
                "this block writes, and no `out` block says what",
                trimmed(output),
            );
            let text = format!("```out\n{}\n```\n", trimmed(output));
            failure.edit = Some(Edit { from: end, to: end, text });
            Some(failure)
        }
    }
}

/// A block expects another text.
fn replaced(fence: &Fence, what: &str, actual: &str) -> Failure {
    let actual = trimmed(actual);
    let empty = actual.is_empty();
    let text = if empty { String::new() } else { format!("{actual}\n") };
    Failure {
        line: fence.line,
        what: what.into(),
        expected: trimmed(&fence.text),
        actual,
        edit: Some(Edit { from: fence.line + 1, to: fence.end(), text }),
    }
}

/// Whether the formatter keeps a source's meaning and leaves its own result alone. A source that
/// does not parse is not formatted.
pub(crate) fn format_failure(source: &str, line: usize) -> Option<Failure> {
    let parsed = runnel_syntax::parse(source);
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let once = match runnel_syntax::format(source) {
        Ok(once) => once,
        Err(diagnostics) => {
            let said = diagnostics.first().map_or(String::new(), |one| one.title.clone());
            return Some(Failure::plain(line, "this block cannot be formatted", said));
        }
    };
    let outline = |source: &str| runnel_syntax::outline(&runnel_syntax::parse(source).program);
    if outline(&once) != outline(source) {
        return Some(Failure::plain(line, "formatting changes what this block means", once));
    }
    let twice = runnel_syntax::format(&once).unwrap_or_default();
    (twice != once).then(|| Failure {
        line,
        what: "formatting twice is not formatting once".into(),
        expected: once,
        actual: twice,
        edit: None,
    })
}
