//! Where names live: the rules are those of `compile`. A name belongs to the innermost scope around it
//! that assigns or declares it; methods do not see the variables of the script.

use crate::types::Type;
use runnel_syntax::Span;
use runnel_syntax::ast::{
    AssignOperator, Expression, ExpressionKind, Path, Statement, StatementKind,
};
use runnel_syntax::walk::walk;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of the script: the prompt and served stores may see it.
    Script,
    /// Of a method, handler or block.
    Local,
    /// Declared by `var` in a method, handler, block or test.
    Declared,
    /// One of several names on the left of `[ a, b ] ← …`.
    Part,
    /// A parameter of a method that nothing else may ask for.
    MethodParameter,
    /// A parameter of a block or another method, or what a handler is given.
    Parameter,
}

/// A name that statements assign or declare, with its place.
type AssignedName<'a> = (&'a str, Span, Role);

/// A variable of the program.
#[derive(Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    /// Where it is first assigned or declared.
    pub(crate) span: Span,
    pub(crate) role: Role,
    pub(crate) kind: Type,
    /// Something else than the assignments that can be seen changes it.
    pub(crate) wild: bool,
    pub(crate) reads: u32,
}

#[derive(Debug, Default)]
struct NameScope<'a> {
    names: FxHashMap<&'a str, usize>,
    opaque: bool,
}

/// All variables, and the scopes around a place. Each pass over the program meets the variables in the
/// same order, so that what one pass finds out serves the next.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'a> {
    pub(crate) variables: Vec<Variable<'a>>,
    next: usize,
    stack: Vec<NameScope<'a>>,
    /// What statements assign themselves, by their place in memory: the same in each pass.
    assigned: FxHashMap<*const Statement, Rc<[AssignedName<'a>]>>,
    /// A type changed in this pass.
    pub(crate) changed: bool,
}

impl<'a> Scopes<'a> {
    pub(crate) fn begin_pass(&mut self) {
        self.next = 0;
        self.stack.clear();
        self.changed = false;
        for variable in &mut self.variables {
            variable.reads = 0;
        }
    }

    pub(crate) fn open(&mut self, opaque: bool) {
        self.stack.push(NameScope { opaque, ..NameScope::default() });
    }

    /// Closes the innermost scope and answers its variables.
    pub(crate) fn close(&mut self) -> Vec<usize> {
        let names = self.stack.pop().map(|scope| scope.names).unwrap_or_default();
        let mut all: Vec<usize> = names.into_values().collect();
        all.sort_unstable();
        all
    }

    /// Whether this is the script's own scope.
    pub(crate) fn is_script(&self) -> bool {
        self.stack.len() == 1
    }

    pub(crate) fn declare(&mut self, name: &'a str, span: Span, role: Role, kind: Type) {
        if self.next == self.variables.len() {
            let wild = false;
            self.variables.push(Variable { name, span, role, kind, wild, reads: 0 });
        }
        let number = self.next;
        self.next += 1;
        if let Some(scope) = self.stack.last_mut() {
            scope.names.insert(name, number);
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        for scope in self.stack.iter().rev() {
            if let Some(number) = scope.names.get(name) {
                return Some(*number);
            }
            if scope.opaque {
                return None;
            }
        }
        None
    }

    /// Declares the names that statements assign or declare themselves and no scope around has.
    pub(crate) fn declare_assigned(&mut self, statements: &'a [Statement]) {
        if statements.is_empty() {
            return;
        }
        let found = match self.assigned.get(&statements.as_ptr()) {
            Some(found) => Rc::clone(found),
            None => {
                let found: Rc<[_]> = assigned(statements).into();
                self.assigned.insert(statements.as_ptr(), Rc::clone(&found));
                found
            }
        };
        for (name, span, role) in found.iter().copied() {
            if self.find(name).is_some() {
                continue;
            }
            let role = if self.is_script() && role == Role::Local { Role::Script } else { role };
            self.declare(name, span, role, Type::Unset);
        }
    }

    /// What a variable may hold, as known so far; counts the read.
    pub(crate) fn read(&mut self, number: usize) -> Type {
        let variable = &mut self.variables[number];
        variable.reads += 1;
        if variable.wild { Type::Any } else { variable.kind.clone() }
    }

    pub(crate) fn write(&mut self, number: usize, kind: &Type) {
        let variable = &mut self.variables[number];
        let joined = variable.kind.clone().join(kind);
        if joined != variable.kind {
            variable.kind = joined;
            self.changed = true;
        }
    }

    /// The variable may hold anything from now on.
    pub(crate) fn make_wild(&mut self, number: usize) {
        let variable = &mut self.variables[number];
        self.changed |= !variable.wild;
        variable.wild = true;
    }

    /// Nothing is known of any variable.
    pub(crate) fn forget(&mut self) {
        self.variables.iter_mut().for_each(|variable| variable.wild = true);
    }
}

/// The names that statements assign or declare themselves, in the order of the text.
fn assigned(statements: &[Statement]) -> Vec<AssignedName<'_>> {
    let mut found = Vec::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Expression(value) | StatementKind::Return(value) => {
                walk(value, &mut |expression| assigned_here(expression, &mut found));
            }
            StatementKind::Variables(declaration) => {
                let names = declaration.names.iter();
                found.extend(names.map(|word| (word.text.as_str(), word.span, Role::Declared)));
            }
            _ => {}
        }
    }
    // A walk does not keep the order of the text.
    found.sort_by_key(|(_, span, _)| span.start);
    found
}

fn assigned_here<'a>(expression: &'a Expression, found: &mut Vec<AssignedName<'a>>) {
    let ExpressionKind::Assign { target, operator, .. } = &expression.kind else { return };
    if *operator == AssignOperator::Post {
        return;
    }
    match &target.kind {
        ExpressionKind::Name(name) => found.push((name, target.span, Role::Local)),
        ExpressionKind::Array { class: None, .. } | ExpressionKind::Dictionary(_) => {
            assigned_parts(target, found);
        }
        ExpressionKind::Reference(path) => {
            let is_variable = path.scheme.as_ref().is_some_and(|word| word.text == "var");
            if let (true, Some(name)) = (is_variable, literal(path))
                && !name.contains('/')
            {
                found.push((name, target.span, Role::Part));
            }
        }
        _ => {}
    }
}

fn assigned_parts<'a>(target: &'a Expression, found: &mut Vec<AssignedName<'a>>) {
    match &target.kind {
        ExpressionKind::Name(name) => found.push((name, target.span, Role::Part)),
        ExpressionKind::Array { class: None, elements } => {
            elements.iter().for_each(|element| assigned_parts(element, found));
        }
        ExpressionKind::Dictionary(pairs) => {
            pairs.iter().for_each(|pair| assigned_parts(&pair.value, found));
        }
        _ => {}
    }
}

/// The whole path when it is one piece of text.
pub(crate) fn literal(path: &Path) -> Option<&str> {
    match path.parts.as_slice() {
        [runnel_syntax::ast::PathPart::Text(text)] => Some(text),
        _ => None,
    }
}
