//! Phrases: words next to each other in one category of a document.
//!
//! An index that is asked to keeps the numbers of the words of each document in the order of the
//! text, four bytes for each. The documents that have all words of a phrase are found by their
//! lists, and then each is looked at, so that counts are exact.

use crate::index::category_index::WordsIndex;
use crate::index::intersection::intersect;
use crate::index::posting_list::Posting;
use crate::index::search_index::Index;
use crate::limits::MAX_WORD_CHARS;
use crate::query::combinations::{Combiner, How, List, Texts};
use crate::query::parsed_query::Token;
use crate::query::preferences::Name;
use crate::query::work_budget::Work;
use crate::text::word_list::first_characters;
use hashbrown::DefaultHashBuilder;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// What stands between texts whose words are not next to each other.
pub(crate) const GAP: u32 = u32::MAX;

/// How many words are compared in one step of work.
const WORDS_PER_STEP: usize = 4;

/// Whether words occur in a text one after the other. All are numbers.
pub(crate) fn occurs(text: &[u32], words: &[u32]) -> bool {
    words.is_empty() || text.windows(words.len()).any(|window| window == words)
}

impl WordsIndex {
    /// The documents that have these words next to each other, or in any order in an index that
    /// does not keep the order; nothing if there are none.
    pub(crate) fn phrase<'w>(
        &self,
        hasher: &DefaultHashBuilder,
        words: impl Iterator<Item = &'w str>,
        work: &mut Work,
    ) -> Option<Posting> {
        let exact = self.bundle(false);
        let mut lists: Vec<&Posting> = Vec::new();
        let mut numbers = Vec::new();
        for word in words {
            let word = first_characters(word, MAX_WORD_CHARS);
            let word = match self.stemmer() {
                Some(stemmer) => stemmer.stem(word),
                None => Cow::Borrowed(word),
            };
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
        (!slots.is_empty()).then(|| Posting::from_slots(slots))
    }
}

impl<'a> Combiner<'a, '_> {
    /// The combination of a phrase with a category. It weighs as much as a word with as many
    /// documents.
    pub(crate) fn phrase(
        &mut self,
        index: &'a Index,
        names: &[Name],
        token: &Token,
        category: u8,
        (start, end): (u32, u32),
    ) {
        let words = &index.categories()[usize::from(category)];
        if words.config().grid.is_some() {
            return;
        }
        let query = &self.answer.query;
        let spans = &query.phrase_words[start as usize..end as usize];
        let phrase = spans.iter().map(|span| span.of(&query.text));
        let Some(posting) = words.phrase(index.hasher(), phrase, self.work) else {
            return;
        };
        let weight = words.config().weight.of(token.text.of(&query.text), posting.len());
        let list = self.add_list(List::Made(Box::new(posting)));
        let how = How::Phrase(start, end);
        let texts = Texts { original: token.original, text: token.text, how };
        self.push(words, names[usize::from(category)], weight, list, texts);
    }
}

#[cfg(test)]
mod tests {
    use super::occurs;

    #[test]
    fn words_one_after_the_other() {
        let text = [1, 2, 1, 3, u32::MAX, 4];
        for (words, expected) in [
            (&[1, 3][..], true),
            (&[1, 2, 1, 3], true),
            (&[2, 3], false),
            (&[3, 4], false),
            (&[4, 1], false),
            (&[1, 2, 1, 3, 4, 5, 6], false),
            (&[], true),
        ] {
            assert_eq!(occurs(&text, words), expected, "{words:?}");
        }
    }
}
