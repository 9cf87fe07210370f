//! The canonical text of a program. The tree decides the text; the author keeps the spelling of
//! operators, numbers and texts, comments, single empty lines, and whether a bracket that would
//! fit on one line stands on several.

mod builder;
mod chain;
mod class;
mod document;
mod expression;
mod list;
mod property_path;
mod statement;

use crate::ast::Program;
use crate::limits::MAX_SOURCE_BYTES;
use crate::{Diagnostic, Span, outline, parse};
use builder::Builder;

/// How often a text is formatted until it stays as it is: comments in odd places move to the end
/// of their line first, and find their place in the second round.
const MAX_ROUNDS: usize = 4;

/// The canonical text of a program, or what is wrong with it.
///
/// The result has the same meaning and the same comments, which is checked before it is given
/// out, and is its own canonical text. Lines are at most 100 characters wide where the program
/// allows it.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(source);
    if !parsed.diagnostics.is_empty() {
        return Err(parsed.diagnostics);
    }
    let mut text = layout(source, &parsed.program);
    for _ in 0..MAX_ROUNDS {
        let again = parse(&text);
        if text.len() > MAX_SOURCE_BYTES {
            return Err(again.diagnostics);
        }
        if !is_same(source, &parsed.program, &text, &again.program) {
            return Err(vec![refused()]);
        }
        let next = layout(&text, &again.program);
        if next == text {
            return Ok(text);
        }
        text = next;
    }
    Err(vec![refused()])
}

/// One round of formatting.
fn layout(source: &str, program: &Program) -> String {
    let mut builder = Builder::new(source, program);
    let doc = builder.program(program);
    builder.render(doc)
}

fn is_same(source: &str, program: &Program, text: &str, other: &Program) -> bool {
    let comments = |source: &str, program: &Program| -> Vec<String> {
        let mut comments: Vec<String> =
            program.comments.iter().map(|comment| comment.span.text(source).to_owned()).collect();
        comments.sort();
        comments
    };
    outline(program) == outline(other) && comments(source, program) == comments(text, other)
}

fn refused() -> Diagnostic {
    let label = "nothing was changed";
    Diagnostic::error(
        Span::default(),
        "the formatter cannot keep the meaning of this program",
        label,
    )
    .hint("move comments out of the middle of expressions, and report the program as a fault")
}
