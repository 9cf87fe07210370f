//! The element of a query block, and the messages to it that are no fields.

use runnel_syntax::ast::{Block, Expression, ExpressionKind, StatementKind};
use runnel_syntax::walk::walk_deep;
use std::collections::BTreeSet;

/// How a query block names its element.
pub(crate) enum QueryElement<'a> {
    /// Between brackets: bare names are fields, unless a variable of that name is visible, and
    /// messages to the parameter.
    Brackets(&'a str),
    /// The parameter: `task done`.
    Parameter(&'a str),
}

impl QueryElement<'_> {
    /// Whether an expression is the element itself.
    pub(crate) fn is_meant_by(&self, expression: &Expression) -> bool {
        let (QueryElement::Parameter(parameter) | QueryElement::Brackets(parameter)) = self;
        match &expression.kind {
            ExpressionKind::Name(name) => name == parameter,
            ExpressionKind::Implicit(name) => parameter.strip_prefix('$') == Some(name),
            _ => false,
        }
    }
}

/// The functions of a text, by the messages of the language.
pub(crate) fn text_function(name: &str) -> Option<&'static str> {
    Some(match name {
        "lowercaseString" | "lowercase" | "asLowercase" => "lower",
        "uppercaseString" | "uppercase" | "asUppercase" => "upper",
        "length" => "length",
        _ => return None,
    })
}

/// Messages behind a relation that name no field of the related row.
pub(crate) fn is_function(name: &str) -> bool {
    let question = matches!(name, "isEmpty" | "notEmpty" | "isNotEmpty" | "notNil");
    question || text_function(name).is_some() || matches!(name, "size" | "count" | "required")
}

/// The only statement of a block, where that is an expression.
pub(crate) fn single(block: &Block) -> Option<&Expression> {
    let [statement] = block.statements.as_slice() else { return None };
    match &statement.kind {
        StatementKind::Expression(expression) => Some(expression),
        _ => None,
    }
}

pub(crate) fn parameter(block: &Block, at: usize) -> &str {
    block.parameters.get(at).map_or("$0", |parameter| &parameter.name.text)
}

/// The parameters of a block and of all blocks inside it.
pub(crate) fn parameters_within(block: &Block) -> BTreeSet<String> {
    let names = |block: &Block| {
        let names = block.parameters.iter().map(|parameter| parameter.name.text.clone());
        names.collect::<Vec<_>>()
    };
    let mut all: BTreeSet<String> = names(block).into_iter().collect();
    walk_deep(&block.statements, &mut |expression| {
        if let ExpressionKind::Block(inner) = &expression.kind {
            all.extend(names(inner));
        }
    });
    all
}
