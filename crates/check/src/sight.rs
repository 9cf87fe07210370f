//! Words of a program that may be names of messages although no class defines them: keys, columns,
//! names in texts.

use runnel_syntax::ast::{
    ExpressionKind, Path, PathPart, Program, SentMessage, Statement, StatementKind, TextPart,
};
use runnel_syntax::walk::{bodies, walk_deep};
use rustc_hash::FxHashSet;

/// Schemes whose values are no rows of a table.
const WITHOUT_ROWS: [&str; 18] = [
    "var", "this", "self", "file", "env", "http", "https", "query", "form", "header", "cookie",
    "body", "response", "request", "class", "sh", "port", "scheme",
];

/// What is found by one look over the whole program.
#[derive(Default)]
pub(crate) struct Sight<'a> {
    /// Words of texts, symbols, keys and paths.
    pub(crate) words: FxHashSet<&'a str>,
    /// Selectors with arguments that the program sends.
    pub(crate) sent: FxHashSet<String>,
    /// Other sources are loaded while it runs, which may define anything.
    pub(crate) loads: bool,
    /// Variables are named while it runs: each may be read or written.
    pub(crate) names_variables: bool,
    /// Only definitions, or names that are defined elsewhere: a part of a program that has other files.
    pub(crate) is_library: bool,
    /// Rows of tables may come from somewhere: they may have any column.
    pub(crate) has_rows: bool,
    /// Variables that references and constraints may write.
    pub(crate) referenced: FxHashSet<&'a str>,
}

impl<'a> Sight<'a> {
    pub(crate) fn of(program: &'a Program) -> Self {
        let mut sight = Sight::default();
        sight.statements(&program.statements);
        sight.is_library = program.statements.iter().all(|statement| {
            matches!(
                statement.kind,
                StatementKind::Class(_)
                    | StatementKind::Template { .. }
                    | StatementKind::Variables(_)
                    | StatementKind::Test { .. }
            )
        });
        sight
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        walk_deep(statements, &mut |expression| self.expression(&expression.kind));
        for statement in statements {
            match &statement.kind {
                StatementKind::Class(class) => {
                    bodies(class, &mut |block| self.statements(&block.statements));
                }
                StatementKind::Test { body, .. } => self.statements(&body.statements),
                StatementKind::Template { value, .. } => {
                    runnel_syntax::walk::walk(value, &mut |inner| self.expression(&inner.kind));
                }
                _ => {}
            }
        }
    }

    fn expression(&mut self, kind: &'a ExpressionKind) {
        match kind {
            ExpressionKind::Text(text)
            | ExpressionKind::Symbol(text)
            | ExpressionKind::Pattern(text) => self.text(text),
            ExpressionKind::Interpolated(parts) => {
                for part in parts {
                    if let TextPart::Text(text) = part {
                        self.text(text);
                    }
                }
            }
            ExpressionKind::Reference(path) => self.path(path),
            ExpressionKind::ReferenceTo(path) => {
                self.path(path);
                let is_variable = path.scheme.as_ref().is_none_or(|scheme| scheme.text == "var");
                if let (true, Some(PathPart::Text(name))) = (is_variable, path.parts.first()) {
                    self.referenced.extend(name.split('/').next());
                }
            }
            ExpressionKind::Send { message, .. } | ExpressionKind::Pipe { message, .. } => {
                self.message(message);
            }
            ExpressionKind::Cascade { messages, .. } => {
                messages.iter().for_each(|message| self.message(message));
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &SentMessage) {
        self.loads |= loads(message);
        if let SentMessage::Keyword(parts) = message {
            self.sent.insert(parts.iter().map(|(word, _)| format!("{}:", word.text)).collect());
        }
    }

    fn path(&mut self, path: &'a Path) {
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str());
        let computed = |part: &PathPart| !matches!(part, PathPart::Text(_));
        self.names_variables |= scheme == "var" && path.parts.iter().any(computed);
        self.loads |= scheme == "framework";
        self.has_rows |= !WITHOUT_ROWS.contains(&scheme);
        for part in &path.parts {
            if let PathPart::Text(text) = part {
                self.text(text);
            }
        }
    }

    fn text(&mut self, text: &'a str) {
        let is_part = |one: char| one.is_alphanumeric() || one == '_' || one == '-';
        self.words.extend(text.split(|one| !is_part(one)).filter(|word| !word.is_empty()));
        if text.ends_with(':') {
            self.words.insert(text);
        }
    }
}

/// Whether a message reads another source: `ref:file:lib.st load`.
fn loads(message: &SentMessage) -> bool {
    match message {
        SentMessage::Unary(word) => word.text == "load",
        SentMessage::Keyword(parts) => parts.first().is_some_and(|(word, _)| word.text == "load"),
        SentMessage::Binary(..) => false,
    }
}
