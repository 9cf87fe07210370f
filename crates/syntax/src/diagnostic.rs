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

/// A change of a source text that removes a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty where text is only put in.
    pub span: Span,
    /// The new text.
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
    /// The name of the finding, such as `unknown-message`; none for errors of the compiler.
    pub code: Option<&'static str>,
    /// The changes that are safe to apply unseen; all of them together are the correction.
    pub fixes: Vec<Edit>,
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
            code: None,
            fixes: Vec::new(),
        }
    }

    /// A warning at a place.
    pub fn warning(span: Span, title: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic { level: Severity::Warning, ..Diagnostic::error(span, title, label) }
    }

    /// Adds the name of the finding.
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Adds a safe change.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fixes.push(Edit { span, text: text.into() });
        self
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

/// A source with the corrections of its diagnostics, and how many were applied. The changes of one diagnostic
/// belong together; one that touches a place that is changed already is left out.
pub fn corrected(source: &str, diagnostics: &[Diagnostic]) -> (String, usize) {
    let mut chosen: Vec<&Edit> = Vec::new();
    let mut count = 0;
    let touches = |one: &Edit, other: &Edit| {
        one.span.start <= other.span.end && other.span.start <= one.span.end
    };
    for diagnostic in diagnostics.iter().filter(|one| !one.fixes.is_empty()) {
        let fits = |edit: &Edit| {
            let is_place = source.get(edit.span.start as usize..edit.span.end as usize).is_some();
            is_place && chosen.iter().all(|other| !touches(edit, other))
        };
        if diagnostic.fixes.iter().all(fits) {
            chosen.extend(&diagnostic.fixes);
            count += 1;
        }
    }
    chosen.sort_by_key(|edit| edit.span.start);
    let mut text = String::with_capacity(source.len());
    let mut end = 0;
    for edit in chosen {
        text.push_str(&source[end..edit.span.start as usize]);
        text.push_str(&edit.text);
        end = edit.span.end as usize;
    }
    text.push_str(&source[end..]);
    (text, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(fixes: &[(u32, u32, &str)]) -> Diagnostic {
        let found = Diagnostic::warning(Span::new(0, 0), "", "");
        fixes
            .iter()
            .fold(found, |found, (start, end, text)| found.fix(Span::new(*start, *end), *text))
    }

    #[test]
    fn corrections_are_applied_together_or_not_at_all() {
        let faults = [
            fault(&[(4, 7, "two"), (0, 3, "one")]),
            fault(&[(6, 9, "x")]),
            fault(&[]),
            fault(&[(8, 9, "three")]),
            fault(&[(90, 91, "outside")]),
        ];
        assert_eq!(corrected("abc def g", &faults), ("one two three".to_owned(), 2));
        assert_eq!(corrected("abc", &[]), ("abc".to_owned(), 0));
    }
}
