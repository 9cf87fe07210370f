//! Cache of document counts by sets of lists, for one query: "a a a" has eight interpretations over
//! two lists.

use hashbrown::HashMap;

/// A linear search finds this many counts; more of them get a hash table.
const FEW_COUNTS: usize = 16;

/// A set of lists as a bit mask, and whether there is more than one combination.
pub(crate) type CountKey = (u128, bool);

/// The number of documents of each set of lists counted so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountCache {
    few: Vec<(CountKey, usize)>,
    many: HashMap<CountKey, usize>,
}

impl CountCache {
    /// Removes all counts.
    pub(crate) fn clear(&mut self) {
        self.few.clear();
        // Clearing takes time in proportion to the capacity, and most queries have no table.
        if self.many.capacity() > 0 {
            self.many = HashMap::new();
        }
    }

    /// The number of documents of a set, if it is known.
    pub(crate) fn get(&self, key: CountKey) -> Option<usize> {
        if self.many.is_empty() {
            self.few.iter().find(|(known, _)| *known == key).map(|(_, count)| *count)
        } else {
            self.many.get(&key).copied()
        }
    }

    /// Stores the number of documents of a set.
    pub(crate) fn set(&mut self, key: CountKey, count: usize) {
        if self.few.len() < FEW_COUNTS {
            self.few.push((key, count));
            return;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().copied());
        }
        self.many.insert(key, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_counts_are_kept_as_well_as_few() {
        let mut counts = CountCache::default();
        for number in 0..100_usize {
            assert_eq!(counts.get((number as u128, true)), None);
            counts.set((number as u128, true), number * 2);
        }
        for number in 0..100_usize {
            assert_eq!(counts.get((number as u128, true)), Some(number * 2));
        }
        counts.clear();
        assert_eq!(counts.get((1, true)), None);
    }
}
