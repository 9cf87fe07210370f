//! The index of one category: its words, their parts, similar words, and their updates.

use crate::collection::document::DocumentField;
use crate::collection::id::leading_float;
use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::format::json;
use crate::format::number::Score;
use crate::index::category::Category;
use crate::index::document_words::{DocumentWords, GAP, occurs};
use crate::index::posting_list::{ListEnd, PostingList};
use crate::index::similarity::SimilarWords;
use crate::index::word_table::{WordEntry, WordTable};
use crate::limits::{MAX_FIELD_BYTES, MAX_FIELD_PARTS, MAX_WORD_CHARS};
use crate::text::stemmer::Stemmer;
use crate::text::tokenizer::Tokenizer;
use crate::text::word_list::{WordList, first_characters};
use hashbrown::DefaultHashBuilder;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io;

/// The words of a category and the documents that have them.
#[derive(Clone, Debug)]
pub(crate) struct CategoryIndex {
    config: Category,
    /// The name of the category as JSON.
    name_json: Vec<u8>,
    tokenizer: Tokenizer,
    exact: WordTable,
    /// `None` if whole words answer partial words.
    partial: Option<WordTable>,
    similar: SimilarWords,
    /// The numbers of the words of each document, for removal. An index with phrases has every
    /// occurrence in its order, with gaps between texts.
    words_of: DocumentWords,
    fixed: bool,
    ordered: bool,
}

/// The match of a word in a category: its weight, and its documents if it has any.
pub(crate) type FoundWord<'a> = (Score, Option<&'a PostingList>);

impl CategoryIndex {
    pub(crate) fn new(
        config: Category,
        tokenizer: &Tokenizer,
        fixed: bool,
        ordered: bool,
    ) -> CategoryIndex {
        let mut name_json = Vec::new();
        json::write_string(&config.name, &mut name_json);
        CategoryIndex {
            name_json,
            tokenizer: config.tokenizer.clone().unwrap_or_else(|| tokenizer.clone()),
            exact: WordTable::default(),
            partial: (!config.partial.is_none()).then(WordTable::default),
            similar: SimilarWords::new(config.similarity),
            words_of: DocumentWords::default(),
            config,
            fixed,
            ordered,
        }
    }

    /// Whether [`words_of`](Self::words_of) has the words in their order.
    pub(crate) fn keeps_order(&self) -> bool {
        self.ordered
    }

    /// The numbers of the words of a document.
    pub(crate) fn words_of(&self, slot: u32) -> &[u32] {
        self.words_of.get(slot)
    }

    pub(crate) fn config(&self) -> &Category {
        &self.config
    }

    pub(crate) fn name_json(&self) -> &[u8] {
        &self.name_json
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    pub(crate) fn stemmer(&self) -> Option<Stemmer> {
        self.tokenizer.stemmer()
    }

    /// The form in which the category stores a word: cut to [`MAX_WORD_CHARS`], and stemmed.
    pub(crate) fn stored_form<'w>(&self, word: &'w str) -> Cow<'w, str> {
        let word = first_characters(word, MAX_WORD_CHARS);
        self.stemmer().map_or(Cow::Borrowed(word), |stemmer| stemmer.stem(word))
    }

    pub(crate) fn similar(&self) -> &SimilarWords {
        &self.similar
    }

    /// The whole words, in the order of their insertion.
    pub(crate) fn words(&self) -> impl Iterator<Item = WordEntry<'_>> {
        self.exact.iter()
    }

    /// The dictionary of partial words, or of whole words.
    pub(crate) fn word_table(&self, partial: bool) -> &WordTable {
        match &self.partial {
            Some(bundle) if partial => bundle,
            _ => &self.exact,
        }
    }

    pub(crate) fn has_document(&self, slot: u32) -> bool {
        self.words_of.contains(slot)
    }

    /// Looks up a word; `None` if it has no weight in the category.
    pub(crate) fn find(
        &self,
        hasher: &DefaultHashBuilder,
        hash: u64,
        word: &str,
        partial: bool,
    ) -> Option<FoundWord<'_>> {
        let entry = match &self.config.grid {
            Some(grid) => {
                let mut buffer = itoa::Buffer::new();
                let cell = buffer.format(grid.cell(leading_float(word)));
                self.exact.find(hasher.hash_one(cell), cell)
            }
            None => self.word_table(partial).find(hash, word),
        };
        match entry {
            Some(entry) => Some((entry.weight(), Some(entry.posting()))),
            None => Some((self.config.weight.of_unknown(word)?, None)),
        }
    }

    /// Indexes the field of a document.
    pub(crate) fn add(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        field: &DocumentField,
        end: ListEnd,
    ) {
        let mut parts = MAX_FIELD_PARTS;
        let known = self.words_of(slot).len();
        self.add_gap(slot);
        // An empty text can leave a gap behind, so that there is none to add.
        let start = self.words_of(slot).len();
        match field {
            DocumentField::Words(words) => {
                for word in words {
                    self.add_gap(slot);
                    self.add_word(hasher, slot, word, end, &mut parts);
                }
            }
            DocumentField::Text(text) => {
                self.add_text(hasher, slot, text, end, &mut parts);
            }
            DocumentField::Texts(texts) => {
                let mut left = MAX_FIELD_BYTES;
                for text in texts {
                    let text = &text[..text.floor_char_boundary(left)];
                    left -= text.len();
                    self.add_gap(slot);
                    self.add_text(hasher, slot, text, end, &mut parts);
                }
            }
        }
        // A repeated text adds nothing.
        if self.ordered && known > 0 {
            let words = self.words_of.get(slot);
            if occurs(&words[..known], &words[start..]) {
                self.words_of.truncate(slot, known);
            }
        }
    }

    /// Separates the words before from the words after, so that no phrase spans both.
    fn add_gap(&mut self, slot: u32) {
        if self.ordered && self.words_of.get(slot).last().is_some_and(|last| *last != GAP) {
            self.words_of.push(slot, GAP);
        }
    }

    fn add_text(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        text: &str,
        end: ListEnd,
        parts: &mut usize,
    ) {
        let text = &text[..text.floor_char_boundary(MAX_FIELD_BYTES)];
        let mut words = WordList::default();
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
        end: ListEnd,
        parts: &mut usize,
    ) {
        if let Some(grid) = self.config.grid {
            for cell in grid.cells(leading_float(word)) {
                self.add_stored(hasher, slot, itoa::Buffer::new().format(cell), end, parts);
            }
            return;
        }
        let stored = self.stored_form(word);
        if !stored.is_empty() {
            self.add_stored(hasher, slot, &stored, end, parts);
        }
    }

    fn add_stored(
        &mut self,
        hasher: &DefaultHashBuilder,
        slot: u32,
        word: &str,
        end: ListEnd,
        parts: &mut usize,
    ) {
        let added = self.exact.add(hasher, word, slot, end, &self.config.weight);
        if self.ordered
            && let Some(number) = added.or_else(|| self.exact.number(hasher.hash_one(word), word))
        {
            self.words_of.push(slot, number);
        }
        let Some(number) = added else {
            return;
        };
        if !self.fixed && !self.ordered {
            self.words_of.push(slot, number);
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

    /// Removes a document. With `whole_code`, the last document of a word also removes all words
    /// that sound like it.
    pub(crate) fn remove(&mut self, hasher: &DefaultHashBuilder, slot: u32, whole_code: bool) {
        let weight = &self.config.weight;
        if self.fixed && !self.ordered {
            let similar = &mut self.similar;
            self.exact.remove_everywhere(hasher, slot, weight, |word| {
                similar.remove(word, whole_code);
            });
            if let Some(bundle) = &mut self.partial {
                bundle.remove_everywhere(hasher, slot, weight, |_| {});
            }
        }
        let mut numbers = self.words_of.remove(slot);
        if self.ordered {
            numbers.sort_unstable();
            numbers.dedup();
            numbers.pop_if(|last| *last == GAP);
        }
        for number in numbers {
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
            self.renumber_words(&numbers);
        }
    }

    pub(crate) fn make_bits(&mut self) {
        self.exact.make_bits();
        self.partial.iter_mut().for_each(WordTable::make_bits);
    }

    /// Replaces every slot by another in the same order.
    pub(crate) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32 + Copy) {
        self.exact.renumber(new_slot);
        self.partial.iter_mut().for_each(|bundle| bundle.renumber(new_slot));
        self.words_of.rearrange(new_slot, |number| number);
    }

    /// Renumbers the words of documents.
    fn renumber_words(&mut self, numbers: &[u32]) {
        let new = |number| if number == GAP { GAP } else { numbers[number as usize] };
        self.words_of.rearrange(|slot| slot, new);
    }

    /// Releases unused memory, which [`write`](Self::write) requires.
    pub(crate) fn compact(&mut self, hasher: &DefaultHashBuilder) {
        let numbers = self.exact.compact_now(hasher);
        self.renumber_words(&numbers);
        if let Some(bundle) = &mut self.partial {
            bundle.compact_now(hasher);
        }
    }

    /// Writes the category. The slots must have no gaps.
    pub(crate) fn write(
        &self,
        first: u32,
        count: u32,
        out: &mut SectionWriter<'_>,
    ) -> io::Result<()> {
        self.exact.write(out)?;
        out.u32(u32::from(self.partial.is_some()))?;
        if let Some(bundle) = &self.partial {
            bundle.write(out)?;
        }
        self.similar.write(out)?;
        self.words_of.write(first, count, out)
    }

    /// Reads the output of [`write`](Self::write).
    pub(crate) fn read(
        &mut self,
        input: &mut SectionReader<'_>,
        hasher: &DefaultHashBuilder,
        first: u32,
        count: u32,
    ) -> Result<(), DamagedFile> {
        let weight = &self.config.weight;
        let documents = first..first.checked_add(count).ok_or(DamagedFile)?;
        self.exact = WordTable::read(input, hasher, weight, documents.clone())?;
        let partial = input.u32()? == 1;
        if partial != self.partial.is_some() {
            return Err(DamagedFile);
        }
        if partial {
            self.partial = Some(WordTable::read(input, hasher, weight, documents)?);
        }
        self.similar.read(input)?;
        self.words_of = DocumentWords::read(input, first, count, self.exact.len())?;
        if input.is_empty() { Ok(()) } else { Err(DamagedFile) }
    }
}
