//! A reference that begins with `{…}` takes a whole path. A value of a request there would choose
//! any file, command or server: it does not compile, and through a variable it is a warning.

use super::names::Names;
use super::shown;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Path, PathPart};

/// Schemes whose references reach everything of the machine or the network. Below others, which
/// a program installs, `{*…}` keeps within the store.
const OUTSIDE: [&str; 14] = [
    "env",
    "file",
    "http",
    "https",
    "nats",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "s3",
    "scheme",
    "class",
    "sh",
    "sqlite",
];

pub(super) fn diagnostic(path: &Path, names: &Names, source: &str) -> Option<Diagnostic> {
    let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str());
    let mut parts = path.parts.iter();
    let mut part = parts.next()?;
    // The program to run is the first segment, whether or not a slash stands before it.
    if let (PathPart::Text(text), "sh") = (part, scheme)
        && text.bytes().all(|byte| byte == b'/')
    {
        part = parts.next()?;
    }
    let (expression, several) = match part {
        PathPart::Text(_) => return None,
        PathPart::Expression(expression) => (expression, false),
        PathPart::Segments(expression) => (expression, true),
    };
    let outside = OUTSIDE.contains(&scheme);
    if several && !outside {
        return None;
    }
    let text = shown(expression, source);
    let hint = match (scheme, outside) {
        ("sh", _) => format!("name the command in the program: `sh:command/{{{text}}}`"),
        ("http" | "https", _) => format!("name the server first: `{scheme}://host/{{{text}}}`"),
        (_, true) => format!("write where it belongs before it: `{scheme}:folder/{{{text}}}`"),
        (_, false) => format!(
            "write `{scheme}:/{{{text}}}` for one segment, or `{scheme}:{{*{text}}}` for several"
        ),
    };
    let label = match scheme {
        "sh" => "it would choose the command".to_owned(),
        _ => format!("right behind `{scheme}:` it would choose the whole path"),
    };
    if names.is_request(expression) {
        let title = "a value of a request cannot begin a reference";
        return Some(Diagnostic::error(expression.span, title, label).hint(hint));
    }
    if names.is_tainted(expression) {
        let title = "this variable was assigned from a request, and begins a reference";
        return Some(Diagnostic::warning(expression.span, title, label).hint(hint));
    }
    None
}
