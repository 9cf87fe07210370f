//! Generated code whose lines are places of the source.
//!
//! While code is put together, marks in it say "what follows stands at this place of the source". [`place`] begins a
//! line of Lua at each mark, so the line numbers of Lua's own messages and traces lead to a place, not only to
//! a line. Nothing is counted at run time.

use runnel_syntax::Span;

const START: char = '\u{1}';
const END: char = '\u{2}';

/// The mark for a place. It may stand wherever Lua allows a line end, except before `(`.
pub(crate) fn mark(span: Span) -> String {
    format!("{START}{},{}{END}", span.start, span.end)
}

/// The place that a mark holds.
fn marked(text: &str) -> Option<Span> {
    let (start, end) = text.split_once(',')?;
    Some(Span::new(start.parse().ok()?, end.parse().ok()?))
}

/// Replaces marks by line ends. Answers the code, and the place of each of its lines.
pub(crate) fn place(code: &str) -> (String, Vec<Span>) {
    let mut out = String::with_capacity(code.len());
    let mut places = vec![Span::default()];
    let mut rest = code;
    while let Some(at) = rest.find(START) {
        out.push_str(&rest[..at]);
        let tail = &rest[at + START.len_utf8()..];
        let end = tail.find(END).unwrap_or(0);
        if let Some(span) = marked(&tail[..end])
            && places.last() != Some(&span)
        {
            out.push('\n');
            places.push(span);
        }
        rest = &tail[end + END.len_utf8()..];
    }
    out.push_str(rest);
    (out, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_line_ends() {
        let (three, two) = (Span::new(3, 9), Span::new(2, 3));
        let code = format!("a{}b{}c{}d", mark(three), mark(three), mark(two));
        assert_eq!(place(&code), ("a\nbc\nd".to_owned(), vec![Span::default(), three, two]));
    }
}
