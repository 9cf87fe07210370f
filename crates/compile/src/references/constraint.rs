//! Constraints: `a |= b`, `a |= expression`, `a =|= b`.

use crate::code::{Code, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, Path, SentMessage};
use runnel_syntax::walk::{walk, walk_deep};
use std::collections::BTreeSet;

/// Schemes whose references never change, or belong to one request.
const CONSTANT: [&str; 7] =
    ["class", "scheme", "template", "protocol", "framework", "port", "default"];

/// Whether an expression names a place, so that the constraint follows the place itself.
fn is_place(expression: &Expression) -> bool {
    matches!(
        expression.kind,
        ExpressionKind::Name(_)
            | ExpressionKind::Reference(_)
            | ExpressionKind::ReferenceTo(_)
            | ExpressionKind::Subscript { .. }
    )
}

/// The variable or own variable at the root of a chain of unary messages, and the messages.
fn chain(expression: &Expression) -> Option<(&Expression, Vec<&str>)> {
    let (mut at, mut names) = (expression, Vec::new());
    loop {
        match &at.kind {
            ExpressionKind::Send { receiver, message: SentMessage::Unary(word) } => {
                names.insert(0, word.text.as_str());
                at = receiver;
            }
            ExpressionKind::Parenthesized(inner) => at = inner,
            ExpressionKind::Name(_) | ExpressionKind::Reference(_) if !names.is_empty() => {
                return Some((at, names));
            }
            _ => return None,
        }
    }
}

impl Generator<'_> {
    /// The call that makes a constraint.
    pub(crate) fn constraint(
        &mut self,
        target: &Expression,
        value: &Expression,
        both: bool,
    ) -> String {
        let left = self.reference_of(target);
        self.helper("K");
        if both || is_place(value) {
            if both && !is_place(value) {
                self.refuse_expression(value);
            }
            let left = if self.needs_statements(value) { self.keep(left) } else { left };
            let right = self.reference_of(value);
            return format!("K.constrain({},{},{both})", left.text, right.text);
        }
        let left = self.keep(left);
        let references = self.references_in(value);
        let body = self.function_body(&[], |this| {
            this.with_temporaries(|this| this.expression_to(value, &Tail::Return));
        });
        format!("K.constrainTo({},function(){body} end,{{{}}})", left.text, references.join(","))
    }

    fn refuse_expression(&mut self, value: &Expression) {
        if matches!(value.kind, ExpressionKind::Send { .. } | ExpressionKind::Pipe { .. }) {
            return;
        }
        self.error(
            Diagnostic::error(value.span, "`=|=` joins two variables or references", "a value")
                .hint("for a formula in each direction write two constraints with `|=`"),
        );
    }

    /// The code of a reference for each place that an expression reads.
    fn references_in(&mut self, value: &Expression) -> Vec<String> {
        let mut read: Vec<Expression> = Vec::new();
        let mut blocks = Vec::new();
        let mut visit = |inner: &Expression| match &inner.kind {
            ExpressionKind::Block(block) => blocks.push(block.clone()),
            ExpressionKind::Name(_)
            | ExpressionKind::Reference(_)
            | ExpressionKind::ReferenceTo(_)
            | ExpressionKind::Send { .. } => read.push(inner.clone()),
            _ => {}
        };
        walk(value, &mut visit);
        for block in blocks {
            walk_deep(&block.statements, &mut |inner| match &inner.kind {
                ExpressionKind::Name(_)
                | ExpressionKind::Reference(_)
                | ExpressionKind::Send { .. } => read.push(inner.clone()),
                _ => {}
            });
        }
        // In the order of the text; a chain of messages before its own beginning.
        read.sort_by_key(|place| (place.span.start, std::cmp::Reverse(place.span.end)));
        let roots: Vec<_> =
            read.iter().filter_map(|place| chain(place).map(|(root, _)| root.span)).collect();
        read.retain(|place| chain(place).is_some() || !roots.contains(&place.span));
        let mut codes = Vec::new();
        let mut seen = BTreeSet::new();
        for place in &read {
            let code = match chain(place) {
                Some((root, names)) => self.place(root).map(|code| {
                    format!("K.partReference({},{})", code.text, quoted(&names.join("/")))
                }),
                None => self.place(place).map(|code| code.text),
            };
            codes.extend(code.filter(|code| seen.insert(code.clone())));
        }
        codes
    }

    /// The reference to a place that an expression names, if it can change.
    fn place(&mut self, expression: &Expression) -> Option<Code> {
        match &expression.kind {
            ExpressionKind::Name(name) => {
                self.find(name)?;
                Some(self.reference_of(expression))
            }
            ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
                self.can_change(path).then(|| self.reference(path))
            }
            _ => None,
        }
    }

    fn can_change(&self, path: &Path) -> bool {
        let Some(scheme) = &path.scheme else { return true };
        match (scheme.text.as_str(), path.literal()) {
            ("var", Some(name)) => self.find(name.split('/').next().unwrap_or("")).is_some(),
            (scheme, _) => !CONSTANT.contains(&scheme),
        }
    }
}
