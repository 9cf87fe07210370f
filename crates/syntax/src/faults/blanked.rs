//! Comments and texts of other languages: `/* … */` and `` `…` ``. What they hold is no program, so
//! the text is read again with blanks in their place.

use crate::characters::is_space;
use crate::lexer::{Lexer, line_end};
use crate::{Diagnostic, Span, TokenKind};

/// The titles of the messages.
pub(super) const TITLES: [&str; 2] = ["a comment begins with `//`", "a text stands in quotes"];

/// The longest text that a message repeats, in characters.
const LONGEST: usize = 40;

/// A text with blanks, of the same length, and what was blanked.
pub(super) struct Blanked {
    pub(super) source: String,
    pub(super) found: Vec<Diagnostic>,
}

/// Blanks the comments and texts of other languages; `None` where the program has none.
pub(super) fn blanked(source: &str) -> Option<Blanked> {
    let mut blanked = Blanked { source: String::new(), found: Vec::new() };
    let lexer = Lexer::new(source);
    let mut copied = 0;
    let mut at = 0;
    loop {
        let next = lexer.next(at, &mut Vec::new());
        at = next.span.end;
        let text = &source[next.span.start as usize..];
        let (length, fault) = match next.kind {
            TokenKind::End => break,
            // In a path, `/a/*`, it touches what stands before.
            TokenKind::Operator
                if text.starts_with("/*") && (next.spaced || next.span.start == 0) =>
            {
                let length = text.find("*/").map_or(text.len(), |at| at + 2);
                (length, comment(next.span.start))
            }
            TokenKind::Hash if is_comment(text) => {
                let end = line_end(source, next.span.start as usize);
                (end - next.span.start as usize, hash(next.span))
            }
            TokenKind::Unknown if text.starts_with('`') => {
                let Some(length) = text[1..].find('`').map(|at| at + 2) else { continue };
                (length, template(next.span.start, &text[..length]))
            }
            _ => continue,
        };
        let start = next.span.start as usize;
        blanked.source.push_str(&source[copied..start]);
        let is_text = next.kind == TokenKind::Unknown;
        blanked.source.push_str(&blank(&text[..length], is_text));
        copied = start + length;
        at = copied as u32;
        blanked.found.push(fault);
    }
    blanked.source.push_str(&source[copied..]);
    (!blanked.found.is_empty()).then_some(blanked)
}

/// A text of the same length: blanks, or a text in quotes.
fn blank(text: &str, is_text: bool) -> String {
    if is_text {
        return format!("'{}'", "x".repeat(text.len() - 2));
    }
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

fn comment(start: u32) -> Diagnostic {
    Diagnostic::error(Span::new(start, start + 2), TITLES[0], "a comment of another language")
        .hint("write `//` at the beginning of each line of the comment")
}

/// Whether the text from a `#` on is a comment: not a literal that lacks its brace, `# key: value }`.
/// Reads no further than its first word.
fn is_comment(text: &str) -> bool {
    let after = &text[1..];
    if !after.starts_with([' ', '\t']) {
        return false;
    }
    let first = after.trim_start_matches([' ', '\t']).split(is_space).next().unwrap_or("");
    !first.is_empty() && !first.ends_with(':')
}

fn hash(span: Span) -> Diagnostic {
    Diagnostic::error(span, TITLES[0], "a comment of another language")
        .hint("write `//` instead of `#`, which begins a comment in the first column only")
}

fn template(start: u32, text: &str) -> Diagnostic {
    let inner = text.trim_matches('`').replace("${", "{");
    let fits = inner.chars().nth(LONGEST).is_none() && !inner.contains(['\n', '"']);
    let inner = if fits { inner } else { "Hello {name}".to_owned() };
    Diagnostic::error(Span::new(start, start + 1), TITLES[1], "a text of another language")
        .hint(format!("write `\"{inner}\"`: in double quotes a text holds expressions in braces"))
}
