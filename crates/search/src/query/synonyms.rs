//! Synonyms: words to look up together with a word of the query.

use crate::error::ConfigError;
use crate::limits::{MAX_SYNONYMS, MAX_SYNONYMS_OF_WORD};
use crate::text::tokenizer::Tokenizer;
use hashbrown::HashMap;

/// Groups of words with the same meaning.
///
/// A word of a query, or a phrase, also finds documents with one of its synonyms. All of them are
/// one combination of the word with a category, with the highest of their weights. A synonym of
/// several words is a phrase, see [`SearchConfig::phrases`](crate::SearchConfig::phrases). Words
/// between quotes have no synonyms.
#[derive(Clone, Debug, Default)]
pub struct Synonyms {
    /// The texts and their synonyms as configured.
    given: Vec<(String, Vec<String>)>,
    /// The synonyms as words, by the words of a text joined with spaces.
    of: HashMap<String, Vec<Vec<String>>>,
}

impl Synonyms {
    /// No synonyms.
    pub fn new() -> Synonyms {
        Synonyms::default()
    }

    /// Adds texts that all find each other.
    pub fn set<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Synonyms {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        for (number, text) in texts.iter().enumerate() {
            let others = texts.iter().enumerate().filter(|(other, _)| *other != number);
            let others = others.map(|(_, other)| other.clone()).collect();
            self.given.push((text.clone(), others));
        }
        self
    }

    /// Adds a text that finds others, which do not find it.
    pub fn one_way<T: Into<String>>(
        mut self,
        text: impl Into<String>,
        finds: impl IntoIterator<Item = T>,
    ) -> Synonyms {
        self.given.push((text.into(), finds.into_iter().map(Into::into).collect()));
        self
    }

    /// Tokenizes all texts like queries.
    pub(crate) fn prepared(&self, tokenizer: &Tokenizer) -> Result<Synonyms, ConfigError> {
        let count: usize = self.given.iter().map(|(_, finds)| 1 + finds.len()).sum();
        if count > MAX_SYNONYMS {
            return Err(ConfigError::new(format!(
                "a search must have at most {MAX_SYNONYMS} synonyms (got {count})"
            )));
        }
        let mut of: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for (text, finds) in &self.given {
            let known = of.entry(tokenizer.words(text).join(" ")).or_default();
            for words in finds.iter().map(|text| tokenizer.words(text)) {
                if !words.is_empty()
                    && !known.contains(&words)
                    && known.len() < MAX_SYNONYMS_OF_WORD
                {
                    known.push(words);
                }
            }
        }
        Ok(Synonyms { given: Vec::new(), of })
    }

    /// The synonyms of words that are joined with spaces.
    pub(crate) fn of_words(&self, words: &str) -> &[Vec<String>] {
        if self.of.is_empty() {
            return &[];
        }
        self.of.get(words).map_or(&[], |synonyms| synonyms)
    }
}
