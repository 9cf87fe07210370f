//! Combinations of a word with its synonyms.

use crate::format::number::Score;
use crate::index::category_index::CategoryIndex;
use crate::index::posting_list::PostingList;
use crate::index::search_index::SearchIndex;
use crate::limits::MAX_WORD_CHARS;
use crate::query::combination::{DocumentList, FoundBy};
use crate::query::combiner::{CombinationTexts, Combiner};
use crate::query::parsed_query::QueryToken;
use crate::query::preferences::CategoryNameId;
use crate::query::synonyms::Synonyms;
use crate::query::work_budget::COPIED;
use crate::text::word_list::first_characters;
use std::borrow::Cow;

impl<'a> Combiner<'a, '_> {
    /// The synonyms of a word.
    pub(crate) fn synonyms_of(&self, token: &QueryToken) -> &'a [Vec<String>] {
        let synonyms: &'a Synonyms = self.synonyms;
        if token.quoted || token.range.is_some() {
            return &[];
        }
        synonyms.of_words(token.text.of(&self.answer.query.text))
    }

    /// Merges the combination of a word in a category, if there is one, with those of its synonyms.
    pub(crate) fn add_synonyms(
        &mut self,
        index: &'a SearchIndex,
        names: &[CategoryNameId],
        token: &QueryToken,
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
        // In the order of the index, like the documents of a single word.
        slots.sort_unstable();
        slots.dedup();
        self.answer.combinations.truncate(before);
        let list = self.add_list(DocumentList::Made(Box::new(PostingList::from_slots(slots))));
        let how = match token.phrase {
            Some((start, end)) => FoundBy::Phrase(start, end),
            None => FoundBy::Query { part: token.partial, exact: false },
        };
        let texts = CombinationTexts { original: token.original, text: token.text, how };
        self.push(words, names[usize::from(category)], weight, list, texts);
    }

    /// The documents of a synonym in a category.
    fn synonym(
        &mut self,
        index: &'a SearchIndex,
        words: &'a CategoryIndex,
        synonym: &[String],
    ) -> Option<(Score, Cow<'a, PostingList>)> {
        if let [word] = synonym {
            let stored = match words.stemmer() {
                Some(stemmer) => stemmer.stem(first_characters(word, MAX_WORD_CHARS)),
                None => Cow::Borrowed(first_characters(word, MAX_WORD_CHARS)),
            };
            let hash = index.hash(&stored);
            let (weight, posting) = words.find(index.hasher(), hash, &stored, false)?;
            let posting = posting.filter(|posting| !posting.is_empty())?;
            let text = self.store(word);
            self.push_hidden(words, text, FoundBy::Query { part: false, exact: false });
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
        self.push_hidden(words, text, FoundBy::Phrase(start, end));
        Some((weight, Cow::Owned(posting)))
    }
}
