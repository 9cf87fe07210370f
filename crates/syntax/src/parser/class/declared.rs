//! Declared types: `<string 1..120 required>`, `<'draft' 'published'>`, `<[Tag] 0..10>`. Read by
//! characters, since a pattern is no sequence of tokens. A parameter of a path reads the same.

use crate::ast::{DeclaredKind, DeclaredType, TypeRange, Word};
use crate::lexer::{line_end, name_length};
use crate::limits::MAX_TYPE_NESTING;
use crate::parser::Parser;
use crate::{Diagnostic, Span, Token, TokenKind};

/// A type that was read, up to its closing bracket.
pub(in crate::parser) struct TypeReading {
    pub(in crate::parser) kind: DeclaredType,
    pub(in crate::parser) marks: Vec<Word>,
    /// The tokens, brackets included.
    pub(in crate::parser) tokens: Vec<Token>,
    /// Behind the closing bracket.
    pub(in crate::parser) end: u32,
}

/// Reads `<type mark …>`; the place is that of the opening bracket.
pub(in crate::parser) fn read_type(
    source: &str,
    start: u32,
) -> Result<TypeReading, Box<Diagnostic>> {
    let end = line_end(source, start as usize) as u32;
    let mut reader = TypeReader { source, at: start, end, tokens: Vec::new(), depth: 0 };
    reader.take(1, TokenKind::Operator);
    let kind = reader.one_of()?;
    let mut marks = Vec::new();
    reader.blanks();
    while let length @ 1.. = name_length(reader.rest()) as u32 {
        let span = reader.take(length, TokenKind::Name);
        marks.push(reader.word(span));
        reader.blanks();
    }
    if !reader.rest().starts_with('>') {
        return Err(reader.fault());
    }
    reader.take(1, TokenKind::Operator);
    Ok(TypeReading { kind, marks, tokens: reader.tokens, end: reader.at })
}

struct TypeReader<'s> {
    source: &'s str,
    at: u32,
    /// Where the line ends: a type stands on one.
    end: u32,
    tokens: Vec<Token>,
    depth: u32,
}

type Read<T> = Result<T, Box<Diagnostic>>;

impl<'s> TypeReader<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at as usize..self.end as usize]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += (rest.len() - rest.trim_start_matches(' ').len()) as u32;
    }

    fn take(&mut self, length: u32, kind: TokenKind) -> Span {
        let span = Span::new(self.at, self.at + length);
        self.tokens.push(Token { kind, span });
        self.at = span.end;
        span
    }

    fn word(&self, span: Span) -> Word {
        Word { text: span.text(self.source).to_owned(), span }
    }

    fn fault(&self) -> Box<Diagnostic> {
        let length = self.rest().chars().next().map_or(0, char::len_utf8) as u32;
        let span = Span::new(self.at, self.at + length);
        let fault = Diagnostic::error(span, "this is not a type", "expected `<type>`").hint(
            "write the type in angle brackets, such as `<int>`, `<string 1..80>`, `<'on' 'off'>` or `<[int]>`",
        );
        Box::new(fault)
    }

    /// `Card | Transfer`
    fn one_of(&mut self) -> Read<DeclaredType> {
        let first = self.single()?;
        let mut options = vec![first];
        loop {
            self.blanks();
            if !self.rest().starts_with('|') {
                break;
            }
            self.take(1, TokenKind::Bar);
            options.push(self.single()?);
        }
        if options.len() == 1
            && let Some(only) = options.pop()
        {
            return Ok(only);
        }
        let ends = options.first().zip(options.last());
        let span = ends.map_or(Span::new(self.at, self.at), |(first, last)| {
            Span::new(first.span.start, last.span.end)
        });
        // `A | B?` means that nothing may be there, whichever it is.
        let optional = options.iter().any(|option| option.optional);
        options.iter_mut().for_each(|option| option.optional = false);
        Ok(DeclaredType { kind: DeclaredKind::OneOf(options), optional, span })
    }

    fn single(&mut self) -> Read<DeclaredType> {
        self.blanks();
        let start = self.at;
        let mut optional = false;
        let kind = match self.rest().chars().next() {
            Some('[') => {
                self.depth += 1;
                if self.depth > MAX_TYPE_NESTING {
                    return Err(self.fault());
                }
                self.take(1, TokenKind::OpenBracket);
                let element = Box::new(self.one_of()?);
                self.blanks();
                if !self.rest().starts_with(']') {
                    return Err(self.fault());
                }
                self.take(1, TokenKind::CloseBracket);
                self.depth -= 1;
                optional |= self.question();
                DeclaredKind::List { element, limits: self.limits()? }
            }
            Some('\'') => DeclaredKind::Enumeration(self.texts()?),
            _ => {
                let length = name_length(self.rest()) as u32;
                if length == 0 {
                    return Err(self.fault());
                }
                let span = self.take(length, TokenKind::Name);
                let name = self.word(span);
                optional |= self.question();
                let limits = self.limits()?;
                DeclaredKind::Named { name, limits, pattern: self.pattern()? }
            }
        };
        optional |= self.question();
        Ok(DeclaredType { kind, optional, span: Span::new(start, self.at) })
    }

    fn question(&mut self) -> bool {
        let found = self.rest().starts_with('?');
        if found {
            self.take(1, TokenKind::Question);
        }
        found
    }

    /// `'draft' 'published'`; a quote in a text is written twice.
    fn texts(&mut self) -> Read<Vec<Word>> {
        let mut texts = Vec::new();
        loop {
            let before = self.at;
            self.blanks();
            if !self.rest().starts_with('\'') {
                self.at = before;
                return Ok(texts);
            }
            let Some(length) = quoted_length(self.rest()) else { return Err(self.fault()) };
            let span = self.take(length, TokenKind::Text);
            let inner = Span::new(span.start + 1, span.end - 1).text(self.source);
            texts.push(Word { text: inner.replace("''", "'"), span });
        }
    }

    /// ` 1..120`, ` 0..`, ` ..10`
    fn limits(&mut self) -> Read<Option<TypeRange>> {
        let before = self.at;
        self.blanks();
        let start = self.at;
        let least = self.number();
        if !self.rest().starts_with("..") {
            if least.is_some() {
                return Err(self.fault());
            }
            self.at = before;
            return Ok(None);
        }
        self.take(2, TokenKind::Operator);
        let most = self.number();
        if least.is_none() && most.is_none() {
            return Err(self.fault());
        }
        Ok(Some(TypeRange { least, most, span: Span::new(start, self.at) }))
    }

    fn number(&mut self) -> Option<Word> {
        let length = number_length(self.rest());
        if length == 0 {
            return None;
        }
        let span = self.take(length, TokenKind::Number);
        Some(self.word(span))
    }

    /// ` /[a-z]+/`; a slash in the pattern has a backslash before it.
    fn pattern(&mut self) -> Read<Option<Word>> {
        let before = self.at;
        self.blanks();
        if !self.rest().starts_with('/') {
            self.at = before;
            return Ok(None);
        }
        let Some(length) = pattern_length(self.rest()) else { return Err(self.fault()) };
        let span = self.take(length, TokenKind::Text);
        Ok(Some(self.word(Span::new(span.start + 1, span.end - 1))))
    }
}

/// The length of a text in single quotes without escapes.
fn quoted_length(text: &str) -> Option<u32> {
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => return None,
            '\'' if rest.peek().is_some_and(|(_, next)| *next == '\'') => {
                rest.next();
            }
            '\'' => return Some(at as u32 + 1),
            _ => {}
        }
    }
    None
}

fn pattern_length(text: &str) -> Option<u32> {
    let mut rest = text.char_indices().skip(1);
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '/' if at > 1 => return Some(at as u32 + 1),
            '/' => return None,
            _ => {}
        }
    }
    None
}

/// The length of `-12`, `1_000` or `0.5`; the two points of a range do not belong to it.
fn number_length(text: &str) -> u32 {
    let digits = |text: &str| {
        let inner = |c: char| c.is_ascii_digit() || c == '_';
        match text.starts_with(|c: char| c.is_ascii_digit()) {
            true => text.find(|c| !inner(c)).unwrap_or(text.len()),
            false => 0,
        }
    };
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return 0;
    }
    let mut end = sign + whole;
    if let Some(fraction) = text[end..].strip_prefix('.')
        && let length @ 1.. = digits(fraction)
    {
        end += 1 + length;
    }
    end as u32
}

impl Parser<'_> {
    /// `<type mark …>` when one stands here: the type, and the marks behind it.
    pub(in crate::parser) fn marked_type(&mut self) -> Option<(DeclaredType, Vec<Word>)> {
        let start = self.next.span.start;
        if !self.rest(start).starts_with('<') {
            return None;
        }
        match read_type(self.source(), start) {
            Ok(mut read) => {
                self.comments.append(&mut self.pending);
                self.tokens.append(&mut read.tokens);
                self.seek(read.end);
                Some((read.kind, read.marks))
            }
            Err(fault) => {
                self.error(*fault);
                None
            }
        }
    }

    /// Whether a declared type stands at the place, or what was meant to be one.
    pub(in crate::parser) fn is_type_at(&self, start: u32) -> bool {
        let Some(rest) = self.rest(start).strip_prefix('<') else { return false };
        let line = &rest[..line_end(rest, 0)];
        let begins = line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '\'' | '['));
        (begins && line.contains('>')) || read_type(self.source(), start).is_ok()
    }
}
