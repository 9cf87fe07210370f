//! Errors and warnings, as `runnel check` finds them.

use crate::documents::OpenText;
use crate::knowledge::Knowledge;
use runnel_compile::CleanStatements;
use runnel_syntax::{Diagnostic, Severity};
use serde_json::{Value, json};

/// One finding with its places as the client counts them.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) diagnostic: Diagnostic,
    /// As the protocol has it.
    pub(crate) item: Value,
}

/// All findings of one state of a text.
pub(crate) type Findings = Vec<Finding>;

/// The stack of a thread that checks: programs may be nested deeply.
pub(crate) const STACK: usize = 32 << 20;
/// Findings that are sent for one text.
const MOST_FINDINGS: usize = 200;

/// What is wrong with a text: its syntax; then its names; then what the checker finds. `clean` are the statements of
/// its last state that need not be compiled again.
pub(crate) fn diagnose(
    document: &OpenText,
    knowledge: &Knowledge,
    clean: &mut CleanStatements,
) -> Findings {
    let (reading, text) = (document.reading(), document.text.as_str());
    let mut all = reading.faults.clone();
    if all.iter().all(|one| one.level != Severity::Error) {
        let (catalogue, kernel) = (knowledge.catalogue, &knowledge.kernel);
        let check = || runnel_check::check(&reading.program, text, catalogue, kernel);
        let compile = || runnel_compile::diagnose(&reading.program, text, &knowledge.names, clean);
        let (found, compiled) = beside(check, compile);
        let compiles = compiled.iter().all(|one| one.level != Severity::Error);
        all.extend(compiled);
        // Of a program that does not compile, the checker may say what is not so.
        all.extend(found.into_iter().filter(|_| compiles));
    }
    all.sort_by_key(|one| (one.label.span.start, one.label.span.end));
    all.dedup();
    all.truncate(MOST_FINDINGS);
    all.into_iter().map(|diagnostic| finding(document, diagnostic)).collect()
}

/// Runs two functions at the same time, the first in a thread of its own where one can be had.
fn beside<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &first);
        let second = second();
        let first = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => first(),
        };
        (first, second)
    })
}

fn finding(document: &OpenText, diagnostic: Diagnostic) -> Finding {
    let range = document.range(diagnostic.label.span);
    let mut message = diagnostic.title.clone();
    if !diagnostic.label.text.is_empty() {
        message.push_str(&format!(": {}", diagnostic.label.text));
    }
    if let Some(hint) = &diagnostic.hint {
        message.push_str(&format!("\nhelp: {hint}"));
    }
    let severity = match diagnostic.level {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    let mut item =
        json!({ "range": range, "severity": severity, "source": "runnel", "message": message });
    if let Some(code) = diagnostic.code {
        item["code"] = json!(code);
        if code.contains("unused") {
            item["tags"] = json!([1]);
        }
    }
    let others = diagnostic.others.iter().map(|other| {
        let location = json!({ "uri": document.uri, "range": document.range(other.span) });
        json!({ "location": location, "message": other.text })
    });
    let others: Vec<Value> = others.collect();
    if !others.is_empty() {
        item["relatedInformation"] = json!(others);
    }
    Finding { diagnostic, item }
}

pub(crate) fn as_items(findings: &[Finding]) -> Vec<Value> {
    findings.iter().map(|finding| finding.item.clone()).collect()
}

/// The answer to a request for diagnostics.
pub(crate) fn report(state: Option<u64>, items: Vec<Value>) -> Value {
    let mut report = json!({ "kind": "full", "items": items });
    if let Some(state) = state {
        report["resultId"] = json!(state.to_string());
    }
    report
}

pub(crate) fn unchanged_report(state: u64) -> Value {
    json!({ "kind": "unchanged", "resultId": state.to_string() })
}
