//! Snapshots: an index with its records in one file.
//!
//! The file has a header, sections, a table of the sections and a footer with the position of the
//! table. It is written under a temporary name, flushed, and then renamed.
//!
//! ```text
//! | header | section | section | … | table of sections | footer |
//! ```

use crate::collection::id::KeyFormat;
use crate::durable::disk_error::DiskError;
use crate::durable::disk_steps::DiskStep;
use crate::durable::folder::CollectionFolder;
use crate::durable::log_frame::{VERSION, unknown_version};
use crate::durable::mapped_file::map;
use crate::durable::section_reader::{DamagedFile, SectionReader};
use crate::durable::section_writer::SectionWriter;
use crate::index::search_index::SearchIndex;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The magic at the start.
const MAGIC: &[u8; 8] = b"RunnelSS";

/// The magic at the end.
const END_MAGIC: &[u8; 8] = b"RunnelSE";

/// The length of the header, a multiple of eight.
const HEADER: usize = 40;

/// The length of an entry of the table.
const LINE: usize = 24;

/// The length of the footer.
const FOOTER: usize = 24;

/// The header flag of stored records.
const STORED: u32 = 1;

/// The header flag of identifiers that are texts.
const TEXTS: u32 = 2;

/// The header of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotHeader {
    /// The number of its last write.
    pub(crate) last: u64,
    /// The fingerprint of its definition.
    pub(crate) fingerprint: u64,
    /// Whether it has the records.
    pub(crate) stored: bool,
    /// The format of identifiers.
    pub(crate) keys: KeyFormat,
}

/// A writer that makes each piece a step, so that a test can fail it.
struct Sink<'a> {
    file: &'a File,
    folder: &'a CollectionFolder,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.folder.is_closing() {
            return Err(io::Error::other("the index is closed"));
        }
        self.folder.steps().enter(DiskStep::WriteSnapshot)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a snapshot of a settled index and renames it. Returns the file, and the offset of the
/// record of each document, 0 for those without.
pub(crate) fn write(
    folder: &CollectionFolder,
    index: &SearchIndex,
    about: SnapshotHeader,
) -> Result<(Bytes, Vec<u64>), DiskError> {
    let unfinished = folder.unfinished();
    let failed =
        |error: io::Error| DiskError::of_file("writing a snapshot to", &unfinished, &error);
    let open = File::options().read(true).write(true).create(true).truncate(true).open(&unfinished);
    let file = open.map_err(failed)?;
    let mut sink = Sink { file: &file, folder };
    let written = write_file(index, about, &mut SectionWriter::new(&mut sink));
    let offsets = written
        .and_then(|offsets| {
            folder.steps().enter(DiskStep::SyncSnapshot)?;
            file.sync_all()?;
            folder.steps().enter(DiskStep::Rename)?;
            std::fs::rename(&unfinished, folder.snapshot(about.last))?;
            Ok(offsets)
        })
        .inspect_err(|_| {
            // The incomplete file only takes room; if its removal fails, the next snapshot replaces
            // it.
            let _ = std::fs::remove_file(&unfinished);
        });
    let offsets = offsets.map_err(failed)?;
    folder.sync()?;
    Ok((map(&file).map_err(failed)?, offsets))
}

fn write_file(
    index: &SearchIndex,
    about: SnapshotHeader,
    out: &mut SectionWriter<'_>,
) -> io::Result<Vec<u64>> {
    let mut table = Vec::new();
    out.bytes(MAGIC)?;
    out.u32(VERSION)?;
    let stored = if about.stored { STORED } else { 0 };
    out.u32(stored | if about.keys == KeyFormat::Text { TEXTS } else { 0 })?;
    out.u64(about.last)?;
    out.u64(about.fingerprint)?;
    out.u64(index.len() as u64)?;
    end_section(&mut table, 0, out)?;
    let start = out.position();
    let offsets = if about.stored { write_records(index, out)? } else { Vec::new() };
    end_section(&mut table, start, out)?;
    let start = out.position();
    index.documents().write(&offsets, out)?;
    end_section(&mut table, start, out)?;
    for number in 0..index.sections() {
        let start = out.position();
        index.write_section(number, out)?;
        end_section(&mut table, start, out)?;
    }
    let start = out.position();
    out.bytes(&table)?;
    let checksum = out.end_section()?;
    out.u64(start)?;
    out.u32(checksum)?;
    out.u32((table.len() / LINE) as u32)?;
    out.bytes(END_MAGIC)?;
    out.end_section()?;
    Ok(offsets)
}

fn end_section(table: &mut Vec<u8>, start: u64, out: &mut SectionWriter<'_>) -> io::Result<()> {
    let length = out.position() - start;
    let checksum = out.end_section()?;
    table.extend_from_slice(&start.to_le_bytes());
    table.extend_from_slice(&length.to_le_bytes());
    table.extend_from_slice(&checksum.to_le_bytes());
    table.extend_from_slice(&[0; 4]);
    Ok(())
}

fn write_records(index: &SearchIndex, out: &mut SectionWriter<'_>) -> io::Result<Vec<u64>> {
    let mut offsets = Vec::with_capacity(index.len());
    for id in index.documents().iter() {
        let Some(record) = index.documents().record(&id) else {
            offsets.push(0);
            continue;
        };
        offsets.push(out.position());
        out.u32(record.len() as u32)?;
        out.bytes(&record)?;
    }
    Ok(offsets)
}

/// An open snapshot, all of whose sections are valid.
#[derive(Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) about: SnapshotHeader,
    pub(crate) file: Bytes,
    sections: Vec<(usize, usize)>,
}

impl SnapshotFile {
    /// Opens a snapshot and verifies the checksum of every section.
    pub(crate) fn open(path: &Path) -> Result<SnapshotFile, DiskError> {
        let failed = |error: io::Error| DiskError::of_file("opening", path, &error);
        let file = map(&File::open(path).map_err(failed)?).map_err(failed)?;
        let header = file.get(..HEADER).filter(|header| &header[..8] == MAGIC);
        let header = header.ok_or_else(|| DiskError::damaged(path, 0, "it is no snapshot"))?;
        let mut input = SectionReader::new(&header[8..]);
        let mut number = || input.u64().unwrap_or_default();
        let (versions, last, fingerprint) = (number(), number(), number());
        let version = (versions & u64::from(u32::MAX)) as u32;
        if version != VERSION {
            return Err(unknown_version(path, version));
        }
        let flags = (versions >> 32) as u32;
        let stored = flags & STORED != 0;
        let keys = if flags & TEXTS != 0 { KeyFormat::Text } else { KeyFormat::Integer };
        let sections = table(&file).map_err(|DamagedFile| {
            let end = file.len().saturating_sub(FOOTER) as u64;
            DiskError::damaged(path, end, "its end is not what was written")
        })?;
        for (start, length, checksum) in &sections {
            if crc32fast::hash(&file[*start..start + length]) != *checksum {
                let what = "what follows is not what was written";
                return Err(DiskError::damaged(path, *start as u64, what));
            }
        }
        let sections = sections.into_iter().map(|(start, length, _)| (start, length)).collect();
        Ok(SnapshotFile {
            about: SnapshotHeader { last, fingerprint, stored, keys },
            file,
            sections,
        })
    }

    fn section(&self, number: usize) -> Result<SectionReader<'_>, DamagedFile> {
        let (start, length) = self.sections.get(number).ok_or(DamagedFile)?;
        Ok(SectionReader::new(&self.file[*start..start + length]))
    }

    /// Fills an empty index with the same definition.
    pub(crate) fn fill(&self, index: &mut SearchIndex, path: &Path) -> Result<(), DiskError> {
        self.fill_documents(index, path)?;
        for number in 0..index.sections() {
            self.section(3 + number)
                .and_then(|mut input| index.read_section(number, &mut input))
                .map_err(|DamagedFile| self.damaged(3 + number, path))?;
        }
        if self.sections.len() != 3 + index.sections() {
            return Err(self.damaged(0, path));
        }
        Ok(())
    }

    /// Fills an empty index with only the identifiers and the locations of records.
    pub(crate) fn fill_documents(
        &self,
        index: &mut SearchIndex,
        path: &Path,
    ) -> Result<(), DiskError> {
        index.documents_mut().records().take_file(self.file.clone());
        self.section(2)
            .and_then(|mut input| index.documents_mut().read(&mut input))
            .map_err(|DamagedFile| self.damaged(2, path))
    }

    fn damaged(&self, section: usize, path: &Path) -> DiskError {
        let start = self.sections.get(section).map_or(0, |(start, _)| *start as u64);
        DiskError::damaged(path, start, "a section does not say what it should")
    }
}

type Section = (usize, usize, u32);

fn table(file: &[u8]) -> Result<Vec<Section>, DamagedFile> {
    let end = file.len().checked_sub(FOOTER).ok_or(DamagedFile)?;
    let mut footer = SectionReader::new(&file[end..]);
    let start = usize::try_from(footer.u64()?).map_err(|_| DamagedFile)?;
    let (checksum, count) = (footer.u32()?, footer.u32()?);
    let lines = file.get(start..end).ok_or(DamagedFile)?;
    let expected = (count as usize).checked_mul(LINE);
    if footer.rest() != END_MAGIC
        || expected != Some(lines.len())
        || crc32fast::hash(lines) != checksum
    {
        return Err(DamagedFile);
    }
    let mut input = SectionReader::new(lines);
    let mut sections = Vec::new();
    let mut known = 0;
    while !input.is_empty() {
        let number = |number: u64| usize::try_from(number).map_err(|_| DamagedFile);
        let (from, length) = (number(input.u64()?)?, number(input.u64()?)?);
        let checksum = input.u32()?;
        input.take(4)?;
        // Sections must be contiguous.
        if from != known || length > start - known {
            return Err(DamagedFile);
        }
        known += length;
        sections.push((from, length, checksum));
    }
    if known == start && sections.len() >= 3 { Ok(sections) } else { Err(DamagedFile) }
}
