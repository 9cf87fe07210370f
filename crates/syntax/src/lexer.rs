//! From a place in the text to the token that stands there. The lexer has no memory: the parser
//! asks for the next token from any place, because what a path, a text with `{…}` in it or a
//! property path consists of is known only there.

use crate::ast::Comment;
use crate::characters::{
    begins_name, continues_name, is_letter_beyond_ascii, is_operator, is_quote, is_single_operator,
    is_space,
};
use crate::{Span, TokenKind};
use std::cell::Cell;

/// A token with what stands before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// Whether a line ends between the token before and this one.
    pub(crate) newline: bool,
    /// Whether anything (white space or a comment) stands between.
    pub(crate) spaced: bool,
}

/// Finds tokens in one text.
pub(crate) struct Lexer<'s> {
    pub(crate) source: &'s str,
    /// Whether a plain text was found that never ends. From then on a text ends with its line at
    /// the latest, which also keeps the work linear: no two searches run to the end of the file.
    unclosed: Cell<bool>,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Lexer { source, unclosed: Cell::new(false) }
    }

    /// The token at or after the place. Comments on the way are added to `comments`.
    pub(crate) fn next(&self, from: u32, comments: &mut Vec<Comment>) -> Lexeme {
        let (start, newline) = skip_blank(self.source, from as usize, comments);
        let text = &self.source[start..];
        let (kind, length) = match text.chars().next() {
            Some(c) if is_quote(c) => (TokenKind::Text, self.plain_text(text)),
            _ => token(text, at_line_start(self.source, start)),
        };
        let span = Span::new(start as u32, (start + length) as u32);
        Lexeme { kind, span, newline, spaced: start > from as usize }
    }

    /// The length of a plain text; an unterminated one ends with its line.
    fn plain_text(&self, text: &str) -> usize {
        let length = match self.unclosed.get() {
            true => text_length(&text[..line_end(text, 0)]),
            false => text_length(text),
        };
        length.unwrap_or_else(|| {
            self.unclosed.set(true);
            line_end(text, 0)
        })
    }
}

/// Skips white space and comments; answers where it came to, and whether a line ended.
fn skip_blank(source: &str, from: usize, comments: &mut Vec<Comment>) -> (usize, bool) {
    let mut at = from;
    let mut newline = false;
    while let Some(c) = source[at..].chars().next() {
        if is_space(c) {
            newline |= c == '\n';
            at += c.len_utf8();
        } else if source[at..].starts_with("//")
            || (c == '#' && at_line_start(source, at) && begins_comment(source, at))
        {
            let end = at + source[at..line_end(source, at)].trim_end().len();
            let own_line = begins_line(source, at);
            comments.push(Comment { span: Span::new(at as u32, end as u32), own_line });
            at = end;
        } else {
            break;
        }
    }
    (at, newline)
}

/// Where the line ends, without its line end and a carriage return before it.
pub(crate) fn line_end(source: &str, from: usize) -> usize {
    let line = source[from..].split('\n').next().unwrap_or("");
    from + line.trim_end_matches('\r').len()
}

/// Whether nothing but white space stands before the place on its line.
pub(crate) fn begins_line(source: &str, at: usize) -> bool {
    let before = source[..at].trim_end_matches(|c| c != '\n' && is_space(c));
    before.is_empty() || before.ends_with('\n')
}

/// Whether the place is in the first column.
pub(crate) fn at_line_start(source: &str, at: usize) -> bool {
    let before = &source[..at];
    before.is_empty() || before.ends_with('\n') || before == "\u{feff}"
}

/// Whether a `#` in the first column begins a comment: `#!`, `# …`, `##`, a bare `#`, and lines
/// drawn with minus signs. `#-name` is a signature, all else is a literal.
fn is_hash_comment(text: &str) -> bool {
    let mut after = text[1..].chars();
    match after.next() {
        None | Some('!' | '#') => true,
        Some('-') => after.next().is_none_or(|c| c == '-' || is_space(c)),
        Some(c) => is_space(c),
    }
}

fn begins_comment(source: &str, at: usize) -> bool {
    is_hash_comment(&source[at..]) || is_commented_statement(source, at)
}

/// How far back a commented-out statement searches the assignment of its name, in bytes.
const LOOK_BACK: usize = 65_536;

/// Whether the `#` before a name would comment out a statement if it stood in the first column, as
/// programs of the original use it: `#name := …`, and `#name message` where the text before assigns
/// the name. Elsewhere it begins a symbol.
pub(crate) fn is_commented_statement(source: &str, at: usize) -> bool {
    let Some(text) = source[at..].strip_prefix('#') else { return false };
    let name = &text[..name_length(text)];
    let after = &text[name.len()..];
    let next = after.trim_start_matches([' ', '\t']);
    if name.is_empty() || next.is_empty() {
        return false;
    }
    if is_assigned(next) {
        return true;
    }
    let mut from = at.saturating_sub(LOOK_BACK);
    while !source.is_char_boundary(from) {
        from += 1;
    }
    let before = &source[from..at];
    next.len() < after.len()
        && next.starts_with(begins_name)
        && before.match_indices(name).any(|(found, _)| {
            !before[..found].ends_with(continues_name)
                && is_assigned(before[found + name.len()..].trim_start_matches(is_space))
        })
}

/// Whether a text begins with the mark of an assignment to a variable.
fn is_assigned(text: &str) -> bool {
    [":=", "←", "<-", "⇦"].iter().any(|mark| text.starts_with(mark))
}

/// The token at the start of the text and its length in bytes.
fn token(text: &str, line_start: bool) -> (TokenKind, usize) {
    let Some(first) = text.chars().next() else { return (TokenKind::End, 0) };
    let second = text[first.len_utf8()..].chars().next().unwrap_or('\0');
    let one = |kind| (kind, first.len_utf8());
    match first {
        c if begins_name(c) || is_letter_beyond_ascii(c) => word(text),
        c if c.is_ascii_digit() => (TokenKind::Number, number_length(text)),
        '"' => one(TokenKind::Quote),
        '#' if second == '-' && line_start => (TokenKind::Signature, 2),
        '#' => one(TokenKind::Hash),
        '$' if continues_name(second) => (TokenKind::Implicit, 1 + run(&text[1..])),
        '(' => one(TokenKind::OpenParen),
        ')' => one(TokenKind::CloseParen),
        '[' => one(TokenKind::OpenBracket),
        ']' => one(TokenKind::CloseBracket),
        '{' => one(TokenKind::OpenBrace),
        '}' => one(TokenKind::CloseBrace),
        '.' => one(TokenKind::Period),
        ';' => one(TokenKind::Semicolon),
        ',' => one(TokenKind::Comma),
        '^' => one(TokenKind::Caret),
        '?' => one(TokenKind::Question),
        '←' | '⇦' => one(TokenKind::Assign),
        '→' | '⇨' => one(TokenKind::Arrow),
        '-' if second == '>' => (TokenKind::Arrow, 2),
        '-' => one(TokenKind::Operator),
        '|' if second == '=' => (TokenKind::Assign, 2),
        '|' => one(TokenKind::Bar),
        ':' if text.starts_with("::=") => (TokenKind::Assign, 3),
        ':' if second == '=' => (TokenKind::Assign, 2),
        ':' => one(TokenKind::Colon),
        '<' if second == '-' => (TokenKind::Assign, 2),
        '+' if second == '=' => (TokenKind::Assign, 2),
        '=' if text.starts_with("=|=") => (TokenKind::Assign, 3),
        '=' if second == '|' => (TokenKind::EqualBar, 2),
        c if is_single_operator(c) => one(TokenKind::Operator),
        c if is_operator(c) => (TokenKind::Operator, operator_length(text)),
        _ => one(TokenKind::Unknown),
    }
}

/// A name, or with a colon a keyword or a scheme. `:=` and `::` do not belong to it.
fn word(text: &str) -> (TokenKind, usize) {
    let length = name_length(text);
    let after = &text[length..];
    if after.starts_with(':') && !after.starts_with(":=") && !after.starts_with("::") {
        (TokenKind::Keyword, length + 1)
    } else {
        (TokenKind::Name, length)
    }
}

/// How long the name at the start of the text is; 0 when there is none. Minus and dot are part of
/// a name when more of the name follows. A letter beyond ASCII is a name of its own; where it
/// touches other letters the whole run is taken, so that there is one fault to report.
pub(crate) fn name_length(text: &str) -> usize {
    // Most names end here.
    let mut end = match text.starts_with(begins_name) {
        true => text.bytes().take_while(|byte| continues_name(char::from(*byte))).count(),
        false => 0,
    };
    let mut rest = text[end..].chars().peekable();
    while let Some(c) = rest.next() {
        let more = rest.peek().is_some_and(|next| continues_name(*next));
        let part = if end == 0 { begins_name(c) } else { continues_name(c) };
        let inside = end > 0 && more && matches!(c, '-' | '.');
        if !part && !inside && !is_letter_beyond_ascii(c) {
            break;
        }
        end += c.len_utf8();
    }
    end
}

fn run(text: &str) -> usize {
    text.find(|c| !continues_name(c)).unwrap_or(text.len())
}

fn operator_length(text: &str) -> usize {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let comment = text[at..].starts_with("//");
        if !is_operator(c) || is_single_operator(c) || comment {
            break;
        }
        end = at + 1;
    }
    end.max(1)
}

/// The length of a plain text, quotes included; `None` when it does not end.
pub(crate) fn text_length(text: &str) -> Option<usize> {
    let plain = text.starts_with('\'');
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '\'' if plain && rest.peek().is_some_and(|(_, next)| *next == '\'') => {
                rest.next();
            }
            '\'' if plain => return Some(at + 1),
            '‘' | '’' if !plain => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The length of a number: digits with `_` between them, a fraction, an exponent, `0x`, `0b` or
/// `16r` with letters and digits.
fn number_length(text: &str) -> usize {
    let digits = digits_length(text);
    let after = &text[digits..];
    let radix = &text[..digits];
    let mut marked = after.chars();
    let mark = marked.next();
    let digit = marked.next().is_some_and(|c| c.is_ascii_alphanumeric());
    let prefixed = radix == "0" && matches!(mark, Some('x' | 'X' | 'b' | 'B'));
    if digit && (prefixed || (mark == Some('r') && is_radix(radix))) {
        return digits + 1 + run(&after[1..]);
    }
    let mut end = digits;
    if let Some(fraction) = after.strip_prefix('.') {
        let length = digits_length(fraction);
        if length > 0 {
            end += 1 + length;
        }
    }
    end + exponent_length(&text[end..])
}

fn is_radix(digits: &str) -> bool {
    digits.parse::<u32>().is_ok_and(|radix| (2..=36).contains(&radix))
}

fn digits_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) || (end > 0 && bytes.get(end) == Some(&b'_') && digit(end + 1)) {
        end += 1;
    }
    end
}

fn exponent_length(text: &str) -> usize {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return 0 };
    let signed = after.strip_prefix(['-', '+']).unwrap_or(after);
    match digits_length(signed) {
        0 => 0,
        length => text.len() - signed.len() + length,
    }
}
