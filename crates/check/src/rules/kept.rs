//! Layers that keep answers, in front of a scheme that gives them only to some.
//!
//! The layer would refuse at the start of the program; a program is often checked long before it is started.

use crate::checker::Checker;
use crate::guards::GuardFacts;
use crate::types::ClassId;
use runnel_syntax::ast::{Expression, ExpressionKind, Pair, Word};
use runnel_syntax::{Diagnostic, Span};

impl<'a> Checker<'a> {
    /// `#Cache{ } → #Site{ }` where each `get` of the site has a guard.
    pub(crate) fn kept_answers(&mut self, left: &'a Expression, right: &'a Expression) {
        let Some((layer, _)) = object(left).filter(|(class, pairs)| keeps(class, pairs)) else {
            return;
        };
        let Some((name, span)) = self.guarded_below(right) else { return };
        let title = format!("{} keeps answers of {name}, which asks who may read them", layer.text);
        let found = Diagnostic::error(layer.span, title, "would answer everybody");
        let found = found.also(span, "every `get` of it has a guard");
        let hint = format!("put the guard in front of {}, or leave {} out", layer.text, layer.text);
        self.report(found.hint(hint).code("kept-answer"));
    }

    /// The first guarded scheme to the right of an arrow.
    fn guarded_below(&self, right: &'a Expression) -> Option<(&'a str, Span)> {
        match &right.kind {
            ExpressionKind::Parenthesized(inner) => self.guarded_below(inner),
            ExpressionKind::Connect { left, right, .. } => {
                self.guarded_below(left).or_else(|| self.guarded_below(right))
            }
            ExpressionKind::Object { class, .. } => {
                let is_guard = class.text == "Guard";
                let is_guarded = || Some(self.is_guarded(self.world.class(&class.text)?));
                (is_guard || is_guarded() == Some(true)).then_some((&class.text, class.span))
            }
            _ => None,
        }
    }

    /// Whether each `get` of a class and those above it has a guard.
    fn is_guarded(&self, id: ClassId) -> bool {
        let all: Vec<GuardFacts> = self.world.lineage(id).map(|class| class.guards).collect();
        let guards = all.iter().filter(|facts| facts.has_guard).count();
        let is_closed =
            |facts: &GuardFacts| !facts.has_open_get || guards > usize::from(facts.has_guard);
        all.iter().any(|facts| facts.has_get) && all.iter().all(is_closed)
    }
}

fn object(expression: &Expression) -> Option<(&Word, &[Pair])> {
    match &expression.kind {
        ExpressionKind::Object { class, pairs, .. } => {
            Some((class, pairs.as_deref().unwrap_or_default()))
        }
        ExpressionKind::Parenthesized(inner) => object(inner),
        _ => None,
    }
}

/// Whether objects of a class with these options give the answer to one request to others.
fn keeps(class: &Word, pairs: &[Pair]) -> bool {
    let is_cached = |pair: &Pair| {
        let (ExpressionKind::Symbol(key) | ExpressionKind::Text(key)) = &pair.key.kind else {
            return false;
        };
        key == "cached" && matches!(&pair.value.kind, ExpressionKind::Name(name) if name == "true")
    };
    match class.text.as_str() {
        "Cache" | "WriteBack" => true,
        "StaticFiles" => pairs.iter().any(is_cached),
        _ => false,
    }
}
