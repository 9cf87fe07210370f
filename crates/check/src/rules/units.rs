//! Numbers without a unit where a duration is expected.
//!
//! 60 would be a minute to one reader and an instant to another, so that a limit in the wrong unit limits nothing and
//! it goes unseen. Only 0 is the same in every unit.

use crate::checker::Checker;
use crate::types::{Case, ClassId};
use runnel_catalogue::{Kind, KindOption};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind};

impl<'a> Checker<'a> {
    /// The value of an option of a literal.
    pub(crate) fn option_unit(&mut self, id: ClassId, name: &str, value: &'a Expression) {
        if literal(value).is_some() && self.is_duration(id, name) {
            self.unit(name, value);
        }
    }

    /// An argument for a parameter. Says whether the argument is a literal number that needs no other rule.
    pub(crate) fn argument_unit(&mut self, name: &str, value: &'a Expression, kind: &Kind) -> bool {
        let is_number = literal(value).is_some() && needs_unit(kind);
        if is_number {
            self.unit(name, value);
        }
        is_number
    }

    fn unit(&mut self, name: &str, value: &Expression) {
        let Some(number) = literal(value).filter(|number| number.parse() != Ok(0.0)) else {
            return;
        };
        let ending = if number == "1" { "" } else { "s" };
        let title = format!("{name}: {number} has no unit");
        let hint = format!("write {number} second{ending} or {number} millisecond{ending}");
        self.report(Diagnostic::error(value.span, title, "no unit").hint(hint).code("no-unit"));
    }

    fn is_duration(&self, id: ClassId, name: &str) -> bool {
        if self.world.takes_duration(id, name) {
            return true;
        }
        let setter = crate::world::setter(name);
        let set = self.world.documented(Case::Object(id), &setter);
        let kind = set.and_then(|message| Some(&message.parameters.first()?.kind));
        let answer = || Some(&self.world.documented(Case::Object(id), name)?.answer);
        kind.or_else(answer).is_some_and(needs_unit)
    }
}

/// A literal number as a program writes it.
fn literal(value: &Expression) -> Option<String> {
    match &value.kind {
        ExpressionKind::Integer(digits) => Some(digits.clone()),
        ExpressionKind::Float(number) => Some(number.to_string()),
        ExpressionKind::Parenthesized(inner) => literal(inner),
        _ => None,
    }
}

/// Whether a type has durations and no numbers.
fn needs_unit(kind: &Kind) -> bool {
    let has = |name: &str| {
        kind.options.iter().any(|one| matches!(one, KindOption::Class(class) if class == name))
    };
    has("Duration") && !has("Number")
}
