//! Regular expressions: `/[a-z]+/`, where an operand begins. Anywhere else `/` divides.

use super::Parser;
use crate::TokenKind;
use crate::ast::{Expression, ExpressionKind};
use crate::characters::{continues_name, is_space};
use crate::lexer::line_end;

impl Parser<'_> {
    /// The end of the pattern that begins with the next token. White space after the first slash, or
    /// a name, a colon or a star after the last one, belongs to divisions and property paths.
    pub(super) fn pattern_end(&self) -> Option<u32> {
        let start = self.next.span.start;
        let line = &self.source()[start as usize..line_end(self.source(), start as usize)];
        let length = pattern_length(line)?;
        let after = line[length..].chars().next();
        let is_path = after.is_some_and(|c| continues_name(c) || matches!(c, ':' | '*' | '/'));
        (!is_path).then_some(start + length as u32)
    }

    /// `/…/`. All escapes but that of the slash belong to the regular expression.
    pub(super) fn pattern(&mut self) -> Expression {
        let end = self.pattern_end().unwrap_or(self.next.span.end);
        let span = self.take_until(end, TokenKind::Text);
        let written = self.text(span);
        let inner = written.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let kind = ExpressionKind::Pattern(without_escaped_slashes(inner.unwrap_or_default()));
        Expression { kind, span }
    }
}

/// The length of the pattern at the start of a line, slashes included. A slash in `[…]` does not end
/// it.
fn pattern_length(line: &str) -> Option<usize> {
    let inner = line.strip_prefix('/')?;
    // Nothing repeats before a star: `/*` begins a comment of another language.
    if inner.starts_with(['/', '*']) || inner.starts_with(is_space) {
        return None;
    }
    let (mut in_class, mut escaped) = (false, false);
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 2),
            _ => {}
        }
    }
    None
}

fn without_escaped_slashes(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('/') => text.push('/'),
            escaped => text.extend([Some(c), escaped].into_iter().flatten()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_ends_at_the_first_slash_of_its_own() {
        assert_eq!(pattern_length("/a/ b/"), Some(3));
        assert_eq!(pattern_length(r"/a\/b/"), Some(6));
        assert_eq!(pattern_length("/[/]+/"), Some(6));
        assert_eq!(pattern_length("/ a/"), None);
        assert_eq!(pattern_length("//a/"), None);
        assert_eq!(pattern_length("/a"), None);
    }

    #[test]
    fn only_the_slash_loses_its_escape() {
        assert_eq!(without_escaped_slashes(r"a\/b\d\\"), r"a/b\d\\");
    }
}
