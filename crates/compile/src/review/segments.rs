//! `{…}` is one segment of a path: a value of several segments needs `{*…}`.

use super::names::Names;
use super::shown;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Path, PathPart};

pub(super) fn warnings(path: &Path, names: &Names, source: &str, found: &mut Vec<Diagnostic>) {
    // Arguments of commands may be any text.
    if path.scheme.as_ref().is_some_and(|word| word.text == "sh") {
        return;
    }
    for (number, part) in path.parts.iter().enumerate() {
        let expression = match part {
            PathPart::Text(text) if text.contains('?') => return,
            // What begins a reference takes a whole path.
            PathPart::Expression(expression) if number > 0 => expression,
            _ => continue,
        };
        let text = shown(expression, source);
        let label = if names.is_rest(expression) {
            format!("`{text}` is the rest of a path")
        } else if names.has_slash(expression) {
            "this text has a slash in it".to_owned()
        } else {
            continue;
        };
        let title = "`{…}` in a reference is one segment: a slash in it separates nothing";
        let hint = format!("write `{{*{text}}}` for several segments");
        found.push(Diagnostic::warning(expression.span, title, label).hint(hint));
    }
}
