//! The words of each document in a category, for removal and for phrases.

use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use std::collections::VecDeque;
use std::io;

/// The separator between texts: no phrase spans it.
pub(crate) const GAP: u32 = u32::MAX;

/// The entry of a document without words.
const NONE: u32 = u32::MAX;

/// Compaction starts when the unused numbers exceed half of the list by this many.
const UNUSED_ALLOWED: usize = 4_096;

/// The numbers of the words of each document, by slot.
///
/// All numbers are in one vector, those of each document after their count: `2 7 9` are the words 7
/// and 9. Compaction removes the entries of removed documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentWords {
    /// The slot of the first of `places`.
    base: u32,
    places: VecDeque<u32>,
    numbers: Vec<u32>,
    unused: usize,
}

impl DocumentWords {
    fn place(&self, slot: u32) -> Option<usize> {
        let place = *self.places.get(slot.wrapping_sub(self.base) as usize)?;
        (place != NONE).then_some(place as usize)
    }

    /// Whether the document has any words.
    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.place(slot).is_some()
    }

    /// The words of a document, in the order of insertion.
    pub(crate) fn get(&self, slot: u32) -> &[u32] {
        let Some(place) = self.place(slot) else { return &[] };
        &self.numbers[place + 1..][..self.numbers[place] as usize]
    }

    /// Adds a word to a document.
    pub(crate) fn push(&mut self, slot: u32, number: u32) {
        let place = match self.place(slot) {
            // The words of the newest document can grow in place.
            Some(place) if place + 1 + self.numbers[place] as usize == self.numbers.len() => place,
            Some(place) => {
                let count = self.numbers[place] as usize;
                let new = self.numbers.len();
                self.numbers.extend_from_within(place..=place + count);
                self.unused += count + 1;
                self.set(slot, new as u32);
                new
            }
            None => {
                self.numbers.push(0);
                let place = self.numbers.len() - 1;
                self.set(slot, place as u32);
                place
            }
        };
        self.numbers.push(number);
        self.numbers[place] += 1;
    }

    /// Truncates the words of a document, to at least one.
    pub(crate) fn truncate(&mut self, slot: u32, length: usize) {
        if let Some(place) = self.place(slot) {
            let count = self.numbers[place] as usize;
            let length = length.clamp(1, count);
            self.numbers[place] = length as u32;
            if place + 1 + count == self.numbers.len() {
                self.numbers.truncate(place + 1 + length);
            } else {
                self.unused += count - length;
            }
        }
    }

    fn set(&mut self, slot: u32, place: u32) {
        if self.places.is_empty() {
            self.base = slot;
        }
        while slot < self.base {
            self.places.push_front(NONE);
            self.base -= 1;
        }
        let at = (slot - self.base) as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, NONE);
        }
        self.places[at] = place;
    }

    /// Removes a document and returns its words.
    pub(crate) fn remove(&mut self, slot: u32) -> Vec<u32> {
        let words = self.get(slot).to_vec();
        if self.contains(slot) {
            self.set(slot, NONE);
            self.unused += words.len() + 1;
        }
        if self.unused > self.numbers.len() / 2 + UNUSED_ALLOWED {
            self.rearrange(|slot| slot, |number| number);
        }
        words
    }

    /// Replaces slots, in the same order, and word numbers, and compacts.
    pub(crate) fn rearrange(
        &mut self,
        new_slot: impl Fn(u32) -> u32,
        new_number: impl Fn(u32) -> u32,
    ) {
        let mut new = DocumentWords::default();
        new.numbers.reserve(self.numbers.len() - self.unused.min(self.numbers.len()));
        for at in 0..self.places.len() as u32 {
            let slot = self.base + at;
            if let Some(place) = self.place(slot) {
                new.set(new_slot(slot), new.numbers.len() as u32);
                new.numbers.push(self.numbers[place]);
                new.numbers.extend(self.get(slot).iter().map(|number| new_number(*number)));
            }
        }
        *self = new;
    }

    /// Writes the words of `count` documents, starting at slot `first`.
    pub(crate) fn write(
        &self,
        first: u32,
        count: u32,
        out: &mut SectionWriter<'_>,
    ) -> io::Result<()> {
        let slots = || (0..count).map(|at| first + at);
        let total: usize = slots().map(|slot| self.get(slot).len()).sum();
        out.u64(total as u64)?;
        out.u32s(slots().map(|slot| self.get(slot).len() as u32))?;
        slots().try_for_each(|slot| out.u32s(self.get(slot).iter().copied()))
    }

    /// Reads the output of [`write`](Self::write); word numbers must be below `words`.
    pub(crate) fn read(
        input: &mut SectionReader<'_>,
        first: u32,
        count: u32,
        words: usize,
    ) -> Result<DocumentWords, DamagedFile> {
        let total = input.count(4)?;
        let counts = input.u32s(count as usize)?;
        let mut all = input.u32s(total)?;
        let mut new = DocumentWords { base: first, ..DocumentWords::default() };
        new.places.reserve(count as usize);
        new.numbers.reserve(total + count as usize);
        for count in counts {
            if count == 0 {
                new.places.push_back(NONE);
                continue;
            }
            if count as usize > all.len() {
                return Err(DamagedFile);
            }
            new.places.push_back(new.numbers.len() as u32);
            new.numbers.push(count);
            for number in all.by_ref().take(count as usize) {
                if number as usize >= words && number != GAP {
                    return Err(DamagedFile);
                }
                new.numbers.push(number);
            }
        }
        Ok(new)
    }
}

/// Whether the words occur in the text next to each other. Both are word numbers.
pub(crate) fn occurs(text: &[u32], words: &[u32]) -> bool {
    words.is_empty() || text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn behaves_like_a_map_of_lists(
            changes in proptest::collection::vec((100u32..160, 0u32..50, 0u8..4), 0..300)
        ) {
            let mut words = DocumentWords::default();
            let mut map: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (slot, number, change) in changes {
                if change == 0 {
                    let expected = map.remove(&slot).unwrap_or_default();
                    proptest::prop_assert_eq!(words.remove(slot), expected);
                } else {
                    words.push(slot, number);
                    map.entry(slot).or_default().push(number);
                }
            }
            for round in 0..2 {
                let shift = round * 1_000;
                for slot in 90..170 {
                    let known = map.get(&slot).cloned().unwrap_or_default();
                    proptest::prop_assert_eq!(words.contains(slot + shift), !known.is_empty());
                    let new: Vec<u32> = known.iter().map(|number| number + shift).collect();
                    proptest::prop_assert_eq!(words.get(slot + shift), &new[..]);
                }
                words.rearrange(|slot| slot + 1_000, |number| number + 1_000);
            }
        }
    }

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
