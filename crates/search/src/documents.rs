//! The documents of an index in their order: which identifier is in which slot.

use crate::id::{Id, KeyFormat};
use crate::posting::End;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The slot of the first document, so that there is room for others before it.
const FIRST_SLOT: u32 = 1 << 31;

/// Slots of removed documents are kept until there are this many more than documents.
const FREE_SLOTS_ALLOWED: usize = 1_024;

/// Identifiers and slots. Identifiers come in the format of the index, so all are of one kind.
#[derive(Debug)]
pub(crate) struct Documents {
    slots: HashMap<Id, u32>,
    ids: Ids,
    /// The slot of the first of `ids`.
    base: u32,
}

/// The identifiers by slot; those in slots of removed documents mean nothing.
#[derive(Debug)]
enum Ids {
    Integers(VecDeque<i64>),
    Texts(VecDeque<Arc<str>>),
}

impl Documents {
    pub(crate) fn new(format: KeyFormat) -> Documents {
        let ids = match format {
            KeyFormat::Integer => Ids::Integers(VecDeque::new()),
            KeyFormat::Text => Ids::Texts(VecDeque::new()),
        };
        Documents { slots: HashMap::new(), ids, base: FIRST_SLOT }
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of slots, used and free.
    fn width(&self) -> usize {
        match &self.ids {
            Ids::Integers(ids) => ids.len(),
            Ids::Texts(ids) => ids.len(),
        }
    }

    /// The slot of a document.
    pub(crate) fn slot(&self, id: &Id) -> Option<u32> {
        self.slots.get(id).copied()
    }

    /// The document in a slot.
    pub(crate) fn id(&self, slot: u32) -> Option<Id> {
        let place = slot.checked_sub(self.base)? as usize;
        match &self.ids {
            Ids::Integers(ids) => ids.get(place).copied().map(Id::Integer),
            Ids::Texts(ids) => ids.get(place).cloned().map(Id::Text),
        }
    }

    /// The documents in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        let slots = (0..self.width() as u32).map(|place| self.base.wrapping_add(place));
        slots.filter_map(|slot| self.id(slot).filter(|id| self.slot(id) == Some(slot)))
    }

    /// Appends the documents in some slots.
    pub(crate) fn push_ids(&self, slots: &[u32], out: &mut Vec<Id>) {
        // They are in one piece unless the index has grown at both ends.
        if let Ids::Integers(ids) = &self.ids
            && let (ids, []) = ids.as_slices()
        {
            let place = |slot: &u32| slot.wrapping_sub(self.base) as usize;
            let id = |slot| ids.get(place(slot)).copied().unwrap_or_default();
            out.extend(slots.iter().map(|slot| Id::Integer(id(slot))));
        } else {
            out.extend(slots.iter().filter_map(|slot| self.id(*slot)));
        }
    }

    /// Whether no slot is left at one of the ends, so that slots have to be given anew first.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.base == 0 || u64::from(self.base) + self.width() as u64 >= u64::from(u32::MAX)
    }

    /// Gives a new document a slot.
    pub(crate) fn insert(&mut self, id: Id, end: End) -> u32 {
        let slot = match end {
            End::Front => {
                self.base -= 1;
                self.base
            }
            End::Back => self.base + self.width() as u32,
        };
        match &mut self.ids {
            Ids::Integers(ids) => {
                let number = if let Id::Integer(number) = id { number } else { 0 };
                match end {
                    End::Front => ids.push_front(number),
                    End::Back => ids.push_back(number),
                }
            }
            Ids::Texts(ids) => {
                let text = if let Id::Text(text) = &id { text.clone() } else { "".into() };
                match end {
                    End::Front => ids.push_front(text),
                    End::Back => ids.push_back(text),
                }
            }
        }
        self.slots.insert(id, slot);
        slot
    }

    /// Forgets a document and answers the slot that it had.
    pub(crate) fn remove(&mut self, id: &Id) -> Option<u32> {
        self.slots.remove(id)
    }

    /// Whether most slots are free.
    pub(crate) fn is_sparse(&self) -> bool {
        self.width() > 2 * self.len() + FREE_SLOTS_ALLOWED
    }

    /// Gives the documents new slots without gaps, in the same order, and answers the new slot of
    /// each.
    pub(crate) fn renumber(&mut self) -> Renumbering {
        let mut order: Vec<(u32, Id)> = self.slots.drain().map(|(id, slot)| (slot, id)).collect();
        order.sort_unstable_by_key(|(slot, _)| *slot);
        let mut renumbering = Renumbering { base: self.base, new: vec![0; self.width()] };
        match &mut self.ids {
            Ids::Integers(ids) => *ids = VecDeque::with_capacity(order.len()),
            Ids::Texts(ids) => *ids = VecDeque::with_capacity(order.len()),
        }
        self.base = FIRST_SLOT;
        for (old, id) in order {
            let new = self.insert(id, End::Back);
            renumbering.new[(old - renumbering.base) as usize] = new;
        }
        renumbering
    }
}

/// The new slots of documents.
pub(crate) struct Renumbering {
    base: u32,
    new: Vec<u32>,
}

impl Renumbering {
    /// The new slot of a document that is still there.
    pub(crate) fn new_slot(&self, slot: u32) -> u32 {
        self.new[(slot - self.base) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_the_order_when_they_are_given_anew() {
        let mut documents = Documents::new(KeyFormat::Integer);
        for number in 0..10 {
            documents.insert(Id::Integer(number), End::Back);
            documents.insert(Id::Integer(-1 - number), End::Front);
        }
        let removed = documents.remove(&Id::Integer(3));
        assert!(removed.is_some() && documents.len() == 19);
        let old: Vec<u32> =
            [-10, -1, 0, 4, 9].map(|id| documents.slot(&Id::Integer(id)).unwrap_or(0)).into();
        let renumbering = documents.renumber();
        let new: Vec<u32> = old.iter().map(|slot| renumbering.new_slot(*slot)).collect();
        let expected = [0, 9, 10, 13, 18].map(|place| FIRST_SLOT + place);
        assert_eq!(new, expected);
        let mut ids = Vec::new();
        documents.push_ids(&new, &mut ids);
        assert_eq!(ids, [-10, -1, 0, 4, 9].map(Id::Integer));
        assert_eq!(documents.id(FIRST_SLOT + 19), None);
    }

    #[test]
    fn texts_are_kept_as_they_are() {
        let mut documents = Documents::new(KeyFormat::Text);
        let slot = documents.insert(Id::from(" 1"), End::Front);
        assert_eq!(documents.id(slot), Some(Id::from(" 1")));
        assert!(!documents.is_sparse() && !documents.is_exhausted());
    }
}
