//! Slots: the position of each document in its index, and the identifier of each slot.

use crate::collection::id::{Id, KeyFormat};
use crate::collection::record_locations::{Location, RecordLocations};
use crate::durable::{DamagedFile, SectionReader, SectionWriter};
use crate::index::posting_list::ListEnd;
use bytes::Bytes;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;

/// The slot of the first document, in the middle, so that the index can grow at both ends.
const FIRST_SLOT: u32 = 1 << 31;

/// Renumbering starts when free slots exceed documents by this many.
const FREE_SLOTS_ALLOWED: usize = 1_024;

/// Identifiers and slots. All identifiers have the format of the index, so they are of one kind.
#[derive(Clone, Debug)]
pub(crate) struct DocumentSlots {
    /// The slots, hashed by their identifiers.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    ids: Ids,
    /// The slot of the first of `ids`.
    base: u32,
    /// The location of the record of each slot.
    locations: VecDeque<Location>,
    records: RecordLocations,
}

/// The identifiers by slot; those of free slots mean nothing.
#[derive(Clone, Debug)]
enum Ids {
    Integers(VecDeque<i64>),
    Texts(VecDeque<Arc<str>>),
}

impl Ids {
    fn new(format: KeyFormat) -> Ids {
        match format {
            KeyFormat::Integer => Ids::Integers(VecDeque::new()),
            KeyFormat::Text => Ids::Texts(VecDeque::new()),
        }
    }

    fn hash(&self, place: usize, hasher: &DefaultHashBuilder) -> u64 {
        match self {
            Ids::Integers(ids) => ids.get(place).map_or(0, |id| hasher.hash_one(id)),
            Ids::Texts(ids) => ids.get(place).map_or(0, |id| hasher.hash_one(&**id)),
        }
    }

    fn is(&self, place: usize, id: &Id) -> bool {
        match (self, id) {
            (Ids::Integers(ids), Id::Integer(id)) => ids.get(place) == Some(id),
            (Ids::Texts(ids), Id::Text(id)) => ids.get(place) == Some(id),
            _ => false,
        }
    }
}

fn hash(id: &Id, hasher: &DefaultHashBuilder) -> u64 {
    match id {
        Id::Integer(id) => hasher.hash_one(id),
        Id::Text(id) => hasher.hash_one(&**id),
    }
}

impl DocumentSlots {
    pub(crate) fn new(format: KeyFormat) -> DocumentSlots {
        DocumentSlots {
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            ids: Ids::new(format),
            base: FIRST_SLOT,
            locations: VecDeque::new(),
            records: RecordLocations::default(),
        }
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
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
        let same = |slot: &u32| self.ids.is((slot - self.base) as usize, id);
        self.table.find(hash(id, &self.hasher), same).copied()
    }

    /// The document of a slot.
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

    /// Appends the identifiers of slots.
    pub(crate) fn push_ids(&self, slots: &[u32], out: &mut Vec<Id>) {
        // A deque that has grown at one end only is one slice.
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

    /// Whether one of the ends has no slot left, so that renumbering must come first.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.base == 0 || u64::from(self.base) + self.width() as u64 >= u64::from(u32::MAX)
    }

    /// Assigns a slot to a new document.
    pub(crate) fn insert(&mut self, id: Id, end: ListEnd) -> u32 {
        let slot = match end {
            ListEnd::Front => {
                self.base -= 1;
                self.base
            }
            ListEnd::Back => self.base + self.width() as u32,
        };
        match (&mut self.ids, &id) {
            (Ids::Integers(ids), Id::Integer(number)) => end.push(ids, *number),
            (Ids::Integers(ids), Id::Text(_)) => end.push(ids, 0),
            (Ids::Texts(ids), Id::Text(text)) => end.push(ids, text.clone()),
            (Ids::Texts(ids), Id::Integer(_)) => end.push(ids, "".into()),
        }
        end.push(&mut self.locations, Location::NOWHERE);
        let DocumentSlots { table, hasher, ids, base, .. } = self;
        table.insert_unique(hash(&id, hasher), slot, |slot| {
            ids.hash((slot - *base) as usize, hasher)
        });
        slot
    }

    /// Removes a document and returns its slot.
    pub(crate) fn remove(&mut self, id: &Id) -> Option<u32> {
        let DocumentSlots { table, hasher, ids, base, .. } = self;
        let same = |slot: &u32| ids.is((slot - *base) as usize, id);
        let (slot, _) = table.find_entry(hash(id, hasher), same).ok()?.remove();
        self.set_location(slot, Location::NOWHERE);
        Some(slot)
    }

    fn set_location(&mut self, slot: u32, location: Location) {
        if let Some(known) = self.locations.get_mut((slot - self.base) as usize) {
            self.records.remove(*known);
            *known = location;
        }
    }

    /// Stores the record of a document; `sequence` is the number of its write.
    pub(crate) fn set_record(&mut self, id: &Id, sequence: u64, record: Bytes) {
        if let Some(slot) = self.slot(id) {
            let location = self.records.insert(sequence, record);
            self.set_location(slot, location);
        }
    }

    /// The record of a document.
    pub(crate) fn record(&self, id: &Id) -> Option<Bytes> {
        let place = (self.slot(id)? - self.base) as usize;
        self.records.get(*self.locations.get(place)?)
    }

    /// The record locations, to move records to another file.
    pub(crate) fn records(&mut self) -> &mut RecordLocations {
        &mut self.records
    }

    /// Moves a record to the newest file, if its write is not later than `sequence`.
    pub(crate) fn move_record(&mut self, id: &Id, sequence: u64, offset: u64) {
        if let Some(slot) = self.slot(id)
            && let Some(location) = self.locations.get_mut((slot - self.base) as usize)
        {
            *location = self.records.moved(*location, sequence, offset);
        }
    }

    /// The first slot.
    pub(crate) fn first_slot(&self) -> u32 {
        self.base
    }

    /// Writes the identifiers, with the offsets of the records in the file. The slots must have no
    /// gaps.
    pub(crate) fn write(&self, offsets: &[u64], out: &mut SectionWriter<'_>) -> io::Result<()> {
        out.u64(self.width() as u64)?;
        match &self.ids {
            Ids::Integers(ids) => out.u64s(ids.iter().map(|id| *id as u64))?,
            Ids::Texts(ids) => ids.iter().try_for_each(|id| out.text(id))?,
        }
        out.u64(offsets.len() as u64)?;
        out.u64s(offsets.iter().copied())
    }

    /// Reads the output of [`write`](Self::write).
    pub(crate) fn read(&mut self, input: &mut SectionReader<'_>) -> Result<(), DamagedFile> {
        let count = input.count(4)?;
        let id = |input: &mut SectionReader<'_>| match self.ids {
            Ids::Integers(_) => Ok(Id::Integer(input.u64()? as i64)),
            Ids::Texts(_) => Ok(Id::Text(input.text()?.into())),
        };
        let ids: Vec<Id> = (0..count).map(|_| id(input)).collect::<Result<_, _>>()?;
        self.table.reserve(count, |_| 0);
        for id in ids {
            if self.slot(&id).is_some() {
                return Err(DamagedFile);
            }
            self.insert(id, ListEnd::Back);
        }
        let located = input.count(8)?;
        if located != 0 && located != count {
            return Err(DamagedFile);
        }
        for (place, offset) in input.u64s(located)?.enumerate() {
            if offset != 0 {
                self.locations[place] = self.records.in_newest(offset);
            }
        }
        if input.is_empty() { Ok(()) } else { Err(DamagedFile) }
    }

    /// Whether most slots are free.
    pub(crate) fn is_sparse(&self) -> bool {
        self.width() > 2 * self.len() + FREE_SLOTS_ALLOWED
    }

    /// Moves the documents to slots without gaps, in the same order, and returns the new slot of
    /// each.
    pub(crate) fn renumber(&mut self) -> Renumbering {
        let mut order: Vec<u32> = self.table.drain().collect();
        order.sort_unstable();
        let format = match &self.ids {
            Ids::Integers(_) => KeyFormat::Integer,
            Ids::Texts(_) => KeyFormat::Text,
        };
        let new = DocumentSlots {
            records: std::mem::take(&mut self.records),
            ..DocumentSlots::new(format)
        };
        let old = std::mem::replace(self, new);
        let mut renumbering = Renumbering { base: old.base, new: vec![0; old.width()] };
        for slot in order {
            let place = (slot - old.base) as usize;
            let Some(id) = old.id(slot) else { continue };
            renumbering.new[place] = self.insert(id, ListEnd::Back);
            if let (Some(new), Some(known)) = (self.locations.back_mut(), old.locations.get(place))
            {
                *new = *known;
            }
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
    /// The new slot of an existing document.
    pub(crate) fn new_slot(&self, slot: u32) -> u32 {
        self.new[(slot - self.base) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_the_order_when_they_are_given_anew() {
        let mut documents = DocumentSlots::new(KeyFormat::Integer);
        for number in 0..10 {
            documents.insert(Id::Integer(number), ListEnd::Back);
            documents.insert(Id::Integer(-1 - number), ListEnd::Front);
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
        let mut documents = DocumentSlots::new(KeyFormat::Text);
        let slot = documents.insert(Id::from(" 1"), ListEnd::Front);
        assert_eq!(documents.id(slot), Some(Id::from(" 1")));
        assert!(!documents.is_sparse() && !documents.is_exhausted());
    }
}
