//! Walks over the syntax tree.

use crate::ast::{
    Block, Class, Expression, ExpressionKind, MemberKind, Parameter, PathMemberKind, PathPart,
    PropertyPath, Selector, SentMessage, Statement, StatementKind, TextPart,
};

/// Visits the expressions of statements, not those in blocks inside.
pub fn walk_statements<'a>(statements: &'a [Statement], visit: &mut dyn FnMut(&'a Expression)) {
    for statement in statements {
        if let StatementKind::Expression(value) | StatementKind::Return(value) = &statement.kind {
            walk(value, visit);
        }
    }
}

/// Visits an expression and what it is made of, not what stands in blocks. Long chains of
/// messages do not use the stack.
pub fn walk<'a>(expression: &'a Expression, visit: &mut dyn FnMut(&'a Expression)) {
    let mut pending = Vec::new();
    let mut next = Some(expression);
    while let Some(expression) = next {
        visit(expression);
        children(expression, &mut pending);
        next = pending.pop();
    }
}

/// Visits the expressions of statements and of all blocks inside them.
pub fn walk_deep<'a>(statements: &'a [Statement], visit: &mut dyn FnMut(&'a Expression)) {
    let mut blocks: Vec<&Block> = Vec::new();
    walk_statements(statements, &mut |expression| {
        visit(expression);
        if let ExpressionKind::Block(block) = &expression.kind {
            blocks.push(block);
        }
    });
    for block in blocks {
        walk_deep(&block.statements, visit);
    }
}

/// The parameters of a selector.
pub fn parameters(selector: &Selector) -> impl Iterator<Item = &Parameter> {
    let list: Vec<&Parameter> = match selector {
        Selector::Unary(_) => Vec::new(),
        Selector::Binary(_, parameter) => vec![parameter],
        Selector::Keyword(parts) => parts.iter().map(|(_, parameter)| parameter).collect(),
    };
    list.into_iter()
}

/// Visits the blocks of a class: method bodies, verbs of paths, filter bodies.
pub fn bodies<'a>(class: &'a Class, visit: &mut dyn FnMut(&'a Block)) {
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

fn path_bodies<'a>(path: &'a PropertyPath, visit: &mut dyn FnMut(&'a Block)) {
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

/// An expression without the parentheses around it.
pub fn bare(mut expression: &Expression) -> &Expression {
    while let ExpressionKind::Parenthesized(inner) = &expression.kind {
        expression = inner;
    }
    expression
}

/// One send of a chain, or a cascade of several to the same receiver.
#[derive(Clone, Copy, Debug)]
pub struct ChainLink<'a> {
    /// The send with its receiver.
    pub whole: &'a Expression,
    /// What gets the messages.
    pub receiver: &'a Expression,
    /// One message, or those of a cascade.
    pub messages: &'a [SentMessage],
}

/// The sends of a chain of messages, from the innermost receiver outwards; none for another expression. Long
/// chains do not use the stack.
pub fn chain(expression: &Expression) -> Vec<ChainLink<'_>> {
    let mut links = Vec::new();
    let mut whole = expression;
    loop {
        let (receiver, messages) = match &whole.kind {
            ExpressionKind::Send { receiver, message }
            | ExpressionKind::Pipe { left: receiver, message } => {
                (&**receiver, std::slice::from_ref(message))
            }
            ExpressionKind::Cascade { receiver, messages } => (&**receiver, &messages[..]),
            _ => break,
        };
        links.push(ChainLink { whole, receiver, messages });
        whole = receiver;
    }
    links.reverse();
    links
}

/// The expressions that an expression is made of, not what stands in blocks.
pub fn children<'a>(expression: &'a Expression, pending: &mut Vec<&'a Expression>) {
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
