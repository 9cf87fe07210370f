//! The search index: documents by category, filled at once or updated as documents change.

use crate::collection::document::Document;
use crate::collection::document_slots::DocumentSlots;
use crate::collection::id::{Id, KeyFormat};
use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::error::ConfigError;
use crate::index::attributes::{Attribute, AttributeColumns};
use crate::index::category::Category;
use crate::index::category_index::CategoryIndex;
use crate::index::posting_list::ListEnd;
use crate::limits::{MAX_ATTRIBUTES, MAX_CATEGORIES, MAX_DOCUMENTS};
use crate::text::tokenizer::Tokenizer;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;
use std::io;

/// Corrected behaviour, or the faults of the original engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Corrected: with `unique` every document is shown and counted once and every offset shows its
    /// page; removing a word keeps the words that sound like it.
    #[default]
    Corrected,
    /// Exactly the original: `unique` leaves out only documents already shown and large offsets
    /// show the first page; removing the last document of a word hides all words of the same sound
    /// from `~` until they are added again.
    Original,
}

/// The configuration of an index.
#[derive(Clone, Debug)]
pub struct IndexConfig {
    name: String,
    identifier: Option<String>,
    key_format: KeyFormat,
    tokenizer: Tokenizer,
    categories: Vec<Category>,
    attributes: Vec<Attribute>,
    fixed: bool,
    phrases: bool,
    fidelity: Fidelity,
}

impl IndexConfig {
    /// An index of this name without categories.
    pub fn new(name: impl Into<String>) -> IndexConfig {
        IndexConfig {
            name: name.into(),
            identifier: None,
            key_format: KeyFormat::default(),
            tokenizer: Tokenizer::new(),
            categories: Vec::new(),
            attributes: Vec::new(),
            fixed: false,
            phrases: false,
            fidelity: Fidelity::default(),
        }
    }

    /// The identifier of the index in answers, instead of its name.
    pub fn identifier(mut self, identifier: impl Into<String>) -> IndexConfig {
        self.identifier = Some(identifier.into());
        self
    }

    /// The format of document identifiers; integers by default.
    pub fn key_format(mut self, format: KeyFormat) -> IndexConfig {
        self.key_format = format;
        self
    }

    /// The tokenizer of categories without their own.
    pub fn tokenizer(mut self, tokenizer: Tokenizer) -> IndexConfig {
        self.tokenizer = tokenizer;
        self
    }

    /// Adds a category. Interpretations are formed in the order of the categories.
    pub fn category(mut self, category: Category) -> IndexConfig {
        self.categories.push(category);
        self
    }

    /// Adds an attribute, for filters and sorting.
    pub fn attribute(mut self, attribute: Attribute) -> IndexConfig {
        self.attributes.push(attribute);
        self
    }

    /// The format of document identifiers.
    pub(crate) fn format(&self) -> KeyFormat {
        self.key_format
    }

    /// Saves the memory that makes removals fast. Removals still work, slowly.
    pub fn fixed(mut self, fixed: bool) -> IndexConfig {
        self.fixed = fixed;
        self
    }

    /// Stores the order of words, four bytes for each, to find phrases: see
    /// [`SearchConfig::phrases`](crate::SearchConfig::phrases).
    pub fn phrases(mut self, phrases: bool) -> IndexConfig {
        self.phrases = phrases;
        self
    }

    /// Chooses between corrected behaviour and the faults of the original.
    pub fn fidelity(mut self, fidelity: Fidelity) -> IndexConfig {
        self.fidelity = fidelity;
        self
    }
}

/// An index of documents.
///
/// Answers show documents in the order of the index: [`append`](SearchIndex::append) adds a
/// document at the end, [`add`](SearchIndex::add) at the start.
#[derive(Clone, Debug)]
pub struct SearchIndex {
    name: String,
    identifier: String,
    key_format: KeyFormat,
    fidelity: Fidelity,
    hasher: DefaultHashBuilder,
    categories: Vec<CategoryIndex>,
    qualifiers: HashMap<String, u8>,
    documents: DocumentSlots,
    columns: AttributeColumns,
}

impl SearchIndex {
    /// An empty index.
    ///
    /// # Errors
    /// No categories, too many, or two of the same name; too many attributes, or two of the same
    /// name.
    pub fn new(config: IndexConfig) -> Result<SearchIndex, ConfigError> {
        let name = config.name;
        if config.categories.is_empty() {
            return Err(ConfigError::new(format!(
                "the index {name} has no categories; give it at least one"
            )));
        }
        if config.categories.len() > MAX_CATEGORIES {
            return Err(ConfigError::new(format!(
                "the index {name} must have at most {MAX_CATEGORIES} categories (got {})",
                config.categories.len()
            )));
        }
        check_attributes(&name, &config.attributes)?;
        let mut qualifiers = HashMap::new();
        for (number, category) in config.categories.iter().enumerate() {
            if config.categories[..number].iter().any(|other| other.name == category.name) {
                return Err(ConfigError::new(format!(
                    "the index {name} has two categories {}; rename one of them",
                    category.name
                )));
            }
            if category.qualifiers.is_empty() {
                qualifiers.insert(category.name.clone(), number as u8);
            }
            for qualifier in &category.qualifiers {
                qualifiers.insert(qualifier.clone(), number as u8);
            }
        }
        let new = |category| {
            CategoryIndex::new(category, &config.tokenizer, config.fixed, config.phrases)
        };
        Ok(SearchIndex {
            identifier: config.identifier.unwrap_or_else(|| name.clone()),
            name,
            key_format: config.key_format,
            fidelity: config.fidelity,
            hasher: DefaultHashBuilder::default(),
            categories: config.categories.into_iter().map(new).collect(),
            qualifiers,
            documents: DocumentSlots::new(config.key_format),
            columns: AttributeColumns::new(config.attributes),
        })
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identifier of the index in answers.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.len() == 0
    }

    /// Whether the index has a document of this identifier.
    pub fn contains(&self, id: impl Into<Id>) -> bool {
        self.documents.slot(&self.key_format.apply(id.into())).is_some()
    }

    /// At most `limit` identifiers in the order of the index, after the first `skip`.
    pub fn ids(&self, skip: usize, limit: usize) -> Vec<Id> {
        self.documents.iter().skip(skip).take(limit).collect()
    }

    /// The names of the categories, in their order.
    pub fn category_names(&self) -> impl Iterator<Item = &str> {
        self.categories.iter().map(|category| category.config().name.as_str())
    }

    /// Appends many documents, to fill an index from its source.
    pub fn load(&mut self, documents: impl IntoIterator<Item = Document>) {
        documents.into_iter().for_each(|document| self.append(&document));
        self.categories.iter_mut().for_each(CategoryIndex::make_bits);
    }

    /// Adds a document at the start.
    ///
    /// A document whose identifier the index has stays in its place: new words are added to it,
    /// none is removed. [`replace`](Self::replace) changes a document. A full index
    /// ([`MAX_DOCUMENTS`]) ignores new documents.
    pub fn add(&mut self, document: &Document) {
        self.insert(document, ListEnd::Front);
    }

    /// Adds a document at the end; otherwise like [`add`](Self::add).
    pub fn append(&mut self, document: &Document) {
        self.insert(document, ListEnd::Back);
    }

    /// Removes the document and adds it at the start.
    pub fn replace(&mut self, document: &Document) {
        self.remove(document.id().clone());
        self.add(document);
    }

    /// Replaces the categories whose fields the document has and keeps the others. The document
    /// moves to the start in the replaced ones.
    pub fn replace_from(&mut self, document: &Document) {
        let id = self.key_format.apply(document.id().clone());
        let Some(slot) = self.documents.slot(&id) else {
            return self.add(document);
        };
        let kept = |category: &CategoryIndex| {
            document.field(category.config().field()).is_none() && category.has_document(slot)
        };
        if !self.categories.iter().any(kept) {
            return self.replace(document);
        }
        self.columns.set(slot, document);
        let whole_code = self.fidelity == Fidelity::Original;
        for category in &mut self.categories {
            if let Some(field) = document.field(category.config().field()) {
                category.remove(&self.hasher, slot, whole_code);
                category.add(&self.hasher, slot, field, ListEnd::Front);
            }
        }
    }

    /// Removes a document and returns whether the index had it.
    pub fn remove(&mut self, id: impl Into<Id>) -> bool {
        let id = self.key_format.apply(id.into());
        let Some(slot) = self.documents.remove(&id) else {
            return false;
        };
        self.columns.clear(slot);
        let whole_code = self.fidelity == Fidelity::Original;
        for category in &mut self.categories {
            category.remove(&self.hasher, slot, whole_code);
        }
        if self.documents.is_sparse() {
            self.renumber();
        }
        true
    }

    /// The values of a category with the number of documents of each, in the order of insertion,
    /// with at least `at_least` documents. Empty for an unknown category.
    pub fn facets(&self, category: &str, at_least: usize) -> Vec<(String, usize)> {
        let Some(number) = self.category_number(category) else {
            return Vec::new();
        };
        self.categories[usize::from(number)]
            .words()
            .map(|entry| (entry.word().to_owned(), entry.posting().len()))
            .filter(|(_, count)| *count >= at_least)
            .collect()
    }

    fn insert(&mut self, document: &Document, end: ListEnd) {
        let id = self.key_format.apply(document.id().clone());
        let slot = match self.documents.slot(&id) {
            Some(slot) => slot,
            None if self.documents.len() >= MAX_DOCUMENTS => return,
            None => {
                // Slots drift in one direction when documents are replaced repeatedly.
                if self.documents.is_exhausted() {
                    self.renumber();
                }
                self.documents.insert(id, end)
            }
        };
        self.columns.set(slot, document);
        for category in &mut self.categories {
            if let Some(field) = document.field(category.config().field()) {
                category.add(&self.hasher, slot, field, end);
            }
        }
    }

    /// Moves the documents to slots without gaps, in the same order.
    fn renumber(&mut self) {
        let renumbering = self.documents.renumber();
        let new_slot = |slot| renumbering.new_slot(slot);
        self.columns.renumber(new_slot);
        self.categories.iter_mut().for_each(|category| category.renumber(new_slot));
    }

    pub(crate) fn categories(&self) -> &[CategoryIndex] {
        &self.categories
    }

    pub(crate) fn hasher(&self) -> &DefaultHashBuilder {
        &self.hasher
    }

    pub(crate) fn hash(&self, word: &str) -> u64 {
        self.hasher.hash_one(word)
    }

    /// The category of a qualifier.
    pub(crate) fn qualified(&self, qualifier: &str) -> Option<u8> {
        self.qualifiers.get(qualifier).copied()
    }

    pub(crate) fn category_number(&self, name: &str) -> Option<u8> {
        let found = self.category_names().position(|known| known == name)?;
        u8::try_from(found).ok()
    }

    pub(crate) fn documents(&self) -> &DocumentSlots {
        &self.documents
    }

    pub(crate) fn documents_mut(&mut self) -> &mut DocumentSlots {
        &mut self.documents
    }

    /// Adds bit sets to the dense lists of a category, as [`load`](Self::load) does in the end.
    /// Returns whether there is such a category.
    pub(crate) fn make_bits(&mut self, category: usize) -> bool {
        let category = self.categories.get_mut(category);
        category.map(CategoryIndex::make_bits).is_some()
    }

    /// Releases unused memory, which [`write_section`](Self::write_section) requires.
    pub(crate) fn compact(&mut self) {
        self.renumber();
        self.categories.iter_mut().for_each(|category| category.compact(&self.hasher));
    }

    /// The number of sections in a file: the attributes, then the categories.
    pub(crate) fn sections(&self) -> usize {
        1 + self.categories.len()
    }

    /// Writes a section. [`compact`](Self::compact) must come first.
    pub(crate) fn write_section(
        &self,
        number: usize,
        out: &mut SectionWriter<'_>,
    ) -> io::Result<()> {
        match number.checked_sub(1).and_then(|number| self.categories.get(number)) {
            Some(category) => category.write(self.documents.first_slot(), self.len() as u32, out),
            None => self.columns.write(out),
        }
    }

    /// Reads a section after the documents, the output of [`write_section`](Self::write_section).
    pub(crate) fn read_section(
        &mut self,
        number: usize,
        input: &mut SectionReader<'_>,
    ) -> Result<(), DamagedFile> {
        let (first, count) = (self.documents.first_slot(), self.documents.len() as u32);
        match number.checked_sub(1).and_then(|number| self.categories.get_mut(number)) {
            Some(category) => category.read(input, &self.hasher, first, count),
            None => self.columns.read(input, first, count),
        }
    }

    pub(crate) fn columns(&self) -> &AttributeColumns {
        &self.columns
    }
}

fn check_attributes(index: &str, attributes: &[Attribute]) -> Result<(), ConfigError> {
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(ConfigError::new(format!(
            "the index {index} must have at most {MAX_ATTRIBUTES} attributes (got {})",
            attributes.len()
        )));
    }
    for (number, attribute) in attributes.iter().enumerate() {
        if attributes[..number].iter().any(|other| other.name() == attribute.name()) {
            return Err(ConfigError::new(format!(
                "the index {index} has two attributes {}; rename one of them",
                attribute.name()
            )));
        }
    }
    Ok(())
}
