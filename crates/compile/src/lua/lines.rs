//! Generated code whose lines are places of the source.
//!
//! While code is put together, marks in it say "what follows stands at this place of the source". [`place`] begins a
//! line of Lua at each mark, so the line numbers of Lua's own messages and traces lead to a place, not only to
//! a line. Nothing is counted at run time.

use runnel_syntax::Span;

const START: char = '\u{1}';
/// The digits of a number in a mark, five bits each, so that a mark has one length and is quickly read.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
/// Digits of a number of 32 bits.
const LENGTH: usize = 7;

/// The mark for a place. It may stand wherever Lua allows a line end, except before `(`.
pub(crate) fn mark(span: Span) -> String {
    let mut mark = String::with_capacity(START.len_utf8() + 2 * LENGTH);
    mark.push(START);
    for number in [span.start, span.end] {
        let digits = (0..LENGTH).map(|at| DIGITS[(number >> (5 * at)) as usize % 32] as char);
        mark.extend(digits);
    }
    mark
}

/// The number that digits stand for.
fn number(digits: &str) -> u32 {
    let value = |digit: u8| match digit {
        b'a'..=b'z' => u32::from(digit - b'a'),
        _ => u32::from(digit.wrapping_sub(b'0')) + 26,
    };
    digits.bytes().rev().fold(0, |number, digit| (number << 5) | value(digit))
}

/// Replaces marks by line ends. Answers the code, and the place of each of its lines.
pub(crate) fn place(code: &str) -> (String, Vec<Span>) {
    let mut out = String::with_capacity(code.len());
    let mut places = vec![Span::default()];
    let mut parts = code.split(START);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        // A mark is whole: nothing takes generated code apart.
        let Some((start, rest)) = part.split_at_checked(LENGTH) else { continue };
        let Some((end, rest)) = rest.split_at_checked(LENGTH) else { continue };
        let span = Span::new(number(start), number(end));
        if places.last() != Some(&span) {
            out.push('\n');
            places.push(span);
        }
        out.push_str(rest);
    }
    (out, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_line_ends() {
        let (three, two) = (Span::new(3, 9), Span::new(2, u32::MAX));
        let code = format!("a{}b{}c{}d", mark(three), mark(three), mark(two));
        assert_eq!(place(&code), ("a\nbc\nd".to_owned(), vec![Span::default(), three, two]));
    }
}
