//! Intersection of posting lists: the documents that all lists have, and their number.
//!
//! The order of the result is that of the longest list, the last of several equally long ones. If
//! all lists ascend, the order is the same for all.

use crate::index::posting_list::{PostingList, SeenSlots};
use crate::index::slot_bits::SlotBits;
use crate::query::work_budget::WorkBudget;

/// Up to [`MOST`] ascending lists, prepared for intersection.
pub(crate) struct Ascending<'a> {
    lists: &'a [&'a PostingList],
    /// All lists as bit sets, if all have one.
    bits: Option<[&'a SlotBits; MOST]>,
}

/// Most lists intersected as bit sets.
const MOST: usize = 16;

impl<'a> Ascending<'a> {
    /// Prepares lists; at least one.
    pub(crate) fn new(lists: &'a [&'a PostingList]) -> Ascending<'a> {
        let bits = match lists.first().and_then(|list| list.bits()) {
            Some(first)
                if lists.len() <= MOST && lists.iter().all(|list| list.bits().is_some()) =>
            {
                let mut bits = [first; MOST];
                for (place, list) in bits.iter_mut().zip(lists) {
                    *place = list.bits().unwrap_or(first);
                }
                Some(bits)
            }
            _ => None,
        };
        Ascending { lists, bits }
    }

    fn shortest(&self) -> usize {
        let lengths = self.lists.iter().enumerate();
        lengths.min_by_key(|(_, list)| list.len()).map_or(0, |(number, _)| number)
    }

    /// Takes the cost of the intersection from the budget; false if it has too little.
    fn afford(&self, work: &mut WorkBudget) -> bool {
        let lists = self.lists.len();
        let steps = match &self.bits {
            Some(bits) => {
                let sizes = bits[..lists].iter().map(|bits| bits.size());
                sizes.min().unwrap_or(0) * lists / 4
            }
            None => self.lists[self.shortest()].len() * lists,
        };
        work.spend(1 + steps)
    }

    /// The number of shared documents; `None` once the budget is spent.
    pub(crate) fn count(&self, work: &mut WorkBudget) -> Option<usize> {
        if let [list] = self.lists {
            return Some(list.len());
        }
        let affordable = self.afford(work);
        affordable.then(|| match &self.bits {
            Some(bits) => SlotBits::count_shared(&bits[..self.lists.len()]),
            None => self.shared().count(),
        })
    }

    /// All shared documents; `None` once the budget is spent.
    pub(crate) fn all(&self, work: &mut WorkBudget) -> Option<Vec<u32>> {
        if !self.afford(work) {
            return None;
        }
        let mut slots = Vec::new();
        self.each(0, usize::MAX, |slot| slots.push(slot));
        Some(slots)
    }

    fn shared(&self) -> impl Iterator<Item = u32> + '_ {
        let shortest = self.shortest();
        let others = self.lists.iter().enumerate().filter(|(number, _)| *number != shortest);
        let mut others: Vec<Walk<'_>> = others.map(|(_, list)| Walk::new(list)).collect();
        // Short lists exclude most documents, so they come first.
        others.sort_by_key(|walk| walk.length);
        let slots = self.lists[shortest].iter();
        slots.filter(move |slot| others.iter_mut().all(|walk| walk.reaches(*slot)))
    }

    /// Calls `each` for at most `limit` shared documents after the first `skip`.
    pub(crate) fn each(&self, skip: usize, limit: usize, mut each: impl FnMut(u32)) {
        if let [list] = self.lists {
            list.iter_from(skip).take(limit).for_each(each);
        } else if let Some(bits) = &self.bits {
            SlotBits::each_shared(&bits[..self.lists.len()], skip, limit, &mut each);
        } else {
            self.shared().skip(skip).take(limit).for_each(each);
        }
    }
}

/// A galloping cursor over an ascending list: steps that double, then a binary search within the
/// last step. It is fast for slots near each other and far apart (Bentley and Yao, "An almost
/// optimal algorithm for unbounded searching", 1976).
struct Walk<'a> {
    bits: Option<&'a SlotBits>,
    rest: &'a [u32],
    after: &'a [u32],
    length: usize,
}

impl<'a> Walk<'a> {
    fn new(list: &'a PostingList) -> Walk<'a> {
        let length = list.len();
        let [rest, after] = list.parts(0, length);
        Walk { bits: list.bits(), rest, after, length }
    }

    /// Whether the list has a slot, which must be above the earlier ones.
    fn reaches(&mut self, slot: u32) -> bool {
        if let Some(bits) = self.bits {
            return bits.contains(slot);
        }
        loop {
            match self.rest.first() {
                Some(first) if *first >= slot => return *first == slot,
                Some(_) => {}
                None if self.after.is_empty() => return false,
                None => {
                    self.rest = std::mem::take(&mut self.after);
                    continue;
                }
            }
            let mut step = 1;
            while self.rest.get(step).is_some_and(|other| *other < slot) {
                step *= 2;
            }
            let from = step / 2;
            let until = (step + 1).min(self.rest.len());
            let between = &self.rest[from..until];
            self.rest = &self.rest[from + between.partition_point(|other| *other < slot)..];
        }
    }
}

/// The documents shared by any lists, in order; `None` once the budget is spent.
///
/// A single list keeps its repetitions; with several lists each document is in the result once.
pub(crate) fn intersect(lists: &[&PostingList], work: &mut WorkBudget) -> Option<Vec<u32>> {
    let mut by_length: Vec<&PostingList> = lists.to_vec();
    by_length.sort_by_key(|list| list.len());
    let Some((longest, others)) = by_length.split_last() else {
        return Some(Vec::new());
    };
    if others.is_empty() {
        return work.spend(longest.len()).then(|| longest.iter().collect());
    }
    if !work.spend(longest.len() * lists.len()) {
        return None;
    }
    let mut seen = SeenSlots::default();
    let shared = longest.iter().filter(|slot| others.iter().all(|list| list.contains(*slot)));
    Some(shared.filter(|slot| !longest.repeats() || seen.insert(*slot)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn set() -> impl proptest::strategy::Strategy<Value = BTreeSet<u32>> {
        proptest::collection::btree_set(0u32..200, 0..60)
    }

    proptest::proptest! {
        #[test]
        fn all_ways_agree(sets in proptest::collection::vec(set(), 1..4), skip in 0usize..5) {
            let postings: Vec<PostingList> =
                sets.iter().map(|set| PostingList::from_slots(set.iter().copied().collect())).collect();
            let lists: Vec<&PostingList> = postings.iter().collect();
            let expected: Vec<u32> = sets[0]
                .iter()
                .copied()
                .filter(|slot| sets.iter().all(|set| set.contains(slot)))
                .collect();
            let mut work = WorkBudget::new();
            let ascending = Ascending::new(&lists);
            proptest::prop_assert_eq!(ascending.count(&mut work), Some(expected.len()));
            let mut got = Vec::new();
            ascending.each(skip, 3, |slot| got.push(slot));
            proptest::prop_assert_eq!(ascending.all(&mut work), Some(expected.clone()));
            let page: Vec<u32> = expected.iter().copied().skip(skip).take(3).collect();
            proptest::prop_assert_eq!(got, page);
            proptest::prop_assert_eq!(intersect(&lists, &mut work), Some(expected));
        }
    }

    proptest::proptest! {
        #[test]
        fn lists_far_too_sparse_for_bits_agree(
            sets in proptest::collection::vec(proptest::collection::btree_set(0u32..90, 0..90), 2..4),
        ) {
            let slots = |set: &BTreeSet<u32>| set.iter().map(|slot| slot * slot * 500).collect();
            let postings: Vec<PostingList> = sets.iter().map(|set| PostingList::stored(slots(set))).collect();
            let lists: Vec<&PostingList> = postings.iter().collect();
            let mut expected: Vec<u32> = slots(&sets[0]);
            expected.retain(|slot| postings.iter().all(|posting| posting.contains(*slot)));
            let mut work = WorkBudget::new();
            let ascending = Ascending::new(&lists);
            proptest::prop_assert_eq!(ascending.count(&mut work), Some(expected.len()));
            proptest::prop_assert_eq!(ascending.all(&mut work), Some(expected));
        }
    }

    #[test]
    fn the_longest_list_gives_the_order() {
        let long = PostingList::from_slots(vec![5, 3, 3, 9, 1]);
        let short = PostingList::from_slots(vec![1, 3]);
        let mut work = WorkBudget::new();
        assert_eq!(intersect(&[&long, &short], &mut work).unwrap(), [3, 1]);
        assert_eq!(intersect(&[&short, &long], &mut work).unwrap(), [3, 1]);
        assert_eq!(intersect(&[&long], &mut work).unwrap(), [5, 3, 3, 9, 1]);
        assert!(intersect(&[], &mut work).unwrap().is_empty());
        let [left, right] = [vec![2, 1], vec![1, 2]].map(PostingList::without_repeats);
        assert_eq!(intersect(&[&left, &right], &mut work).unwrap(), [1, 2]);
        assert_eq!(intersect(&[&right, &left], &mut work).unwrap(), [2, 1]);
    }
}
