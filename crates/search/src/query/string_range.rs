//! String ranges: the strings between two ends, in the order of Ruby's string ranges.
//!
//! Two numbers span the numbers between, padded with zeros to the width of the first. Two single
//! ASCII characters span the characters between. Otherwise the successor of a string advances its
//! rightmost letter or digit, with a carry to the left (`az` to `ba`, `a9` to `b0`), and the range
//! stops at its end or at strings longer than that.

/// The strings from one to another, both included.
#[derive(Clone, Debug)]
pub(crate) struct StringRange {
    next: Option<String>,
    kind: RangeKind,
    to: String,
    /// The end that stops a range which starts right after its end.
    after: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeKind {
    /// Decimal numbers padded with zeros to at least this width.
    Numbers,
    /// Single ASCII characters.
    Characters,
    /// Anything else.
    Successors,
}

impl StringRange {
    pub(crate) fn new(from: &str, to: &str) -> StringRange {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let kind = if from.len() == 1 && to.len() == 1 {
            RangeKind::Characters
        } else if digits(from) && digits(to) {
            RangeKind::Numbers
        } else {
            RangeKind::Successors
        };
        let empty = match kind {
            RangeKind::Numbers => significant(from) > significant(to),
            _ => from > to,
        };
        let after = successor(to);
        let empty = empty || (kind == RangeKind::Successors && from == after);
        StringRange { next: (!empty).then(|| from.to_owned()), kind, to: to.to_owned(), after }
    }

    /// A membership test and order for the range that does not enumerate its strings. `None` for an
    /// empty range, single characters, or a lower bound of mixed classes.
    pub(crate) fn members(&self) -> Option<RangeMembers<'_>> {
        let from = self.next.as_deref()?;
        let class = match self.kind {
            RangeKind::Characters => return None,
            RangeKind::Numbers => LetterClass::Digits,
            RangeKind::Successors => LetterClass::of_text(from)?,
        };
        Some(RangeMembers { from, to: &self.to, class, padded: self.kind == RangeKind::Numbers })
    }
}

impl Iterator for StringRange {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let current = self.next.take()?;
        if current == self.to
            || (self.kind == RangeKind::Numbers && same_number(&current, &self.to))
        {
            return Some(current);
        }
        let next = match self.kind {
            RangeKind::Characters => {
                let byte = current.as_bytes().first().map_or(0, |byte| byte + 1);
                char::from(byte).to_string()
            }
            RangeKind::Numbers | RangeKind::Successors => successor(&current),
        };
        let over = self.kind == RangeKind::Successors
            && (next.len() > self.to.len() || next.is_empty() || next == self.after);
        self.next = (!over).then_some(next);
        Some(current)
    }
}

/// A membership test and order of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeMembers<'a> {
    from: &'a str,
    to: &'a str,
    class: LetterClass,
    padded: bool,
}

impl RangeMembers<'_> {
    pub(crate) fn contains(&self, text: &str) -> bool {
        if !self.class.covers(text) {
            return false;
        }
        let longer = text.len() > self.from.len();
        if longer && self.class == LetterClass::Digits && text.starts_with('0') {
            return false;
        }
        if self.padded {
            let number = significant(text);
            return text.len() >= self.from.len()
                && significant(self.from) <= number
                && number <= significant(self.to);
        }
        let order = RangeMembers::order;
        let reaches_end = self.class.covers(self.to) && order(self.from) <= order(self.to);
        order(self.from) <= order(text)
            && if reaches_end {
                order(text) <= order(self.to)
            } else {
                text.len() <= self.to.len() || text == self.from
            }
    }

    /// A key that sorts members in the order of the range.
    pub(crate) fn order(text: &str) -> (usize, &str) {
        (text.len(), text)
    }
}

/// Strings whose successors are of the same kind, ordered by length and then by characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterClass {
    Digits,
    Lower,
    Upper,
}

impl LetterClass {
    fn of_text(text: &str) -> Option<LetterClass> {
        [LetterClass::Digits, LetterClass::Lower, LetterClass::Upper]
            .into_iter()
            .find(|class| class.covers(text))
    }

    fn covers(self, text: &str) -> bool {
        let inside = |byte: u8| match self {
            LetterClass::Digits => byte.is_ascii_digit(),
            LetterClass::Lower => byte.is_ascii_lowercase(),
            LetterClass::Upper => byte.is_ascii_uppercase(),
        };
        !text.is_empty() && text.bytes().all(inside)
    }
}

/// A number without leading zeros, comparable.
fn significant(digits: &str) -> (usize, &str) {
    let digits = digits.trim_start_matches('0');
    (digits.len(), digits)
}

fn same_number(left: &str, right: &str) -> bool {
    significant(left) == significant(right)
}

/// The successor of a string; empty for an empty one.
fn successor(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    if letters.is_empty() {
        return String::new();
    }
    let alphanumeric = |letter: &char| letter.is_alphanumeric();
    let Some(mut at) = letters.iter().rposition(alphanumeric) else {
        return next_without_letters(letters);
    };
    loop {
        let (next, carry) = match letters[at] {
            '9' => ('0', Some('1')),
            'z' => ('a', Some('a')),
            'Z' => ('A', Some('A')),
            letter => (following(letter).unwrap_or(letter), None),
        };
        letters[at] = next;
        let Some(carry) = carry else {
            break;
        };
        // The carry goes to the next letter or digit to the left, across other characters only if
        // there is one beyond them.
        // it unless there is one beyond them.
        match letters[..at].iter().rposition(alphanumeric) {
            Some(left) if left + 1 == at || carries_over(&letters, left, at) => at = left,
            _ => {
                letters.insert(at, carry);
                break;
            }
        }
    }
    letters.into_iter().collect()
}

/// Whether a carry crosses the characters between two letters or digits: it does in "1.9" to "2.0",
/// and not between a letter and a digit, as in "a-9".
fn carries_over(letters: &[char], left: usize, right: usize) -> bool {
    letters[left].is_alphabetic() == letters[right].is_alphabetic()
}

/// The next Unicode character.
fn following(letter: char) -> Option<char> {
    (u32::from(letter) + 1..=u32::from(char::MAX)).find_map(char::from_u32)
}

/// The successor of a string without letters and digits: its last character advances, with a carry
/// at the end of Unicode.
fn next_without_letters(mut letters: Vec<char>) -> String {
    for at in (0..letters.len()).rev() {
        if let Some(next) = following(letters[at]) {
            letters[at] = next;
            return letters.into_iter().collect();
        }
        letters[at] = '\u{1}';
    }
    letters.insert(0, '\u{1}');
    letters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(from: &str, to: &str) -> String {
        StringRange::new(from, to).take(40).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranges_as_ruby_forms_them() {
        for (from, to, expected) in [
            ("1990", "1993", "1990 1991 1992 1993"),
            ("08", "11", "08 09 10 11"),
            ("8", "11", "8 9 10 11"),
            ("008", "11", "008 009 010 011"),
            ("5", "3", ""),
            ("a", "e", "a b c d e"),
            ("e", "a", ""),
            ("9", ";", "9 : ;"),
            ("y", "ab", ""),
            (
                "x",
                "xb",
                "x y z aa ab ac ad ae af ag ah ai aj ak al am an ao ap aq ar as at au av \
                         aw ax ay az ba bb bc bd be bf bg bh bi bj bk",
            ),
            ("ay", "bb", "ay az ba bb"),
            ("abc", "b", "abc"),
            ("", "x", ""),
            ("x", "", ""),
            ("a8", "b1", "a8 a9 b0 b1"),
            ("1.8", "2.1", "1.8 1.9 2.0 2.1"),
        ] {
            if from.is_empty() {
                assert_eq!(StringRange::new(from, to).collect::<Vec<_>>(), [""]);
            } else {
                assert_eq!(strings(from, to), expected, "{from} {to}");
            }
        }
    }

    #[test]
    fn successors_carry() {
        for (text, next) in [
            ("az", "ba"),
            ("zz", "aaa"),
            ("a9", "b0"),
            ("Zz", "AAa"),
            ("zZ9", "aaA0"),
            ("1.9", "2.0"),
            ("***", "**+"),
            ("<<koala>>", "<<koalb>>"),
            ("9", "10"),
            ("-9", "-10"),
            ("a-9", "a-10"),
            ("caf\u{e9}", "caf\u{ea}"),
            ("1.9.9", "2.0.0"),
            ("", ""),
        ] {
            assert_eq!(successor(text), next, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn members_are_what_is_formed(
            from in "[ab]{1,3}|[0-9]{1,3}",
            to in "[a-c]{1,3}|[0-9]{1,3}|[a]_",
        ) {
            let succession = StringRange::new(&from, &to);
            let formed: Vec<String> = succession.clone().take(20_000).collect();
            if let Some(members) = succession.members()
                && formed.len() < 20_000
            {
                let mut sorted = formed.clone();
                sorted.sort_by(|left, right| RangeMembers::order(left).cmp(&RangeMembers::order(right)));
                proptest::prop_assert_eq!(&sorted, &formed);
                for candidate in "a b z aa az zz aaa 00 07 1 12 100".split(' ') {
                    proptest::prop_assert_eq!(
                        members.contains(candidate),
                        formed.iter().any(|text| text == candidate),
                        "{} in {}..{}", candidate, from, to
                    );
                }
                proptest::prop_assert!(formed.iter().all(|text| members.contains(text)));
            }
        }

        #[test]
        fn any_ends_are_fine(from: String, to: String) {
            proptest::prop_assert!(StringRange::new(&from, &to).take(50).count() <= 50);
        }
    }
}
