//! Both parsers give the same tree: the same kinds of expressions at the same places.

use crate::programs::{parse, programs};
use runnel_syntax::ast::{Expression, ExpressionKind, MemberKind, Statement, StatementKind};
use runnel_syntax::walk::{bodies, walk_deep};
use std::collections::HashSet;
use tree_sitter::Node;

/// What the grammar calls an expression; nothing for one that has no text of its own.
fn names(expression: &Expression, source: &str) -> &'static [&'static str] {
    match &expression.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Float(_) => &["number"],
        ExpressionKind::Text(_) => &["string"],
        ExpressionKind::Interpolated(_) => &["interpolated_string"],
        ExpressionKind::Symbol(_) => &["symbol", "key", "string"],
        ExpressionKind::Pattern(_) => &["pattern"],
        // The receiver of a timer is not written.
        ExpressionKind::Name(_) if expression.span.start == expression.span.end => &[],
        ExpressionKind::Name(_) => &["identifier"],
        ExpressionKind::Implicit(_) => &["implicit_parameter"],
        ExpressionKind::Reference(_) => &["reference"],
        ExpressionKind::ReferenceTo(_) => &["reference_literal"],
        ExpressionKind::Array { .. } | ExpressionKind::Object { .. } => {
            &["array", "object_literal"]
        }
        ExpressionKind::Dictionary(_) => &["dictionary"],
        ExpressionKind::Block(_) => &["block"],
        // A cascade behind a pipe groups what stands left of it.
        ExpressionKind::Parenthesized(_) if !expression.span.text(source).starts_with('(') => &[],
        ExpressionKind::Parenthesized(_) => &["parenthesized_expression"],
        ExpressionKind::Send { .. } => &["message_send"],
        ExpressionKind::Cascade { .. } => &["cascade"],
        ExpressionKind::Pipe { .. } => &["pipe"],
        ExpressionKind::Subscript { .. } => &["subscript"],
        ExpressionKind::Next(_) => &["next"],
        ExpressionKind::Assign { .. } => &["assignment"],
        ExpressionKind::Connect { .. } => &["connection"],
        ExpressionKind::Error => &[],
    }
}

/// Visits the expressions of statements, also those in classes and tests.
fn visit_all<'a>(statements: &'a [Statement], visit: &mut dyn FnMut(&'a Expression)) {
    walk_deep(statements, visit);
    for statement in statements {
        match &statement.kind {
            StatementKind::Class(class) => {
                bodies(class, &mut |body| visit_all(&body.statements, visit));
                for member in &class.members {
                    if let MemberKind::Variables(declared) = &member.kind
                        && let Some((_, value)) = &declared.default
                    {
                        visit(value);
                    }
                }
            }
            StatementKind::Test { body, .. } => visit_all(&body.statements, visit),
            StatementKind::Template { value, .. } => visit(value),
            _ => {}
        }
    }
}

fn nodes<'t>(node: Node<'t>, found: &mut HashSet<(&'t str, usize, usize)>) {
    found.insert((node.kind(), node.start_byte(), node.end_byte()));
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        nodes(child, found);
    }
}

#[test]
fn expressions_have_the_same_kinds_and_places() {
    let (mut compared, mut different) = (0, Vec::new());
    for sample in programs() {
        let tree = parse(&sample.text);
        let mut found = HashSet::new();
        nodes(tree.root_node(), &mut found);
        let parsed = runnel_syntax::parse(&sample.text);
        visit_all(&parsed.program.statements, &mut |expression| {
            let names = names(expression, &sample.text);
            let (start, end) = (expression.span.start as usize, expression.span.end as usize);
            compared += names.len().min(1);
            if !names.is_empty() && !names.iter().any(|name| found.contains(&(name, start, end))) {
                let text = &sample.text[start..end];
                different.push(format!("{}: no {} at {start}: {text}", sample.name, names[0]));
            }
        });
    }
    assert!(
        different.is_empty(),
        "{}\n{}",
        different.len(),
        different[..different.len().min(40)].join("\n")
    );
    assert!(compared > 20_000, "only {compared} expressions were compared");
}
