//! One habit of another language.

use super::view::View;
use crate::{Diagnostic, Span};

/// What is recognised and said.
pub(super) struct Habit {
    /// One sentence; `‹0=word›` stands for a part of the program, or the word where it is long.
    pub(super) title: &'static str,
    /// The words at the place.
    pub(super) label: &'static str,
    /// The next step, with parts of the program.
    pub(super) hint: &'static str,
    /// Recognises the habit at a token.
    pub(super) find: fn(&View<'_>, usize) -> Option<Found>,
}

/// A habit at a place.
#[derive(Default)]
pub(super) struct Found {
    /// What the message underlines.
    pub(super) span: Span,
    /// Where it ends; faults in it are its consequences.
    pub(super) end: u32,
    /// Where its consequences end, if behind its end.
    pub(super) until: u32,
    /// Parts of the program for the texts; an empty one is left out.
    pub(super) parts: Vec<Option<String>>,
}

impl Habit {
    pub(super) fn message(&self, found: &Found) -> Diagnostic {
        Diagnostic::error(found.span, fill(self.title, &found.parts), self.label)
            .hint(fill(self.hint, &found.parts))
    }

    /// Whether a message has the title of this habit.
    pub(super) fn has_title(&self, title: &str) -> bool {
        let (before, after) = match (self.title.find('‹'), self.title.rfind('›')) {
            (Some(start), Some(end)) => (&self.title[..start], &self.title[end + '›'.len_utf8()..]),
            _ => return self.title == title,
        };
        title.starts_with(before) && title.ends_with(after)
    }
}

/// Puts the parts into a text.
fn fill(text: &str, parts: &[Option<String>]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('‹') {
        let (slot, after) = after.split_once('›').unwrap_or((after, ""));
        let (number, default) = slot.split_once('=').unwrap_or((slot, ""));
        let part = number.parse().ok().and_then(|number: usize| parts.get(number));
        filled.push_str(before);
        match part {
            Some(Some(part)) => filled.push_str(part),
            _ => filled.push_str(default),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn parts_stand_for_slots() {
        let parts = [Some("n > 1".to_owned()), None];
        assert_eq!(fill("`‹0=x› a: ‹1=y›` ‹7=z›", &parts), "`n > 1 a: y` z");
    }
}
