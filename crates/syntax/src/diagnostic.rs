//! What is wrong with a program, as data. Only the command knows colours.

use crate::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program does not run.
    Error,
    /// It runs, but probably not as meant.
    Warning,
}

/// A place with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// The text at the label: "expected `]`", "opened here".
    pub text: String,
}

/// One fault with its place, its cause and one suggestion. Written where the fault is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub level: Severity,
    /// One sentence without a full stop, such as "this bracket is never closed".
    pub title: String,
    /// The main place.
    pub label: Label,
    /// Other places that belong to it.
    pub others: Vec<Label>,
    /// The one next step to try.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(span: Span, title: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic {
            level: Severity::Error,
            title: title.into(),
            label: Label { span, text: label.into() },
            others: Vec::new(),
            hint: None,
        }
    }

    /// A warning at a place.
    pub fn warning(span: Span, title: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic { level: Severity::Warning, ..Diagnostic::error(span, title, label) }
    }

    /// Adds the suggestion.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.others.push(Label { span, text: text.into() });
        self
    }
}
