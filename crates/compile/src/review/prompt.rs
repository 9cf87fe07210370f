//! A line that begins with `!` in a file: a command of the prompt.

use runnel_syntax::{Diagnostic, Span};

pub(super) fn warning(span: Span) -> Diagnostic {
    let title = "a line that begins with `!` is a shell command at the prompt only";
    Diagnostic::warning(span, title, "it does nothing in a file")
        .hint("write `sh:command/argument` to run a command in a program")
}
