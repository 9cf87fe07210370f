//! Keyed lists: the fewest insertions, deletions and moves that turn one order of items into another.
//!
//! Items that keep their relative order stay in place: they are a longest increasing subsequence of the
//! old positions. All others move, each once.

use crate::frame::ItemId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashMap;
use std::hash::Hash;

/// A step between two orders of a list; steps are applied in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListStep {
    /// A new item stands before another one; `index` is its position in the new list.
    Insert {
        /// The new item.
        id: ItemId,
        /// The item that follows it; 0 = at the end.
        before: ItemId,
        /// Its position in the new list.
        index: usize,
    },
    /// An item goes.
    Delete {
        /// The item.
        id: ItemId,
    },
    /// An item moves before another one.
    Move {
        /// The item.
        id: ItemId,
        /// The item that follows it; 0 = at the end.
        before: ItemId,
    },
}

/// The steps from one order of ids to another. The ids of a list are distinct and not 0.
///
/// ```
/// # use runnel_view::keyed::{ListStep, operations};
/// assert_eq!(operations(&[1, 2, 3], &[3, 1, 2]), [ListStep::Move { id: 3, before: 1 }]);
/// ```
pub fn operations(old: &[ItemId], new: &[ItemId]) -> Vec<ListStep> {
    // Most updates change a few items: the equal start and end need no table.
    let start = old.iter().zip(new).take_while(|(left, right)| left == right).count();
    let (old, rest) = (&old[start..], &new[start..]);
    let end =
        old.iter().rev().zip(rest.iter().rev()).take_while(|(left, right)| left == right).count();
    let after = if end == 0 { 0 } else { rest[rest.len() - end] };
    let (old, rest) = (&old[..old.len() - end], &rest[..rest.len() - end]);

    let positions: FxHashMap<ItemId, usize> =
        old.iter().enumerate().map(|(position, id)| (*id, position)).collect();
    let kept: FxHashSet<ItemId> = rest.iter().copied().collect();
    let mut steps: Vec<ListStep> =
        old.iter().filter(|id| !kept.contains(id)).map(|id| ListStep::Delete { id: *id }).collect();
    let before: Vec<Option<usize>> = rest.iter().map(|id| positions.get(id).copied()).collect();
    let stays = increasing(&before);
    // From the end to the start: the item that follows is in its place already.
    let mut next = after;
    for (index, id) in rest.iter().copied().enumerate().rev() {
        if before[index].is_none() {
            steps.push(ListStep::Insert { id, before: next, index: start + index });
        } else if !stays[index] {
            steps.push(ListStep::Move { id, before: next });
        }
        next = id;
    }
    steps
}

/// Marks a longest increasing subsequence of the positions that are there, in O(n log n).
fn increasing(positions: &[Option<usize>]) -> Vec<bool> {
    // `ends[length - 1]` is the index at which the best subsequence of this length ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; positions.len()];
    for (index, position) in positions.iter().enumerate() {
        let Some(position) = position else { continue };
        let length = ends.partition_point(|end| positions[*end] < Some(*position));
        previous[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut marked = vec![false; positions.len()];
    let mut at = ends.last().copied();
    while let Some(index) = at {
        marked[index] = true;
        at = previous[index];
    }
    marked
}

/// The items of a list slot: which key has which id, and in what order they stand.
///
/// A key that occurs several times is told apart by its occurrence: a list with equal keys works, only
/// its moves are less exact.
#[derive(Debug)]
pub struct KeyedList<Key> {
    // Seeded: keys may be what clients sent.
    ids: HashMap<(Key, u32), ItemId>,
    order: Vec<ItemId>,
    last: ItemId,
}

impl<Key> Default for KeyedList<Key> {
    fn default() -> KeyedList<Key> {
        KeyedList { ids: HashMap::new(), order: Vec::new(), last: 0 }
    }
}

impl<Key: Eq + Hash + Clone> KeyedList<Key> {
    /// Takes a new order of keys; answers the steps from the order before. [`KeyedList::order`] then
    /// has the ids in the order of the keys.
    pub fn update(&mut self, keys: &[Key]) -> Vec<ListStep> {
        let mut steps = Vec::new();
        let room = ItemId::MAX - self.last;
        if ItemId::try_from(keys.len()).map_or(true, |count| count > room) {
            // All ids are used up: every item gets a new one.
            steps.extend(self.order.drain(..).map(|id| ListStep::Delete { id }));
            self.ids.clear();
            self.last = 0;
        }
        let mut occurrences: HashMap<&Key, u32> = HashMap::with_capacity(keys.len());
        let mut ids = HashMap::with_capacity(keys.len());
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let occurrence = occurrences.entry(key).and_modify(|count| *count += 1).or_insert(0);
            let key = (key.clone(), *occurrence);
            let id = self.ids.get(&key).copied().unwrap_or_else(|| {
                self.last += 1;
                self.last
            });
            ids.insert(key, id);
            order.push(id);
        }
        steps.extend(operations(&self.order, &order));
        self.ids = ids;
        self.order = order;
        steps
    }

    /// The ids in their order.
    pub fn order(&self) -> &[ItemId] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Applies steps as a client does.
    fn apply(list: &mut Vec<ItemId>, steps: &[ListStep]) {
        let place = |list: &mut Vec<ItemId>, id, before| {
            let at = if before == 0 {
                list.len()
            } else {
                list.iter().position(|item| *item == before).expect("the item that follows")
            };
            list.insert(at, id);
        };
        for step in steps {
            match *step {
                ListStep::Insert { id, before, .. } => {
                    assert!(!list.contains(&id), "{id} is inserted twice");
                    place(list, id, before);
                }
                ListStep::Delete { id } => list.retain(|item| *item != id),
                ListStep::Move { id, before } => {
                    list.retain(|item| *item != id);
                    place(list, id, before);
                }
            }
        }
    }

    #[test]
    fn one_change_is_one_step() {
        let old: Vec<ItemId> = (1..=1000).collect();
        let without = |gone: ItemId| -> Vec<ItemId> {
            old.iter().copied().filter(|id| *id != gone).collect()
        };
        assert_eq!(operations(&old, &without(500)), [ListStep::Delete { id: 500 }]);
        assert_eq!(
            operations(&without(500), &old),
            [ListStep::Insert { id: 500, before: 501, index: 499 }]
        );
        let mut moved = without(900);
        moved.insert(0, 900);
        assert_eq!(operations(&old, &moved), [ListStep::Move { id: 900, before: 1 }]);
        let mut moved = without(1);
        moved.push(1);
        assert_eq!(operations(&old, &moved), [ListStep::Move { id: 1, before: 0 }]);
        assert_eq!(operations(&old, &old), []);
        assert_eq!(operations(&[1], &[]), [ListStep::Delete { id: 1 }]);
    }

    #[test]
    fn keys_keep_their_ids() {
        let mut list = KeyedList::default();
        assert_eq!(
            list.update(&["a", "b"]),
            [
                ListStep::Insert { id: 2, before: 0, index: 1 },
                ListStep::Insert { id: 1, before: 2, index: 0 }
            ]
        );
        assert_eq!(list.update(&["b", "a"]).len(), 1);
        assert_eq!(list.order(), [2, 1]);
        assert_eq!(list.update(&["b"]), [ListStep::Delete { id: 1 }]);
        assert_eq!(list.update(&["b", "a"]), [ListStep::Insert { id: 3, before: 0, index: 1 }]);
    }

    #[test]
    fn equal_keys_are_items_of_their_own() {
        let mut list = KeyedList::default();
        list.update(&["a", "a"]);
        assert_eq!(list.order(), [1, 2]);
        assert_eq!(list.update(&["a"]), [ListStep::Delete { id: 2 }]);
    }

    #[test]
    fn ids_start_again_when_they_are_used_up() {
        let mut list = KeyedList { last: ItemId::MAX - 1, ..KeyedList::default() };
        list.update(&["a"]);
        let mut shown = list.order().to_vec();
        assert_eq!(shown, [ItemId::MAX]);
        apply(&mut shown, &list.update(&["b", "a"]));
        assert_eq!(shown, list.order());
        assert_eq!(shown, [1, 2]);
    }

    fn distinct() -> impl Strategy<Value = Vec<ItemId>> {
        proptest::collection::vec(1..40_u32, 0..40).prop_map(|mut ids| {
            let mut seen = std::collections::HashSet::new();
            ids.retain(|id| seen.insert(*id));
            ids
        })
    }

    /// The length of a longest common subsequence, by the table of the textbook.
    fn common(left: &[ItemId], right: &[ItemId]) -> usize {
        let mut row = vec![0; right.len() + 1];
        for item in left {
            let mut corner = 0;
            for (index, other) in right.iter().enumerate() {
                let above = row[index + 1];
                row[index + 1] = if item == other { corner + 1 } else { above.max(row[index]) };
                corner = above;
            }
        }
        row[right.len()]
    }

    proptest! {
        #[test]
        fn steps_lead_to_the_new_order(old in distinct(), new in distinct()) {
            let steps = operations(&old, &new);
            let mut list = old.clone();
            apply(&mut list, &steps);
            prop_assert_eq!(&list, &new);
            // No list of steps is shorter: what does not stay moves once, goes or comes.
            let stays = common(&old, &new);
            let both = old.iter().filter(|id| new.contains(id)).count();
            prop_assert_eq!(steps.len(), (old.len() - both) + (new.len() - both) + (both - stays));
        }

        #[test]
        fn a_list_follows_its_keys(orders in proptest::collection::vec(
            proptest::collection::vec(0..8_u8, 0..12), 0..8)
        ) {
            let mut list = KeyedList::default();
            let mut shown = Vec::new();
            for keys in orders {
                apply(&mut shown, &list.update(&keys));
                prop_assert_eq!(&shown, list.order());
                prop_assert_eq!(shown.len(), keys.len());
            }
        }
    }
}
