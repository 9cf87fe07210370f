//! Sorting of documents by their attributes.

use crate::error::RequestError;
use crate::index::attributes::{
    AttributeColumn, AttributeColumns, AttributeType, NO_CODE, NO_NUMBER,
};
use crate::index::distinct_texts::{DistinctTexts, compare, first};
use crate::index::search_index::SearchIndex;
use crate::limits::MAX_ORDER_KEYS;
use crate::query::filter::FilterWord;
use crate::query::restriction::attributes_named;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A sort order over attributes: `-year,title` is by year, the latest first, and within a year by
/// title.
///
/// Numbers, dates and booleans are sorted by value (false before true), texts by their letters.
/// Documents without a value come last in both directions; documents that compare equal keep the
/// order of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentOrder {
    keys: Vec<(FilterWord, bool)>,
}

impl DocumentOrder {
    /// Parses an order: names of attributes separated by commas, each with an optional `-` for
    /// descending or `+` for ascending.
    ///
    /// # Errors
    /// No names, an empty one, or more than [`MAX_ORDER_KEYS`]; with the position.
    pub fn parse(text: &str) -> Result<DocumentOrder, RequestError> {
        let mut keys = Vec::new();
        let mut at = 1;
        for part in text.split(',') {
            let length = part.chars().count() + 1;
            let name = part.trim_start();
            let start = at + part.chars().count() - name.chars().count();
            let (name, start, descending) = match name.strip_prefix(['-', '+']) {
                Some(rest) => (rest, start + 1, name.starts_with('-')),
                None => (name, start, false),
            };
            let name = name.trim();
            if name.is_empty() {
                return Err(RequestError::new(
                    start,
                    "the name of an attribute is missing; write an order like -year,title",
                ));
            }
            if keys.len() >= MAX_ORDER_KEYS {
                return Err(RequestError::new(
                    start,
                    format!("an order must have at most {MAX_ORDER_KEYS} names"),
                ));
            }
            keys.push((FilterWord { text: name.to_owned(), at: start }, descending));
            at += length;
        }
        Ok(DocumentOrder { keys })
    }

    /// Checks that at least one of the indexes has each attribute.
    pub(crate) fn check(&self, indexes: &[&AttributeColumns]) -> Result<(), RequestError> {
        self.keys.iter().try_for_each(|(name, _)| attributes_named(name, indexes).map(|_| ()))
    }

    /// The sort keys of one index.
    pub(crate) fn keys<'a>(&self, index: &'a SearchIndex) -> OrderKeys<'a> {
        let columns = index.columns();
        let key = |(name, descending): &(FilterWord, bool)| {
            let (attribute, column) = columns.named(&name.text)?;
            let values = match column {
                AttributeColumn::Numbers(numbers) => OrderValues::Numbers(numbers),
                AttributeColumn::Codes(codes, _) if attribute.kind() == AttributeType::Boolean => {
                    OrderValues::Booleans(codes)
                }
                AttributeColumn::Codes(codes, texts) => OrderValues::Texts(codes, texts),
            };
            Some((values, *descending))
        };
        OrderKeys { base: columns.base(), keys: self.keys.iter().map(key).collect() }
    }
}

/// The columns that sort the documents of one index; `None` for an attribute that it lacks.
pub(crate) struct OrderKeys<'a> {
    base: u32,
    keys: Vec<Option<(OrderValues<'a>, bool)>>,
}

enum OrderValues<'a> {
    Numbers(&'a VecDeque<u64>),
    Booleans(&'a VecDeque<u32>),
    Texts(&'a VecDeque<u32>, &'a DistinctTexts),
}

fn code_at(codes: &VecDeque<u32>, place: u32) -> u32 {
    codes.get(place as usize).copied().unwrap_or(NO_CODE)
}

/// A value as a sort key: reversed for descending order, missing values last.
fn directed(place: u64, descending: bool) -> u64 {
    match place {
        NO_NUMBER => NO_NUMBER,
        place if descending => NO_NUMBER - 1 - place,
        place => place,
    }
}

impl OrderKeys<'_> {
    /// A number that sorts the value of a document within the index.
    fn number(&self, key: usize, slot: u32) -> u64 {
        let place = slot.wrapping_sub(self.base);
        let Some(Some((values, descending))) = self.keys.get(key) else {
            return NO_NUMBER;
        };
        let number = match values {
            OrderValues::Numbers(numbers) => {
                numbers.get(place as usize).copied().unwrap_or(NO_NUMBER)
            }
            OrderValues::Booleans(codes) => match code_at(codes, place) {
                NO_CODE => NO_NUMBER,
                code => u64::from(code),
            },
            OrderValues::Texts(codes, texts) => {
                let rank = texts.ranks().get(code_at(codes, place) as usize);
                rank.map_or(NO_NUMBER, |rank| u64::from(*rank))
            }
        };
        directed(number, *descending)
    }

    fn compare(&self, left: u32, right: u32, from: usize) -> Ordering {
        (from..self.keys.len())
            .map(|key| self.number(key, left).cmp(&self.number(key, right)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Moves the first `wanted` documents, sorted, to the front; the rest follows in any order.
    pub(crate) fn sort(&self, slots: &mut [u32], wanted: usize) {
        let mut all: Vec<(u64, u32)> =
            (0..).zip(&*slots).map(|(place, slot)| (self.number(0, *slot), place)).collect();
        let old = slots.to_vec();
        let compare = |left: &(u64, u32), right: &(u64, u32)| {
            let [left_slot, right_slot] = [left.1, right.1].map(|place| old[place as usize]);
            let rest = || self.compare(left_slot, right_slot, 1);
            left.0.cmp(&right.0).then_with(rest).then(left.1.cmp(&right.1))
        };
        let wanted = wanted.min(all.len());
        if wanted > 0 && wanted < all.len() {
            all.select_nth_unstable_by(wanted - 1, compare);
        }
        all[..wanted].sort_unstable_by(compare);
        for (slot, (_, place)) in slots.iter_mut().zip(&all) {
            *slot = old[*place as usize];
        }
    }

    /// Compares documents of two indexes.
    pub(crate) fn compare_with(&self, left: u32, others: &OrderKeys<'_>, right: u32) -> Ordering {
        for (key, (mine, theirs)) in self.keys.iter().zip(&others.keys).enumerate() {
            let order = match (mine, theirs) {
                (
                    Some((OrderValues::Texts(codes, texts), descending)),
                    Some((OrderValues::Texts(other_codes, other_texts), _)),
                ) => {
                    let left = code_at(codes, left.wrapping_sub(self.base));
                    let right = code_at(other_codes, right.wrapping_sub(others.base));
                    if left == NO_CODE || right == NO_CODE {
                        (left == NO_CODE).cmp(&(right == NO_CODE))
                    } else {
                        let [left, right] = [texts.text(left), other_texts.text(right)];
                        let order = compare(first(left), first(right));
                        if *descending { order.reverse() } else { order }
                    }
                }
                _ => self.number(key, left).cmp(&others.number(key, right)),
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        let order = DocumentOrder::parse(" -year, +title,x ").unwrap();
        let keys: Vec<(&str, usize, bool)> =
            order.keys.iter().map(|(name, down)| (name.text.as_str(), name.at, *down)).collect();
        assert_eq!(keys, [("year", 3, true), ("title", 10, false), ("x", 16, false)]);
        for (text, place) in [("", 1), ("a,,b", 3), ("-", 2), ("a,b,c,d,e", 9)] {
            assert_eq!(DocumentOrder::parse(text).unwrap_err().place(), place, "{text}");
        }
    }
}
