//! What a program loads by `ref:file:… load`, and the classes that a source defines.

use runnel_syntax::ast::{
    Expression, ExpressionKind, Program, SentMessage, Statement, StatementKind,
};
use runnel_syntax::walk::{bodies, walk_deep, walk_statements};

/// A `load` of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceLoad {
    /// `ref:file:lib/prices.st load`: the path.
    File(String),
    /// Of something that is known only while the program runs.
    Computed,
}

/// The loads of a program, in order.
pub fn loads_of(program: &Program) -> Vec<SourceLoad> {
    loads(&program.statements)
}

pub(crate) fn loads(statements: &[Statement]) -> Vec<SourceLoad> {
    let mut loads = Vec::new();
    walk_statements(statements, &mut |expression| loads.extend(load(expression)));
    loads
}

fn load(expression: &Expression) -> Option<SourceLoad> {
    let ExpressionKind::Send { receiver, message: SentMessage::Unary(word) } = &expression.kind
    else {
        return None;
    };
    let file = match &receiver.kind {
        ExpressionKind::ReferenceTo(path) => {
            let is_file = path.scheme.as_ref().is_some_and(|scheme| scheme.text == "file");
            path.literal().filter(|_| is_file)
        }
        _ => None,
    };
    (word.text == "load").then(|| file.map_or(SourceLoad::Computed, SourceLoad::File))
}

/// The loads of a program and of all its blocks and methods.
pub fn all_loads_of(program: &Program) -> Vec<SourceLoad> {
    let mut loads = Vec::new();
    walk_all(program, &mut |expression| loads.extend(load(expression)));
    loads
}

/// Visits all expressions but those of tests.
pub(crate) fn walk_all<'a>(program: &'a Program, visit: &mut dyn FnMut(&'a Expression)) {
    walk_deep(&program.statements, visit);
    for statement in &program.statements {
        if let StatementKind::Class(class) = &statement.kind {
            bodies(class, &mut |block| walk_deep(&block.statements, visit));
        }
    }
}

/// The folders and files that a program serves by `#StaticFiles{ } → ref:file:PATH`, in order.
pub fn static_files_of(program: &Program) -> Vec<String> {
    let mut paths = Vec::new();
    walk_all(program, &mut |expression| {
        if let ExpressionKind::Connect { left, right, .. } = &expression.kind
            && let ExpressionKind::Object { class, .. } = &left.kind
            && class.text == "StaticFiles"
        {
            paths.extend(literal_file(right));
        }
    });
    paths
}

/// The path of `ref:file:PATH`, `ref:file:PATH asScheme`, or what a connection begins with.
fn literal_file(expression: &Expression) -> Option<String> {
    match &expression.kind {
        ExpressionKind::ReferenceTo(path) => {
            let is_file = path.scheme.as_ref().is_some_and(|scheme| scheme.text == "file");
            path.literal().filter(|_| is_file)
        }
        ExpressionKind::Parenthesized(inner) => literal_file(inner),
        ExpressionKind::Connect { left, .. } => literal_file(left),
        ExpressionKind::Send { receiver, message: SentMessage::Unary(word) }
            if word.text == "asScheme" =>
        {
            literal_file(receiver)
        }
        _ => None,
    }
}

/// The names of the classes that a source defines.
pub fn defined_classes(program: &Program) -> Vec<String> {
    let mut names = Vec::new();
    for statement in &program.statements {
        match &statement.kind {
            StatementKind::Class(class) => names.push(class.name.text.clone()),
            StatementKind::Template { name, .. } => names.push(name.text.clone()),
            _ => {}
        }
    }
    names
}
