//! What is wrong with a text that does not parse: one message for one mistake.
//!
//! The parser reports what it meets, and resumes behind it. A forgotten bracket or quote changes
//! the meaning of all that follows, so one mistake gives several faults. Here the text is taken
//! apart at the lines where statements certainly begin ([`regions`]), and each part is read on its
//! own. In a part whose quotes ([`quotes`]) or brackets ([`brackets`]) do not match, this is the
//! one message. A word or a mark of another language ([`foreign`]) explains the faults around it.

mod blanked;
mod brackets;
mod foreign;
mod names;
mod quotes;
mod regions;
mod scan;

pub use names::foreign_name_hint;

use crate::limits::MAX_DIAGNOSTICS;
use crate::parser::{Reading, read, read_part};
use crate::{Diagnostic, Span};

/// The faults of a text that was read with `reading`, one for each mistake, and the tree of its
/// parts.
pub(crate) fn explained(source: &str, whole: Reading) -> Reading {
    let Some(blanked) = blanked::blanked(source) else { return by_regions(source, whole) };
    let mut result = by_regions(&blanked.source, read(&blanked.source));
    result.diagnostics.extend(blanked.found);
    result.diagnostics.sort_by_key(|one| one.label.span.start);
    finish(result, whole)
}

fn by_regions(source: &str, whole: Reading) -> Reading {
    if whole.diagnostics.is_empty() {
        return whole;
    }
    let mut result = Reading::default();
    result
        .diagnostics
        .extend(whole.diagnostics.iter().filter(|one| regions::is_of_all(one)).cloned());
    for region in regions::of(source) {
        let part = read_part(source, region);
        result.program.statements.extend(part.program.statements);
        result.program.comments.extend(part.program.comments);
        result.program.signature = result.program.signature.or(part.program.signature);
        if !part.diagnostics.is_empty() {
            result.diagnostics.extend(of_region(source, region, part.diagnostics));
            result.broken.push(region);
        }
    }
    if result.broken.is_empty() { whole } else { finish(result, whole) }
}

/// Keeps of the whole reading what its parts do not have.
fn finish(mut result: Reading, whole: Reading) -> Reading {
    result.diagnostics = foreign::merge(result.diagnostics);
    result.diagnostics.truncate(MAX_DIAGNOSTICS);
    (result.tokens, result.incomplete) = (whole.tokens, whole.incomplete);
    result
}

/// The faults of one region. Where its quotes or brackets do not match, all that follows is read
/// wrongly: only the first fault counts.
fn of_region(source: &str, region: Span, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let scan = scan::scan(source, region);
    let foreign::Sorted { foreign: mut faults, others: found } =
        foreign::sort(source, region, &scan, found);
    let quote = scan.broken.and_then(|broken| quotes::missing(source, broken, &found));
    let mismatch = quote.or_else(|| brackets::unbalanced(&scan.lines, &found));
    let is_balanced = mismatch.is_none();
    match mismatch {
        Some(fault) => faults.push(fault),
        // The brackets match: where the parser lost one, it lost its step with it.
        None if found.first().is_some_and(brackets::is_of_bracket) => {
            faults.extend(found.into_iter().take(1))
        }
        None => faults.extend(found),
    }
    faults.sort_by_key(|one| one.label.span.start);
    if !is_balanced {
        faults.truncate(1);
    }
    faults
}
