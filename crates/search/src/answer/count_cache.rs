//! Counting each set of lists once per query: "a a a" has eight interpretations over two lists.

use hashbrown::HashMap;

/// Counts are looked up one by one up to this many, and by a table from then on.
const FEW_COUNTS: usize = 16;

/// Lists as bits by their numbers, and whether there is more than one combination.
pub(crate) type CountKey = (u128, bool);

/// The numbers of documents of sets of lists that have been counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountCache {
    few: Vec<(CountKey, usize)>,
    many: HashMap<CountKey, usize>,
}

impl CountCache {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.few.clear();
        // Clearing takes as long as the table is large, and most queries have no table.
        if self.many.capacity() > 0 {
            self.many = HashMap::new();
        }
    }

    /// The number of documents of a set, if it has been counted.
    pub(crate) fn get(&self, key: CountKey) -> Option<usize> {
        if self.many.is_empty() {
            self.few.iter().find(|(known, _)| *known == key).map(|(_, count)| *count)
        } else {
            self.many.get(&key).copied()
        }
    }

    /// Remembers the number of documents of a set.
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
