//! A program that does not parse: unknown names in the parts of it that do.

use crate::chunk::Known;
use crate::compile::compile;
use crate::scope::words;
use runnel_syntax::ast::{ExpressionKind, Program, Statement, StatementKind};
use runnel_syntax::{Diagnostic, Parsed, Severity, Span};

/// The faults of a program, together with the errors of its sound parts, in the order of the text.
///
/// A name that stands in a part with faults may be defined there: it is not reported.
pub fn beside_faults(parsed: Parsed, source: &str, known: &dyn Known) -> Vec<Diagnostic> {
    let Parsed { program, mut diagnostics, broken } = parsed;
    let is_broken =
        |span: Span| broken.iter().any(|one| one.start <= span.start && span.start < one.end);
    let sound: Vec<Statement> = program
        .statements
        .into_iter()
        .filter(|one| !is_broken(one.span) && is_sound(one))
        .collect();
    if broken.is_empty() || sound.is_empty() {
        return diagnostics;
    }
    let broken_words: std::collections::BTreeSet<&str> =
        broken.iter().flat_map(|span| words(span.text(source))).collect();
    let program = Program { statements: sound, ..program };
    let found = compile(&program, source, known).err().unwrap_or_default();
    let found = found.into_iter().filter(|one| {
        one.level == Severity::Error
            && !words(one.label.span.text(source)).any(|word| broken_words.contains(word))
    });
    diagnostics.extend(found);
    diagnostics.sort_by_key(|one| one.label.span.start);
    diagnostics.truncate(runnel_syntax::limits::MAX_DIAGNOSTICS);
    diagnostics
}

fn is_sound(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Error => false,
        StatementKind::Expression(value) => !matches!(value.kind, ExpressionKind::Error),
        _ => true,
    }
}
