//! Tokenizers: from text to words, for indexes and searches, in a fixed sequence of steps.

use crate::text::pattern::Pattern;
use crate::text::scripts;
use crate::text::stemmer::Stemmer;
use crate::text::substitution::Substitution;
use crate::text::word_list::WordList;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A function that splits a text.
pub type SplitFunction = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// A function that decides whether to drop a word.
pub type RejectFunction = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The way to split a text.
#[derive(Clone)]
pub enum Splitter {
    /// At the matches of a pattern.
    Pattern(Pattern),
    /// At the occurrences of a text.
    Literal(String),
    /// By a function.
    Function(SplitFunction),
    /// Into runs of letters and digits. Runs in scripts without spaces (Chinese, Japanese, Thai,
    /// Lao, Burmese, Khmer) become all pairs of neighbours and the last letter alone, so that every
    /// part of them is found.
    Words,
    /// [`Words`](Self::Words) for queries: markers stay, and the last letter alone is not a word.
    QueryWords,
}

/// The words to drop, tested before they become lower case.
#[derive(Clone, Default)]
pub enum Rejection {
    /// Empty words.
    #[default]
    Empty,
    /// Words with fewer characters, including markers like `*`.
    ShorterThan(usize),
    /// The words that a function selects.
    Function(RejectFunction),
}

/// The steps from a text to words.
///
/// 1. Substitute characters.
/// 2. Remove characters.
/// 3. Remove stop words, unless the text is a single word.
/// 4. Split.
/// 5. Normalize words.
/// 6. Reject words.
/// 7. Limit the number of words.
/// 8. Change to lower case.
///
/// Stemming happens when words are looked up or stored.
#[derive(Clone, Default)]
pub struct Tokenizer {
    substitution: Option<Substitution>,
    removes: Option<Pattern>,
    stopwords: Option<Pattern>,
    stop_words: Option<&'static [&'static str]>,
    splitter: Option<Splitter>,
    normalizes: Arc<[(Pattern, String)]>,
    rejects: Rejection,
    max_words: Option<usize>,
    case_sensitive: bool,
    stemmer: Option<Stemmer>,
}

impl Tokenizer {
    /// Splits at white space, drops empty words and changes to lower case.
    pub fn new() -> Tokenizer {
        Tokenizer::default()
    }

    /// Replaces characters before the other steps.
    pub fn substitutes(mut self, substitution: Substitution) -> Tokenizer {
        self.substitution = Some(substitution);
        self
    }

    /// Removes the matches of a pattern.
    pub fn removes(mut self, pattern: Pattern) -> Tokenizer {
        self.removes = Some(pattern);
        self
    }

    /// Removes the matches of a pattern, but not from a text of a single word: `the` finds "the",
    /// `the history` only "history".
    pub fn stopwords(mut self, pattern: Pattern) -> Tokenizer {
        self.stopwords = Some(pattern);
        self
    }

    /// Removes these words, sorted and in lower case, unless the text has no others.
    pub(crate) fn stop_words(mut self, words: &'static [&'static str]) -> Tokenizer {
        self.stop_words = Some(words);
        self
    }

    /// Splits in this way instead of at white space.
    pub fn splits(mut self, splitter: Splitter) -> Tokenizer {
        self.splitter = Some(splitter);
        self
    }

    /// Replaces within words, by the first pair whose pattern matches. `\1` in a replacement is the
    /// first group.
    pub fn normalizes(mut self, pairs: Vec<(Pattern, String)>) -> Tokenizer {
        self.normalizes = pairs.into();
        self
    }

    /// Drops words.
    pub fn rejects(mut self, rejection: Rejection) -> Tokenizer {
        self.rejects = rejection;
        self
    }

    /// Limits the number of words.
    pub fn max_words(mut self, words: usize) -> Tokenizer {
        self.max_words = Some(words);
        self
    }

    /// Keeps upper and lower case.
    pub fn case_sensitive(mut self, sensitive: bool) -> Tokenizer {
        self.case_sensitive = sensitive;
        self
    }

    /// Stems stored words, and words of queries in the categories of this tokenizer, unless they
    /// end in `"`.
    pub fn stems(mut self, stemmer: Stemmer) -> Tokenizer {
        self.stemmer = Some(stemmer);
        self
    }

    pub(crate) fn stemmer(&self) -> Option<Stemmer> {
        self.stemmer
    }

    /// The words of a text, not stemmed, in lower case unless case matters.
    pub fn words(&self, text: &str) -> Vec<String> {
        let mut words = WordList::default();
        self.split_into(text, &mut words);
        words.iter().map(str::to_owned).collect()
    }

    /// Replaces `out` with the words of a text.
    pub(crate) fn split_into(&self, text: &str, out: &mut WordList) {
        out.clear();
        self.add_words(text, true, out);
    }

    /// Whether runs in scripts without spaces become several words of a query.
    pub(crate) fn splits_queries(&self) -> bool {
        matches!(self.splitter, Some(Splitter::QueryWords))
    }

    /// Appends the words of a text. A `whole` text of stop words alone keeps them.
    pub(crate) fn add_words(&self, text: &str, whole: bool, out: &mut WordList) {
        let start = out.len();
        self.add_split(text, whole, out);
        let Some(stop_words) = self.stop_words else {
            return;
        };
        let stops = |word: &str| stop_words.binary_search(&word).is_ok();
        if !(whole && out.iter().skip(start).all(stops)) {
            out.retain_from(start, |word| !stops(word));
        }
    }

    fn add_split(&self, text: &str, whole: bool, out: &mut WordList) {
        let mut text = Cow::Borrowed(text);
        if let Some(substitution) = self.substitution {
            text = substitution.apply(text);
        }
        if let Some(pattern) = &self.removes {
            text = pattern.remove_from(text);
        }
        if let Some(pattern) = &self.stopwords
            && !(whole && is_single_word(&text))
        {
            text = pattern.remove_from(text);
        }
        if text.is_empty() {
            return;
        }
        match &self.splitter {
            None => text.split(is_space).for_each(|piece| self.add(piece, out)),
            Some(Splitter::Pattern(pattern)) => {
                pattern.split(&text, |piece| self.add(piece, out));
            }
            Some(Splitter::Literal(separator)) => {
                text.split(separator.as_str()).for_each(|piece| self.add(piece, out));
            }
            Some(Splitter::Function(split)) => {
                split(&text).iter().for_each(|piece| self.add(piece, out));
            }
            Some(Splitter::Words) => scripts::each_word(&text, |word| self.add(word, out)),
            Some(Splitter::QueryWords) => {
                scripts::each_query_word(&text, |word| self.add(word, out));
            }
        }
    }

    fn add(&self, piece: &str, out: &mut WordList) {
        if self.max_words.is_some_and(|limit| out.len() >= limit) {
            return;
        }
        let mut word = Cow::Borrowed(piece);
        for (pattern, replacement) in self.normalizes.iter() {
            if let Some(changed) = pattern.replace(piece, replacement) {
                word = Cow::Owned(changed);
                break;
            }
        }
        let rejected = match &self.rejects {
            Rejection::Empty => word.is_empty(),
            Rejection::ShorterThan(length) => {
                word.is_empty() || (word.len() < length * 4 && word.chars().count() < *length)
            }
            Rejection::Function(rejects) => word.is_empty() || rejects(&word),
        };
        if rejected {
            return;
        }
        if self.case_sensitive {
            out.push(&word);
        } else {
            out.push_lowercase(&word);
        }
    }
}

/// The text has every setting, since it is part of the fingerprint of an index in files.
impl fmt::Debug for Tokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tokenizer")
            .field("substitution", &self.substitution)
            .field("removes", &self.removes)
            .field("stopwords", &self.stopwords)
            .field("stop_words", &self.stop_words)
            .field("splitter", &self.splitter)
            .field("normalizes", &self.normalizes)
            .field("rejects", &self.rejects)
            .field("max_words", &self.max_words)
            .field("case_sensitive", &self.case_sensitive)
            .field("stemmer", &self.stemmer)
            .finish()
    }
}

impl fmt::Debug for Splitter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Splitter::Pattern(pattern) => formatter.debug_tuple("Pattern").field(pattern).finish(),
            Splitter::Literal(text) => formatter.debug_tuple("Literal").field(text).finish(),
            Splitter::Function(_) => formatter.write_str("Function"),
            Splitter::Words => formatter.write_str("Words"),
            Splitter::QueryWords => formatter.write_str("QueryWords"),
        }
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Empty => formatter.write_str("Empty"),
            Rejection::ShorterThan(length) => write!(formatter, "ShorterThan({length})"),
            Rejection::Function(_) => formatter.write_str("Function"),
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\u{b}' | '\u{c}')
}

/// Whether a line of the text is a single word of ASCII letters, digits, `_` and `:`, with an
/// optional marker `.`, `*` or `~` and an optional space after it. Such a text keeps its stop
/// words.
fn is_single_word(text: &str) -> bool {
    // The optional space may be a line feed, which already ends the line.
    text.split('\n').any(is_single_word_line)
}

fn is_single_word_line(line: &str) -> bool {
    let bytes = line.as_bytes();
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let length =
        bytes.iter().position(|byte| !in_word(*byte) && *byte != b':').unwrap_or(bytes.len());
    let (Some(first), Some(last)) = (bytes.first(), bytes[..length].last()) else {
        return false;
    };
    if !in_word(*first) || !in_word(*last) {
        return false;
    }
    let rest = &bytes[length..];
    let rest = match rest.first() {
        Some(b'.' | b'*' | b'~') => &rest[1..],
        _ => rest,
    };
    matches!(rest, [] | [b' ' | b'\t' | b'\r' | 0x0b | 0x0c])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_default_splits_at_ascii_white_space() {
        assert_eq!(Tokenizer::new().words(" A\tB\u{a0}c \n\n d "), ["a", "b\u{a0}c", "d"]);
        assert!(Tokenizer::new().words("  ").is_empty());
    }

    #[test]
    fn lower_case_does_not_depend_on_the_place_in_the_word() {
        assert_eq!(Tokenizer::new().words("\u{3a3}\u{391}\u{3a3}"), ["\u{3c3}\u{3b1}\u{3c3}"]);
    }

    #[test]
    fn stopwords_stay_in_a_single_word() {
        let tokenizer =
            Tokenizer::new().stopwords(Pattern::parse(r"/\b(and|the|of|it|in|for)\b/i").unwrap());
        for (text, words) in [
            ("the", vec!["the"]),
            ("the*", vec!["the*"]),
            ("the ", vec!["the"]),
            ("title:the~", vec!["title:the~"]),
            ("the\"", vec!["\""]),
            (" the", vec![]),
            ("the of", vec![]),
            ("the  ", vec![]),
            ("the:", vec![":"]),
            ("the\nhistory women", vec!["the", "history", "women"]),
            ("the history", vec!["history"]),
        ] {
            assert_eq!(tokenizer.words(text), words, "{text:?}");
        }
    }

    #[test]
    fn steps_after_splitting_run_in_order() {
        let normalize = |pattern, text: &str| (Pattern::parse(pattern).unwrap(), text.to_owned());
        let tokenizer = Tokenizer::new()
            .normalizes(vec![normalize("/x/", "yy"), normalize("/yy/", "no")])
            .rejects(Rejection::ShorterThan(2))
            .max_words(2);
        assert_eq!(tokenizer.words("a x Bcd efg"), ["yy", "bcd"]);
        assert_eq!(Tokenizer::new().case_sensitive(true).words("Ab"), ["Ab"]);
        let literal = Tokenizer::new().splits(Splitter::Literal(",".into()));
        assert_eq!(literal.words("a b,c"), ["a b", "c"]);
        let function = Splitter::Function(Arc::new(|text| vec![text.to_owned(), String::new()]));
        assert_eq!(Tokenizer::new().splits(function).words("a b"), ["a b"]);
    }
}
