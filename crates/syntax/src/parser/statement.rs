//! Statements, one after the other.

use super::Parser;
use crate::ast::{ExpressionKind, Program, Statement, StatementKind, VariableDeclaration, Word};
use crate::lexer::{Lexeme, at_line_start, line_end};
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// A whole text.
    pub(super) fn program(&mut self) -> Program {
        let mut program = Program::default();
        self.head(&mut program);
        program.statements = self.statements(false);
        self.comments.append(&mut self.pending);
        program.comments = std::mem::take(&mut self.comments);
        // Where reading stopped for too many faults, a comment may have lost its beginning.
        program.comments.retain(|comment| comment.span.start <= comment.span.end);
        program
    }

    /// The signature, before the first statement.
    fn head(&mut self, program: &mut Program) {
        loop {
            if self.at(TokenKind::Quote) && self.comment_text() {
                while self.eat(TokenKind::Period) {}
            } else if self.at(TokenKind::Signature) && program.signature.is_none() {
                program.signature = self.signature();
            } else {
                return;
            }
        }
    }

    /// Statements up to the end of the text or the closing brace, which is left.
    pub(super) fn statements(&mut self, in_block: bool) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            while self.eat(TokenKind::Period) {}
            let before = self.at;
            match self.kind() {
                TokenKind::End => return statements,
                TokenKind::CloseBrace if in_block => return statements,
                kind if kind.closes() => {
                    if !self.stray_closer() {
                        return statements;
                    }
                }
                _ if in_block && self.block_was_forgotten() => return statements,
                TokenKind::Quote if self.comment_text() => continue,
                _ => {
                    let outer = std::mem::replace(&mut self.statement_start, self.next.span.start);
                    if let Some(statement) = self.beside(Self::statement) {
                        self.end_of_statement(&statement);
                        statements.push(statement);
                    }
                    self.statement_start = outer;
                }
            }
            if self.recovering || self.at == before {
                self.skip();
                if self.at == before && !self.kind().closes() {
                    self.bump();
                    self.skip();
                }
                // A closing bracket right behind the fault is a part of it.
                while self.stray_closer() {
                    self.skip();
                }
                self.recovering = self.at(TokenKind::End);
            }
        }
    }

    /// Whether the next line shows that the brace of the block was forgotten: a member of a class
    /// or a definition in the first column cannot stand in the body of a method.
    fn block_was_forgotten(&self) -> bool {
        self.in_class
            && match self.kind() {
                TokenKind::Name => {
                    let first_column = at_line_start(self.source(), self.next.span.start as usize);
                    self.begins_verb(&self.next)
                        || (first_column && self.definition_at(&self.next).is_some())
                }
                _ => self.begins_member(&self.next),
            }
    }

    fn end_of_statement(&mut self, statement: &Statement) {
        if self.recovering || self.eat(TokenKind::Period) {
            return;
        }
        let braced = matches!(
            statement.kind,
            StatementKind::Class(_) | StatementKind::Test { .. } | StatementKind::Temporaries(_)
        );
        let expression =
            matches!(statement.kind, StatementKind::Expression(_) | StatementKind::Return(_));
        let new_line = self.next.newline && !(expression && self.continues(&self.next, false));
        let ends = new_line || self.at(TokenKind::End) || self.kind().closes();
        if !braced && !ends {
            let error = self.missing_end(statement);
            self.error(error);
        }
    }

    fn missing_end(&self, statement: &Statement) -> Diagnostic {
        let span = self.next.span;
        let label = "expected the end of the statement before this";
        let cascade = matches!(
            &statement.kind,
            StatementKind::Expression(e) if matches!(e.kind, ExpressionKind::Cascade { .. })
        );
        match self.kind() {
            TokenKind::Unknown => self.unknown_character(),
            TokenKind::Text | TokenKind::Quote if self.text_over_lines().is_some() => {
                let span = self.text_over_lines().unwrap_or(span);
                Diagnostic::error(span, "this text runs over the end of a line", "this text")
                    .hint("write the quote where it ends")
            }
            TokenKind::Name | TokenKind::Keyword | TokenKind::Operator if cascade => {
                Diagnostic::error(span, "each `;` takes one message", "one message too many")
                    .hint("put the cascade into parentheses to send its result a message")
            }
            TokenKind::Assign if matches!(statement.kind, StatementKind::Variables(_)) => {
                Diagnostic::error(span, "a declaration has no value", "remove this")
                    .hint("assign in a statement of its own: `var x. x := 3.`")
            }
            TokenKind::Colon => Diagnostic::error(span, "a colon stands alone", label)
                .hint("a keyword and its colon touch each other, as in `at: 1`"),
            TokenKind::EqualBar => {
                Diagnostic::error(span, "`=|` stands inside an expression", label)
                    .hint("write `=|=` to let both sides follow each other")
            }
            TokenKind::Caret => Diagnostic::error(span, "`^` stands inside an expression", label)
                .hint("write `.` before it: `^` begins a statement"),
            _ => Diagnostic::error(span, "two values stand side by side", label)
                .hint("write `.` between statements, or a message between the values"),
        }
    }

    fn statement(&mut self) -> Option<Statement> {
        let start = self.next.span.start;
        let kind = match self.kind() {
            TokenKind::Caret => {
                self.bump();
                StatementKind::Return(self.expression())
            }
            TokenKind::Bar => self.temporaries(),
            TokenKind::Signature => {
                self.misplaced_signature();
                return None;
            }
            TokenKind::Operator if self.is_shell_line(&self.next) => {
                let end = line_end(self.source(), start as usize);
                let line = self.source()[start as usize..end].trim_end();
                let span = self.take_until(start + line.len() as u32, TokenKind::Shell);
                StatementKind::Shell(self.text(span)[1..].to_owned())
            }
            TokenKind::Name => self.statement_by_name(),
            _ => self.expression_statement(),
        };
        Some(Statement { kind, span: Span::new(start, self.at.max(start)) })
    }

    fn statement_by_name(&mut self) -> StatementKind {
        if let Some(definition) = self.definition_at(&self.next) {
            return self.definition(definition);
        }
        let name = self.word();
        if name == "var" && self.is_declaration() {
            self.bump_as(TokenKind::Definition);
            return StatementKind::Variables(self.variables());
        }
        if name == "test" && self.is_test() {
            return self.test();
        }
        self.expression_statement()
    }

    fn expression_statement(&mut self) -> StatementKind {
        let expression = self.expression();
        match expression.kind {
            ExpressionKind::Error => StatementKind::Error,
            _ => StatementKind::Expression(expression),
        }
    }

    /// Whether `var` begins a declaration: a name or a type follows on the same line.
    pub(super) fn is_declaration(&self) -> bool {
        let after = self.peek(self.next.span.end);
        let typed = self.is_type_at(after.span.start);
        // A type on the next line is one, too: put on one line, the two would be a declaration.
        typed || (!after.newline && after.kind == TokenKind::Name)
    }

    /// `<type mark …> a, b`, behind `var`.
    pub(super) fn variables(&mut self) -> VariableDeclaration {
        let (kind, marks) = match self.marked_type() {
            Some((kind, marks)) => (Some(kind), marks),
            None => (None, Vec::new()),
        };
        let mut names: Vec<Word> = Vec::new();
        loop {
            if !self.at(TokenKind::Name) {
                self.error(
                    Diagnostic::error(self.next.span, "a variable has no name", "expected a name")
                        .hint("write `var name.`, or with a type `var <int> name.`"),
                );
                break;
            }
            self.check_name();
            let name = self.bump();
            names.push(self.word_at(name));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        VariableDeclaration { kind, marks, names, default: None }
    }

    /// `| a b c |`
    fn temporaries(&mut self) -> StatementKind {
        let opened = self.bump();
        let mut names = Vec::new();
        while self.at(TokenKind::Name) {
            self.check_name();
            let name = self.bump();
            names.push(self.word_at(name));
        }
        if !self.eat(TokenKind::Bar) {
            self.error(
                Diagnostic::error(self.next.span, "`|` is missing", "expected `|` before this")
                    .also(opened, "names of temporary variables begin here")
                    .hint("write the names between two bars, `| a b |`, or a value before a pipe"),
            );
        }
        StatementKind::Temporaries(names)
    }

    fn is_test(&self) -> bool {
        let name = self.peek(self.next.span.end);
        name.kind == TokenKind::Text
            && !name.newline
            && self.peek(name.span.end).kind == TokenKind::OpenBrace
    }

    fn test(&mut self) -> StatementKind {
        self.bump_as(TokenKind::Definition);
        let name = self.plain_text();
        let text = match name.kind {
            ExpressionKind::Text(text) => text,
            _ => String::new(),
        };
        let body = self.expected_block("test");
        StatementKind::Test { name: Word { text, span: name.span }, body }
    }

    /// Whether a shell command begins here: `!` in the first column, outside of all brackets, and
    /// the command touches it.
    pub(super) fn is_shell_line(&self, next: &Lexeme) -> bool {
        let start = next.span.start;
        self.open.is_empty()
            && at_line_start(self.source(), start as usize)
            && self.rest(start).strip_prefix('!').is_some_and(|command| {
                !command.starts_with('!') && command.starts_with(|c: char| !c.is_whitespace())
            })
    }
}
