//! A segment of a continuous backup: pages of a database with a checksum.
//!
//! A segment that ends a state of the database carries its time and the number of its pages; the
//! others are parts of the state that follows. Each one names the checksum of the one before it, so
//! that none can be left out or exchanged.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

/// The pages of a segment in bytes, at most; a larger change has several segments.
pub const SEGMENT_SIZE: usize = 8 << 20;

/// The largest page of SQLite, in bytes.
const PAGE_LIMIT: usize = 64 << 10;

/// Bytes of a segment at most, with its head and the numbers of its pages.
pub(crate) const SEGMENT_LIMIT: usize = SEGMENT_SIZE + SEGMENT_SIZE / 128 + HEAD + CHECKSUM;

/// How a segment begins: its format.
const MAGIC: &[u8; 8] = b"runnel\x00\x01";
const HEAD: usize = MAGIC.len() + 8 + 8 + 4 + 8 + 4 + 4;
const CHECKSUM: usize = 8;

/// The place of a segment in its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHead {
    /// The checksum of the name of the generation.
    pub(crate) generation: u64,
    /// The checksum of the segment before this one; 0 for the first one.
    pub(crate) previous: u64,
    /// Counted from 1.
    pub(crate) sequence: u32,
    /// When the state existed that this segment ends, in microseconds since 1970.
    pub(crate) micros: Option<i64>,
    /// The pages of the database in that state.
    pub(crate) page_count: u32,
    pub(crate) page_size: u32,
}

/// A segment that was read and is whole.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) head: SegmentHead,
    pub(crate) checksum: u64,
    pages: Bytes,
}

/// The checksum of a name.
pub(crate) fn name_checksum(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

impl SegmentHead {
    /// The bytes of a segment, and their checksum. The pages are numbers of four bytes, each with its
    /// page.
    pub(crate) fn encode(&self, pages: &[u8]) -> (Bytes, u64) {
        let mut bytes = Vec::with_capacity(HEAD + pages.len() + CHECKSUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(&self.previous.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.micros.unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(&self.page_count.to_be_bytes());
        bytes.extend_from_slice(&self.page_size.to_be_bytes());
        bytes.extend_from_slice(pages);
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_be_bytes());
        (bytes.into(), checksum)
    }
}

impl Segment {
    /// Reads a segment; `None` where it is not whole.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Segment> {
        let end = bytes.len().checked_sub(CHECKSUM)?;
        let checksum = u64::from_be_bytes(bytes[end..].try_into().ok()?);
        if end < HEAD || &bytes[..MAGIC.len()] != MAGIC || xxh3_64(&bytes[..end]) != checksum {
            return None;
        }
        let long = |at: usize| Some(u64::from_be_bytes(bytes[at..at + 8].try_into().ok()?));
        let word = |at: usize| Some(u32::from_be_bytes(bytes[at..at + 4].try_into().ok()?));
        let (generation, previous, micros) = (long(8)?, long(16)?, long(28)?.cast_signed());
        let (sequence, page_count, page_size) = (word(24)?, word(36)?, word(40)?);
        let size = page_size as usize;
        let is_size = size.is_power_of_two() && (512..=PAGE_LIMIT).contains(&size);
        let is_whole = is_size && (end - HEAD).is_multiple_of(size + 4);
        let micros = (micros != 0).then_some(micros);
        let head = SegmentHead { generation, previous, sequence, micros, page_count, page_size };
        is_whole.then(|| Segment { head, checksum, pages: bytes.slice(HEAD..end) })
    }

    /// The pages with their numbers, from 1.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let page = |chunk: &'_ [u8]| u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        let chunks = self.pages.chunks_exact(self.head.page_size as usize + 4);
        chunks.map(move |chunk| (page(chunk), &chunk[4..]))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn head() -> SegmentHead {
        let (generation, previous, micros) = (name_checksum("g"), 7, Some(1_800_000_000_000_000));
        SegmentHead { generation, previous, sequence: 3, micros, page_count: 2, page_size: 512 }
    }

    fn pages() -> Vec<u8> {
        let mut pages = vec![1; 2 * 516];
        pages[..4].copy_from_slice(&1_u32.to_be_bytes());
        pages[516..520].copy_from_slice(&2_u32.to_be_bytes());
        pages
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        let (bytes, checksum) = head().encode(&pages());
        let segment = Segment::decode(&bytes).unwrap();
        assert_eq!((segment.head, segment.checksum), (head(), checksum));
        let numbers: Vec<(u32, usize)> = segment.pages().map(|(n, page)| (n, page.len())).collect();
        assert_eq!(numbers, [(1, 512), (2, 512)]);
        let part = SegmentHead { micros: None, ..head() };
        assert_eq!(Segment::decode(&part.encode(&[]).0).unwrap().head.micros, None);
    }

    #[test]
    fn every_changed_byte_and_every_length_is_noticed() {
        let (bytes, _) = head().encode(&pages());
        for at in 0..bytes.len() {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= 1;
            assert!(Segment::decode(&wrong.into()).is_none(), "{at}");
            assert!(Segment::decode(&bytes.slice(..at)).is_none(), "{at}");
        }
    }

    #[test]
    fn pages_of_a_full_segment_are_within_the_limit() {
        for size in [512, 4096, PAGE_LIMIT] {
            let count = SEGMENT_SIZE / size;
            assert!(HEAD + count * (size + 4) + CHECKSUM <= SEGMENT_LIMIT, "{size}");
        }
    }
}
