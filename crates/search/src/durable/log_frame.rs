//! The format of the log: parts, which hold groups of writes that were flushed together.
//!
//! A part begins with a header of 32 bytes: the magic, the version, a checksum, the number of its
//! first write, and a random number, the salt. Each group has a header of 20 bytes: a magic, the
//! length of its content, the number of its first write, and a checksum over the salt and all of
//! these. Because of the salt, no document can contain a valid group.
//!
//! ```text
//! | header of the part | group header | write | write | group header | write | …
//! ```

use crate::collection::id::Id;
use crate::durable::disk_error::DiskError;
use crate::durable::section_reader::{DamagedFile, SectionReader};
use crc32fast::Hasher;
use runnel_store::Kind;
use std::path::Path;

/// The version of the file format; see `docs/design/search-format.md`.
pub(crate) const VERSION: u32 = 1;

/// The magic of a part of the log.
const LOG_MAGIC: &[u8; 8] = b"RunnelSL";

/// The magic of a group.
const GROUP_MAGIC: u32 = 0x4752_5557;

/// The length of the header of a part.
pub(crate) const LOG_HEADER: usize = 32;

/// The length of the header of a group.
pub(crate) const GROUP_HEADER: usize = 20;

/// A write of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoggedWrite<'a> {
    Put(Id, &'a [u8]),
    Remove(Id),
    /// Its group is intact, and its content is of no kind that this program writes.
    Unreadable,
}

/// Appends a write to a group.
pub(crate) fn append_write(id: &Id, record: Option<&[u8]>, out: &mut Vec<u8>) {
    let record_length = record.map_or(0, <[u8]>::len);
    let kind = 2 * u8::from(record.is_none());
    match id {
        Id::Integer(number) => {
            out.extend_from_slice(&(1 + 8 + record_length as u32).to_le_bytes());
            out.push(kind);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Id::Text(text) => {
            out.extend_from_slice(&((1 + 4 + text.len() + record_length) as u32).to_le_bytes());
            out.push(kind + 1);
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.extend_from_slice(record.unwrap_or_default());
}

fn read_write<'a>(input: &mut SectionReader<'a>) -> Result<LoggedWrite<'a>, DamagedFile> {
    let length = input.u32()? as usize;
    let content = SectionReader::new(input.take(length)?);
    Ok(read_content(content).unwrap_or(LoggedWrite::Unreadable))
}

fn read_content(mut write: SectionReader<'_>) -> Result<LoggedWrite<'_>, DamagedFile> {
    let kind = write.u8()?;
    let id = match kind % 2 {
        0 => Id::Integer(write.u64()? as i64),
        _ => Id::Text(write.text()?.into()),
    };
    match kind {
        0 | 1 => Ok(LoggedWrite::Put(id, write.rest())),
        2 | 3 if write.is_empty() => Ok(LoggedWrite::Remove(id)),
        _ => Err(DamagedFile),
    }
}

/// The header of a part.
pub(crate) fn log_header(first: u64, salt: u64) -> [u8; LOG_HEADER] {
    let mut header = [0; LOG_HEADER];
    header[..8].copy_from_slice(LOG_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    header[24..].copy_from_slice(&salt.to_le_bytes());
    let checksum = crc32fast::hash(&header);
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// The header of a group with this content.
pub(crate) fn group_header(salt: u64, first: u64, content: &[u8]) -> [u8; GROUP_HEADER] {
    let mut header = [0; GROUP_HEADER];
    header[..4].copy_from_slice(&GROUP_MAGIC.to_le_bytes());
    header[4..8].copy_from_slice(&(content.len() as u32).to_le_bytes());
    header[8..16].copy_from_slice(&first.to_le_bytes());
    let checksum = checksum(salt, &header[..16], content);
    header[16..20].copy_from_slice(&checksum.to_le_bytes());
    header
}

fn checksum(salt: u64, header: &[u8], content: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(header);
    hasher.update(content);
    hasher.finalize()
}

/// A reader of a part of the log.
#[derive(Debug)]
pub(crate) struct LogPart<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    salt: u64,
    at: usize,
    next: u64,
}

/// A group of a part.
#[derive(Debug)]
pub(crate) struct LogGroup<'a> {
    /// The number of its first write.
    pub(crate) first: u64,
    content: &'a [u8],
    offset: usize,
}

impl<'a> LogPart<'a> {
    /// Reads the header. `None` if it is incomplete, as after a crash at the beginning of the part.
    pub(crate) fn open(path: &'a Path, bytes: &'a [u8]) -> Result<Option<LogPart<'a>>, DiskError> {
        let Some(header) = bytes.first_chunk::<LOG_HEADER>() else { return Ok(None) };
        let number = |at: usize| header[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let version = (number(8) & u64::from(u32::MAX)) as u32;
        if &header[..8] == LOG_MAGIC && version != VERSION {
            return Err(unknown_version(path, version));
        }
        let (first, salt) = (number(16), number(24));
        if *header != log_header(first, salt) {
            return Ok(None);
        }
        Ok(Some(LogPart { path, bytes, salt, at: LOG_HEADER, next: first }))
    }

    /// The position of the next group.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn salt(&self) -> u64 {
        self.salt
    }

    /// The number of the write after those read so far.
    pub(crate) fn next_write(&self) -> u64 {
        self.next
    }

    /// The next group. `None` at the end, or if the rest is not a group: then `position`
    /// (Self::position) is before the end.
    pub(crate) fn next_group(&mut self) -> Option<LogGroup<'a>> {
        let (group, end) = self.group_at(self.at)?;
        if group.first != self.next {
            return None;
        }
        self.at = end;
        Some(group)
    }

    fn group_at(&self, offset: usize) -> Option<(LogGroup<'a>, usize)> {
        let mut input = SectionReader::new(self.bytes.get(offset..)?);
        let header = input.take(GROUP_HEADER).ok()?;
        let number = |at: usize| header[at..].first_chunk().copied().map_or(0, u32::from_le_bytes);
        if number(0) != GROUP_MAGIC {
            return None;
        }
        let content = input.take(number(4) as usize).ok()?;
        let first = header[8..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let sum = checksum(self.salt, &header[..16], content);
        let end = offset + GROUP_HEADER + content.len();
        (number(16) == sum).then_some((LogGroup { first, content, offset }, end))
    }

    /// Whether a valid group follows anywhere after this position: then this is damage and not a
    /// torn write at the end.
    pub(crate) fn has_later_group(&self) -> bool {
        let magic = GROUP_MAGIC.to_le_bytes();
        let left = self.bytes.get(self.at + 1..).unwrap_or_default();
        let found = left.windows(4).enumerate().filter(|(_, window)| **window == magic);
        let mut places = found.map(|(place, _)| self.at + 1 + place);
        places.any(|place| self.group_at(place).is_some_and(|(group, _)| group.first > self.next))
    }

    /// The writes of a group, in their order.
    pub(crate) fn writes(
        &mut self,
        group: &LogGroup<'a>,
        mut each: impl FnMut(u64, LoggedWrite<'a>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let mut input = SectionReader::new(group.content);
        while !input.is_empty() {
            let write = read_write(&mut input).map_err(|DamagedFile| {
                let what = "a group of writes is not what was written";
                DiskError::damaged(self.path, group.offset as u64, what)
            })?;
            each(self.next, write)?;
            self.next += 1;
        }
        Ok(())
    }
}

pub(crate) fn unknown_version(path: &Path, version: u32) -> DiskError {
    let message = format!(
        "{} has version {version} of its format, and this program knows version {VERSION}; open \
         it with the program that wrote it",
        path.display()
    );
    DiskError::new(Kind::Unsupported, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_back_and_nothing_else_is() {
        let mut first = Vec::new();
        append_write(&Id::from(-7), Some(b"{}"), &mut first);
        append_write(&Id::from("a"), None, &mut first);
        let mut second = Vec::new();
        append_write(&Id::from("a"), Some(b""), &mut second);
        let mut file = log_header(5, 99).to_vec();
        file.extend(group_header(99, 5, &first));
        file.extend(&first);
        let middle = file.len();
        file.extend(group_header(99, 7, &second));
        file.extend(&second);
        let path = Path::new("log");
        let mut part = LogPart::open(path, &file).unwrap().unwrap();
        let mut writes = Vec::new();
        while let Some(group) = part.next_group() {
            let each = |number, write| {
                writes.push((number, write));
                Ok(())
            };
            part.writes(&group, each).unwrap();
        }
        let expected = [
            (5, LoggedWrite::Put(Id::from(-7), &b"{}"[..])),
            (6, LoggedWrite::Remove(Id::from("a"))),
            (7, LoggedWrite::Put(Id::from("a"), &b""[..])),
        ];
        assert_eq!(writes, expected);
        assert_eq!((part.position(), part.next_write()), (file.len(), 8));
        for place in LOG_HEADER..file.len() {
            let mut broken = file.clone();
            broken[place] ^= 1;
            let mut part = LogPart::open(path, &broken).unwrap().unwrap();
            let whole = std::iter::from_fn(|| {
                let group = part.next_group()?;
                part.writes(&group, |_, _| Ok(())).unwrap();
                Some(())
            });
            assert_eq!(whole.count(), usize::from(place >= middle));
            assert_eq!(part.has_later_group(), place < middle);
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let mut header = log_header(1, 2);
        header[8] = 2;
        let fault = LogPart::open(Path::new("log"), &header).unwrap_err();
        assert!(fault.message().contains("version 2"));
        assert!(LogPart::open(Path::new("log"), &header[..31]).unwrap().is_none());
    }
}
