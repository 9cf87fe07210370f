//! Numbers without a unit where a duration or a size is expected.
//!
//! 60 would be a minute to one reader and an instant to another, so that a limit in the wrong unit limits nothing and
//! it goes unseen. Only 0 is the same in every unit.

use crate::checker::Checker;
use crate::types::{Case, ClassId};
use runnel_catalogue::{Kind, KindOption};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind};
use runnel_text::size::unit_hint;

/// A kind of value that has units.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Duration,
    Size,
}

/// Options with units of the messages that take them in a dictionary: the selector, the durations, the sizes.
const MESSAGES: [(&str, &[&str], &[&str]); 7] = [
    ("backupContinuously:with:", &["interval", "keep", "snapshotInterval"], &["maxLog"]),
    ("createKey:for:", &["ttl"], &[]),
    ("database:", &DATABASE, &[]),
    ("fetch:", &["timeout"], &["maxBodySize"]),
    ("fetch:with:", &["timeout"], &["maxBodySize"]),
    ("follow:do:with:", &["lease"], &[]),
    ("worker:with:", &["timeout"], &[]),
];

/// Those of SQLite and of PostgreSQL.
const DATABASE: [&str; 6] = [
    "busyTimeout",
    "connectTimeout",
    "poolTimeout",
    "slowStatementTime",
    "timeout",
    "transactionTimeout",
];

impl<'a> Checker<'a> {
    /// The value of an option of a literal.
    pub(crate) fn option_unit(&mut self, id: ClassId, name: &str, value: &'a Expression) {
        if literal(value).is_some()
            && let Some(measure) = self.measure(id, name)
        {
            self.unit(name, value, measure);
        }
    }

    /// The options in a dictionary that is an argument of a message.
    pub(crate) fn dictionary_units(&mut self, selector: &str, argument: &'a Expression) {
        let known = MESSAGES.iter().find(|(known, ..)| *known == selector);
        let (Some((_, durations, sizes)), ExpressionKind::Dictionary(pairs)) =
            (known, &argument.kind)
        else {
            return;
        };
        for pair in pairs {
            let ExpressionKind::Symbol(name) = &pair.key.kind else { continue };
            let has = |names: &[&str]| names.contains(&&**name);
            let measures = [(*durations, Measure::Duration), (*sizes, Measure::Size)];
            if let Some((_, measure)) = measures.into_iter().find(|(names, _)| has(names)) {
                self.unit(name, &pair.value, measure);
            }
        }
    }

    /// An argument for a parameter. Says whether the argument is a literal number that needs no other rule.
    pub(crate) fn argument_unit(&mut self, name: &str, value: &'a Expression, kind: &Kind) -> bool {
        let measure = literal(value).and_then(|_| needs_unit(kind));
        if let Some(measure) = measure {
            self.unit(name, value, measure);
        }
        measure.is_some()
    }

    fn unit(&mut self, name: &str, value: &Expression, measure: Measure) {
        let Some(number) = literal(value).filter(|number| number.parse() != Ok(0.0)) else {
            return;
        };
        let title = format!("{name}: {number} has no unit");
        let hint = match (measure, number.parse()) {
            (Measure::Size, Ok(bytes)) => unit_hint(bytes),
            _ => {
                let ending = if number == "1" { "" } else { "s" };
                format!("write {number} second{ending} or {number} millisecond{ending}")
            }
        };
        self.report(Diagnostic::error(value.span, title, "no unit").hint(hint).code("no-unit"));
    }

    fn measure(&self, id: ClassId, name: &str) -> Option<Measure> {
        if self.world.takes_duration(id, name) {
            return Some(Measure::Duration);
        }
        if self.world.takes_size(id, name) {
            return Some(Measure::Size);
        }
        let setter = crate::world::setter(name);
        let set = self.world.documented(Case::Object(id), &setter);
        let kind = set.and_then(|message| Some(&message.parameters.first()?.kind));
        let answer = || Some(&self.world.documented(Case::Object(id), name)?.answer);
        kind.or_else(answer).and_then(needs_unit)
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

/// The kind of values with units that a type has, where it has no numbers.
fn needs_unit(kind: &Kind) -> Option<Measure> {
    let has = |name: &str| {
        kind.options.iter().any(|one| matches!(one, KindOption::Class(class) if class == name))
    };
    let named = [("Duration", Measure::Duration), ("ByteSize", Measure::Size)];
    named.into_iter().find(|(name, _)| has(name) && !has("Number")).map(|(_, measure)| measure)
}
