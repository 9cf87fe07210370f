//! Posting lists: the documents of a word, as an ordered list of slots.
//!
//! A slot is the position of a document in its index. Answers show documents in the order of the
//! list. Nearly all lists ascend, because a new document gets the slot after the last or before the
//! first one. A document changed in one category only can end up elsewhere: its list is then marked
//! as not ascending and takes the general code path.

use crate::index::slot_bits::SlotBits;
use std::collections::VecDeque;

/// Shorter lists never have a bit set.
const DENSE_FROM: usize = 16;

/// The end of the lists to which a document is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListEnd {
    Front,
    Back,
}

impl ListEnd {
    /// Adds an element at this end.
    pub(crate) fn push<T>(self, list: &mut VecDeque<T>, element: T) {
        match self {
            ListEnd::Front => list.push_front(element),
            ListEnd::Back => list.push_back(element),
        }
    }
}

/// Lists of up to this many slots are stored inline: most words are in few documents.
const FEW: usize = 3;

/// The slots of a word, in order.
#[derive(Clone, Debug)]
pub(crate) enum PostingList {
    Few { length: u8, slots: [u32; FEW] },
    Many(Box<SlotList>),
}

/// A longer list.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotList {
    slots: VecDeque<u32>,
    /// The same slots as a bit set, if that takes no more memory than about one word a slot.
    bits: Option<Box<SlotBits>>,
    /// Whether the slots do not strictly ascend.
    scattered: bool,
    /// Whether a slot may repeat. Only lists of a query can.
    repeats: bool,
}

impl Default for PostingList {
    fn default() -> PostingList {
        PostingList::Few { length: 0, slots: [0; FEW] }
    }
}

impl PostingList {
    /// A list of a query, in any order and with repetitions.
    pub(crate) fn from_slots(slots: Vec<u32>) -> PostingList {
        let scattered = !slots.is_sorted_by(|left, right| left < right);
        if !scattered && slots.len() <= FEW {
            return PostingList::few(&slots);
        }
        let bits = scattered || slots.len() >= DENSE_FROM;
        let bits = bits.then(|| Box::new(SlotBits::from_slots(slots.iter().copied())));
        PostingList::Many(Box::new(SlotList {
            slots: slots.into(),
            bits,
            scattered,
            repeats: scattered,
        }))
    }

    /// A list of a query without repetitions: the first occurrences.
    pub(crate) fn without_repeats(mut slots: Vec<u32>) -> PostingList {
        let mut seen = SeenSlots::default();
        slots.retain(|slot| seen.insert(*slot));
        let mut posting = PostingList::from_slots(slots);
        if let PostingList::Many(list) = &mut posting {
            list.repeats = false;
        }
        posting
    }

    /// A list from a file, without repetitions.
    pub(crate) fn stored(slots: Vec<u32>) -> PostingList {
        if slots.len() <= FEW {
            return PostingList::few(&slots);
        }
        let scattered = !slots.is_sorted_by(|left, right| left < right);
        let mut list = SlotList { slots: slots.into(), scattered, ..SlotList::default() };
        list.make_bits();
        PostingList::Many(Box::new(list))
    }

    fn few(from: &[u32]) -> PostingList {
        let mut slots = [0; FEW];
        let length = from.len().min(FEW);
        slots[..length].copy_from_slice(&from[..length]);
        PostingList::Few { length: length as u8, slots }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            PostingList::Few { length, .. } => usize::from(*length),
            PostingList::Many(list) => list.slots.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_ascending(&self) -> bool {
        match self {
            PostingList::Few { .. } => self.slots().0.is_sorted_by(|left, right| left < right),
            PostingList::Many(list) => !list.scattered,
        }
    }

    pub(crate) fn repeats(&self) -> bool {
        matches!(self, PostingList::Many(list) if list.repeats)
    }

    pub(crate) fn bits(&self) -> Option<&SlotBits> {
        match self {
            PostingList::Few { .. } => None,
            PostingList::Many(list) => list.bits.as_deref(),
        }
    }

    /// All slots, as two slices.
    fn slots(&self) -> (&[u32], &[u32]) {
        match self {
            PostingList::Few { length, slots } => (&slots[..usize::from(*length).min(FEW)], &[]),
            PostingList::Many(list) => list.slots.as_slices(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (front, back) = self.slots();
        front.iter().chain(back).copied()
    }

    /// The slots from a position on.
    pub(crate) fn iter_from(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let place = place.min(self.len());
        let [front, back] = self.parts(place, self.len() - place);
        front.iter().chain(back).copied()
    }

    /// A range of the slots, as two slices. The range must be within the list.
    pub(crate) fn parts(&self, skip: usize, limit: usize) -> [&[u32]; 2] {
        let (front, back) = self.slots();
        let from_front = &front[skip.min(front.len())..(skip + limit).min(front.len())];
        let skip = skip.saturating_sub(front.len());
        [from_front, &back[skip..skip + limit - from_front.len()]]
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        match self {
            PostingList::Few { .. } => self.slots().0.contains(&slot),
            PostingList::Many(list) => list.contains(slot),
        }
    }

    /// Adds a slot at one end unless the list has it. Returns whether it was added.
    pub(crate) fn add(&mut self, slot: u32, end: ListEnd) -> bool {
        match self {
            PostingList::Few { .. } if self.contains(slot) => false,
            PostingList::Few { length, slots } if usize::from(*length) < FEW => {
                let used = usize::from(*length);
                match end {
                    ListEnd::Front => {
                        slots.copy_within(..used, 1);
                        slots[0] = slot;
                    }
                    ListEnd::Back => slots[used] = slot,
                }
                *length += 1;
                true
            }
            PostingList::Few { slots, .. } => {
                let scattered = !slots.is_sorted_by(|left, right| left < right);
                let mut list = SlotList {
                    slots: slots.iter().copied().collect(),
                    scattered,
                    ..SlotList::default()
                };
                let added = list.add(slot, end);
                *self = PostingList::Many(Box::new(list));
                added
            }
            PostingList::Many(list) => list.add(slot, end),
        }
    }

    /// Adds a bit set if the list is dense. Bulk loading calls it once in the end.
    pub(crate) fn make_bits(&mut self) {
        if let PostingList::Many(list) = self {
            list.make_bits();
        }
    }

    /// Removes a slot and returns whether the list had it.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        match self {
            PostingList::Few { length, slots } => {
                let used = usize::from(*length).min(FEW);
                let Some(place) = slots[..used].iter().position(|listed| *listed == slot) else {
                    return false;
                };
                slots.copy_within(place + 1..used, place);
                *length -= 1;
                true
            }
            PostingList::Many(list) => {
                let removed = list.remove(slot);
                if list.slots.len() <= FEW {
                    *self = PostingList::few(list.slots.make_contiguous());
                }
                removed
            }
        }
    }

    /// Replaces every slot by another in the same order.
    pub(crate) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32) {
        match self {
            PostingList::Few { length, slots } => {
                for slot in &mut slots[..usize::from(*length).min(FEW)] {
                    *slot = new_slot(*slot);
                }
            }
            PostingList::Many(list) => {
                for slot in &mut list.slots {
                    *slot = new_slot(*slot);
                }
                list.slots.shrink_to_fit();
                list.bits = None;
                list.make_bits();
            }
        }
    }
}

impl SlotList {
    fn contains(&self, slot: u32) -> bool {
        match &self.bits {
            Some(bits) => bits.contains(slot),
            None if self.scattered => self.slots.contains(&slot),
            None => self.slots.binary_search(&slot).is_ok(),
        }
    }

    fn add(&mut self, slot: u32, end: ListEnd) -> bool {
        let neighbour = match end {
            ListEnd::Front => self.slots.front(),
            ListEnd::Back => self.slots.back(),
        };
        if let Some(&neighbour) = neighbour {
            if neighbour == slot {
                return false;
            }
            let ascends = (slot < neighbour) == (end == ListEnd::Front);
            if (self.scattered || !ascends) && self.contains(slot) {
                return false;
            }
            self.scattered |= !ascends;
        }
        end.push(&mut self.slots, slot);
        self.update_bits(slot);
        true
    }

    fn update_bits(&mut self, slot: u32) {
        let length = self.slots.len();
        if let Some(bits) = &mut self.bits {
            if bits.size_with(slot) > 2 * length + DENSE_FROM && !self.scattered {
                self.bits = None;
            } else {
                bits.insert(slot);
            }
            return;
        }
        // Scattered lists need a bit set for every search; others reconsider it as they grow.
        let look = self.scattered || (length >= DENSE_FROM && length.is_power_of_two());
        if look {
            self.make_bits();
        }
    }

    fn make_bits(&mut self) {
        let (Some(&first), Some(&last)) = (self.slots.front(), self.slots.back()) else {
            return;
        };
        let dense = self.slots.len() >= DENSE_FROM
            && (last.saturating_sub(first) / 64) as usize <= self.slots.len();
        if self.bits.is_none() && (self.scattered || dense) {
            self.bits = Some(Box::new(SlotBits::from_slots(self.slots.iter().copied())));
        }
    }

    fn remove(&mut self, slot: u32) -> bool {
        let place = if self.scattered {
            self.slots.iter().position(|listed| *listed == slot)
        } else {
            self.slots.binary_search(&slot).ok()
        };
        let Some(place) = place else {
            return false;
        };
        self.slots.remove(place);
        if let Some(bits) = &mut self.bits {
            bits.remove(slot);
        }
        if self.scattered {
            self.scattered =
                !self.slots.iter().zip(self.slots.iter().skip(1)).all(|(left, right)| left < right);
        }
        true
    }
}

/// A set of seen slots of any size.
#[derive(Debug, Default)]
pub(crate) struct SeenSlots {
    few: Vec<u32>,
    many: SlotBits,
}

impl SeenSlots {
    /// Adds a slot and returns whether it is new.
    pub(crate) fn insert(&mut self, slot: u32) -> bool {
        if self.many.size() > 0 {
            return self.many.insert(slot);
        }
        if self.few.contains(&slot) {
            return false;
        }
        self.few.push(slot);
        if self.few.len() > DENSE_FROM {
            self.many = SlotBits::from_slots(self.few.iter().copied());
        }
        true
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        if self.many.size() > 0 { self.many.contains(slot) } else { self.few.contains(&slot) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn behaves_like_a_list_without_repeats(
            changes in proptest::collection::vec((1000u32..1400, 0u8..3), 0..300)
        ) {
            let mut posting = PostingList::default();
            let mut list: Vec<u32> = Vec::new();
            for (slot, change) in changes {
                let new = !list.contains(&slot);
                match change {
                    0 => {
                        proptest::prop_assert_eq!(posting.remove(slot), !new);
                        list.retain(|listed| *listed != slot);
                    }
                    1 => {
                        proptest::prop_assert_eq!(posting.add(slot, ListEnd::Front), new);
                        if new {
                            list.insert(0, slot);
                        }
                    }
                    _ => {
                        proptest::prop_assert_eq!(posting.add(slot, ListEnd::Back), new);
                        if new {
                            list.push(slot);
                        }
                    }
                }
                proptest::prop_assert_eq!(posting.len(), list.len());
                proptest::prop_assert_eq!(
                    posting.is_ascending(),
                    list.is_sorted_by(|left, right| left < right)
                );
            }
            for slot in 1000..1400 {
                proptest::prop_assert_eq!(posting.contains(slot), list.contains(&slot));
            }
            proptest::prop_assert_eq!(&posting.iter().collect::<Vec<_>>(), &list);
            for skip in 0..=list.len() {
                for limit in [0, 1, list.len() - skip] {
                    let end = (skip + limit).min(list.len());
                    let parts = posting.parts(skip, end - skip).concat();
                    proptest::prop_assert_eq!(&parts, &list[skip..end]);
                }
            }
        }
    }

    #[test]
    fn lists_of_a_query_know_whether_they_repeat() {
        assert!(PostingList::from_slots(vec![3, 1, 3]).repeats());
        let once = PostingList::without_repeats(vec![3, 1, 3]);
        assert!(!once.repeats() && !once.is_ascending());
        assert_eq!(once.iter().collect::<Vec<_>>(), [3, 1]);
        assert!(!PostingList::from_slots(vec![1, 2]).repeats());
    }
}
