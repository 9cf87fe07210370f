//! What stands around a cursor, from the tokens: they are right where the tree is not, because something is half
//! written.

use super::Analysis;
use super::index::{BodyKind, KnownValue};
use runnel_syntax::{Token, TokenKind};

/// Tokens before the cursor that are looked at.
const MOST_TOKENS: usize = 4_000;

/// What could be completed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CursorContext {
    /// Nothing: inside a text, a comment or a number.
    Nothing,
    /// A name, a class, a scheme; at the start of a statement a keyword.
    Name { is_statement: bool },
    /// A message to a value.
    Message { receiver: KnownValue },
    /// A scheme or a variable, behind `ref:`.
    ReferenceName,
    /// A path below a scheme: the folder as written, and where the last segment begins.
    Path { scheme: String, folder: String, start: u32 },
    /// A class or tag behind `#`.
    LiteralName,
    /// A key of a literal.
    LiteralKey { class: String },
    /// A type in angle brackets.
    Type,
    /// A member of a class, or of a property path.
    Member(BodyKind),
}

/// A cursor with the word before it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cursor {
    pub(crate) context: CursorContext,
    /// Where the word begins that is being written.
    pub(crate) start: u32,
}

/// Where the name begins that ends at a byte.
fn word_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    let is_part = |one: char| one.is_alphanumeric() || one == '_' || one == '-';
    let start = before.rfind(|one| !is_part(one));
    let start = start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    start + before[start..].len() - before[start..].trim_start_matches('-').len()
}

/// The tokens before a byte, the last one first.
fn before(analysis: &Analysis, offset: u32) -> impl Iterator<Item = (usize, Token)> + '_ {
    let end = analysis.tokens.partition_point(|token| token.span.start < offset);
    let tokens = analysis.tokens[..end].iter().enumerate().rev().take(MOST_TOKENS);
    tokens
        .map(|(number, token)| (number, *token))
        .filter(|(_, token)| token.kind != TokenKind::Comment)
}

fn ends_operand(kind: TokenKind) -> bool {
    use TokenKind::{
        CloseBrace, CloseBracket, CloseParen, Implicit, Name, Number, Path, Quote, Symbol, Text,
    };
    matches!(
        kind,
        Name | Number
            | Text
            | Quote
            | Symbol
            | Implicit
            | Path
            | CloseBrace
            | CloseBracket
            | CloseParen
    )
}

fn opens(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::OpenBrace | TokenKind::OpenBracket | TokenKind::OpenParen)
}

fn closes(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::CloseBrace | TokenKind::CloseBracket | TokenKind::CloseParen)
}

/// The innermost bracket that is open before a byte, by its number.
fn opener(analysis: &Analysis, offset: u32) -> Option<(usize, Token)> {
    let mut depth = 0_u32;
    for (number, token) in before(analysis, offset) {
        if closes(token.kind) {
            depth += 1;
        } else if opens(token.kind) {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some((number, token)),
            }
        }
    }
    None
}

/// The class of the literal whose brace is the token with this number.
fn literal_class(analysis: &Analysis, text: &str, brace: usize) -> Option<String> {
    let name = analysis.tokens.get(brace.checked_sub(1)?)?;
    let between = text.get(name.span.end as usize..analysis.tokens[brace].span.start as usize)?;
    let class = name.span.text(text).strip_prefix('#')?;
    let is_literal = name.kind == TokenKind::Symbol && between.chars().all(|one| one == ' ');
    is_literal.then(|| class.to_owned())
}

/// Looks at the text before a byte.
pub(crate) fn cursor(analysis: &Analysis, text: &str, offset: u32) -> Cursor {
    let start = word_start(text, offset as usize) as u32;
    let context = context(analysis, text, offset, start);
    match &context {
        CursorContext::Path { start, .. } => Cursor { start: *start, context },
        _ => Cursor { context, start },
    }
}

fn context(analysis: &Analysis, text: &str, offset: u32, start: u32) -> CursorContext {
    let at = before(analysis, offset).next().map(|(_, token)| token);
    let covering = analysis.tokens.partition_point(|token| token.span.start < offset);
    let covering = covering.checked_sub(1).map(|number| analysis.tokens[number]);
    let is_inside = |token: &Token| token.span.end >= offset;
    // White space at the end of a comment does not belong to it.
    let is_comment =
        covering.filter(|token| token.kind == TokenKind::Comment).is_some_and(|token| {
            !text.get(token.span.end as usize..offset as usize).unwrap_or_default().contains('\n')
        });
    if is_comment {
        return CursorContext::Nothing;
    }
    if covering.filter(is_inside).is_some_and(|token| {
        matches!(
            token.kind,
            TokenKind::Comment | TokenKind::Text | TokenKind::Number | TokenKind::Shell
        )
    }) {
        return CursorContext::Nothing;
    }
    if let Some(reference) = reference(analysis, text, offset) {
        return reference;
    }
    if text.get(..start as usize).is_some_and(|before| before.ends_with('#')) {
        return CursorContext::LiteralName;
    }
    if is_type(text, start) {
        return CursorContext::Type;
    }
    if at.is_some_and(|token| token.kind == TokenKind::Number && is_inside(&token)) {
        return CursorContext::Nothing;
    }
    let last = before(analysis, start).next().map(|(_, token)| token);
    let begins = |kind: TokenKind| matches!(kind, TokenKind::OpenBrace | TokenKind::Comma);
    if let Some((number, brace)) = opener(analysis, start)
        && brace.kind == TokenKind::OpenBrace
        && last.is_some_and(|last| begins(last.kind))
        && let Some(class) = literal_class(analysis, text, number)
    {
        return CursorContext::LiteralKey { class };
    }
    let Some(last) = last else { return CursorContext::Name { is_statement: true } };
    let between = text.get(last.span.end as usize..start as usize).unwrap_or_default();
    let ends =
        matches!(last.kind, TokenKind::Period | TokenKind::OpenBrace | TokenKind::CloseBrace);
    let body = if is_in_path(analysis, text, start) {
        Some(BodyKind::Path)
    } else {
        analysis.index.body_at(start)
    };
    if let Some(kind @ (BodyKind::Class | BodyKind::Path)) = body
        && (ends || between.contains('\n'))
    {
        return CursorContext::Member(kind);
    }
    if between.contains('\n') || !ends_operand(last.kind) {
        let is_statement = between.contains('\n')
            || matches!(
                last.kind,
                TokenKind::Period | TokenKind::OpenBrace | TokenKind::Bar | TokenKind::Caret
            );
        return CursorContext::Name { is_statement };
    }
    if between.is_empty() {
        return CursorContext::Nothing;
    }
    CursorContext::Message { receiver: value_before(analysis, start) }
}

/// Whether the innermost brace is that of a property path: the tree has none while its members have faults.
fn is_in_path(analysis: &Analysis, text: &str, start: u32) -> bool {
    let Some((_, brace)) = opener(analysis, start) else { return false };
    let before = text.get(..brace.span.start as usize).unwrap_or_default();
    let line = before[before.rfind('\n').map_or(0, |at| at + 1)..].trim_start();
    brace.kind == TokenKind::OpenBrace
        && line.starts_with('/')
        && !line.starts_with("//")
        && !line.contains('{')
}

/// What is known of the value that ends before a byte.
fn value_before(analysis: &Analysis, start: u32) -> KnownValue {
    let index = &analysis.index;
    // The word at the cursor was read as a message to it.
    let sent = index
        .sends
        .iter()
        .filter(|sent| sent.words.first().is_some_and(|word| word.start == start));
    if let Some(sent) = sent.max_by_key(|sent| sent.span.start) {
        return sent.receiver.clone();
    }
    let Some((_, last)) = before(analysis, start).next() else { return KnownValue::default() };
    value_at_end(analysis, last.span.end)
}

/// The value of the smallest expression that ends at a byte.
pub(crate) fn value_at_end(analysis: &Analysis, end: u32) -> KnownValue {
    let values = &analysis.index.values;
    let first = values.partition_point(|(span, _)| span.end < end);
    let ending = values[first..].iter().take_while(|(span, _)| span.end == end);
    ending
        .max_by_key(|(span, _)| span.start)
        .map_or_else(KnownValue::default, |(_, value)| value.clone())
}

/// The reference that is being written: `ref:`, `file:notes/to`, `this:ti`.
fn reference(analysis: &Analysis, text: &str, offset: u32) -> Option<CursorContext> {
    let before_cursor = text.get(..offset as usize)?;
    let is_border = |one: char| one.is_whitespace() || "([{,;|^".contains(one);
    let start = before_cursor
        .rfind(is_border)
        .map_or(0, |at| at + before_cursor[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before_cursor[start..];
    let first =
        analysis.tokens.binary_search_by_key(&(start as u32), |token| token.span.start).ok();
    let is_scheme = first.is_some_and(|number| {
        let token = analysis.tokens[number];
        token.kind == TokenKind::Scheme
            || (token.kind == TokenKind::Keyword && word.starts_with("ref:"))
    });
    let own = word.strip_prefix("ref:");
    let rest = own.unwrap_or(word);
    let Some((scheme, path)) = rest.split_once(':') else {
        return own.is_some().then_some(CursorContext::ReferenceName);
    };
    let is_name = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    // Behind `this:` nothing is written yet, so it was read as a keyword.
    let is_begun = path.is_empty() && matches!(scheme, "this" | "self" | "file");
    if !is_name || path.starts_with('=') || !(is_scheme || is_begun) {
        return None;
    }
    let folder = path.rfind('/').map_or("", |at| &path[..=at]);
    let start = offset - (path.len() - folder.len()) as u32;
    Some(CursorContext::Path { scheme: scheme.to_owned(), folder: folder.to_owned(), start })
}

/// Whether a type is being written: `var <`, `:<`, `→ <`, `post <`, `-<`.
fn is_type(text: &str, start: u32) -> bool {
    let before = text.get(..start as usize).unwrap_or_default();
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let Some(at) = line.rfind('<') else { return false };
    if line[at..].contains(['>', '(', ')', '{', '}', '.']) {
        return false;
    }
    let head = line[..at].trim_end();
    let words =
        ["var", "get", "put", "post", "merge", "delete", "list", "header", "cookie", "query"];
    let ends_in = |word: &str| {
        head.strip_suffix(word)
            .is_some_and(|rest| !rest.ends_with(|one: char| one.is_alphanumeric()))
    };
    head.ends_with([':', '→', '|'])
        || head.ends_with("->")
        || matches!(head, "-" | "+")
        || head.trim_start() == "-"
        || head.trim_start() == "+"
        || words.iter().any(|word| ends_in(word))
}

/// A keyword message whose arguments are being written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenMessage {
    /// The keywords so far: `at:put:`
    pub(crate) begun: String,
    /// The number of the argument at the cursor.
    pub(crate) argument: usize,
    pub(crate) receiver: KnownValue,
}

/// The keyword message around a byte.
pub(crate) fn open_message(analysis: &Analysis, text: &str, offset: u32) -> Option<OpenMessage> {
    let mut depth = 0_u32;
    let mut keywords: Vec<Token> = Vec::new();
    let mut later: Option<Token> = None;
    let mut receiver_end = None;
    for (_, token) in before(analysis, offset) {
        if let Some(later) = later
            && depth == 0
            && ends_statement(text, token, later)
        {
            break;
        }
        if !keywords.is_empty()
            && receiver_end.is_none()
            && depth == 0
            && !matches!(token.kind, TokenKind::Keyword)
        {
            receiver_end =
                Some(token).filter(|token| ends_operand(token.kind)).map(|token| token.span.end);
        }
        if closes(token.kind) {
            depth += 1;
        } else if opens(token.kind) {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                // Nothing is open inside: the message around counts.
                None if keywords.is_empty() && token.kind == TokenKind::OpenParen => {}
                None => break,
            }
        } else if depth == 0 {
            match token.kind {
                TokenKind::Keyword if token.span.end <= offset => {
                    keywords.push(token);
                    receiver_end = None;
                }
                TokenKind::Period
                | TokenKind::Semicolon
                | TokenKind::Bar
                | TokenKind::Assign
                | TokenKind::Arrow
                | TokenKind::Caret
                | TokenKind::Comma => break,
                _ => {}
            }
        }
        later = Some(token);
    }
    let first = keywords.last()?;
    let end = receiver_end?;
    let index = &analysis.index;
    let word = index
        .sends
        .iter()
        .find(|sent| sent.words.first().is_some_and(|word| word.start == first.span.start));
    let receiver = word.map_or_else(|| value_at_end(analysis, end), |sent| sent.receiver.clone());
    let begun = keywords.iter().rev().map(|token| token.span.text(text)).collect();
    Some(OpenMessage { begun, argument: keywords.len() - 1, receiver })
}

/// Whether a line end between two tokens ends a statement.
fn ends_statement(text: &str, token: Token, later: Token) -> bool {
    let between = text.get(token.span.end as usize..later.span.start as usize).unwrap_or_default();
    let continues = matches!(
        later.kind,
        TokenKind::Operator
            | TokenKind::Keyword
            | TokenKind::Bar
            | TokenKind::Semicolon
            | TokenKind::Arrow
    ) || closes(later.kind);
    between.contains('\n') && ends_operand(token.kind) && !continues
}
