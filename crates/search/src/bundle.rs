//! The words of a category, or the parts of its words, with the documents of each.

use crate::number::Number;
use crate::posting::{End, Posting};
use crate::weight::Weight;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Dead entries are kept until there are this many more than live ones.
const DEAD_ALLOWED: usize = 64;

/// A word with its weight and its documents.
#[derive(Debug)]
pub(crate) struct Entry {
    word: Box<str>,
    weight: Number,
    posting: Posting,
}

impl Entry {
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    pub(crate) fn weight(&self) -> Number {
        self.weight
    }

    pub(crate) fn posting(&self) -> &Posting {
        &self.posting
    }
}

/// A dictionary that numbers its words in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    table: HashTable<u32>,
    /// An entry without documents is dead: it is in no table and is skipped.
    entries: Vec<Entry>,
    dead: usize,
}

impl Bundle {
    pub(crate) fn find(&self, hash: u64, word: &str) -> Option<&Entry> {
        let found = self.table.find(hash, |number| *self.entries[*number as usize].word == *word);
        found.map(|number| &self.entries[*number as usize])
    }

    /// The entries with documents, in the order in which their words came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.posting.is_empty())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.dead
    }

    pub(crate) fn word(&self, number: u32) -> &str {
        &self.entries[number as usize].word
    }

    /// Adds a document to a word. Answers the number of the word if the document was not there.
    pub(crate) fn add(
        &mut self,
        hasher: &DefaultHashBuilder,
        word: &str,
        slot: u32,
        end: End,
        weight: &Weight,
    ) -> Option<u32> {
        let hash = hasher.hash_one(word);
        let entries = &self.entries;
        let found = self.table.find(hash, |number| *entries[*number as usize].word == *word);
        let number = match found {
            Some(number) => *number,
            None => {
                let number = self.entries.len() as u32;
                self.entries.push(Entry {
                    word: word.into(),
                    weight: Number::ZERO,
                    posting: Posting::default(),
                });
                let entries = &self.entries;
                self.table.insert_unique(hash, number, |number| {
                    hasher.hash_one(&*entries[*number as usize].word)
                });
                number
            }
        };
        let entry = &mut self.entries[number as usize];
        if !entry.posting.add(slot, end) {
            return None;
        }
        entry.weight = weight.of(&entry.word, entry.posting.len());
        Some(number)
    }

    /// Removes a document from a word, and the word with its last document. Says whether the word
    /// went.
    pub(crate) fn remove(
        &mut self,
        hasher: &DefaultHashBuilder,
        word: &str,
        slot: u32,
        weight: &Weight,
    ) -> bool {
        let hash = hasher.hash_one(word);
        let entries = &self.entries;
        let Ok(place) =
            self.table.find_entry(hash, |number| *entries[*number as usize].word == *word)
        else {
            return false;
        };
        let entry = &mut self.entries[*place.get() as usize];
        entry.posting.remove(slot);
        if !entry.posting.is_empty() {
            entry.weight = weight.of(&entry.word, entry.posting.len());
            return false;
        }
        entry.word = Box::default();
        place.remove();
        self.dead += 1;
        true
    }

    /// Removes a document from all words and calls `gone` with every word that went. Slow: it looks
    /// at every word.
    pub(crate) fn remove_everywhere(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        weight: &Weight,
        mut gone: impl FnMut(&str),
    ) {
        let having = self.iter().filter(|entry| entry.posting.contains(slot));
        let words: Vec<Box<str>> = having.map(|entry| entry.word.clone()).collect();
        for word in words {
            if self.remove(hasher, &word, slot, weight) {
                gone(&word);
            }
        }
    }

    /// Gives room back once most entries are dead, and then answers the new number of each old one;
    /// the numbers of dead entries mean nothing.
    pub(crate) fn compact(&mut self, hasher: &DefaultHashBuilder) -> Option<Vec<u32>> {
        if self.dead <= self.len() + DEAD_ALLOWED {
            return None;
        }
        let mut numbers = Vec::with_capacity(self.entries.len());
        let mut next = 0;
        for entry in &self.entries {
            numbers.push(next);
            next += u32::from(!entry.posting.is_empty());
        }
        self.entries.retain(|entry| !entry.posting.is_empty());
        self.entries.shrink_to_fit();
        self.dead = 0;
        let entries = &self.entries;
        self.table = HashTable::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            self.table.insert_unique(hasher.hash_one(&*entry.word), number as u32, |number| {
                hasher.hash_one(&*entries[*number as usize].word)
            });
        }
        Some(numbers)
    }

    /// Keeps dense lists as bits too; see [`Posting::make_bits`].
    pub(crate) fn make_bits(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.posting.make_bits());
    }

    /// Replaces every slot by another; the order of slots must stay.
    pub(crate) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32) {
        self.entries.iter_mut().for_each(|entry| entry.posting.renumber(&new_slot));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_go_with_their_last_document_and_come_back_at_the_end() {
        let hasher = DefaultHashBuilder::default();
        let weight = Weight::default();
        let mut bundle = Bundle::default();
        for (word, slot) in [("a", 1), ("b", 1), ("a", 2)] {
            assert!(bundle.add(&hasher, word, slot, End::Back, &weight).is_some());
        }
        assert_eq!(bundle.add(&hasher, "a", 2, End::Back, &weight), None);
        assert!(!bundle.remove(&hasher, "a", 1, &weight));
        assert_eq!(bundle.find(hasher.hash_one("a"), "a").unwrap().weight(), Number::float(0.0));
        assert!(bundle.remove(&hasher, "a", 2, &weight));
        assert!(bundle.find(hasher.hash_one("a"), "a").is_none());
        bundle.add(&hasher, "a", 3, End::Back, &weight);
        assert_eq!(bundle.iter().map(Entry::word).collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn room_of_dead_words_is_given_back() {
        let hasher = DefaultHashBuilder::default();
        let weight = Weight::default();
        let mut bundle = Bundle::default();
        for number in 0..200 {
            bundle.add(&hasher, &number.to_string(), number, End::Back, &weight);
        }
        for number in 0..150 {
            bundle.remove(&hasher, &number.to_string(), number, &weight);
        }
        let numbers = bundle.compact(&hasher).unwrap();
        for number in 150..200_u32 {
            let word = number.to_string();
            assert_eq!(bundle.word(numbers[number as usize]), word);
            assert!(bundle.find(hasher.hash_one(word.as_str()), &word).is_some());
        }
        assert_eq!(bundle.len(), 50);
        assert!(bundle.compact(&hasher).is_none());
    }
}
