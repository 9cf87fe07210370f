//! Conditions on related elements: `author books anySatisfy: { :book | book year > 1900 }`, `author books count > 3`.
//!
//! Their data is `{ "any", path, condition }`, `{ "none", … }` and `{ "of", path, condition, aggregate }`; a path
//! without condition has `false` in its place. The kernel knows which variables are related rows.

use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::references::element::{QueryElement, parameter, parameters_within, single};
use runnel_syntax::Span;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, Word};
use runnel_syntax::walk::walk_deep;

impl Generator<'_> {
    /// `books anySatisfy: { … }` and its like; nothing where it is something else.
    pub(crate) fn quantified(
        &mut self,
        receiver: &Expression,
        name: &str,
        argument: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<Result<String, Span>> {
        if !matches!(name, "anySatisfy" | "allSatisfy" | "noneSatisfy") {
            return None;
        }
        let path = quoted(&self.field_of(receiver, element)?);
        let inner = self.condition_of_related(argument, element, deferred);
        Some(inner.map(|inner| match name {
            "anySatisfy" => format!("{{\"any\",{path},{inner}}}"),
            "noneSatisfy" => format!("{{\"none\",{path},{inner}}}"),
            _ => format!("{{\"none\",{path},{{\"not\",{inner}}}}}"),
        }))
    }

    /// `books count`
    pub(crate) fn count_of_related(
        &self,
        receiver: &Expression,
        name: &str,
        element: &QueryElement<'_>,
    ) -> Option<String> {
        if !matches!(name, "count" | "size") {
            return None;
        }
        let path = quoted(&self.field_of(receiver, element)?);
        Some(format!("{{\"of\",{path},false,{{\"count\"}}}}"))
    }

    /// `books count: { … }`, `books sum: 'pages'`
    pub(crate) fn aggregate_of_related(
        &mut self,
        receiver: &Expression,
        parts: &[(Word, Expression)],
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        let [(word, argument)] = parts else { return None };
        let name = word.text.as_str();
        if !matches!(name, "count" | "countOf" | "sum" | "average") {
            return None;
        }
        let path = quoted(&self.field_of(receiver, element)?);
        if matches!(name, "count" | "countOf") {
            let inner = self.condition_of_related(argument, element, deferred).ok()?;
            return Some(format!("{{\"of\",{path},{inner},{{\"count\"}}}}"));
        }
        let inner = self.of_each(argument, deferred)?;
        Some(format!("{{\"of\",{path},false,{{\"{name}\",{inner}}}}}"))
    }

    /// The condition of a block on related elements. It cannot name the element that they are related to.
    fn condition_of_related(
        &mut self,
        argument: &Expression,
        outside: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Result<String, Span> {
        let ExpressionKind::Block(block) = &argument.kind else { return Err(argument.span) };
        let condition = single(block).filter(|_| block.parameters.len() <= 1);
        let condition = condition.ok_or(block.span)?;
        if let Some(span) = self.mention_of(outside, block) {
            return Err(span);
        }
        let element = QueryElement::Parameter(parameter(block, 0));
        self.condition_data(condition, &element, deferred)
    }

    /// Where a block names an element outside of it, or a field of that.
    fn mention_of(&self, outside: &QueryElement<'_>, block: &Block) -> Option<Span> {
        let own = parameters_within(block);
        let mut found = None;
        walk_deep(&block.statements, &mut |expression| {
            let ExpressionKind::Name(name) = &expression.kind else { return };
            let meant = outside.is_meant_by(expression)
                || matches!(outside, QueryElement::Brackets(_))
                    && self.field_of(expression, outside).is_some();
            if meant && !own.contains(name) && found.is_none() {
                found = Some(expression.span);
            }
        });
        found
    }
}
