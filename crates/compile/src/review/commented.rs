//! A statement that a `#` in the first column makes a comment, as programs of the original have them.

use runnel_syntax::Diagnostic;
use runnel_syntax::ast::Program;

/// A warning for each of them. Other comments have no name directly behind the `#`.
pub(super) fn warnings(program: &Program, source: &str) -> Vec<Diagnostic> {
    let comments = program.comments.iter().map(|comment| comment.span);
    let commented = comments.filter(|span| {
        let mut text = span.text(source).chars();
        text.next() == Some('#') && text.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
    });
    let title = "this statement is a comment: a `#` in the first column begins it";
    let hint = "write `//` for a comment, or indent the line to send a message to a symbol";
    commented.map(|span| Diagnostic::warning(span, title, "not executed").hint(hint)).collect()
}
