//! What the names around an expression hold.

use crate::walk::{walk, walk_deep};
use runnel_syntax::ast::{
    AssignOperator, Block, Expression, ExpressionKind, Method, PropertyPath, Segment, Statement,
    TextPart,
};
use std::collections::BTreeSet;

/// The schemes that read a request.
const REQUEST: [&str; 5] = ["query", "form", "header", "cookie", "body"];

/// The names that can be seen at a place, by what is known of them.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// Parts of a request: parameters of a path, `newValue`, `theRef`.
    request: BTreeSet<String>,
    /// Parameters such as `*:rest`.
    rests: BTreeSet<String>,
    /// Variables that were assigned from a request.
    tainted: BTreeSet<String>,
    /// Variables that were assigned a text with a slash in it.
    slashes: BTreeSet<String>,
    /// All variables and parameters.
    all: BTreeSet<String>,
}

impl Names {
    /// What each handler sees.
    pub(super) fn of_request() -> Self {
        let request: BTreeSet<String> =
            ["newValue".to_owned(), "theRef".to_owned()].into_iter().collect();
        Names { all: request.clone(), request, ..Names::default() }
    }

    /// These names below a path.
    pub(super) fn with_path(&self, path: &PropertyPath) -> Self {
        let mut names = self.clone();
        for segment in &path.segments {
            match segment {
                Segment::Parameter(parameter) => {
                    names.request.insert(parameter.name.text.clone());
                }
                Segment::Rest(Some(word)) => {
                    names.request.insert(word.text.clone());
                    names.rests.insert(word.text.clone());
                }
                Segment::Literal(_) | Segment::Rest(None) => {}
            }
        }
        let parameters = path.parameters.iter().chain(path.declared_parameters());
        names.request.extend(parameters.map(|parameter| parameter.name.text.clone()));
        names.all.extend(names.request.iter().cloned());
        names
    }

    pub(super) fn of_method(method: &Method) -> Self {
        let parameters = crate::walk::parameters(&method.selector);
        let all = parameters.map(|parameter| parameter.name.text.clone()).collect();
        Names { all, ..Names::default() }
    }

    /// These names inside a block: its parameters hold something else.
    pub(super) fn with_parameters(&self, block: &Block) -> Self {
        let mut names = self.clone();
        for parameter in &block.parameters {
            let name = &parameter.name.text;
            for set in
                [&mut names.request, &mut names.rests, &mut names.tainted, &mut names.slashes]
            {
                set.remove(name);
            }
            names.all.insert(name.clone());
        }
        names
    }

    /// These names and those that statements assign, blocks inside them included.
    pub(super) fn with_assigned(&self, statements: &[Statement]) -> Self {
        let mut names = self.clone();
        // What is assigned from a variable that was assigned further down is found the second time.
        for _ in 0..2 {
            walk_deep(statements, &mut |expression| {
                let ExpressionKind::Assign { target, operator: AssignOperator::Put, value, .. } =
                    &expression.kind
                else {
                    return;
                };
                let ExpressionKind::Name(name) = &target.kind else { return };
                if names.is_request(value) || names.is_tainted(value) {
                    names.tainted.insert(name.clone());
                }
                if has_slash(value) {
                    names.slashes.insert(name.clone());
                }
                names.all.insert(name.clone());
            });
        }
        names
    }

    /// Whether an expression reads a request.
    pub(super) fn is_request(&self, expression: &Expression) -> bool {
        any(expression, &|inner| match &inner.kind {
            ExpressionKind::Name(name) => self.request.contains(name),
            ExpressionKind::Reference(path) => {
                path.scheme.as_ref().is_some_and(|word| REQUEST.contains(&word.text.as_str()))
            }
            _ => false,
        })
    }

    /// Whether an expression reads a variable that holds a part of a request.
    pub(super) fn is_tainted(&self, expression: &Expression) -> bool {
        any(
            expression,
            &|inner| matches!(&inner.kind, ExpressionKind::Name(name) if self.tainted.contains(name)),
        )
    }

    /// Whether an expression is a parameter such as `*:rest`.
    pub(super) fn is_rest(&self, expression: &Expression) -> bool {
        matches!(&expression.kind, ExpressionKind::Name(name) if self.rests.contains(name))
    }

    /// Whether the text of an expression has a slash in it.
    pub(super) fn has_slash(&self, expression: &Expression) -> bool {
        has_slash(expression)
            || matches!(&expression.kind, ExpressionKind::Name(name) if self.slashes.contains(name))
    }

    pub(super) fn is_variable(&self, name: &str) -> bool {
        self.all.contains(name)
    }
}

fn has_slash(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Text(text) => text.contains('/'),
        ExpressionKind::Interpolated(parts) => {
            parts.iter().any(|part| matches!(part, TextPart::Text(text) if text.contains('/')))
        }
        ExpressionKind::Parenthesized(inner) => has_slash(inner),
        _ => false,
    }
}

fn any(expression: &Expression, is: &dyn Fn(&Expression) -> bool) -> bool {
    let mut found = false;
    walk(expression, &mut |inner| found |= is(inner));
    found
}

/// Whether an expression reads a scheme of requests that a client fills by name.
pub(super) fn reads_request(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Reference(path) => path
            .scheme
            .as_ref()
            .is_some_and(|word| word.text != "body" && REQUEST.contains(&word.text.as_str())),
        ExpressionKind::Parenthesized(inner) => reads_request(inner),
        _ => false,
    }
}
