//! A writer of the sections of a snapshot: little-endian numbers and a checksum.

use crc32fast::Hasher;
use std::io::{self, Write};

/// The size of the buffer.
const BUFFER: usize = 256 << 10;

/// A buffered writer that counts its position and the checksum of the current section.
pub(crate) struct SectionWriter<'a> {
    sink: &'a mut dyn Write,
    buffer: Vec<u8>,
    checksum: Hasher,
    position: u64,
}

impl<'a> SectionWriter<'a> {
    pub(crate) fn new(sink: &'a mut dyn Write) -> SectionWriter<'a> {
        SectionWriter {
            sink,
            buffer: Vec::with_capacity(BUFFER),
            checksum: Hasher::new(),
            position: 0,
        }
    }

    /// The number of bytes written.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        if self.buffer.len() >= BUFFER { self.hand_on() } else { Ok(()) }
    }

    pub(crate) fn u32(&mut self, number: u32) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    /// Writes a text after its length.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.u32(text.len() as u32)?;
        self.bytes(text.as_bytes())
    }

    pub(crate) fn u32s(&mut self, numbers: impl Iterator<Item = u32>) -> io::Result<()> {
        numbers.into_iter().try_for_each(|number| self.u32(number))
    }

    pub(crate) fn u64s(&mut self, numbers: impl Iterator<Item = u64>) -> io::Result<()> {
        numbers.into_iter().try_for_each(|number| self.u64(number))
    }

    /// Ends a section and returns its checksum.
    pub(crate) fn end_section(&mut self) -> io::Result<u32> {
        self.hand_on()?;
        Ok(std::mem::take(&mut self.checksum).finalize())
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.checksum.update(&self.buffer);
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
