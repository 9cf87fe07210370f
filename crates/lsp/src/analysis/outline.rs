//! What a text defines, as an editor lists it: classes with their members, paths with their verbs, stores, variables,
//! tests.

use super::classes::selector;
use runnel_syntax::Span;
use runnel_syntax::ast::{
    AssignOperator, Class, ExpressionKind, Member, MemberKind, PathMemberKind, Program,
    PropertyPath, Statement, StatementKind,
};
use std::collections::HashSet;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutlineKind {
    /// `class`, `extension`, `filter`, `object` …
    Class,
    /// `scheme Name { … }`
    SchemeClass,
    /// `protocol`
    Protocol,
    Method,
    Property,
    /// `/tasks/:id`
    Path,
    /// `GET /tasks/:id`
    Route,
    /// `scheme:notes ← …`
    Store,
    Variable,
    Test,
}

/// One definition with those inside it.
#[derive(Clone, Debug)]
pub(crate) struct OutlineItem {
    pub(crate) kind: OutlineKind,
    pub(crate) name: String,
    /// A type or a keyword.
    pub(crate) detail: String,
    pub(crate) span: Span,
    /// Of the name.
    pub(crate) name_span: Span,
    pub(crate) children: Vec<OutlineItem>,
}

impl OutlineItem {
    fn new(kind: OutlineKind, name: impl Into<String>, span: Span, name_span: Span) -> OutlineItem {
        let (detail, children) = (String::new(), Vec::new());
        OutlineItem { kind, name: name.into(), detail, span, name_span, children }
    }
}

/// The definitions of a program.
pub(crate) fn outline(program: &Program) -> Vec<OutlineItem> {
    let mut items = Vec::new();
    let mut variables = HashSet::new();
    for statement in &program.statements {
        statement_items(statement, &mut variables, &mut items);
    }
    items
}

fn statement_items<'a>(
    statement: &'a Statement,
    variables: &mut HashSet<&'a str>,
    items: &mut Vec<OutlineItem>,
) {
    match &statement.kind {
        StatementKind::Class(class) => items.push(class_item(class)),
        StatementKind::Template { name, .. } => {
            items.push(OutlineItem::new(OutlineKind::Class, &name.text, statement.span, name.span));
        }
        StatementKind::Test { name, .. } => {
            let title = format!("test '{}'", name.text);
            items.push(OutlineItem::new(OutlineKind::Test, title, statement.span, name.span));
        }
        StatementKind::Variables(declaration) => {
            for name in &declaration.names {
                variables.insert(&name.text);
                let item =
                    OutlineItem::new(OutlineKind::Variable, &name.text, statement.span, name.span);
                items.push(item);
            }
        }
        StatementKind::Expression(expression) => {
            let ExpressionKind::Assign { target, operator: AssignOperator::Put, .. } =
                &expression.kind
            else {
                return;
            };
            match &target.kind {
                ExpressionKind::Name(name) if variables.insert(name) => {
                    let item =
                        OutlineItem::new(OutlineKind::Variable, name, expression.span, target.span);
                    items.push(item);
                }
                ExpressionKind::Reference(path)
                    if path.scheme.as_ref().is_some_and(|word| word.text == "scheme") =>
                {
                    let name = path.literal().unwrap_or_default() + ":";
                    items.push(OutlineItem::new(
                        OutlineKind::Store,
                        name,
                        expression.span,
                        target.span,
                    ));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn class_item(class: &Class) -> OutlineItem {
    let word = class.keyword.word();
    let kind = match word {
        "scheme" => OutlineKind::SchemeClass,
        "protocol" => OutlineKind::Protocol,
        _ => OutlineKind::Class,
    };
    let mut item = OutlineItem::new(kind, &class.name.text, class.span, class.name.span);
    item.detail = match &class.superclass {
        Some(above) => format!("{word} : {}", above.text),
        None => word.to_owned(),
    };
    for member in &class.members {
        member_items(member, &mut item.children);
    }
    item
}

fn member_items(member: &Member, items: &mut Vec<OutlineItem>) {
    match &member.kind {
        MemberKind::Variables(declaration) => {
            for name in &declaration.names {
                let mut item =
                    OutlineItem::new(OutlineKind::Property, &name.text, member.span, name.span);
                item.detail =
                    declaration.kind.as_ref().map_or(String::new(), |kind| format!("<{kind}>"));
                items.push(item);
            }
        }
        MemberKind::Method(method) => {
            let (name, words) = selector(&method.selector);
            let side = if method.class_side { "+" } else { "-" };
            let span = words.first().copied().unwrap_or(member.span);
            items.push(OutlineItem::new(
                OutlineKind::Method,
                format!("{side}{name}"),
                member.span,
                span,
            ));
        }
        MemberKind::PropertyPath(path) => items.push(path_item(path, "", member.span)),
        _ => {}
    }
}

/// A path with its verbs and the paths below it. `above`: the path around.
fn path_item(path: &PropertyPath, above: &str, span: Span) -> OutlineItem {
    let own = path.address.text.trim_end_matches('/');
    let full = format!("{above}{own}");
    let shown = if full.is_empty() { "/".to_owned() } else { full.clone() };
    let mut item = OutlineItem::new(OutlineKind::Path, &shown, span, path.address.span);
    for member in &path.members {
        match &member.kind {
            PathMemberKind::Handler(handler) => {
                let verb = handler.http_method();
                let name = format!("{verb} {shown}");
                let mut route =
                    OutlineItem::new(OutlineKind::Route, name, member.span, handler.word.span);
                if handler.is_page() {
                    route.detail = "html".to_owned();
                }
                item.children.push(route);
            }
            PathMemberKind::Path(below) => {
                let above = full.split('?').next().unwrap_or_default();
                item.children.push(path_item(below, above, member.span));
            }
            _ => {}
        }
    }
    item
}
