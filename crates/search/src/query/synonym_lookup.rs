//! Combinations of a word with its synonyms.

use crate::format::number::Score;
use crate::index::posting_list::PostingList;
use crate::query::combination::{DocumentList, FoundBy};
use crate::query::combiner::{CategoryScope, CombinationTexts, Combiner};
use crate::query::parsed_query::QueryToken;
use crate::query::synonyms::Synonyms;
use crate::query::work_budget::COPIED;
use std::borrow::Cow;

impl<'a> Combiner<'a, '_> {
    /// The synonyms of a word.
    pub(crate) fn synonyms_of(&self, token: &QueryToken) -> &'a [Vec<String>] {
        let synonyms: &'a Synonyms = self.synonyms;
        if token.quoted || token.range.is_some() {
            return &[];
        }
        synonyms.of_words(token.text.slice(&self.answer.query.text))
    }

    /// Merges the combination of a word in a category, if there is one, with those of its synonyms.
    pub(crate) fn add_synonyms(
        &mut self,
        scope: CategoryScope<'a>,
        token: &QueryToken,
        synonyms: &[Vec<String>],
        before: usize,
    ) {
        if scope.words.config().grid.is_some() {
            return;
        }
        let own = self.answer.combinations.get(before).copied();
        let mut weight = own.map(|own| own.weight);
        let mut slots: Vec<u32> = Vec::new();
        let mut found = false;
        for synonym in synonyms {
            let Some((synonym_weight, posting)) = self.synonym(scope, synonym) else {
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
        self.push_combination(scope, weight, list, texts);
    }

    /// The documents of a synonym in a category.
    fn synonym(
        &mut self,
        scope: CategoryScope<'a>,
        synonym: &[String],
    ) -> Option<(Score, Cow<'a, PostingList>)> {
        let CategoryScope { index, words, .. } = scope;
        if let [word] = synonym {
            let stored = words.stored_form(word);
            let hash = index.hash(&stored);
            let (weight, posting) = words.find(index.hasher(), hash, &stored, false)?;
            let posting = posting.filter(|posting| !posting.is_empty())?;
            let text = self.store_text(word);
            self.push_hidden(words, text, FoundBy::Query { part: false, exact: false });
            return Some((weight, Cow::Borrowed(posting)));
        }
        let all = synonym.iter().map(String::as_str);
        let posting = words.phrase(index.hasher(), all, self.work)?;
        let weight = words.config().weight.weigh(&synonym.join(" "), posting.len());
        let start = self.answer.query.phrase_words.len() as u32;
        for word in synonym {
            let span = self.store_text(word);
            self.answer.query.phrase_words.push(span);
        }
        let end = self.answer.query.phrase_words.len() as u32;
        let text = self.answer.query.phrase_words[start as usize];
        self.push_hidden(words, text, FoundBy::Phrase(start, end));
        Some((weight, Cow::Owned(posting)))
    }
}
