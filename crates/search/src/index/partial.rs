//! Partial words: the parts of a word that find it, for `wor*`.

use std::fmt;
use std::sync::Arc;

/// A function that calls its second argument with every part of a word that finds it.
pub type PartFunction = Arc<dyn Fn(&str, &mut dyn FnMut(&str)) + Send + Sync>;

/// The parts of a word that a partial word of a query matches.
#[derive(Clone)]
pub enum Partial {
    /// Prefixes. The word is first cut to the characters `0..=to`; its prefixes are then those of
    /// at least `from` characters. Negative numbers count from the end: -1 is the last character of
    /// the word, or the length of the word itself.
    ///
    /// `from: 1, to: -1` are all prefixes; `from: -3, to: -1` of "hello" are "hello", "hell" and
    /// "hel". With `to: -2` the full word is not among them.
    Substring {
        /// The length of the shortest prefix.
        from: i32,
        /// Last character kept.
        to: i32,
    },
    /// All infixes.
    Infix {
        /// The length of the shortest infix.
        min: i32,
        /// The length of the longest infix.
        max: i32,
    },
    /// No parts: a partial word finds only the word itself.
    None,
    /// The parts that a function returns.
    Function(PartFunction),
}

impl Default for Partial {
    /// The whole word and its prefixes with one and two characters less.
    fn default() -> Partial {
        Partial::postfix(-3)
    }
}

impl fmt::Debug for Partial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partial::Substring { from, to } => {
                write!(formatter, "Substring {{ from: {from}, to: {to} }}")
            }
            Partial::Infix { min, max } => write!(formatter, "Infix {{ min: {min}, max: {max} }}"),
            Partial::None => formatter.write_str("None"),
            Partial::Function(_) => formatter.write_str("Function"),
        }
    }
}

impl Partial {
    /// Prefixes of at least `from` characters, including the whole word.
    pub fn postfix(from: i32) -> Partial {
        Partial::Substring { from, to: -1 }
    }

    /// Prefixes of a part of the word, see [`Partial::Substring`].
    pub fn substring(from: i32, to: i32) -> Partial {
        Partial::Substring { from, to }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Partial::None)
    }

    /// Calls `each` with every part of a word, longer ones first.
    pub(crate) fn each(&self, word: &str, each: &mut dyn FnMut(&str)) {
        match self {
            Partial::None => {}
            Partial::Function(parts) => parts(word, each),
            Partial::Substring { from, to } => beginnings(word, *from, *to, each),
            Partial::Infix { min, max } => infixes(word, *min, *max, each),
        }
    }
}

/// The byte offsets of all character boundaries, including the end.
fn boundaries(word: &str) -> Vec<usize> {
    word.char_indices().map(|(at, _)| at).chain([word.len()]).collect()
}

fn beginnings(word: &str, from: i32, to: i32, each: &mut dyn FnMut(&str)) {
    let ends = boundaries(word);
    let length = ends.len() as i64 - 1;
    let (from, to) = (i64::from(from), i64::from(to));
    let base = if to < 0 { (length + to + 1).max(0) } else { (to + 1).min(length) };
    let from = if from < 0 && to < 0 { from - to - 1 } else { from };
    let from = if from < 0 { base + from + 1 } else { from };
    let shortest = from.min(base).max(1);
    each(&word[..ends[base as usize]]);
    for length in (shortest..base).rev() {
        each(&word[..ends[length as usize]]);
    }
}

fn infixes(word: &str, min: i32, max: i32, each: &mut dyn FnMut(&str)) {
    let ends = boundaries(word);
    let size = ends.len() as i64 - 1;
    let resolve = |length: i32| {
        let length = i64::from(length);
        let length = if length < 0 { size + length + 1 } else { length };
        length.min(size).max(1)
    };
    for length in (resolve(min)..=resolve(max).min(size)).rev() {
        for start in 0..=(size - length) {
            each(&word[ends[start as usize]..ends[(start + length) as usize]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(partial: &Partial, word: &str) -> Vec<String> {
        let mut out = Vec::new();
        partial.each(word, &mut |part| out.push(part.to_owned()));
        out
    }

    #[test]
    fn beginnings_of_words() {
        assert_eq!(parts(&Partial::default(), "hello"), ["hello", "hell", "hel"]);
        assert_eq!(parts(&Partial::default(), "ab"), ["ab", "a"]);
        assert_eq!(parts(&Partial::postfix(4), "hello"), ["hello", "hell"]);
        assert_eq!(parts(&Partial::postfix(9), "hello"), ["hello"]);
        assert_eq!(
            parts(&Partial::substring(1, -1), "\u{fc}be"),
            ["\u{fc}be", "\u{fc}b", "\u{fc}"]
        );
        assert_eq!(parts(&Partial::substring(2, -2), "hello"), ["hell", "hel", "he"]);
        assert_eq!(parts(&Partial::substring(2, -2), "h"), [""]);
        assert_eq!(parts(&Partial::substring(-3, -2), "hello"), ["hell", "hel"]);
        assert_eq!(parts(&Partial::substring(1, 2), "hello"), ["hel", "he", "h"]);
    }

    #[test]
    fn parts_from_anywhere() {
        assert_eq!(parts(&Partial::Infix { min: 2, max: -1 }, "abc"), ["abc", "ab", "bc"]);
        assert_eq!(parts(&Partial::Infix { min: 3, max: -1 }, "ab"), ["ab"]);
        assert_eq!(parts(&Partial::Infix { min: 1, max: 1 }, "ab"), ["a", "b"]);
        assert!(parts(&Partial::Infix { min: 1, max: -1 }, "").is_empty());
        assert!(parts(&Partial::None, "abc").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_numbers_and_words_have_parts_of_the_word(
            word in "\\PC{0,12}", from: i32, to: i32, min in -20i32..20, max in -20i32..20
        ) {
            for partial in [Partial::substring(from, to), Partial::Infix { min, max }] {
                for part in parts(&partial, &word) {
                    proptest::prop_assert!(word.contains(&part));
                }
            }
        }
    }
}
