//! A quote that is missing.

use super::scan::BrokenText;
use crate::lexer::line_end;
use crate::{Diagnostic, Span};

/// The one message for a region in which a text is out of step; `None` when something else is
/// wrong before it.
pub(super) fn missing(
    source: &str,
    broken: BrokenText,
    found: &[Diagnostic],
) -> Option<Diagnostic> {
    let at = broken.quote.start;
    let start = source[..at as usize].rfind('\n').map_or(0, |at| at as u32 + 1);
    let line = Span::new(start, line_end(source, at as usize) as u32);
    let first = found.first()?;
    if first.label.span.start < line.start {
        return None;
    }
    Some(match (apostrophe(source, line, broken), broken.closes) {
        (Some(apostrophe), _) => apostrophe,
        (None, true) => beginning(source, broken),
        (None, false) => found
            .iter()
            .find(|one| is_on(one, line))
            .cloned()
            .unwrap_or_else(|| end(source, broken)),
    })
}

fn is_on(fault: &Diagnostic, line: Span) -> bool {
    (line.start..=line.end).contains(&fault.label.span.start)
}

fn end(source: &str, broken: BrokenText) -> Diagnostic {
    let quote = broken.quote.text(source);
    let quote = if quote == "‘" { "’" } else { quote };
    Diagnostic::error(broken.quote, "this text never ends", "it begins here")
        .hint(format!("write {quote} where it ends"))
}

fn beginning(source: &str, broken: BrokenText) -> Diagnostic {
    let quote = broken.quote.text(source);
    Diagnostic::error(broken.quote, "this text has no beginning", "a text ends here")
        .hint(format!("write {quote} where it begins"))
}

/// `'it's'`: the apostrophe ends the text.
fn apostrophe(source: &str, line: Span, broken: BrokenText) -> Option<Diagnostic> {
    let text = line.text(source);
    let (at, _) = text.match_indices('\'').find(|(at, _)| {
        text[..*at].ends_with(char::is_alphabetic)
            && text[at + 1..].starts_with(char::is_alphabetic)
    })?;
    let left = text[..at].rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    let right = text[at + 1..].split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    // A quote before it opens the text that it ends.
    let opened = text[..at].contains('\'');
    let place = line.start + at as u32;
    (opened && place <= broken.quote.start).then(|| {
        Diagnostic::error(Span::new(place, place + 1), "the apostrophe ends the text", "here")
            .hint(format!("write it twice, `{left}''{right}`, or the text in double quotes"))
    })
}
