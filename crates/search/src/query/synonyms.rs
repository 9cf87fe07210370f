//! Synonyms: words that are looked up together with the one that is written.

use crate::error::ConfigError;
use crate::index::category_index::WordsIndex;
use crate::index::posting_list::Posting;
use crate::index::search_index::Index;
use crate::limits::{MAX_SYNONYMS, MAX_SYNONYMS_OF_WORD, MAX_WORD_CHARS};
use crate::query::combinations::{Combiner, How, List, Texts};
use crate::query::parsed_query::Token;
use crate::query::preferences::Name;
use crate::query::work_budget::COPIED;
use crate::text::tokenizer::Tokenizer;
use crate::text::word_list::first_characters;
use hashbrown::HashMap;
use std::borrow::Cow;

/// Which words mean the same.
///
/// A word of a query, or a phrase, finds documents with one of its synonyms too; all together are
/// one combination of the word with a category, which weighs as much as the weightiest of them.
/// Synonyms of several words have to be next to each other, see
/// [`SearchConfig::phrases`](crate::SearchConfig::phrases). Words between quotes have none.
#[derive(Clone, Debug, Default)]
pub struct Synonyms {
    /// Texts and what they stand for, as they were given.
    given: Vec<(String, Vec<String>)>,
    /// The same as words, by the words of a text with spaces between them.
    of: HashMap<String, Vec<Vec<String>>>,
}

impl Synonyms {
    /// None.
    pub fn new() -> Synonyms {
        Synonyms::default()
    }

    /// Adds texts of which each finds all the others.
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

    /// Makes words of all texts, as a search does with queries.
    pub(crate) fn prepared(&self, tokenizer: &Tokenizer) -> Result<Synonyms, ConfigError> {
        let count: usize = self.given.iter().map(|(_, finds)| 1 + finds.len()).sum();
        if count > MAX_SYNONYMS {
            return Err(ConfigError::new(format!(
                "a search has {count} synonyms; {MAX_SYNONYMS} are allowed"
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
}

impl<'a> Combiner<'a, '_> {
    /// What is looked up together with a word.
    pub(crate) fn synonyms_of(&self, token: &Token) -> &'a [Vec<String>] {
        let synonyms: &'a Synonyms = self.synonyms;
        if synonyms.of.is_empty() || token.quoted || token.range.is_some() {
            return &[];
        }
        synonyms.of.get(token.text.of(&self.answer.query.text)).map_or(&[], |words| words)
    }

    /// Makes one combination of that of a word in a category, if there is one, and of its synonyms.
    pub(crate) fn add_synonyms(
        &mut self,
        index: &'a Index,
        names: &[Name],
        token: &Token,
        category: u8,
        synonyms: &[Vec<String>],
        before: usize,
    ) {
        let words = &index.categories()[usize::from(category)];
        if words.config().grid.is_some() {
            return;
        }
        let own = self.answer.combinations.get(before).copied();
        let mut weight = own.map(|own| own.weight);
        let mut slots: Vec<u32> = Vec::new();
        let mut found = false;
        for synonym in synonyms {
            let Some((synonym_weight, posting)) = self.synonym(index, words, synonym) else {
                continue;
            };
            found = true;
            weight = match weight {
                Some(best) if best.order(synonym_weight).is_ge() => Some(best),
                _ => Some(synonym_weight),
            };
            if self.work.spend(posting.len() * COPIED) {
                slots.extend(posting.iter());
            }
        }
        let (true, Some(weight)) = (found, weight) else {
            return;
        };
        if let Some(own) = own {
            let posting = self.lists[own.list as usize].posting();
            if self.work.spend(posting.len() * COPIED) {
                slots.extend(posting.iter());
            }
        }
        // In the order of the index, as the documents of one word are.
        slots.sort_unstable();
        slots.dedup();
        self.answer.combinations.truncate(before);
        let list = self.add_list(List::Made(Box::new(Posting::from_slots(slots))));
        let how = match token.phrase {
            Some((start, end)) => How::Phrase(start, end),
            None => How::Query { part: token.partial, exact: false },
        };
        let texts = Texts { original: token.original, text: token.text, how };
        self.push(words, names[usize::from(category)], weight, list, texts);
    }

    /// The documents of a synonym in a category.
    fn synonym(
        &mut self,
        index: &'a Index,
        words: &'a WordsIndex,
        synonym: &[String],
    ) -> Option<(crate::format::number::Number, Cow<'a, Posting>)> {
        if let [word] = synonym {
            let stored = match words.stemmer() {
                Some(stemmer) => stemmer.stem(first_characters(word, MAX_WORD_CHARS)),
                None => Cow::Borrowed(first_characters(word, MAX_WORD_CHARS)),
            };
            let hash = index.hash(&stored);
            let (weight, posting) = words.find(index.hasher(), hash, &stored, false)?;
            let posting = posting.filter(|posting| !posting.is_empty())?;
            let text = self.store(word);
            self.push_hidden(words, text, How::Query { part: false, exact: false });
            return Some((weight, Cow::Borrowed(posting)));
        }
        let all = synonym.iter().map(String::as_str);
        let posting = words.phrase(index.hasher(), all, self.work)?;
        let weight = words.config().weight.of(&synonym.join(" "), posting.len());
        let start = self.answer.query.phrase_words.len() as u32;
        for word in synonym {
            let span = self.store(word);
            self.answer.query.phrase_words.push(span);
        }
        let end = self.answer.query.phrase_words.len() as u32;
        let text = self.answer.query.phrase_words[start as usize];
        self.push_hidden(words, text, How::Phrase(start, end));
        Some((weight, Cow::Owned(posting)))
    }
}
