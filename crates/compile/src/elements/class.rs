//! The class of the elements of a collection, where the source says it: `[ #Person{ … } ]`,
//! `… table: Person`, and variables that hold nothing else.

use crate::generator::Generator;
use runnel_syntax::ast::{
    AssignOperator, Expression, ExpressionKind, SentMessage, Statement, StatementKind,
};
use std::collections::BTreeMap;

/// The expressions assigned to variables of the script; `None` after a second assignment.
type Assigned<'a> = BTreeMap<&'a str, Option<&'a Expression>>;

/// Messages that answer elements of their receiver.
const SELECTIONS: [&str; 10] = [
    "select", "where", "filter", "reject", "sorted", "sortedBy", "sortBy", "first", "skip", "last",
];

/// Levels of expressions that are looked through.
const DEPTH: usize = 32;

impl Generator<'_> {
    /// Finds the script's variables that hold collections of one class.
    pub(crate) fn collect_element_classes(&mut self, statements: &[Statement]) {
        let mut assigned = Assigned::new();
        collect(statements, &mut assigned);
        let single = assigned.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        for (name, value) in single {
            if let Some(class) = self.element_class(value, DEPTH) {
                self.element_classes.insert(name.to_string(), class);
            }
        }
    }

    /// The class of the elements that a collection has.
    pub(crate) fn elements_of(&self, collection: &Expression) -> Option<String> {
        self.element_class(collection, DEPTH)
    }

    fn element_class(&self, collection: &Expression, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        match &collection.kind {
            ExpressionKind::Parenthesized(inner) => self.element_class(inner, depth),
            ExpressionKind::Name(name) => {
                let variable = self.scopes.is_empty() || self.find(name)?.owner.is_none();
                variable.then(|| self.element_classes.get(name).cloned())?
            }
            ExpressionKind::Array { class: None, elements } => {
                let mut classes = elements.iter().map(|element| match &element.kind {
                    ExpressionKind::Object { class, .. } => Some(class.text.as_str()),
                    _ => None,
                });
                let first = classes.next()??;
                classes.all(|class| class == Some(first)).then(|| first.to_string())
            }
            ExpressionKind::Subscript { receiver, index } => {
                let query = matches!(index.kind, ExpressionKind::Block(_));
                query.then(|| self.element_class(receiver, depth))?
            }
            ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) }
            | ExpressionKind::Pipe { left: receiver, message: SentMessage::Keyword(parts) } => {
                let [(word, argument)] = parts.as_slice() else { return None };
                match (&argument.kind, word.text.as_str()) {
                    (ExpressionKind::Name(class), "table") => {
                        self.is_class(class).then(|| class.clone())
                    }
                    (_, name) if SELECTIONS.contains(&name) => self.element_class(receiver, depth),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The assignments of the script and of blocks in it; methods do not see its variables.
fn collect<'a>(statements: &'a [Statement], assigned: &mut Assigned<'a>) {
    for statement in statements {
        if let StatementKind::Expression(value) | StatementKind::Return(value) = &statement.kind {
            collect_in(value, assigned);
        }
    }
}

fn collect_in<'a>(expression: &'a Expression, assigned: &mut Assigned<'a>) {
    let mut pending = vec![expression];
    while let Some(expression) = pending.pop() {
        match &expression.kind {
            ExpressionKind::Block(block) => collect(&block.statements, assigned),
            ExpressionKind::Assign { target, operator, value, .. } => {
                if let ExpressionKind::Name(name) = &target.kind {
                    let once =
                        *operator == AssignOperator::Put && !assigned.contains_key(name.as_str());
                    assigned.insert(name, once.then_some(&**value));
                }
            }
            _ => {}
        }
        runnel_syntax::walk::children(expression, &mut pending);
    }
}
