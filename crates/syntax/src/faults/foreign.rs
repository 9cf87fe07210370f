//! Words and marks of other languages, and what this one says instead.
//!
//! [`HABITS`] is the one table: how a habit is recognised, its title and the next step, in the
//! words of the program. A habit counts only where the parser reports a fault, for all words in it
//! are ordinary names. Its message takes the place of all faults around it.

mod calls;
mod habit;
mod marks;
mod statements;
mod view;

use super::blanked::TITLES;
use super::scan::Scan;
use crate::{Diagnostic, Span};
use habit::{Found, Habit};
use view::View;

/// Tokens of a region among which habits are recognised: a region is one statement or class.
const MAX_TOKENS: usize = 5_000;

/// All that is recognised; the first that fits counts.
fn habits() -> impl Iterator<Item = &'static Habit> {
    [marks::HABITS, statements::HABITS, calls::HABITS].into_iter().flatten()
}

/// Faults of a region, those of other languages apart.
pub(super) struct Sorted {
    /// One for each habit.
    pub(super) foreign: Vec<Diagnostic>,
    /// What remains.
    pub(super) others: Vec<Diagnostic>,
}

/// Finds the habits of a region that explain faults of the parser.
pub(super) fn sort(source: &str, region: Span, scan: &Scan, found: Vec<Diagnostic>) -> Sorted {
    let view = View::new(source, region, scan);
    let mut sorted = Sorted { foreign: Vec::new(), others: found };
    let mut at = 0;
    // A habit explains no fault on a line before it.
    let last = sorted.others.iter().map(|one| one.label.span.start).max().unwrap_or(0);
    while at < view.count().min(MAX_TOKENS) && view.line_start(at) <= last {
        let matched = habits().find_map(|habit| Some((habit, (habit.find)(&view, at)?)));
        let explains = |found: &Found, one: &Diagnostic| {
            (view.line_start(at)..=found.end.max(found.until)).contains(&one.label.span.start)
        };
        match matched {
            Some((habit, found)) if sorted.others.iter().any(|one| explains(&found, one)) => {
                sorted.others.retain(|one| !explains(&found, one));
                sorted.foreign.push(habit.message(&found));
                while at < view.count() && view.span(at).start < found.end {
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
    if !sorted.foreign.is_empty() {
        // The parser lost its step in what it did not know.
        sorted.others.retain(|one| !super::brackets::is_of_bracket(one));
    }
    sorted
}

/// Reports each habit once, with the other places.
pub(super) fn merge(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    /// Further places that a message names.
    const PLACES: usize = 3;
    let mut merged: Vec<Diagnostic> = Vec::new();
    for fault in found {
        let is_habit = || {
            TITLES.contains(&fault.title.as_str())
                || habits().any(|habit| habit.has_title(&fault.title))
        };
        match merged.iter_mut().find(|one| one.title == fault.title) {
            Some(first) if is_habit() => {
                if first.others.len() < PLACES {
                    first.others.push(crate::Label { text: "here too".into(), ..fault.label });
                }
            }
            _ => merged.push(fault),
        }
    }
    merged
}
