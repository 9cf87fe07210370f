//! Sources with expectations: `3 + 4 // => 7`.

use runnel_syntax::{LineIndex, parse};

/// The mark of an expectation.
const MARK: &str = "// =>";

/// A piece of a source that is run by itself. Its text keeps the line numbers of the source: what
/// stands before it is empty lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) expected: Option<Expectation>,
}

/// The value that the last statement of a piece must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expectation {
    /// The line of the comment in the source, from 1.
    pub(crate) line: usize,
    /// The printed form; line ends are written `\n`.
    pub(crate) text: String,
    /// The text of that line before the mark.
    pub(crate) before: String,
}

impl Expectation {
    /// The line as it should be for another value.
    pub(crate) fn with(&self, value: &str) -> String {
        format!("{}{MARK} {value}\n", self.before)
    }
}

/// Splits a source that parses after each statement that has an expectation. An expectation that
/// belongs to no statement is answered as an error, by its line.
pub(crate) fn pieces(source: &str) -> Result<Vec<Piece>, usize> {
    let parsed = parse(source);
    let index = LineIndex::new(source);
    let mut pieces = Vec::new();
    let mut start = 0;
    for comment in &parsed.program.comments {
        let Some(text) = comment.span.text(source).strip_prefix(MARK) else { continue };
        let line = index.line(comment.span.start) as usize;
        let last =
            parsed.program.statements.iter().rfind(|one| {
                one.span.end <= comment.span.start && one.span.start as usize >= start
            });
        let same_line =
            |end: u32| comment.own_line || index.line(end.saturating_sub(1)) as usize == line;
        if last.is_none_or(|last| !same_line(last.span.end)) {
            return Err(line);
        }
        let at = comment.span.start as usize;
        let line_start = source[..at].rfind('\n').map_or(0, |end| end + 1);
        pieces.push(Piece {
            text: padded(source, start, at),
            expected: Some(Expectation {
                line,
                text: text.trim().to_string(),
                before: source[line_start..at].to_string(),
            }),
        });
        start = comment.span.end as usize;
    }
    if parsed.program.statements.iter().any(|one| one.span.start as usize >= start) || start == 0 {
        pieces.push(Piece { text: padded(source, start, source.len()), expected: None });
    }
    Ok(pieces)
}

/// A part of a source, after as many empty lines as stand before it.
fn padded(source: &str, start: usize, end: usize) -> String {
    let lines = source[..start].bytes().filter(|byte| *byte == b'\n').count();
    format!("{}{}", "\n".repeat(lines), &source[start..end])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_cut_after_each_expectation() {
        let pieces = pieces("a := 3.\na + 1 // => 4\nb := [\n1 ].\n// => 5\na\n").unwrap();
        let seen: Vec<(&str, Option<(usize, &str)>)> = pieces
            .iter()
            .map(|one| {
                (one.text.as_str(), one.expected.as_ref().map(|e| (e.line, e.text.as_str())))
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("a := 3.\na + 1 ", Some((2, "4"))),
                ("\n\nb := [\n1 ].\n", Some((5, "5"))),
                ("\n\n\n\n\na\n", None),
            ]
        );
        assert_eq!(pieces[0].expected.as_ref().unwrap().with("9"), "a + 1 // => 9\n");
    }

    #[test]
    fn an_expectation_needs_a_statement() {
        assert_eq!(pieces("{ 3 // => 3\n} value"), Err(1));
        assert_eq!(pieces("// => 3"), Err(1));
    }

    #[test]
    fn a_source_without_expectations_is_one_piece() {
        assert_eq!(pieces("3.\n4").unwrap(), [Piece { text: "3.\n4".into(), expected: None }]);
    }
}
