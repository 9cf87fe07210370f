//! Compiling a whole program.

use crate::chunk::{Chunk, Known};
use crate::generator::Generator;
use crate::lua::{lines, names, nesting};
use crate::references::path;
use crate::review;
use crate::scope::{Scope, Variable, assigned, observable, referenced};
use crate::walk::parameters;
use runnel_syntax::ast::{ExpressionKind, Program, Statement, StatementKind};
use runnel_syntax::{Diagnostic, Severity, Span};
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
    let mut frames = BTreeSet::new();
    loop {
        let mut generator = Generator::new(source, known, frames.clone());
        let silent = generator.program(program);
        let new: Vec<usize> = generator.crowded.difference(&frames).copied().collect();
        if !new.is_empty() {
            frames.extend(new);
            continue;
        }
        generator.diagnostics.extend(review::errors(program, source));
        if generator.diagnostics.iter().any(|one| one.level == Severity::Error) {
            return Err(generator.diagnostics);
        }
        let lua = lines::place(&generator.code);
        if let Some(line) = nesting::too_deep(&lua) {
            let lines = source.split_inclusive('\n').take(line as usize - 1);
            let start = lines.map(str::len).sum::<usize>() as u32;
            generator.error(
                Diagnostic::error(
                    Span::new(start, start),
                    "this is nested too deeply",
                    "too many blocks and expressions in each other",
                )
                .hint("move an inner block into a method, or give an inner part a name"),
            );
            return Err(generator.diagnostics);
        }
        let variables = assigned(&program.statements).into_iter().collect();
        return Ok(Chunk { lua, warnings: generator.diagnostics, silent, variables });
    }
}

impl Generator<'_> {
    /// The whole program; answers whether its value should not be echoed at the prompt.
    fn program(&mut self, program: &Program) -> bool {
        self.collect(&program.statements);
        observable(&program.statements, &mut self.observable);
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
        let table = self.top_table;
        let mut top = Scope { top: true, ..Scope::default() };
        for name in names {
            let code = format!("{table}[{}]", names::quoted(&name));
            top.names.push((name, Variable { code, owner: None, hub: None }));
        }
        self.scopes.push(top);
        self.code
            .push_str("local K=... local V,D,G,P,O,_=K.variables,K.default,K.classes,K.predefined,K.observedFields ");
        self.code.push_str(HELPERS);
        let groups: Vec<&[Statement]> = program.statements.chunks(GROUP).collect();
        for (number, group) in groups.iter().enumerate() {
            let last = number + 1 == groups.len();
            let body = self.function_body(&[], |this| this.body(group, last));
            let call = if last { "return " } else { "_=" };
            self.code.push_str(&format!("{call}(function(){body} end)() "));
        }
        program.statements.last().is_none_or(|statement| match &statement.kind {
            StatementKind::Expression(expression) => {
                matches!(expression.kind, ExpressionKind::Assign { .. })
            }
            _ => true,
        })
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
        self.loads |= path::loads_others(statements);
    }
}
