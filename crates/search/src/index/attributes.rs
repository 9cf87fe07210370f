//! Attributes: typed values of documents, for filters and sorting.
//!
//! Categories hold the words that find a document, attributes its properties: a year, a price,
//! whether it is available. Each attribute is a column with one value for each slot. Numbers and
//! dates take eight bytes for each document, texts and booleans four; each distinct text is stored
//! once.

use crate::collection::document::{Document, DocumentField};
use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::index::distinct_texts::DistinctTexts;
use crate::index::posting_list::{ListEnd, PostingList};
use crate::index::slot_bits::SlotBits;
use crate::limits::MAX_ATTRIBUTE_CHARS;
use crate::query::filter::SearchFilter;
use crate::text::word_list::first_characters;
use runnel_text::moment::parse_iso8601;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The value of a column of numbers for a document without a value. It sorts last.
pub(crate) const NO_NUMBER: u64 = u64::MAX;

/// The same value in a column of texts or booleans.
pub(crate) const NO_CODE: u32 = u32::MAX;

/// The capacity of the cache of filter results.
const FILTERS_KEPT: usize = 4;

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// Whole numbers of 64 bits.
    Integer,
    /// Floating-point numbers of 64 bits.
    Float,
    /// Texts. A document with several passes a filter if one of them does, and sorts by the first.
    /// Characters after [`MAX_ATTRIBUTE_CHARS`] are dropped.
    Text,
    /// True or false.
    Boolean,
    /// Points in time, to the microsecond: `1990`, `1990-05`, `1990-05-17`, `1990-05-17T10:30:00Z`,
    /// `1990-05-17T10:30:00.5+02:00`. Missing parts are the first possible ones, a missing zone is
    /// UTC.
    Date,
}

impl AttributeType {
    /// The type of a name: `integer`, `float` (also `decimal` and `number`), `text`, `boolean`,
    /// `date`.
    pub fn named(name: &str) -> Option<AttributeType> {
        Some(match name {
            "integer" => AttributeType::Integer,
            "float" | "decimal" | "number" => AttributeType::Float,
            "text" => AttributeType::Text,
            "boolean" => AttributeType::Boolean,
            "date" => AttributeType::Date,
            _ => return None,
        })
    }

    /// The name of a value of this type in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            AttributeType::Integer => "an integer like 1990",
            AttributeType::Float => "a number like 9.5",
            AttributeType::Text => "a text like 'Penguin'",
            AttributeType::Boolean => "true or false",
            AttributeType::Date => "a date like 1990-05-17",
        }
    }

    /// The sort key of a text as a value of this type; `None` if it is not one.
    pub(crate) fn number(self, text: &str) -> Option<u64> {
        let text = text.trim();
        let key = match self {
            AttributeType::Integer => integer_key(parse_integer(text)?),
            AttributeType::Float => float_key(text.parse().ok()?)?,
            AttributeType::Date => integer_key(parse_iso8601(text)?),
            AttributeType::Text | AttributeType::Boolean => return None,
        };
        Some(key.min(NO_NUMBER - 1))
    }
}

/// Accepts `3.0` and `3e2` as integers too.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        let exact = number.fract() == 0.0 && number.abs() < 9e15;
        exact.then_some(number as i64)
    })
}

/// Maps integers to unsigned numbers in the same order.
fn integer_key(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// Maps floating-point numbers to integers in the same order; `None` for NaN.
fn float_key(number: f64) -> Option<u64> {
    // Positive and negative zero are equal.
    let bits = (number + 0.0).to_bits();
    let key = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    (!number.is_nan()).then_some(key)
}

/// The inverse of [`float_key`].
pub(crate) fn float_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// An attribute: its name, its field, and the type of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    name: String,
    from: Option<String>,
    kind: AttributeType,
}

impl Attribute {
    /// An attribute of the field of this name. A value of another type counts as missing.
    pub fn new(name: impl Into<String>, kind: AttributeType) -> Attribute {
        Attribute { name: name.into(), from: None, kind }
    }

    /// Uses the values of another field.
    pub fn from(mut self, field: impl Into<String>) -> Attribute {
        self.from = Some(field.into());
        self
    }

    /// The name in filters and orders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the values.
    pub fn kind(&self) -> AttributeType {
        self.kind
    }

    fn field(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.name)
    }
}

/// The values of one attribute, one for each slot.
#[derive(Clone, Debug)]
pub(crate) enum AttributeColumn {
    /// Sort keys of integers, floating-point numbers and dates, see [`AttributeType::number`].
    Numbers(VecDeque<u64>),
    /// Codes of texts in the dictionary; 0 and 1 for booleans, without a dictionary.
    Codes(VecDeque<u32>, DistinctTexts),
}

impl AttributeColumn {
    fn new(kind: AttributeType) -> AttributeColumn {
        match kind {
            AttributeType::Text | AttributeType::Boolean => {
                AttributeColumn::Codes(VecDeque::new(), DistinctTexts::default())
            }
            _ => AttributeColumn::Numbers(VecDeque::new()),
        }
    }

    fn push(&mut self, end: ListEnd) {
        match self {
            AttributeColumn::Numbers(numbers) => end.push(numbers, NO_NUMBER),
            AttributeColumn::Codes(codes, _) => end.push(codes, NO_CODE),
        }
    }

    fn clear(&mut self, place: usize) {
        match self {
            AttributeColumn::Numbers(numbers) => numbers[place] = NO_NUMBER,
            AttributeColumn::Codes(codes, _) => codes[place] = NO_CODE,
        }
    }

    fn set(&mut self, place: usize, kind: AttributeType, field: &DocumentField) {
        match self {
            AttributeColumn::Numbers(numbers) => {
                let number = values(field).next().and_then(|text| kind.number(text));
                numbers[place] = number.unwrap_or(NO_NUMBER);
            }
            AttributeColumn::Codes(codes, _) if kind == AttributeType::Boolean => {
                codes[place] = match values(field).next().map(str::trim) {
                    Some("true") => 1,
                    Some("false") => 0,
                    _ => NO_CODE,
                };
            }
            AttributeColumn::Codes(codes, texts) => {
                let mut all = String::new();
                for (number, text) in values(field).enumerate() {
                    if number > 0 {
                        all.push(DistinctTexts::BETWEEN);
                    }
                    all.extend(
                        text.chars().filter(|character| *character != DistinctTexts::BETWEEN),
                    );
                }
                let all = first_characters(&all, MAX_ATTRIBUTE_CHARS);
                codes[place] = if all.is_empty() { NO_CODE } else { texts.number_of(all) };
            }
        }
    }
}

fn values(field: &DocumentField) -> impl Iterator<Item = &str> {
    let (text, words) = match field {
        DocumentField::Text(text) => (Some(text), &[][..]),
        DocumentField::Texts(words) | DocumentField::Words(words) => (None, &words[..]),
    };
    text.into_iter().chain(words).map(String::as_str)
}

/// The columns of an index, and the set of used slots.
#[derive(Debug, Default)]
pub(crate) struct AttributeColumns {
    attributes: Vec<Attribute>,
    columns: Vec<AttributeColumn>,
    /// The slot of the first value.
    base: u32,
    width: usize,
    live: SlotBits,
    /// The documents that pass recent filters, valid until the next write: a filter stays the same
    /// while people type and turn pages.
    passed: Mutex<Vec<(SearchFilter, Arc<PostingList>)>>,
}

impl AttributeColumns {
    pub(crate) fn new(attributes: Vec<Attribute>) -> AttributeColumns {
        let columns =
            attributes.iter().map(|attribute| AttributeColumn::new(attribute.kind)).collect();
        AttributeColumns { attributes, columns, ..AttributeColumns::default() }
    }

    pub(crate) fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attribute of a name with its column.
    pub(crate) fn named(&self, name: &str) -> Option<(&Attribute, &AttributeColumn)> {
        let number = self.attributes.iter().position(|attribute| attribute.name == name)?;
        Some((&self.attributes[number], &self.columns[number]))
    }

    /// The slot of the first value of each column.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// The number of values in each column.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The slots of the existing documents, in order.
    pub(crate) fn live_slots(&self) -> Vec<u32> {
        let mut slots = Vec::new();
        SlotBits::each_shared(&[&self.live], 0, usize::MAX, |slot| slots.push(slot));
        slots
    }

    /// The cached documents of a filter.
    pub(crate) fn passed(&self, filter: &SearchFilter) -> Option<Arc<PostingList>> {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.iter().find(|(known, _)| known == filter).map(|(_, posting)| posting.clone())
    }

    /// Caches the documents of a filter.
    pub(crate) fn keep_passed(&self, filter: &SearchFilter, posting: &Arc<PostingList>) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.len() >= FILTERS_KEPT {
            passed.remove(0);
        }
        passed.push((filter.clone(), posting.clone()));
    }

    fn forget_passed(&mut self) {
        self.passed.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Sets the values from the fields of a document.
    pub(crate) fn set(&mut self, slot: u32, document: &Document) {
        self.forget_passed();
        self.live.insert(slot);
        if self.width == 0 {
            self.base = slot;
        }
        while slot < self.base {
            self.base -= 1;
            self.width += 1;
            self.columns.iter_mut().for_each(|column| column.push(ListEnd::Front));
        }
        let place = (slot - self.base) as usize;
        while place >= self.width {
            self.width += 1;
            self.columns.iter_mut().for_each(|column| column.push(ListEnd::Back));
        }
        for (attribute, column) in self.attributes.iter().zip(&mut self.columns) {
            if let Some(field) = document.field(attribute.field()) {
                column.set(place, attribute.kind, field);
            }
        }
    }

    /// Clears the values of a document.
    pub(crate) fn clear(&mut self, slot: u32) {
        self.forget_passed();
        self.live.remove(slot);
        let place = slot.wrapping_sub(self.base) as usize;
        if place < self.width {
            self.columns.iter_mut().for_each(|column| column.clear(place));
        }
    }

    /// Moves every document to another slot.
    pub(crate) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32) {
        self.forget_passed();
        let old = self.live_slots();
        let new: Vec<u32> = old.iter().map(|slot| new_slot(*slot)).collect();
        self.live = SlotBits::from_slots(new.iter().copied());
        let first = new.iter().min().copied().unwrap_or(0);
        let width = new.iter().max().map_or(0, |last| (last - first) as usize + 1);
        let base = self.base;
        for column in &mut self.columns {
            let places = old.iter().zip(&new);
            let places = places.map(|(old, new)| ((old - base) as usize, (new - first) as usize));
            match column {
                AttributeColumn::Numbers(numbers) => {
                    let mut moved = vec![NO_NUMBER; width];
                    places.for_each(|(old, new)| moved[new] = numbers[old]);
                    *numbers = moved.into();
                }
                AttributeColumn::Codes(codes, texts) => {
                    let mut moved = vec![NO_CODE; width];
                    places.for_each(|(old, new)| moved[new] = codes[old]);
                    // Drop texts that no document has any more.
                    texts.keep_used(&mut moved);
                    *codes = moved.into();
                }
            }
        }
        self.base = first;
        self.width = width;
    }
}

impl Clone for AttributeColumns {
    /// The copy starts with an empty cache.
    fn clone(&self) -> AttributeColumns {
        AttributeColumns {
            attributes: self.attributes.clone(),
            columns: self.columns.clone(),
            base: self.base,
            width: self.width,
            live: self.live.clone(),
            ..AttributeColumns::default()
        }
    }
}

/// The file format of columns. The slots have no gaps when it is written.
impl AttributeColumns {
    pub(crate) fn write(&self, out: &mut SectionWriter<'_>) -> io::Result<()> {
        out.u64(self.width as u64)?;
        for column in &self.columns {
            match column {
                AttributeColumn::Numbers(numbers) => out.u64s(numbers.iter().copied())?,
                AttributeColumn::Codes(codes, texts) => {
                    texts.write(out)?;
                    out.u32s(codes.iter().copied())?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn read(
        &mut self,
        input: &mut SectionReader<'_>,
        first: u32,
        count: u32,
    ) -> Result<(), DamagedFile> {
        let width = usize::try_from(input.u64()?).map_err(|_| DamagedFile)?;
        if width != count as usize {
            return Err(DamagedFile);
        }
        for column in &mut self.columns {
            match column {
                AttributeColumn::Numbers(numbers) => *numbers = input.u64s(width)?.collect(),
                AttributeColumn::Codes(codes, texts) => {
                    *texts = DistinctTexts::read(input)?;
                    *codes = input.u32s(width)?.collect();
                }
            }
        }
        self.forget_passed();
        (self.base, self.width) = (first, width);
        let slots = (0..count).map(|place| first + place);
        self.live = SlotBits::from_slots(slots);
        if input.is_empty() { Ok(()) } else { Err(DamagedFile) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_their_values() {
        for (kind, texts) in [
            (AttributeType::Integer, &["-9223372036854775808", "-1", "0", "3.0", "1e3"][..]),
            (AttributeType::Float, &["-inf", "-1.5", "0", "0.25", "1e300", "inf"]),
            (AttributeType::Date, &["-0044-03-15", "1969-12-31", "1970", "1990-05", "1990-05-02"]),
        ] {
            let keys: Vec<u64> = texts.iter().map(|text| kind.number(text).unwrap()).collect();
            assert!(keys.is_sorted_by(|left, right| left < right), "{kind:?}");
        }
        for none in ["", "x", "1.5", "NaN"] {
            assert_eq!(AttributeType::Integer.number(none), None, "{none}");
        }
        assert_eq!(AttributeType::Float.number("NaN"), None);
        assert_eq!(AttributeType::Float.number("-0"), AttributeType::Float.number("0"));
        for number in [0.0, -2.5, 1e9] {
            assert_eq!(float_of(float_key(number).unwrap()), number);
        }
    }

    #[test]
    fn values_follow_their_documents() {
        let mut columns = AttributeColumns::new(vec![
            Attribute::new("year", AttributeType::Integer),
            Attribute::new("by", AttributeType::Text).from("publisher"),
        ]);
        let document = |year: &str, publisher: &str| {
            Document::new(1).with("year", year).with("publisher", publisher)
        };
        columns.set(100, &document("1990", "A"));
        columns.set(98, &document("x", "B"));
        columns.set(103, &document("1992", "A"));
        assert_eq!(
            (columns.base(), columns.width(), columns.live_slots()),
            (98, 6, vec![98, 100, 103])
        );
        columns.clear(100);
        columns.renumber(|slot| if slot == 98 { 500 } else { 501 });
        assert_eq!(
            (columns.base(), columns.width(), columns.live_slots()),
            (500, 2, vec![500, 501])
        );
        let Some((_, AttributeColumn::Numbers(years))) = columns.named("year") else { panic!() };
        assert_eq!(years[0], NO_NUMBER);
        assert_eq!(Some(years[1]), AttributeType::Integer.number("1992"));
        let Some((_, AttributeColumn::Codes(codes, texts))) = columns.named("by") else { panic!() };
        assert_eq!([codes[0], codes[1]].map(|code| texts.text(code)), ["B", "A"]);
    }
}
