//! The formatter of `runnel fmt`.

use crate::documents::View;
use lsp_types::TextEdit;
use runnel_syntax::Span;

/// The changes that format a text; none where it cannot be read, or is formatted.
pub(crate) fn format(view: &View<'_>) -> Vec<TextEdit> {
    changed_lines(view).into_iter().map(|(span, text)| edit(view, span, text)).collect()
}

/// Those within a part.
pub(crate) fn format_range(view: &View<'_>, part: Span) -> Vec<TextEdit> {
    let touches = |span: &Span| span.start <= part.end && part.start <= span.end;
    let all = changed_lines(view).into_iter().filter(|(span, _)| touches(span));
    all.map(|(span, text)| edit(view, span, text)).collect()
}

fn edit(view: &View<'_>, span: Span, text: String) -> TextEdit {
    TextEdit { range: view.range(span), new_text: text }
}

/// The runs of lines that formatting changes. Lines that are the same in both texts stay, so that cursors and marks
/// in them do.
fn changed_lines(view: &View<'_>) -> Vec<(Span, String)> {
    let old = view.text();
    let Ok(new) = runnel_syntax::format(old) else { return Vec::new() };
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut changes = Vec::new();
    let (mut at, mut other, mut start) = (0, 0, 0_u32);
    while at < before.len() || other < after.len() {
        if at < before.len() && other < after.len() && before[at] == after[other] {
            start += before[at].len() as u32;
            (at, other) = (at + 1, other + 1);
            continue;
        }
        let (removed, added) = resynchronized(&before[at..], &after[other..]);
        let length: usize = before[at..at + removed].iter().map(|line| line.len()).sum();
        let end = start + length as u32;
        changes.push((Span::new(start, end), after[other..other + added].concat()));
        (at, other, start) = (at + removed, other + added, end);
    }
    changes
}

/// How many lines of each text differ before two lines are the same again.
fn resynchronized(before: &[&str], after: &[&str]) -> (usize, usize) {
    /// Lines that are compared with each other; a larger change is one change.
    const WINDOW: usize = 64;
    let same = |removed: usize, added: usize| {
        let blank = before[removed].trim().is_empty();
        !blank && before[removed] == after[added]
    };
    for total in 1..2 * WINDOW {
        for removed in 0..=total.min(WINDOW) {
            let added = total - removed;
            if removed < before.len()
                && added < after.len()
                && added <= WINDOW
                && same(removed, added)
            {
                return (removed, added);
            }
        }
    }
    (before.len(), after.len())
}
