//! Scopes: where a name lives. The rules are the language's: a name belongs to the innermost scope
//! around it that assigns or declares it anywhere; a name that no scope around assigns is new in
//! the scope that assigns it. Methods do not see the variables of the script.

use runnel_syntax::ast::{
    AssignOperator, Block, Expression, ExpressionKind, Statement, StatementKind,
};
use runnel_syntax::walk::{walk, walk_deep, walk_statements};
use std::collections::BTreeSet;

/// Where a variable is kept.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// The Lua expression that reads it, and that can be assigned.
    pub(crate) code: String,
    /// The function whose local it is; `None` for fields of tables.
    pub(crate) owner: Option<usize>,
    /// The local beside it that holds what observes it, where the program names it by `ref:`.
    pub(crate) hub: Option<String>,
}

/// A scope: a function body or a block that was inlined into one.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// In order of declaration; in the script's own scope in order of the names.
    pub(crate) names: Vec<(String, Variable)>,
    /// What the scopes inside cannot look through: a method.
    pub(crate) opaque: bool,
    /// The script's own scope: its variables live in a table.
    pub(crate) top: bool,
}

impl Scope {
    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        if self.top {
            // A script may have thousands of variables; they are kept in order of their names.
            let at = self.names.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
            return Some(&self.names[at].1);
        }
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, variable)| variable)
    }
}

/// The names that statements assign or declare themselves, not in blocks inside them.
pub(crate) fn assigned(statements: &[Statement]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Expression(value) | StatementKind::Return(value) => {
                walk(value, &mut |expression| assigned_here(expression, &mut names));
            }
            StatementKind::Variables(declaration) => {
                names.extend(declaration.names.iter().map(|word| word.text.clone()));
            }
            _ => {}
        }
    }
    names
}

/// The names that an expression assigns itself.
pub(crate) fn assigned_here(expression: &Expression, names: &mut BTreeSet<String>) {
    let ExpressionKind::Assign { target, operator, .. } = &expression.kind else { return };
    if *operator == AssignOperator::Post {
        return;
    }
    assigned_target(target, names);
}

fn assigned_target(target: &Expression, names: &mut BTreeSet<String>) {
    match &target.kind {
        ExpressionKind::Name(name) => {
            names.insert(name.clone());
        }
        ExpressionKind::Array { class: None, elements } => {
            elements.iter().for_each(|element| assigned_target(element, names));
        }
        ExpressionKind::Dictionary(pairs) => {
            pairs.iter().for_each(|pair| assigned_target(&pair.value, names));
        }
        ExpressionKind::Reference(path) => {
            let scheme = path.scheme.as_ref().map(|word| word.text.as_str());
            if let (Some("var"), Some(name)) = (scheme, path.literal())
                && !name.contains('/')
            {
                names.insert(name);
            }
        }
        _ => {}
    }
}

/// The variables that `ref:name` and `ref:var:name` name: they may be bound through the reference.
pub(crate) fn referenced(statements: &[Statement]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    walk_statements(statements, &mut |expression| {
        let ExpressionKind::ReferenceTo(path) = &expression.kind else { return };
        let is_variable = path.scheme.as_ref().is_none_or(|scheme| scheme.text == "var");
        if let (true, Some(name)) = (is_variable, path.literal()) {
            names.extend(name.split('/').next().map(str::to_string));
        }
    });
    names
}

/// The names that references and constraints of statements name, also in blocks inside them: what
/// they name may be observed.
pub(crate) fn observable(statements: &[Statement], names: &mut BTreeSet<String>) {
    walk_deep(statements, &mut |expression| match &expression.kind {
        ExpressionKind::ReferenceTo(path) => {
            let is_variable = path.scheme.as_ref().is_none_or(|scheme| scheme.text == "var");
            if let (true, Some(name)) = (is_variable, path.literal()) {
                names.extend(name.split('/').next().map(str::to_string));
            }
        }
        ExpressionKind::Assign {
            target,
            operator: AssignOperator::Follow | AssignOperator::Join,
            value,
            ..
        } => {
            for side in [target, value] {
                walk(side, &mut |inner| names.extend(variable_of(inner)));
            }
        }
        _ => {}
    });
    for statement in statements {
        match &statement.kind {
            StatementKind::Test { body, .. } => observable(&body.statements, names),
            StatementKind::Class(class) => {
                runnel_syntax::walk::bodies(class, &mut |block| {
                    observable(&block.statements, names)
                });
            }
            _ => {}
        }
    }
}

/// The variable that an expression reads by its name or by `var:name…`.
pub(crate) fn variable_of(expression: &Expression) -> Option<String> {
    match &expression.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Reference(path) => {
            let is_variable = path.scheme.as_ref().is_some_and(|scheme| scheme.text == "var");
            let name = path.literal().filter(|_| is_variable)?;
            name.split('/').next().map(str::to_string)
        }
        _ => None,
    }
}

/// The words of a text that may be names.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The implicit parameters that a block uses itself (`$0`, `$x`), in order: numbers first.
pub(crate) fn implicit_parameters(block: &Block) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut named = Vec::new();
    walk_statements(&block.statements, &mut |expression| {
        if let ExpressionKind::Implicit(name) = &expression.kind {
            match name.parse::<usize>() {
                Ok(number) if number < 16 => {
                    used.insert(number);
                }
                _ if !named.contains(name) => named.push(name.clone()),
                _ => {}
            }
        }
    });
    let count = used.last().map_or(0, |last| last + 1);
    (0..count).map(|number| number.to_string()).chain(named).collect()
}
