//! Classes that the script uses above their definition: there they are nil.

use crate::generator::Generator;
use runnel_syntax::ast::{Statement, StatementKind, Word};
use runnel_syntax::{Diagnostic, Span};

/// The class or template that a statement defines.
pub(super) fn defined(statement: &Statement) -> Option<&Word> {
    match &statement.kind {
        StatementKind::Class(class) => Some(&class.name),
        StatementKind::Template { name, .. } => Some(name),
        _ => None,
    }
}

impl Generator<'_> {
    /// Notes what statements define and nothing has defined before.
    pub(super) fn collect_definitions(&mut self, statements: &[Statement]) {
        let names = statements.iter().filter_map(|one| Some((defined(one)?, one.span)));
        for (name, span) in names.filter(|(name, _)| !self.known.is_class(&name.text)) {
            // The first one counts.
            self.coming.entry(name.text.clone()).or_insert(span);
        }
    }

    /// Refuses a class that is not defined yet where the script itself uses it. Methods and blocks run later.
    pub(crate) fn check_order(&mut self, name: &str, span: Span) {
        let runs_here = self.functions.len() == 1 && self.method.is_none();
        let Some(place) = self.coming.get(name).filter(|_| runs_here) else { return };
        let (line, _) = self.index.position(self.source, place.start);
        self.error(
            Diagnostic::error(
                span,
                format!("`{name}` is used above its definition"),
                format!("it is defined in line {line}"),
            )
            .hint("move the definition above what uses it"),
        );
    }
}
