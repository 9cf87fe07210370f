//! From text to tree by recursive descent, one token ahead. Never fails: what cannot be read
//! becomes an `Error` node and a diagnostic, and parsing resumes at the next statement, element
//! or member.

mod block;
mod class;
mod definition;
mod expression;
mod literal;
mod method;
mod number;
mod object;
mod path;
mod pattern;
mod property_path;
mod recovery;
mod signature;
mod statement;
mod text;

pub(crate) use text::quoted_length;

use crate::ast::{Comment, Program, Word};
use crate::lexer::{Lexeme, Lexer};
use crate::limits::{MAX_DIAGNOSTICS, MAX_HEIGHT, MAX_NESTING};
use crate::{Diagnostic, Span, Token, TokenKind};

/// What a line end and a comma mean where the parser is.
#[derive(Clone, Copy)]
struct Mode {
    /// Whether a line end may end a statement: not inside brackets.
    newline_ends: bool,
    /// Whether a comma separates elements; otherwise it is a message.
    comma_separates: bool,
}

impl Mode {
    const STATEMENTS: Mode = Mode { newline_ends: true, comma_separates: false };
    const GROUP: Mode = Mode { newline_ends: false, comma_separates: false };
    const ELEMENTS: Mode = Mode { newline_ends: false, comma_separates: true };
}

/// The state of reading one text.
pub(crate) struct Parser<'s> {
    lexer: Lexer<'s>,
    /// Where the last token that was taken ends.
    at: u32,
    /// The token after it.
    next: Lexeme,
    /// The comments between the two.
    pending: Vec<Comment>,
    comments: Vec<Comment>,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
    /// From a fault until reading is in step again: further faults are its consequences.
    recovering: bool,
    /// Whether the first fault is only that the text ends too early.
    incomplete: bool,
    mode: Mode,
    depth: u32,
    /// The height of the tree being built.
    height: u32,
    /// The brackets that are open, innermost last.
    open: Vec<(TokenKind, Span)>,
    /// Closing brackets that were reported as missing: found later, they are no second fault.
    missed: Vec<TokenKind>,
    /// Up to here no double quote closes what is opened; not 0 once one was found that never ends.
    no_quote_until: u32,
    /// Where the statement that is being read begins.
    statement_start: u32,
    /// Inside a class a line such as `-name {` begins a method wherever it stands.
    in_class: bool,
}

/// What reading a text gave.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) program: Program,
    pub(crate) tokens: Vec<Token>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) incomplete: bool,
    /// The parts of the text that have faults.
    pub(crate) broken: Vec<Span>,
}

/// Reads a whole text.
pub(crate) fn read(source: &str) -> Reading {
    let mut parser = Parser::new(source, 0);
    parser.check_characters();
    let program = parser.program();
    parser.finish(program)
}

/// Reads a part of a text that begins at the start of a line, as if nothing stood around it.
pub(crate) fn read_part(source: &str, part: Span) -> Reading {
    let mut parser = Parser::new(&source[..part.end as usize], part.start);
    let program = parser.program();
    parser.finish(program)
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, start: u32) -> Self {
        let lexer = Lexer::new(source);
        let mut pending = Vec::new();
        let next = lexer.next(start, &mut pending);
        Parser {
            lexer,
            at: start,
            next,
            pending,
            comments: Vec::new(),
            tokens: Vec::new(),
            diagnostics: Vec::new(),
            recovering: false,
            incomplete: false,
            mode: Mode::STATEMENTS,
            depth: 0,
            height: 0,
            open: Vec::new(),
            missed: Vec::new(),
            no_quote_until: 0,
            statement_start: 0,
            in_class: false,
        }
    }

    fn finish(self, program: Program) -> Reading {
        Reading {
            program,
            tokens: self.tokens,
            diagnostics: self.diagnostics,
            incomplete: self.incomplete,
            broken: Vec::new(),
        }
    }

    // Tokens.

    fn source(&self) -> &'s str {
        self.lexer.source
    }

    /// The text from a place on.
    fn rest(&self, from: u32) -> &'s str {
        &self.source()[from as usize..]
    }

    fn text(&self, span: Span) -> &'s str {
        span.text(self.source())
    }

    fn kind(&self) -> TokenKind {
        self.next.kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.next.kind == kind
    }

    /// Whether the next token stands directly behind the last one.
    fn touches(&self) -> bool {
        !self.next.spaced
    }

    /// The text of the next token.
    fn word(&self) -> &'s str {
        self.text(self.next.span)
    }

    /// The token that stands behind a place, without going there.
    fn peek(&self, from: u32) -> Lexeme {
        self.lexer.next(from, &mut Vec::new())
    }

    /// Takes the next token.
    fn bump(&mut self) -> Span {
        self.bump_as(self.next.kind)
    }

    /// Takes the next token, which is known to be of another kind than the lexer could see.
    fn bump_as(&mut self, kind: TokenKind) -> Span {
        let span = self.next.span;
        if self.next.kind != TokenKind::End {
            self.take_until(span.end, kind);
        }
        span
    }

    /// Takes the text from the next token to the place as one token of the kind.
    fn take_until(&mut self, end: u32, kind: TokenKind) -> Span {
        self.comments.append(&mut self.pending);
        let span = Span::new(self.next.span.start.min(end), end);
        self.tokens.push(Token { kind, span });
        self.seek(end);
        span
    }

    /// Advances by one token.
    fn seek(&mut self, end: u32) {
        if self.has_stopped() {
            return;
        }
        self.at = end;
        self.pending.clear();
        self.next = self.lexer.next(end, &mut self.pending);
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// The words of a token, the place included.
    fn word_at(&self, span: Span) -> Word {
        Word { text: self.text(span).to_owned(), span }
    }

    // Faults.

    /// Reports a fault, unless it is the consequence of the one before.
    fn error(&mut self, diagnostic: Diagnostic) {
        if !self.recovering {
            self.incomplete = self.diagnostics.is_empty() && self.at(TokenKind::End);
            self.note(diagnostic);
        }
        self.recovering = true;
    }

    /// Reports a fault that does not disturb reading on.
    fn note(&mut self, diagnostic: Diagnostic) {
        if self.has_stopped() {
            return;
        }
        self.diagnostics.push(diagnostic);
        if self.has_stopped() {
            self.stop();
        }
    }

    /// Whether as many faults were found as are reported.
    fn has_stopped(&self) -> bool {
        self.diagnostics.len() >= MAX_DIAGNOSTICS
    }

    /// Reads no further. Everything that waits for a token finds the end.
    fn stop(&mut self) {
        self.recovering = true;
        self.pending.clear();
        let end = self.source().len() as u32;
        self.at = end;
        self.next =
            Lexeme { kind: TokenKind::End, span: Span::new(end, end), newline: true, spaced: true };
    }

    // Bounds.

    /// Goes one level deeper; `false`, with a diagnostic, when that is too deep. Each call that
    /// answers `true` is followed by [`Parser::leave`].
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_NESTING {
            let text = format!("more than {MAX_NESTING} levels deep");
            self.error(
                Diagnostic::error(self.next.span, "this is nested too deeply", text)
                    .hint("give an inner part a name, and use the name here"),
            );
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Runs a part whose height counts beside, not on top of, what was read before it.
    fn beside<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::take(&mut self.height);
        let result = part(self);
        self.height = self.height.max(before);
        result
    }

    /// Puts one node on top of what was read; `false`, with a diagnostic, when that is too high.
    fn grow(&mut self) -> bool {
        self.height += 1;
        if self.height > MAX_HEIGHT {
            let text = format!("more than {MAX_HEIGHT} messages follow each other");
            self.error(
                Diagnostic::error(self.next.span, "this expression is too long", text)
                    .hint("put the values into an array and combine them with `reduce`"),
            );
        }
        self.height <= MAX_HEIGHT
    }

    /// Runs a part in which line ends and commas mean something else.
    fn within<T>(&mut self, mode: Mode, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.mode, mode);
        let result = part(self);
        self.mode = outer;
        result
    }
}
