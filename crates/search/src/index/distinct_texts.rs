//! The distinct texts of an attribute, each stored once.

use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::io;
use std::sync::OnceLock;

/// A dictionary of texts. Several texts of one document are one entry, with a separator between
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctTexts {
    all: Vec<Box<str>>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The rank of each text in sorted order, computed on first use.
    ranks: OnceLock<Vec<u32>>,
}

impl DistinctTexts {
    /// The separator between several texts of one document.
    pub(crate) const BETWEEN: char = '\0';

    /// The number of a text; adds it if it is new.
    pub(crate) fn number_of(&mut self, text: &str) -> u32 {
        let DistinctTexts { all, table, hasher, ranks } = self;
        let hash = hasher.hash_one(text);
        if let Some(number) = table.find(hash, |number| *all[*number as usize] == *text) {
            return *number;
        }
        let number = all.len() as u32;
        all.push(text.into());
        table.insert_unique(hash, number, |number| hasher.hash_one(&*all[*number as usize]));
        ranks.take();
        number
    }

    /// The text of a number; empty for an unknown number.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.all.get(number as usize).map_or("", |text| text)
    }

    /// The single texts of every entry.
    pub(crate) fn each(&self) -> impl Iterator<Item = std::str::Split<'_, char>> {
        self.all.iter().map(|text| text.split(DistinctTexts::BETWEEN))
    }

    /// The ranks of all texts in the order of [`compare`], by the first of several texts.
    pub(crate) fn ranks(&self) -> &[u32] {
        self.ranks.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
            let first = |number: &u32| first(self.text(*number));
            order.sort_by(|left, right| compare(first(left), first(right)));
            let mut ranks = vec![0; order.len()];
            let mut rank = 0;
            for (place, number) in order.iter().enumerate() {
                if place > 0 && first(number) != first(&order[place - 1]) {
                    rank = place as u32;
                }
                ranks[*number as usize] = rank;
            }
            ranks
        })
    }

    /// Writes the texts in the order of their numbers.
    pub(crate) fn write(&self, out: &mut SectionWriter<'_>) -> io::Result<()> {
        out.u64(self.all.len() as u64)?;
        self.all.iter().try_for_each(|text| out.text(text))
    }

    /// Reads the output of [`write`](Self::write).
    pub(crate) fn read(input: &mut SectionReader<'_>) -> Result<DistinctTexts, DamagedFile> {
        let mut texts = DistinctTexts::default();
        for number in 0..input.count(4)? {
            if texts.number_of(input.text()?) as usize != number {
                return Err(DamagedFile);
            }
        }
        Ok(texts)
    }

    /// Keeps only the texts with these numbers and replaces the numbers by the new ones. Numbers
    /// without a text stay.
    pub(crate) fn keep_used(&mut self, numbers: &mut [u32]) {
        let old = std::mem::take(self);
        for number in numbers {
            if let Some(text) = old.all.get(*number as usize) {
                *number = self.number_of(text);
            }
        }
    }
}

/// The first of the texts of a document.
pub(crate) fn first(texts: &str) -> &str {
    texts.split(DistinctTexts::BETWEEN).next().unwrap_or_default()
}

/// Compares texts by their letters in lower case, then as written.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let lower = |text: &'_ str| text.chars().flat_map(char::to_lowercase).collect::<String>();
    if left.is_ascii() && right.is_ascii() {
        let [left, right] = [left, right].map(|text| text.bytes().map(|b| b.to_ascii_lowercase()));
        let order = left.cmp(right);
        if order != Ordering::Equal {
            return order;
        }
    } else {
        let order = lower(left).cmp(&lower(right));
        if order != Ordering::Equal {
            return order;
        }
    }
    left.cmp(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_ordered_by_letters() {
        let mut texts = DistinctTexts::default();
        let numbers: Vec<u32> =
            ["pear", "Apple", "pear", "apple\0z", "\u{c4}rger"].map(|t| texts.number_of(t)).into();
        assert_eq!(numbers, [0, 1, 0, 2, 3]);
        assert_eq!(texts.ranks(), [2, 0, 1, 3]);
        let mut used = [3, u32::MAX, 0];
        texts.keep_used(&mut used);
        assert_eq!(used, [0, u32::MAX, 1]);
        assert_eq!(texts.text(1), "pear");
        assert_eq!(texts.text(7), "");
    }
}
