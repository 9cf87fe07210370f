//! Bit sets of slots, for dense posting lists.

/// A set of slots: one bit each, starting at a multiple of 64.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotBits {
    /// The number of the first word: the slot of its lowest bit divided by 64.
    first: u32,
    words: Vec<u64>,
}

impl SlotBits {
    pub(crate) fn from_slots(slots: impl Iterator<Item = u32> + Clone) -> SlotBits {
        let (mut low, mut high) = (u32::MAX, 0);
        for slot in slots.clone() {
            low = low.min(slot);
            high = high.max(slot);
        }
        if low > high {
            return SlotBits::default();
        }
        let (first, last) = (low / 64, high / 64);
        let mut words = vec![0; (last - first) as usize + 1];
        for slot in slots {
            words[(slot / 64 - first) as usize] |= 1 << (slot % 64);
        }
        SlotBits { first, words }
    }

    /// The number of 64-bit words.
    pub(crate) fn size(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        let at = (slot / 64).wrapping_sub(self.first) as usize;
        self.words.get(at).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// The number of words of the set with this slot added.
    pub(crate) fn size_with(&self, slot: u32) -> usize {
        let word = slot / 64;
        if word < self.first {
            self.words.len() + (self.first - word) as usize
        } else {
            self.words.len().max((word - self.first) as usize + 1)
        }
    }

    /// Adds a slot and returns whether it is new.
    pub(crate) fn insert(&mut self, slot: u32) -> bool {
        let word = slot / 64;
        if self.words.is_empty() {
            self.first = word;
        }
        if word < self.first {
            // The room in front grows in proportion, which makes repeated insertion in front cheap.
            let missing = (self.first - word) as usize;
            let added = missing.max(self.words.len().min(self.first as usize));
            self.words.splice(0..0, std::iter::repeat_n(0, added));
            self.first -= added as u32;
        }
        let at = (word - self.first) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (slot % 64);
        let new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        new
    }

    /// Adds all slots of another set.
    pub(crate) fn add_all(&mut self, other: &SlotBits) {
        if self.words.is_empty() {
            self.clone_from(other);
            return;
        }
        let missing = self.first.saturating_sub(other.first) as usize;
        self.words.splice(0..0, std::iter::repeat_n(0, missing));
        self.first -= missing as u32;
        let start = (other.first - self.first) as usize;
        if self.words.len() < start + other.words.len() {
            self.words.resize(start + other.words.len(), 0);
        }
        for (word, more) in self.words[start..].iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let at = (slot / 64).wrapping_sub(self.first) as usize;
        if let Some(word) = self.words.get_mut(at) {
            *word &= !(1 << (slot % 64));
        }
    }

    /// Puts the overlapping words of all sets into `out` and returns the number of the first.
    fn shared<'a>(sets: &[&'a SlotBits], out: &mut Vec<&'a [u64]>) -> u32 {
        let first = sets.iter().map(|set| set.first).max().unwrap_or(0);
        let end = sets.iter().map(|set| set.first + set.words.len() as u32).min().unwrap_or(0);
        let end = end.max(first);
        let part = |set: &&'a SlotBits| {
            let start = (first - set.first) as usize;
            set.words.get(start..start + (end - first) as usize).unwrap_or_default()
        };
        out.extend(sets.iter().map(part));
        first
    }

    /// The number of slots in all of the sets; at least one set.
    pub(crate) fn count_shared(sets: &[&SlotBits]) -> usize {
        let mut words = Vec::with_capacity(sets.len());
        SlotBits::shared(sets, &mut words);
        let ones = |word: u64| word.count_ones() as usize;
        match &words[..] {
            [] => 0,
            [only] => only.iter().map(|word| ones(*word)).sum(),
            [left, right] => left.iter().zip(*right).map(|(left, right)| ones(left & right)).sum(),
            [left, middle, right] => {
                let both = left.iter().zip(*middle).map(|(left, middle)| left & middle);
                both.zip(*right).map(|(both, right)| ones(both & right)).sum()
            }
            // Blocks that fit the first-level cache while all sets are read.
            [first, others @ ..] => {
                let mut block = [0_u64; 64];
                let mut count = 0;
                for start in (0..first.len()).step_by(block.len()) {
                    let end = (start + block.len()).min(first.len());
                    let block = &mut block[..end - start];
                    block.copy_from_slice(&first[start..end]);
                    for other in others {
                        for (word, other) in block.iter_mut().zip(&other[start..end]) {
                            *word &= other;
                        }
                    }
                    count += block.iter().map(|word| ones(*word)).sum::<usize>();
                }
                count
            }
        }
    }

    /// Calls `each` with at most `limit` slots that all sets have, in ascending order, after the
    /// first `skip`.
    pub(crate) fn each_shared(
        sets: &[&SlotBits],
        mut skip: usize,
        mut limit: usize,
        mut each: impl FnMut(u32),
    ) {
        let mut words = Vec::with_capacity(sets.len());
        let first = SlotBits::shared(sets, &mut words);
        let length = words.first().map_or(0, |words| words.len());
        for at in 0..length {
            if limit == 0 {
                return;
            }
            let mut word = words.iter().fold(u64::MAX, |word, words| word & words[at]);
            let ones = word.count_ones() as usize;
            if skip >= ones {
                skip -= ones;
                continue;
            }
            while word != 0 && limit > 0 {
                if skip > 0 {
                    skip -= 1;
                } else {
                    each((first + at as u32) * 64 + word.trailing_zeros());
                    limit -= 1;
                }
                word &= word - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    proptest::proptest! {
        #[test]
        fn behaves_like_a_set(
            changes in proptest::collection::vec((0u32..1000, proptest::bool::ANY), 0..200),
            other in proptest::collection::btree_set(0u32..1000, 0..300),
            skip in 0usize..20,
            limit in 0usize..20,
        ) {
            let mut bits = SlotBits::default();
            let mut set = BTreeSet::new();
            for (slot, add) in changes {
                if add {
                    let expected = set.insert(slot);
                    proptest::prop_assert!(bits.size_with(slot) >= bits.size());
                    proptest::prop_assert_eq!(bits.insert(slot), expected);
                } else {
                    set.remove(&slot);
                    bits.remove(slot);
                }
            }
            for slot in 0..1000 {
                proptest::prop_assert_eq!(bits.contains(slot), set.contains(&slot));
            }
            let right = SlotBits::from_slots(other.iter().copied());
            let mut all = bits.clone();
            all.add_all(&right);
            for slot in 0..1100 {
                let expected = set.contains(&slot) || other.contains(&slot);
                proptest::prop_assert_eq!(all.contains(slot), expected);
            }
            let both: Vec<u32> = set.intersection(&other).copied().collect();
            proptest::prop_assert_eq!(SlotBits::count_shared(&[&bits, &right]), both.len());
            for sets in [3, 4, 5] {
                let sets = &[&bits, &right, &bits, &right, &right][..sets];
                proptest::prop_assert_eq!(SlotBits::count_shared(sets), both.len());
            }
            let mut got = Vec::new();
            SlotBits::each_shared(&[&bits, &right], skip, limit, |slot| got.push(slot));
            let expected: Vec<u32> = both.into_iter().skip(skip).take(limit).collect();
            proptest::prop_assert_eq!(got, expected);
        }
    }
}
