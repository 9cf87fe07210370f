//! Similarity: the words that sound alike, for `word~`.

use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::limits::MAX_PHONETIC_CHARS;
use crate::text::double_metaphone::double_metaphone;
use crate::text::metaphone::metaphone;
use crate::text::soundex::soundex;
use crate::text::word_list::first_characters;
use hashbrown::HashMap;
use runnel_text::distance::levenshtein;
use std::io;

/// The phonetic code that groups words, and how many words of a group are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Similarity {
    /// No similarity, not even of a word to itself.
    #[default]
    None,
    /// By the primary code of Double Metaphone.
    DoubleMetaphone(usize),
    /// By Metaphone.
    Metaphone(usize),
    /// By Soundex.
    Soundex(usize),
}

impl Similarity {
    /// The code of a word; `None` without a strategy. A word without Latin letters has the empty
    /// code.
    pub fn encode(self, word: &str) -> Option<String> {
        let word = first_characters(word, MAX_PHONETIC_CHARS);
        match self {
            Similarity::None => None,
            Similarity::DoubleMetaphone(_) => Some(double_metaphone(word)),
            Similarity::Metaphone(_) => Some(metaphone(word)),
            Similarity::Soundex(_) => Some(soundex(word)),
        }
    }

    fn capacity(self) -> usize {
        match self {
            Similarity::None => 0,
            Similarity::DoubleMetaphone(words)
            | Similarity::Metaphone(words)
            | Similarity::Soundex(words) => words,
        }
    }
}

/// The words of a category by phonetic code.
///
/// A new word is appended to the list of its code, the list is sorted (stably) by edit distance to
/// that word, and only the first few words stay. The lists therefore depend on the order of
/// insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimilarWords {
    strategy: Similarity,
    codes: HashMap<String, Vec<Box<str>>>,
}

impl SimilarWords {
    pub(crate) fn new(strategy: Similarity) -> SimilarWords {
        SimilarWords { strategy, codes: HashMap::new() }
    }

    pub(crate) fn strategy(&self) -> Similarity {
        self.strategy
    }

    pub(crate) fn add(&mut self, word: &str) {
        let Some(code) = self.strategy.encode(word) else {
            return;
        };
        let list = self.codes.entry(code).or_default();
        list.retain(|listed| **listed != *word);
        list.push(word.into());
        if list.len() > 1 {
            let reference = first_characters(word, MAX_PHONETIC_CHARS);
            list.sort_by_cached_key(|listed| {
                levenshtein(first_characters(listed, MAX_PHONETIC_CHARS), reference)
            });
        }
        list.truncate(self.strategy.capacity());
    }

    /// Removes a word; with `whole_code` all words of its code.
    pub(crate) fn remove(&mut self, word: &str, whole_code: bool) {
        let Some(code) = self.strategy.encode(word) else {
            return;
        };
        if let Some(list) = self.codes.get_mut(&code) {
            list.retain(|listed| !whole_code && **listed != *word);
            if list.is_empty() {
                self.codes.remove(&code);
            }
        }
    }

    /// The words of a code, in their stored order.
    pub(crate) fn of_code(&self, code: &str) -> &[Box<str>] {
        self.codes.get(code).map_or(&[], Vec::as_slice)
    }

    /// Writes the lists.
    pub(crate) fn write(&self, out: &mut SectionWriter<'_>) -> io::Result<()> {
        out.u64(self.codes.len() as u64)?;
        let mut codes: Vec<_> = self.codes.iter().collect();
        codes.sort_unstable_by_key(|(code, _)| *code);
        for (code, words) in codes {
            out.text(code)?;
            out.u32(words.len() as u32)?;
            words.iter().try_for_each(|word| out.text(word))?;
        }
        Ok(())
    }

    /// Reads the output of [`write`](Self::write).
    pub(crate) fn read(&mut self, input: &mut SectionReader<'_>) -> Result<(), DamagedFile> {
        let count = input.count(8)?;
        let mut codes = HashMap::with_capacity(count);
        for _ in 0..count {
            let code = input.text()?.to_owned();
            let words = (0..input.u32()?).map(|_| input.text().map(Into::into));
            codes.insert(code, words.collect::<Result<_, _>>()?);
        }
        self.codes = codes;
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn codes(&self) -> usize {
        self.codes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_nearest_to_the_newest() {
        let mut similar = SimilarWords::new(Similarity::DoubleMetaphone(2));
        for word in ["peter", "petra", "patter"] {
            similar.add(word);
        }
        assert_eq!(similar.of_code("PTR").join(" "), "patter peter");
        similar.remove("peter", false);
        assert_eq!(similar.of_code("PTR").join(" "), "patter");
        similar.add("petra");
        similar.remove("patter", true);
        assert_eq!(similar.codes(), 0);
    }

    #[test]
    fn without_a_strategy_nothing_is_similar() {
        let mut similar = SimilarWords::default();
        similar.add("peter");
        assert_eq!(similar.codes(), 0);
        assert_eq!(Similarity::None.encode("peter"), None);
    }
}
