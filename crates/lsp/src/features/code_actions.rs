//! Corrections of findings.

use super::diagnostics::Finding;
use crate::documents::View;
use runnel_syntax::{Diagnostic, Edit, Span, corrected};
use serde_json::{Value, json};

/// Corrections that are offered for one place.
const MOST_ACTIONS: usize = 20;

/// The corrections of the findings at a place. Without findings of this state of the text there are none yet.
pub(crate) fn actions(view: &View<'_>, place: Span, findings: Option<&Vec<Finding>>) -> Vec<Value> {
    let Some(findings) = findings else { return Vec::new() };
    let touches = |one: &&Finding| {
        let span = one.diagnostic.label.span;
        span.start <= place.end && place.start <= span.end
    };
    let mut actions = Vec::new();
    for finding in findings.iter().filter(touches).take(MOST_ACTIONS) {
        let Some((title, edits)) = correction(view, &finding.diagnostic) else { continue };
        actions.push(json!({
            "title": title, "kind": "quickfix", "isPreferred": true,
            "diagnostics": [finding.item], "edit": changes(view, &edits),
        }));
    }
    let all: Vec<Diagnostic> = findings.iter().map(|one| one.diagnostic.clone()).collect();
    let (text, count) = corrected(view.text(), &all);
    if count > 1 {
        let whole = Edit { span: Span::new(0, view.text().len() as u32), text };
        actions.push(json!({
            "title": format!("Correct {count} findings"), "kind": "source.fixAll",
            "edit": changes(view, &[whole]),
        }));
    }
    actions
}

fn changes(view: &View<'_>, edits: &[Edit]) -> Value {
    let edits: Vec<Value> = edits
        .iter()
        .map(|edit| json!({ "range": view.range(edit.span), "newText": edit.text }))
        .collect();
    json!({ "changes": { view.document.uri.as_str(): edits } })
}

/// The title and the changes of a correction: what the finding says, or the name that it proposes.
fn correction(view: &View<'_>, diagnostic: &Diagnostic) -> Option<(String, Vec<Edit>)> {
    if let [edit] = diagnostic.fixes.as_slice() {
        let old = edit.span.text(view.text());
        let title = match (old.is_empty(), edit.text.is_empty()) {
            (true, _) => format!("Insert `{}`", shown(&edit.text)),
            (_, true) => format!("Remove `{}`", shown(old)),
            _ => format!("Replace `{}` with `{}`", shown(old), shown(&edit.text)),
        };
        return Some((title, diagnostic.fixes.clone()));
    }
    if !diagnostic.fixes.is_empty() {
        let title = diagnostic.hint.clone().unwrap_or_else(|| "Correct this".to_owned());
        return Some((title, diagnostic.fixes.clone()));
    }
    let hint = diagnostic.hint.as_deref()?;
    let proposal = hint.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    let span = diagnostic.label.span;
    let old = span.text(view.text());
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    if !is_word(old) || !is_word(proposal) || old.ends_with(':') != proposal.ends_with(':') {
        return None;
    }
    let edit = Edit { span, text: proposal.to_owned() };
    Some((format!("Replace `{old}` with `{proposal}`"), vec![edit]))
}

/// A text for a title.
fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
