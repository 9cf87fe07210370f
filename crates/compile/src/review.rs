//! What a program says that runs and is probably not meant, and values of requests where a program
//! must not put them.
//!
//! One walk over the tree keeps track of what the names around an expression hold; each rule, in a
//! file of its own, looks at one kind of place. The warnings are for `runnel check`.

mod answers;
mod brackets;
mod commented;
mod first;
mod markup;
mod names;
mod secret;
mod segments;
mod written;

use names::Names;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Block, Class, Expression, ExpressionKind, MemberKind, PathMemberKind, Program, PropertyPath,
    Statement, StatementKind,
};
use runnel_syntax::walk::walk;

/// What is found in a program whatever its names are, in the order of its text: warnings, and errors where it must
/// not compile. [`compile`](crate::compile()) asks this.
pub fn reviewed(program: &Program, source: &str) -> Vec<Diagnostic> {
    let answers_html = markup::is_chosen(program);
    let classes = answers::Classes::of(program);
    let mut review = Review { source, answers_html, classes, found: Vec::new() };
    review.statements(&program.statements, &Names::default());
    let mut found = review.found;
    found.extend(commented::warnings(program, source));
    found.sort_by_key(|one| (one.label.span.start, one.label.span.end));
    found.dedup();
    found
}

/// One walk over a program.
struct Review<'a> {
    source: &'a str,
    /// The program asks for text as HTML (`#HTTPServer{ textType: 'text/html' }`).
    answers_html: bool,
    classes: answers::Classes<'a>,
    found: Vec<Diagnostic>,
}

impl Review<'_> {
    fn statements(&mut self, statements: &[Statement], around: &Names) {
        let names = around.with_assigned(statements);
        for statement in statements {
            match &statement.kind {
                StatementKind::Expression(value) | StatementKind::Return(value) => {
                    self.expression(value, &names);
                }
                StatementKind::Template { value, .. } => self.expression(value, &names),
                StatementKind::Class(class) => self.class(class),
                StatementKind::Test { body, .. } => self.block(body, &names),
                StatementKind::Variables(_)
                | StatementKind::Temporaries(_)
                | StatementKind::Shell(_)
                | StatementKind::Error => {}
            }
        }
    }

    fn block(&mut self, block: &Block, around: &Names) {
        self.statements(&block.statements, &around.with_parameters(block));
    }

    /// A class sees no variable around it.
    fn class(&mut self, class: &Class) {
        for member in &class.members {
            match &member.kind {
                MemberKind::Method(method) => {
                    if let Some(body) = &method.body {
                        self.block(body, &Names::of_method(method));
                    }
                }
                MemberKind::PropertyPath(path) => self.property_path(path, &Names::of_request()),
                MemberKind::Clause(clause) => self.block(&clause.body, &Names::of_request()),
                MemberKind::FilterBody(body) => self.block(body, &Names::default()),
                MemberKind::Rule(rule) => self.block(&rule.condition, &Names::default()),
                MemberKind::Variables(_) | MemberKind::Parameter(_) | MemberKind::Error => {}
            }
        }
    }

    fn property_path(&mut self, path: &PropertyPath, around: &Names) {
        let names = around.with_path(path);
        for member in &path.members {
            match &member.kind {
                PathMemberKind::Handler(handler) => {
                    if !self.answers_html {
                        self.found.extend(markup::warning(path, &handler.body));
                    }
                    answers::warnings(handler, &self.classes, &mut self.found);
                    if let Some(allowed) = &handler.allowed {
                        self.block(allowed, &names);
                    }
                    self.block(&handler.body, &names);
                }
                PathMemberKind::Clause(clause) => self.block(&clause.body, &names),
                PathMemberKind::Parameter(_) => {}
                PathMemberKind::Path(path) => self.property_path(path, &names),
            }
        }
    }

    fn expression(&mut self, expression: &Expression, names: &Names) {
        let mut blocks = Vec::new();
        walk(expression, &mut |inner| {
            match &inner.kind {
                ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
                    self.found.extend(first::diagnostic(path, names, self.source));
                    segments::warnings(path, names, self.source, &mut self.found);
                }
                ExpressionKind::Pipe { left: receiver, message } => {
                    self.found.extend(written::diagnostic(receiver, message, names));
                }
                ExpressionKind::Cascade { receiver, messages } => {
                    for message in messages {
                        self.found.extend(written::diagnostic(receiver, message, names));
                    }
                }
                ExpressionKind::Send { receiver, message } => {
                    self.found.extend(written::diagnostic(receiver, message, names));
                    self.found.extend(secret::warning(inner, receiver, message));
                }
                ExpressionKind::Subscript { index, .. } => {
                    if let ExpressionKind::Block(block) = &index.kind {
                        brackets::warnings(block, names, &mut self.found);
                    }
                }
                ExpressionKind::Block(block) => blocks.push(block),
                _ => {}
            };
        });
        for block in blocks {
            self.block(block, names);
        }
    }
}

/// The text of an expression for a hint; a long one is not repeated.
fn shown<'a>(expression: &Expression, source: &'a str) -> &'a str {
    const LONGEST: usize = 30;
    let span = expression.span;
    let text = source.get(span.start as usize..span.end as usize).unwrap_or_default();
    if text.len() > LONGEST || text.contains('\n') { "…" } else { text }
}
