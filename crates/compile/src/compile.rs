//! Compiling a whole program.

pub(crate) mod beside;
mod clean;
mod counted;
mod order;

use crate::chunk::{Chunk, Known, SourceRole};
use crate::expressions::append::Appended;
use crate::generator::Generator;
use crate::lua::{lines, names, nesting};
use crate::recall::{CleanStatements, Recall};
use crate::references::{loads, path};
use crate::review;
use crate::scope::{Scope, Variable, assigned, observable, referenced};
use runnel_syntax::ast::{ExpressionKind, Program, Statement, StatementKind};
use runnel_syntax::walk::parameters;
use runnel_syntax::{Diagnostic, Severity, Span, definitions};
use std::collections::BTreeSet;

/// Statements of the script that share one Lua function.
const GROUP: usize = 40;

/// The kernel functions that generated code calls most; locals of the chunk.
const HELPERS: &str = "local add,sub,mul,div,lt,gt,le,ge,eq,ne,truth,str,cat,at,atPut,fetch,store,\
array,dict,home,leave,query,put,child,item=K.add,K.sub,K.mul,K.div,K.lt,K.gt,K.le,K.ge,K.eq,K.ne,K.truth,K.str,\
K.concat,K.at,K.atPut,K.fetch,K.storePut,K.array,K.literalDictionary,K.home,K.leave,K.query,\
K.put,K.child,K.item ";

/// Compiles a program that was parsed without errors.
///
/// # Errors
/// The diagnostics, at least one of them an error: unknown names, classes and schemes, and limits.
pub fn compile(
    program: &Program,
    source: &str,
    known: &dyn Known,
) -> Result<Chunk, Vec<Diagnostic>> {
    let (mut generator, silent) = generated(program, source, known, None);
    let doubts = generator.review(program);
    if generator.has_errors() {
        return Err(generator.diagnostics);
    }
    let Some((lua, places)) = generator.placed() else { return Err(generator.diagnostics) };
    let variables = assigned(&program.statements).into_iter().collect();
    let definitions = definitions(program);
    let warnings = generator.diagnostics;
    Ok(Chunk { lua, places, definitions, warnings, doubts, silent, variables })
}

/// What [`compile`] says of a program, without its code: its errors, or its warnings and doubts. Statements that are
/// known to be clean are not compiled again: `clean` is what the last state of the program left with the same `known`,
/// and is replaced.
pub fn diagnose(
    program: &Program,
    source: &str,
    known: &dyn Known,
    clean: &mut CleanStatements,
) -> Vec<Diagnostic> {
    let known_clean = std::mem::take(clean);
    let recall = (known.role() == SourceRole::Part).then(|| Recall::new(known_clean));
    let (mut generator, _) = generated(program, source, known, recall);
    let found = generator.recall.take().map(Recall::result).unwrap_or_default();
    let doubts = generator.review(program);
    // Which statement is nested too deeply is not known: nothing is kept then.
    if generator.has_errors() || generator.placed().is_some() {
        *clean = found;
    }
    if !generator.has_errors() {
        generator.diagnostics.extend(doubts);
    }
    generator.diagnostics
}

/// The code of a program with its marks, and whether its value should not be echoed at the prompt.
fn generated<'a>(
    program: &Program,
    source: &'a str,
    known: &'a dyn Known,
    mut recall: Option<Recall>,
) -> (Generator<'a>, bool) {
    let mut frames = BTreeSet::new();
    loop {
        let mut generator = Generator::new(source, known, frames.clone());
        generator.recall = recall;
        let silent = generator.program(program);
        let new: Vec<usize> = generator.crowded.difference(&frames).copied().collect();
        if new.is_empty() {
            return (generator, silent);
        }
        frames.extend(new);
        recall = generator.recall.map(Recall::again);
    }
}

impl Generator<'_> {
    /// Looks for what must not compile, and for what is probably not meant, which is answered.
    fn review(&mut self, program: &Program) -> Vec<Diagnostic> {
        let reviewed = review::reviewed(program, self.source).into_iter();
        let (errors, doubts): (Vec<_>, Vec<_>) =
            reviewed.partition(|one| one.level == Severity::Error);
        self.diagnostics.extend(errors);
        doubts
    }

    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|one| one.level == Severity::Error)
    }

    /// The code without marks, and the place of each of its lines; an error where it is nested too deeply.
    fn placed(&mut self) -> Option<(String, Vec<Span>)> {
        let (lua, places) = lines::place(&self.code);
        let Some(line) = nesting::too_deep(&lua) else { return Some((lua, places)) };
        let place = places.get(line as usize - 1).copied().unwrap_or_default();
        self.error(
            Diagnostic::error(
                Span::new(place.start, place.start),
                "this is nested too deeply",
                "too many blocks and expressions in each other",
            )
            .hint("move an inner block into a method, or give an inner part a name"),
        );
        None
    }

    /// The whole program; answers whether its value should not be echoed at the prompt.
    fn program(&mut self, program: &Program) -> bool {
        self.collect(&program.statements);
        self.collect_definitions(&program.statements);
        observable(&program.statements, &mut self.observable);
        self.appended = Appended::of(&program.statements);
        self.collect_element_classes(&program.statements);
        let mut names = assigned(&program.statements);
        if let Some(signature) = &program.signature {
            names.extend(parameters(&signature.selector).map(|p| p.name.text.clone()));
        }
        let bound = referenced(&program.statements);
        names.extend(
            bound
                .into_iter()
                .filter(|name| !self.known.is_predefined(name) && !self.is_class(name)),
        );
        if self.known.default_replaced() || self.schemes.contains("default") {
            self.top_table = "D";
        }
        // The variables of a loaded file are locals of one function.
        let role = self.known.role();
        let is_loaded = role == SourceRole::LoadedFile;
        let together = match role {
            SourceRole::LoadedFile => usize::MAX,
            // Each can be left out.
            SourceRole::Part if self.recall.is_some() => 1,
            _ => GROUP,
        };
        let groups: Vec<&[Statement]> = program.statements.chunks(together).collect();
        let counted = self.counted_variables(program, &groups);
        let table = self.top_table;
        let mut top = Scope { top: true, ..Scope::default() };
        for name in names.into_iter().filter(|name| !is_loaded && !counted.contains(name)) {
            let code = format!("{table}[{}]", names::quoted(&name));
            top.names.push((name, Variable { code, owner: None, hub: None }));
        }
        self.scopes.push(top);
        self.code
            .push_str("local K=... local V,D,G,P,O,_=K.variables,K.default,K.classes,K.predefined,K.observedFields ");
        self.code.push_str(HELPERS);
        self.note_world(program);
        let is_scoped = is_loaded || !counted.is_empty();
        for (number, group) in groups.iter().enumerate() {
            let last = number + 1 == groups.len();
            self.unless_clean(group, program, last, |this| this.group(group, last, is_scoped));
        }
        program.statements.last().is_none_or(|statement| match &statement.kind {
            StatementKind::Expression(expression) => {
                matches!(expression.kind, ExpressionKind::Assign { .. })
            }
            _ => true,
        })
    }

    /// A group of statements, with locals of its own where they have a scope.
    fn group(&mut self, group: &[Statement], last: bool, is_scoped: bool) {
        let body = self.function_body(&[], |this| {
            if is_scoped {
                this.scoped(Scope::default(), |this| {
                    this.declare(group);
                    this.body(group, last);
                });
            } else {
                this.body(group, last);
            }
        });
        let call = if last { "return " } else { "_=" };
        self.emit(format_args!("{call}(function(){body} end)() "));
    }

    fn collect(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Class(class) => self.collect_class(class),
                StatementKind::Template { name, .. } => {
                    self.templates.insert(name.text.clone());
                }
                StatementKind::Test { body, .. } => self.collect(&body.statements),
                _ => {}
            }
        }
        path::installed_schemes(statements, &mut self.schemes);
        self.loads |= !loads::loads(statements).is_empty();
    }
}
