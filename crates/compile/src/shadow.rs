//! A name that is read where it is first assigned, although it has no value yet: `count ← count + 1`
//! in a method of an object with the variable `count`. It would answer nil for ever.

use crate::generator::Generator;
use runnel_syntax::ast::{AssignOperator, Expression, ExpressionKind, Statement, StatementKind};
use runnel_syntax::walk::walk;
use runnel_syntax::{Diagnostic, Span};

impl Generator<'_> {
    /// Says what was meant, for a name that statements make new.
    pub(crate) fn check_shadow(&mut self, name: &str, statements: &[Statement]) {
        if !self.is_own_variable(name) {
            return;
        }
        if let Some(span) = read_before(name, statements) {
            let title = format!("`{name}` has no value yet here");
            self.error(
                Diagnostic::error(span, title, "it is read before it is assigned")
                    .hint(format!("the object's own variable is written `this:{name}`")),
            );
        }
    }
}

/// Where the value of the first assignment to a name reads that name, unless a `var` declares it.
fn read_before(name: &str, statements: &[Statement]) -> Option<Span> {
    for statement in statements {
        let value = match &statement.kind {
            StatementKind::Expression(value) | StatementKind::Return(value) => value,
            StatementKind::Variables(declaration) => {
                if declaration.names.iter().any(|word| word.text == name) {
                    return None;
                }
                continue;
            }
            _ => continue,
        };
        let (mut assigns, mut found) = (false, None);
        walk(value, &mut |expression| {
            if let Some(value) = assigned_value(name, expression) {
                assigns = true;
                walk(value, &mut |inner| {
                    if is_name(name, inner) {
                        found = Some(inner.span);
                    }
                });
            }
        });
        if assigns {
            return found;
        }
    }
    None
}

fn is_name(name: &str, expression: &Expression) -> bool {
    matches!(&expression.kind, ExpressionKind::Name(known) if known == name)
}

fn assigned_value<'a>(name: &str, expression: &'a Expression) -> Option<&'a Expression> {
    match &expression.kind {
        ExpressionKind::Assign { target, operator: AssignOperator::Put, value, .. }
            if is_name(name, target) =>
        {
            Some(value)
        }
        _ => None,
    }
}
