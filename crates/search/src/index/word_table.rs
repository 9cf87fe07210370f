//! The dictionary of a category: its words, or parts of words, with their posting lists.

use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::format::number::Score;
use crate::index::posting_list::{ListEnd, PostingList};
use crate::index::weight::Weight;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::io;
use std::ops::Range;

/// Compaction starts when dead entries exceed live ones by this many.
const DEAD_ALLOWED: usize = 64;

/// Most bytes of all words of a dictionary; further words are ignored.
const MAX_TEXT: usize = u32::MAX as usize;

/// Most bytes of one word; the rest is cut. No word reaches it.
const MAX_WORD: usize = u16::MAX as usize;

/// A word with its weight and its documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordEntry<'a> {
    word: &'a str,
    weight: Score,
    posting: &'a PostingList,
}

impl<'a> WordEntry<'a> {
    pub(crate) fn word(&self) -> &'a str {
        self.word
    }

    pub(crate) fn weight(&self) -> Score {
        self.weight
    }

    pub(crate) fn posting(&self) -> &'a PostingList {
        self.posting
    }
}

/// A stored entry, 32 bytes: there are several for each document.
#[derive(Clone, Debug)]
struct StoredWord {
    /// The start of the word in the text, and its length.
    start: u32,
    length: u16,
    /// The weight; see [`Score`].
    integral: bool,
    weight: f64,
    posting: PostingList,
}

impl StoredWord {
    fn word<'a>(&self, text: &'a str) -> &'a str {
        let start = self.start as usize;
        &text[start..start + usize::from(self.length)]
    }

    fn set_weight(&mut self, weight: Score) {
        self.integral = weight.is_integer();
        self.weight = weight.value();
    }

    fn entry<'a>(&'a self, text: &'a str) -> WordEntry<'a> {
        let weight = match self.integral {
            true => Score::integer(self.weight as i64),
            false => Score::float(self.weight),
        };
        WordEntry { word: self.word(text), weight, posting: &self.posting }
    }
}

/// A dictionary that numbers words in the order of insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordTable {
    table: HashTable<u32>,
    /// An entry without documents is dead: it is not in the table, and iteration skips it.
    entries: Vec<StoredWord>,
    /// All words, concatenated.
    text: String,
    dead: usize,
}

impl WordTable {
    pub(crate) fn find(&self, hash: u64, word: &str) -> Option<WordEntry<'_>> {
        let WordTable { table, entries, text, .. } = self;
        let found = table.find(hash, |number| entries[*number as usize].word(text) == word);
        found.map(|number| entries[*number as usize].entry(text))
    }

    /// The number of a word.
    pub(crate) fn number(&self, hash: u64, word: &str) -> Option<u32> {
        let WordTable { table, entries, text, .. } = self;
        table.find(hash, |number| entries[*number as usize].word(text) == word).copied()
    }

    /// The live entries, in the order of insertion.
    pub(crate) fn iter(&self) -> impl Iterator<Item = WordEntry<'_>> {
        self.of_words(|_| true)
    }

    /// The live entries of selected words. Posting lists, which are elsewhere in memory, are read
    /// only for these.
    pub(crate) fn of_words(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = WordEntry<'_>> {
        let found = self.entries.iter().filter(move |entry| wanted(entry.word(&self.text)));
        found.filter(|entry| !entry.posting.is_empty()).map(|entry| entry.entry(&self.text))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.dead
    }

    pub(crate) fn word(&self, number: u32) -> &str {
        self.entries[number as usize].word(&self.text)
    }

    /// Adds a document to a word. Returns the number of the word if its list did not have the
    /// document.
    pub(crate) fn add(
        &mut self,
        hasher: &DefaultHashBuilder,
        word: &str,
        slot: u32,
        end: ListEnd,
        weight: &Weight,
    ) -> Option<u32> {
        let word = &word[..word.floor_char_boundary(MAX_WORD)];
        let hash = hasher.hash_one(word);
        let WordTable { table, entries, text, .. } = self;
        let found = table.find(hash, |number| entries[*number as usize].word(text) == word);
        let number = match found {
            Some(number) => *number,
            None if text.len() + word.len() > MAX_TEXT => return None,
            None => {
                let number = entries.len() as u32;
                let start = text.len() as u32;
                text.push_str(word);
                entries.push(StoredWord {
                    start,
                    length: word.len() as u16,
                    integral: true,
                    weight: 0.0,
                    posting: PostingList::default(),
                });
                table.insert_unique(hash, number, |number| {
                    hasher.hash_one(entries[*number as usize].word(text))
                });
                number
            }
        };
        let entry = &mut entries[number as usize];
        if !entry.posting.add(slot, end) {
            return None;
        }
        entry.set_weight(weight.weigh(entry.word(text), entry.posting.len()));
        Some(number)
    }

    /// Removes a document from a word, and the word with its last document. Returns whether the
    /// word was removed.
    pub(crate) fn remove(
        &mut self,
        hasher: &DefaultHashBuilder,
        word: &str,
        slot: u32,
        weight: &Weight,
    ) -> bool {
        let hash = hasher.hash_one(word);
        let WordTable { table, entries, text, .. } = self;
        let Ok(place) =
            table.find_entry(hash, |number| entries[*number as usize].word(text) == word)
        else {
            return false;
        };
        let entry = &mut entries[*place.get() as usize];
        entry.posting.remove(slot);
        if !entry.posting.is_empty() {
            entry.set_weight(weight.weigh(entry.word(text), entry.posting.len()));
            return false;
        }
        place.remove();
        self.dead += 1;
        true
    }

    /// Removes a document from all words and calls `gone` with every removed word. Slow: it scans
    /// all words.
    pub(crate) fn remove_everywhere(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        weight: &Weight,
        mut gone: impl FnMut(&str),
    ) {
        let having = self.iter().filter(|entry| entry.posting.contains(slot));
        let words: Vec<Box<str>> = having.map(|entry| entry.word.into()).collect();
        for word in words {
            if self.remove(hasher, &word, slot, weight) {
                gone(&word);
            }
        }
    }

    /// Compacts the table if most entries are dead. Returns the new number of each old one; the
    /// numbers of dead entries mean nothing.
    pub(crate) fn compact(&mut self, hasher: &DefaultHashBuilder) -> Option<Vec<u32>> {
        (self.dead > self.len() + DEAD_ALLOWED).then(|| self.compact_now(hasher))
    }

    /// Compacts the table unconditionally.
    pub(crate) fn compact_now(&mut self, hasher: &DefaultHashBuilder) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.entries.len());
        let mut next = 0;
        let mut text = String::new();
        for entry in &mut self.entries {
            numbers.push(next);
            if !entry.posting.is_empty() {
                next += 1;
                let start = text.len() as u32;
                text.push_str(entry.word(&self.text));
                entry.start = start;
            }
        }
        self.text = text;
        self.entries.retain(|entry| !entry.posting.is_empty());
        self.entries.shrink_to_fit();
        self.dead = 0;
        self.fill_table(hasher);
        numbers
    }

    fn fill_table(&mut self, hasher: &DefaultHashBuilder) {
        let WordTable { table, entries, text, .. } = self;
        *table = HashTable::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            table.insert_unique(hasher.hash_one(entry.word(text)), number as u32, |number| {
                hasher.hash_one(entries[*number as usize].word(text))
            });
        }
    }

    /// Writes the words with their documents. There must be no dead entries.
    pub(crate) fn write(&self, out: &mut SectionWriter<'_>) -> io::Result<()> {
        out.u64(self.entries.len() as u64)?;
        out.u64(self.text.len() as u64)?;
        out.u32s(self.entries.iter().map(|entry| u32::from(entry.length)))?;
        out.u32s(self.entries.iter().map(|entry| entry.posting.len() as u32))?;
        for entry in &self.entries {
            out.bytes(entry.word(&self.text).as_bytes())?;
        }
        for entry in &self.entries {
            out.u32s(entry.posting.iter())?;
        }
        Ok(())
    }

    /// Reads the output of [`write`](Self::write).
    pub(crate) fn read(
        input: &mut SectionReader<'_>,
        hasher: &DefaultHashBuilder,
        weight: &Weight,
        documents: Range<u32>,
    ) -> Result<WordTable, DamagedFile> {
        let count = input.count(8)?;
        let bytes = input.count(1)?;
        let mut lengths = input.u32s(count)?;
        let mut counts = input.u32s(count)?;
        let text = std::str::from_utf8(input.take(bytes)?).map_err(|_| DamagedFile)?.to_owned();
        let mut entries = Vec::with_capacity(count);
        let mut start = 0;
        while let (Some(length), Some(count)) = (lengths.next(), counts.next()) {
            let slots = input.u32s(count as usize)?;
            let end = start + length as usize;
            let word = text.get(start..end).ok_or(DamagedFile)?;
            let slots: Vec<u32> = slots.collect();
            if !slots.iter().all(|slot| documents.contains(slot)) {
                return Err(DamagedFile);
            }
            let posting = PostingList::stored(slots);
            let mut entry = StoredWord {
                start: u32::try_from(start).map_err(|_| DamagedFile)?,
                length: u16::try_from(length).map_err(|_| DamagedFile)?,
                integral: true,
                weight: 0.0,
                posting,
            };
            if entry.posting.is_empty() {
                return Err(DamagedFile);
            }
            entry.set_weight(weight.weigh(word, count as usize));
            entries.push(entry);
            start = end;
        }
        let mut bundle = WordTable { entries, text, ..WordTable::default() };
        bundle.fill_table(hasher);
        Ok(bundle)
    }

    /// Adds bit sets to dense lists; see [`PostingList::make_bits`].
    pub(crate) fn make_bits(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.posting.make_bits());
    }

    /// Replaces every slot by another in the same order.
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
        let mut bundle = WordTable::default();
        for (word, slot) in [("a", 1), ("b", 1), ("a", 2)] {
            assert!(bundle.add(&hasher, word, slot, ListEnd::Back, &weight).is_some());
        }
        assert_eq!(bundle.add(&hasher, "a", 2, ListEnd::Back, &weight), None);
        assert!(!bundle.remove(&hasher, "a", 1, &weight));
        assert_eq!(bundle.find(hasher.hash_one("a"), "a").unwrap().weight(), Score::float(0.0));
        assert!(bundle.remove(&hasher, "a", 2, &weight));
        assert!(bundle.find(hasher.hash_one("a"), "a").is_none());
        bundle.add(&hasher, "a", 3, ListEnd::Back, &weight);
        assert_eq!(bundle.iter().map(|entry| entry.word()).collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn room_of_dead_words_is_given_back() {
        let hasher = DefaultHashBuilder::default();
        let weight = Weight::default();
        let mut bundle = WordTable::default();
        for number in 0..200 {
            bundle.add(&hasher, &number.to_string(), number, ListEnd::Back, &weight);
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
