//! A search for words in the texts of elements.

use crate::{Error, Kind};
use regex::Regex;
use std::sync::LazyLock;

/// The most words of a search.
pub const SEARCH_WORDS: usize = 16;

/// The most characters of a word of a search.
pub const SEARCH_WORD_LENGTH: usize = 64;

/// A word is made of letters, digits and combining accents; everything else separates words.
static WORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([\p{L}\p{N}\u{300}-\u{36f}]+)(\*?)").ok());

/// Every word has to occur in at least one of the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullText {
    /// The fields whose texts have an index of their words.
    pub fields: Vec<String>,
    /// The words, in lower case.
    pub words: Vec<SearchWord>,
}

/// A word that is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchWord {
    /// Letters and digits.
    pub text: String,
    /// Whether words that begin with it are meant, too.
    pub is_prefix: bool,
}

impl FullText {
    /// Reads a search text; `None` for one without words, which finds nothing.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for more or longer words than a search has.
    pub fn read(fields: Vec<String>, text: &str) -> crate::Result<Option<Self>> {
        let mut words: Vec<SearchWord> = Vec::new();
        let found = WORD.iter().flat_map(|word| word.captures_iter(text));
        for (_, [word, star]) in found.map(|found| found.extract()) {
            if words.len() == SEARCH_WORDS {
                let message = format!("a search has at most {SEARCH_WORDS} words");
                return Err(Error::new(Kind::Invalid, message));
            }
            if word.chars().count() > SEARCH_WORD_LENGTH {
                let message = format!(
                    "a word of a search has at most {SEARCH_WORD_LENGTH} letters and digits"
                );
                return Err(Error::new(Kind::Invalid, message));
            }
            words.push(SearchWord { text: word.to_lowercase(), is_prefix: !star.is_empty() });
        }
        Ok((!words.is_empty()).then_some(FullText { fields, words }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, bool)> {
        let search = FullText::read(vec!["title".into()], text).unwrap();
        let words = search.map_or(Vec::new(), |search| search.words);
        words.into_iter().map(|word| (word.text, word.is_prefix)).collect()
    }

    #[test]
    fn everything_but_letters_and_digits_separates_words() {
        let plain = |word: &str| (word.to_string(), false);
        assert_eq!(words("Rain CAT*"), [plain("rain"), ("cat".to_string(), true)]);
        assert_eq!(words("title:\"a' NEAR(b\0c"), ["title", "a", "near", "b", "c"].map(plain));
        assert!(words("* \" ' - ( ) \0").is_empty());
    }

    #[test]
    fn searches_are_bounded() {
        let search = |text: &str| FullText::read(Vec::new(), text);
        assert!(search(&"a ".repeat(SEARCH_WORDS)).is_ok());
        let many = search(&"a ".repeat(SEARCH_WORDS + 1)).unwrap_err();
        assert_eq!(many.message, "a search has at most 16 words");
        assert!(search(&"ä".repeat(SEARCH_WORD_LENGTH)).is_ok());
        let long = search(&"ä".repeat(SEARCH_WORD_LENGTH + 1)).unwrap_err();
        assert_eq!(long.message, "a word of a search has at most 64 letters and digits");
    }
}
