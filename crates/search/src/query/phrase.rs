//! Phrases: words next to each other in one category of a document.
//!
//! An index with phrases stores the numbers of the words of each document in the order of the text,
//! four bytes each. The posting lists give the documents that have all words of a phrase; each of
//! them is then checked, so that counts are exact.

use crate::index::category_index::CategoryIndex;
use crate::index::document_words::occurs;
use crate::index::intersection::intersect;
use crate::index::posting_list::PostingList;
use crate::query::combination::{DocumentList, FoundBy};
use crate::query::combiner::{CategoryScope, CombinationTexts, Combiner};
use crate::query::parsed_query::QueryToken;
use crate::query::work_budget::WorkBudget;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Words compared in one step of work.
const WORDS_PER_STEP: usize = 4;

impl CategoryIndex {
    /// The documents that have these words next to each other, or in any order in an index that
    /// does not store the order; `None` without documents.
    pub(crate) fn phrase<'w>(
        &self,
        hasher: &DefaultHashBuilder,
        words: impl Iterator<Item = &'w str>,
        work: &mut WorkBudget,
    ) -> Option<PostingList> {
        let exact = self.word_table(false);
        let mut lists: Vec<&PostingList> = Vec::new();
        let mut numbers = Vec::new();
        for word in words {
            let word = self.stored_form(word);
            let hash = hasher.hash_one(&*word);
            let list = exact.find(hash, &word)?.posting();
            numbers.push(exact.number(hash, &word)?);
            if !lists.iter().any(|known| std::ptr::eq(*known, list)) {
                lists.push(list);
            }
        }
        let mut slots = intersect(&lists, work)?;
        if self.keeps_order() {
            slots.retain(|slot| {
                let text = self.words_of(*slot);
                work.spend(1 + text.len() / WORDS_PER_STEP) && occurs(text, &numbers)
            });
        }
        (!slots.is_empty()).then(|| PostingList::from_slots(slots))
    }
}

impl<'a> Combiner<'a, '_> {
    /// Adds the combination of a phrase with a category. Its weight is that of a word with as many
    /// documents.
    pub(crate) fn add_phrase(
        &mut self,
        scope: CategoryScope<'a>,
        token: &QueryToken,
        (start, end): (u32, u32),
    ) {
        let words = scope.words;
        if words.config().grid.is_some() {
            return;
        }
        let query = &self.answer.query;
        let spans = &query.phrase_words[start as usize..end as usize];
        let phrase = spans.iter().map(|span| span.slice(&query.text));
        let Some(posting) = words.phrase(scope.index.hasher(), phrase, self.work) else {
            return;
        };
        let weight = words.config().weight.weigh(token.text.slice(&query.text), posting.len());
        let list = self.add_list(DocumentList::Made(Box::new(posting)));
        let how = FoundBy::Phrase(start, end);
        let texts = CombinationTexts { original: token.original, text: token.text, how };
        self.push_combination(scope, weight, list, texts);
    }
}
