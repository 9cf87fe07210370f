//! The index of one category: its words, their parts, similar words, and how all follow changes.

use crate::bundle::{Bundle, Entry};
use crate::category::Category;
use crate::document::Field;
use crate::id::leading_float;
use crate::json;
use crate::limits::{MAX_FIELD_BYTES, MAX_FIELD_PARTS, MAX_WORD_CHARS};
use crate::number::Number;
use crate::posting::{End, Posting};
use crate::similarity::SimilarWords;
use crate::stem::Stemmer;
use crate::tokenizer::Tokenizer;
use crate::words::{Words, first_characters};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::borrow::Cow;
use std::hash::BuildHasher;

/// The words of a category and the documents that have them.
#[derive(Debug)]
pub(crate) struct WordsIndex {
    config: Category,
    /// The name of the category as JSON.
    name_json: Vec<u8>,
    tokenizer: Tokenizer,
    exact: Bundle,
    /// Nothing if partial words are answered by the whole words.
    partial: Option<Bundle>,
    similar: SimilarWords,
    /// The numbers of the words of each document, for removing it.
    words_of: HashMap<u32, Vec<u32>>,
    fixed: bool,
}

/// What a word is in a category: its weight, and its documents if there are any.
pub(crate) type Found<'a> = (Number, Option<&'a Posting>);

impl WordsIndex {
    pub(crate) fn new(config: Category, tokenizer: &Tokenizer, fixed: bool) -> WordsIndex {
        let mut name_json = Vec::new();
        json::write_string(&config.name, &mut name_json);
        WordsIndex {
            name_json,
            tokenizer: config.tokenizer.clone().unwrap_or_else(|| tokenizer.clone()),
            exact: Bundle::default(),
            partial: (!config.partial.is_none()).then(Bundle::default),
            similar: SimilarWords::new(config.similarity),
            words_of: HashMap::new(),
            config,
            fixed,
        }
    }

    pub(crate) fn config(&self) -> &Category {
        &self.config
    }

    pub(crate) fn name_json(&self) -> &[u8] {
        &self.name_json
    }

    pub(crate) fn stemmer(&self) -> Option<Stemmer> {
        self.tokenizer.stemmer()
    }

    pub(crate) fn similar(&self) -> &SimilarWords {
        &self.similar
    }

    /// The whole words, in the order in which they came.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Entry> {
        self.exact.iter()
    }

    /// The dictionary that answers for partial words, or for whole words.
    pub(crate) fn bundle(&self, partial: bool) -> &Bundle {
        match &self.partial {
            Some(bundle) if partial => bundle,
            _ => &self.exact,
        }
    }

    pub(crate) fn has_document(&self, slot: u32) -> bool {
        self.words_of.contains_key(&slot)
    }

    /// Looks a word up. Nothing if the category does not know it at all.
    pub(crate) fn find(
        &self,
        hasher: &DefaultHashBuilder,
        hash: u64,
        word: &str,
        partial: bool,
    ) -> Option<Found<'_>> {
        let entry = match &self.config.grid {
            Some(grid) => {
                let mut buffer = itoa::Buffer::new();
                let cell = buffer.format(grid.cell(leading_float(word)));
                self.exact.find(hasher.hash_one(cell), cell)
            }
            None => self.bundle(partial).find(hash, word),
        };
        match entry {
            Some(entry) => Some((entry.weight(), Some(entry.posting()))),
            None => Some((self.config.weight.of_unknown(word)?, None)),
        }
    }

    /// Adds what a document has in its field to its words.
    pub(crate) fn add(&mut self, hasher: &DefaultHashBuilder, slot: u32, field: &Field, end: End) {
        let mut parts = MAX_FIELD_PARTS;
        match field {
            Field::Words(words) => {
                for word in words {
                    self.add_word(hasher, slot, word, end, &mut parts);
                }
            }
            Field::Text(text) => {
                self.add_text(hasher, slot, text, end, &mut parts);
            }
            Field::Texts(texts) => {
                let mut left = MAX_FIELD_BYTES;
                for text in texts {
                    let text = &text[..text.floor_char_boundary(left)];
                    left -= text.len();
                    self.add_text(hasher, slot, text, end, &mut parts);
                }
            }
        }
    }

    fn add_text(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        text: &str,
        end: End,
        parts: &mut usize,
    ) {
        let text = &text[..text.floor_char_boundary(MAX_FIELD_BYTES)];
        let mut words = Words::default();
        self.tokenizer.split_into(text, &mut words);
        for word in words.iter() {
            self.add_word(hasher, slot, word, end, parts);
        }
    }

    fn add_word(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        word: &str,
        end: End,
        parts: &mut usize,
    ) {
        if let Some(grid) = self.config.grid {
            for cell in grid.cells(leading_float(word)) {
                self.add_stored(hasher, slot, itoa::Buffer::new().format(cell), end, parts);
            }
            return;
        }
        let word = first_characters(word, MAX_WORD_CHARS);
        let stored = match self.tokenizer.stemmer() {
            Some(stemmer) => stemmer.stem(word),
            None => Cow::Borrowed(word),
        };
        if !stored.is_empty() {
            self.add_stored(hasher, slot, &stored, end, parts);
        }
    }

    fn add_stored(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        word: &str,
        end: End,
        parts: &mut usize,
    ) {
        let Some(number) = self.exact.add(hasher, word, slot, end, &self.config.weight) else {
            return;
        };
        if !self.fixed {
            self.words_of.entry(slot).or_default().push(number);
        }
        self.similar.add(word);
        if let Some(bundle) = self.partial.as_mut().filter(|_| *parts > 0) {
            let weight = &self.config.weight;
            self.config.partial.each(word, &mut |part| {
                *parts = parts.saturating_sub(1);
                bundle.add(hasher, part, slot, end, weight);
            });
        }
    }

    /// Removes a document. With `whole_code`, the last document of a word takes all similar words
    /// of that word with it.
    pub(crate) fn remove(&mut self, hasher: &DefaultHashBuilder, slot: u32, whole_code: bool) {
        let weight = &self.config.weight;
        if self.fixed {
            let similar = &mut self.similar;
            self.exact.remove_everywhere(hasher, slot, weight, |word| {
                similar.remove(word, whole_code);
            });
            if let Some(bundle) = &mut self.partial {
                bundle.remove_everywhere(hasher, slot, weight, |_| {});
            }
        }
        for number in self.words_of.remove(&slot).unwrap_or_default() {
            let word: Box<str> = self.exact.word(number).into();
            if let Some(bundle) = &mut self.partial {
                self.config.partial.each(&word, &mut |part| {
                    bundle.remove(hasher, part, slot, weight);
                });
            }
            if self.exact.remove(hasher, &word, slot, weight) {
                self.similar.remove(&word, whole_code);
            }
        }
        if let Some(bundle) = &mut self.partial {
            bundle.compact(hasher);
        }
        if let Some(numbers) = self.exact.compact(hasher) {
            let kept = self.words_of.values_mut().flatten();
            kept.for_each(|number| *number = numbers[*number as usize]);
        }
    }

    pub(crate) fn make_bits(&mut self) {
        self.exact.make_bits();
        self.partial.iter_mut().for_each(Bundle::make_bits);
    }

    /// Replaces every slot by another; the order of slots must stay.
    pub(crate) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32 + Copy) {
        self.exact.renumber(new_slot);
        self.partial.iter_mut().for_each(|bundle| bundle.renumber(new_slot));
        let words_of = std::mem::take(&mut self.words_of);
        self.words_of = words_of.into_iter().map(|(slot, words)| (new_slot(slot), words)).collect();
    }
}
