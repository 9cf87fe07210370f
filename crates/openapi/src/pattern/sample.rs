//! A text that matches a pattern, for examples.

use regex_syntax::hir::{Class, Hir, HirKind};
use runnel_store::TextPattern;

/// Bytes of a sample; a pattern that needs more has none.
const MAX_SAMPLE: usize = 1024;
/// Repetitions beyond the least that are tried.
const MAX_EXTRA: u32 = 64;
/// Repetitions beyond the least that read well, which are tried first.
const READABLE: [u32; 4] = [3, 2, 1, 0];

/// A text of a length within limits that a pattern matches, if a simple one exists.
pub(crate) fn matching_text(pattern: &TextPattern, least: usize, most: usize) -> Option<String> {
    let hir = regex_syntax::parse(pattern.text()).ok()?;
    let tries = READABLE.into_iter().chain(4..=MAX_EXTRA);
    tries
        .map(|extra| {
            let mut text = String::new();
            append(&hir, extra, &mut text);
            text
        })
        .find(|text| {
            let length = text.chars().count();
            (least..=most).contains(&length) && pattern.matches(text)
        })
}

fn append(hir: &Hir, extra: u32, out: &mut String) {
    if out.len() > MAX_SAMPLE {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => *out += &String::from_utf8_lossy(&literal.0),
        HirKind::Class(class) => out.extend(letter_of(class, out.chars().count())),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let times = repetition.min.saturating_add(extra).min(most);
            for _ in 0..times {
                if out.len() > MAX_SAMPLE {
                    return;
                }
                append(&repetition.sub, extra, out);
            }
        }
        HirKind::Capture(capture) => append(&capture.sub, extra, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| append(part, extra, out)),
        HirKind::Alternation(options) => {
            if let Some(first) = options.first() {
                append(first, extra, out);
            }
        }
    }
}

/// A character of a class: the letter or digit of the alphabet at this position where it has them.
fn letter_of(class: &Class, position: usize) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |letter: char| {
        class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&letter))
    };
    for (first, count) in [(b'a', 26), (b'1', 9), (b'A', 26)] {
        let at = |step: usize| char::from(first + ((position + step) % count) as u8);
        if let Some(letter) = (0..count).map(at).find(|letter| has(*letter)) {
            return Some(letter);
        }
    }
    let visible = (' '..='~').find(|letter| has(*letter));
    visible.or_else(|| class.ranges().first().map(|range| range.start()))
}
