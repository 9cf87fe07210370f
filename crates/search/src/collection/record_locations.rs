//! Locations of records: in memory, or in the file of a snapshot.

use bytes::Bytes;

/// The location of one record.
///
/// In memory: the index in the list of recent records, plus one. In a file: the highest bit, a bit
/// that selects one of two files, and the offset of the record's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location(u64);

/// The bit of locations in files.
const IN_FILE: u64 = 1 << 63;

/// The bit of locations in the second of the two files.
const SECOND: u64 = 1 << 62;

impl Location {
    /// No record.
    pub(crate) const NOWHERE: Location = Location(0);

    fn in_file(file: usize, offset: u64) -> Location {
        Location(IN_FILE | if file == 1 { SECOND } else { 0 } | offset & (SECOND - 1))
    }
}

/// A record that no snapshot has yet.
#[derive(Clone, Debug)]
struct Recent {
    /// The number of its write.
    sequence: u64,
    record: Bytes,
}

/// The records of an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordLocations {
    recent: Vec<Option<Recent>>,
    /// The free entries of `recent`.
    free: Vec<u32>,
    /// The file of the newest snapshot, and that of the previous one while records move.
    files: [Option<Bytes>; 2],
    current: usize,
}

impl RecordLocations {
    /// Stores a record.
    pub(crate) fn insert(&mut self, sequence: u64, record: Bytes) -> Location {
        let recent = Some(Recent { sequence, record });
        match self.free.pop() {
            Some(number) => {
                self.recent[number as usize] = recent;
                Location(u64::from(number) + 1)
            }
            None => {
                self.recent.push(recent);
                Location(self.recent.len() as u64)
            }
        }
    }

    /// Removes a record from memory.
    pub(crate) fn remove(&mut self, location: Location) {
        let Some(number) = location.0.checked_sub(1) else { return };
        if let Some(recent) = usize::try_from(number).ok().and_then(|at| self.recent.get_mut(at)) {
            *recent = None;
            self.free.push(number as u32);
        }
    }

    /// The record at a location.
    pub(crate) fn get(&self, location: Location) -> Option<Bytes> {
        if location.0 & IN_FILE == 0 {
            let at = usize::try_from(location.0.checked_sub(1)?).ok()?;
            return self.recent.get(at)?.as_ref().map(|recent| recent.record.clone());
        }
        let file = self.files[usize::from(location.0 & SECOND != 0)].as_ref()?;
        let start = usize::try_from(location.0 & (SECOND - 1)).ok()?.checked_add(4)?;
        let length = file.get(start - 4..start)?.first_chunk().copied().map(u32::from_le_bytes)?;
        let end = start.checked_add(length as usize)?;
        (end <= file.len()).then(|| file.slice(start..end))
    }

    /// Takes the file of a new snapshot; records move to it afterwards.
    pub(crate) fn take_file(&mut self, file: Bytes) {
        self.current = 1 - self.current;
        self.files[self.current] = Some(file);
    }

    /// The location of an offset in the newest file.
    pub(crate) fn in_newest(&self, offset: u64) -> Location {
        Location::in_file(self.current, offset)
    }

    /// The new location of a record that a snapshot has at `offset`, if its write is not later than
    /// `sequence`.
    pub(crate) fn moved(&mut self, old: Location, sequence: u64, offset: u64) -> Location {
        if old.0 & IN_FILE == 0 {
            let number = old.0.checked_sub(1).and_then(|number| usize::try_from(number).ok());
            let recent = number.and_then(|number| self.recent.get(number)?.as_ref());
            if recent.is_none_or(|recent| recent.sequence > sequence) {
                return old;
            }
            self.remove(old);
        }
        self.in_newest(offset)
    }

    /// Closes the previous file, once all records have moved.
    pub(crate) fn drop_older(&mut self) {
        self.files[1 - self.current] = None;
        while self.recent.pop_if(|recent| recent.is_none()).is_some() {}
        self.recent.shrink_to_fit();
        let length = self.recent.len();
        self.free.retain(|number| (*number as usize) < length);
        self.free.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_move_to_the_file_of_a_snapshot() {
        let mut records = RecordLocations::default();
        let old = records.insert(1, Bytes::from_static(b"old"));
        let new = records.insert(2, Bytes::from_static(b"new"));
        records.take_file(Bytes::from_static(b"\x03\0\0\0old"));
        let moved = records.moved(old, 1, 0);
        assert_eq!(records.moved(new, 1, 0), new);
        records.drop_older();
        assert_eq!(records.get(moved).as_deref(), Some(&b"old"[..]));
        assert_eq!(records.get(new).as_deref(), Some(&b"new"[..]));
        records.take_file(Bytes::from_static(b"\0\x03\0\0\0oldxx"));
        let again = records.moved(moved, 2, 1);
        records.remove(new);
        records.drop_older();
        assert_eq!(records.get(again).as_deref(), Some(&b"old"[..]));
        for nowhere in [Location::NOWHERE, new, moved, Location::in_file(0, 7)] {
            assert_eq!(records.get(nowhere), None);
        }
        assert_eq!(records.insert(3, Bytes::new()), Location(1));
    }
}
