//! Walks over the syntax tree.

use runnel_syntax::ast::{
    Block, Class, Expression, ExpressionKind, MemberKind, Parameter, PathMemberKind, PathPart,
    PropertyPath, Selector, SentMessage, Statement, StatementKind, TextPart,
};

/// Visits the expressions of statements, not those in blocks inside.
pub(crate) fn walk_statements(statements: &[Statement], visit: &mut dyn FnMut(&Expression)) {
    for statement in statements {
        if let StatementKind::Expression(value) | StatementKind::Return(value) = &statement.kind {
            walk(value, visit);
        }
    }
}

/// Visits an expression and what it is made of, not what stands in blocks. Long chains of
/// messages do not use the stack.
pub(crate) fn walk(expression: &Expression, visit: &mut dyn FnMut(&Expression)) {
    let mut pending = vec![expression];
    while let Some(expression) = pending.pop() {
        visit(expression);
        children(expression, &mut pending);
    }
}

/// Visits the expressions of statements and of all blocks inside them.
pub(crate) fn walk_deep(statements: &[Statement], visit: &mut dyn FnMut(&Expression)) {
    let mut blocks: Vec<Block> = Vec::new();
    walk_statements(statements, &mut |expression| {
        visit(expression);
        if let ExpressionKind::Block(block) = &expression.kind {
            blocks.push(block.clone());
        }
    });
    for block in blocks {
        walk_deep(&block.statements, visit);
    }
}

/// The parameters of a selector.
pub(crate) fn parameters(selector: &Selector) -> impl Iterator<Item = &Parameter> {
    let list: Vec<&Parameter> = match selector {
        Selector::Unary(_) => Vec::new(),
        Selector::Binary(_, parameter) => vec![parameter],
        Selector::Keyword(parts) => parts.iter().map(|(_, parameter)| parameter).collect(),
    };
    list.into_iter()
}

/// Visits the blocks of a class: method bodies, verbs of paths, filter bodies.
pub(crate) fn bodies(class: &Class, visit: &mut dyn FnMut(&Block)) {
    for member in &class.members {
        match &member.kind {
            MemberKind::Method(method) => {
                if let Some(body) = &method.body {
                    visit(body);
                }
            }
            MemberKind::PropertyPath(path) => path_bodies(path, visit),
            MemberKind::Clause(clause) => visit(&clause.body),
            MemberKind::FilterBody(body) => visit(body),
            MemberKind::Rule(rule) => visit(&rule.condition),
            MemberKind::Variables(_) | MemberKind::Parameter(_) | MemberKind::Error => {}
        }
    }
}

fn path_bodies(path: &PropertyPath, visit: &mut dyn FnMut(&Block)) {
    for member in &path.members {
        match &member.kind {
            PathMemberKind::Handler(handler) => {
                handler.allowed.iter().for_each(&mut *visit);
                visit(&handler.body);
            }
            PathMemberKind::Clause(clause) => visit(&clause.body),
            PathMemberKind::Parameter(_) => {}
            PathMemberKind::Path(path) => path_bodies(path, visit),
        }
    }
}

fn arguments<'a>(message: &'a SentMessage, pending: &mut Vec<&'a Expression>) {
    match message {
        SentMessage::Unary(_) => {}
        SentMessage::Binary(_, argument) => pending.push(argument),
        SentMessage::Keyword(parts) => pending.extend(parts.iter().map(|(_, argument)| argument)),
    }
}

pub(crate) fn children<'a>(expression: &'a Expression, pending: &mut Vec<&'a Expression>) {
    match &expression.kind {
        ExpressionKind::Interpolated(parts) => {
            pending.extend(parts.iter().filter_map(|part| match part {
                TextPart::Expression(inner) => Some(inner),
                TextPart::Text(_) => None,
            }));
        }
        ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
            pending.extend(path.parts.iter().filter_map(|part| match part {
                PathPart::Expression(inner) | PathPart::Segments(inner) => Some(inner),
                PathPart::Text(_) => None,
            }));
        }
        ExpressionKind::Array { elements, .. } => pending.extend(elements),
        ExpressionKind::Dictionary(pairs) => {
            pending.extend(pairs.iter().flat_map(|pair| [&pair.key, &pair.value]));
        }
        ExpressionKind::Object { pairs, children, .. } => {
            pending.extend(pairs.iter().flatten().flat_map(|pair| [&pair.key, &pair.value]));
            pending.extend(children.iter().flatten());
        }
        ExpressionKind::Parenthesized(inner) | ExpressionKind::Next(inner) => pending.push(inner),
        ExpressionKind::Send { receiver, message } => {
            pending.push(receiver);
            arguments(message, pending);
        }
        ExpressionKind::Pipe { left, message } => {
            pending.push(left);
            arguments(message, pending);
        }
        ExpressionKind::Cascade { receiver, messages } => {
            pending.push(receiver);
            messages.iter().for_each(|message| arguments(message, pending));
        }
        ExpressionKind::Subscript { receiver, index } => pending.extend([&**receiver, &**index]),
        ExpressionKind::Assign { target, value, .. } => pending.extend([&**target, &**value]),
        ExpressionKind::Connect { left, right, .. } => pending.extend([&**left, &**right]),
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Text(_)
        | ExpressionKind::Symbol(_)
        | ExpressionKind::Pattern(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Implicit(_)
        | ExpressionKind::Block(_)
        | ExpressionKind::Error => {}
    }
}
