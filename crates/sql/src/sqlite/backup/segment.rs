//! A segment of a continuous backup: pages of a database, compressed with Zstandard, and a checksum.
//!
//! The checksum is that of the stored bytes, so damage is found before anything is expanded. The head
//! declares how many bytes the pages are, within [`CONTENT_LIMIT`], and no more than these are expanded.
//! The first format, which has no compression and does not declare a length, is still read.
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

/// Bytes of the pages of a segment with their numbers, at most.
const CONTENT_LIMIT: usize = SEGMENT_SIZE + SEGMENT_SIZE / 128;

/// Bytes of a stored segment at most. Pages that cannot be compressed become a little longer.
pub(crate) const SEGMENT_LIMIT: usize = CONTENT_LIMIT + CONTENT_LIMIT / 128 + 1024;

/// The compression level. With level 3, the usual one, segments are a tenth smaller and take twice the
/// time (benches/README.md).
const LEVEL: i32 = 1;

/// How a segment begins: its format. The first one has no compression.
const PLAIN: &[u8; 8] = b"runnel\x00\x01";
const COMPRESSED: &[u8; 8] = b"runnel\x00\x02";
const PLAIN_HEAD: usize = 8 + 8 + 8 + 4 + 8 + 4 + 4;
const HEAD: usize = PLAIN_HEAD + 4;
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
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn encode(&self, pages: &[u8]) -> std::io::Result<(Bytes, u64)> {
        let mut bytes = self.begin(COMPRESSED);
        bytes.extend_from_slice(&(pages.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&zstd::bulk::compress(pages, LEVEL)?);
        Ok(sealed(bytes))
    }

    /// The same in the first format, which has no compression.
    #[cfg(test)]
    pub(crate) fn encode_plain(&self, pages: &[u8]) -> (Bytes, u64) {
        let mut bytes = self.begin(PLAIN);
        bytes.extend_from_slice(pages);
        sealed(bytes)
    }

    /// The head of a segment in a format.
    fn begin(&self, format: &[u8; 8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(format);
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(&self.previous.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.micros.unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(&self.page_count.to_be_bytes());
        bytes.extend_from_slice(&self.page_size.to_be_bytes());
        bytes
    }
}

/// A segment with its checksum at the end.
fn sealed(mut bytes: Vec<u8>) -> (Bytes, u64) {
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    (bytes.into(), checksum)
}

/// Expands pages to exactly the declared length; `None` where they have another one.
fn expanded(bytes: &[u8], length: usize) -> Option<Bytes> {
    if length > CONTENT_LIMIT {
        return None;
    }
    let pages = zstd::bulk::decompress(bytes, length).ok()?;
    (pages.len() == length).then(|| pages.into())
}

impl Segment {
    /// Reads a segment; `None` where it is not whole.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Segment> {
        let end = bytes.len().checked_sub(CHECKSUM)?;
        let checksum = u64::from_be_bytes(bytes[end..].try_into().ok()?);
        let is_plain = bytes.starts_with(PLAIN);
        let head_end = if is_plain { PLAIN_HEAD } else { HEAD };
        let is_known = is_plain || bytes.starts_with(COMPRESSED);
        if end < head_end || !is_known || xxh3_64(&bytes[..end]) != checksum {
            return None;
        }
        let long = |at: usize| Some(u64::from_be_bytes(bytes[at..at + 8].try_into().ok()?));
        let word = |at: usize| Some(u32::from_be_bytes(bytes[at..at + 4].try_into().ok()?));
        let (generation, previous, micros) = (long(8)?, long(16)?, long(28)?.cast_signed());
        let (sequence, page_count, page_size) = (word(24)?, word(36)?, word(40)?);
        let size = page_size as usize;
        let is_size = size.is_power_of_two() && (512..=PAGE_LIMIT).contains(&size);
        let pages = match is_plain {
            true => bytes.slice(PLAIN_HEAD..end),
            false => expanded(&bytes[HEAD..end], word(PLAIN_HEAD)? as usize)?,
        };
        let is_whole = is_size && pages.len().is_multiple_of(size + 4);
        let micros = (micros != 0).then_some(micros);
        let head = SegmentHead { generation, previous, sequence, micros, page_count, page_size };
        is_whole.then_some(Segment { head, checksum, pages })
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
        let (bytes, checksum) = head().encode(&pages()).unwrap();
        let segment = Segment::decode(&bytes).unwrap();
        assert_eq!((segment.head, segment.checksum), (head(), checksum));
        let numbers: Vec<(u32, usize)> = segment.pages().map(|(n, page)| (n, page.len())).collect();
        assert_eq!(numbers, [(1, 512), (2, 512)]);
        assert!(bytes.len() < 200, "{}", bytes.len());
        let part = SegmentHead { micros: None, ..head() };
        assert_eq!(Segment::decode(&part.encode(&[]).unwrap().0).unwrap().head.micros, None);
    }

    #[test]
    fn the_format_without_compression_is_read() {
        let (bytes, checksum) = head().encode_plain(&pages());
        let segment = Segment::decode(&bytes).unwrap();
        assert_eq!((segment.head, segment.checksum), (head(), checksum));
        let numbers: Vec<(u32, usize)> = segment.pages().map(|(n, page)| (n, page.len())).collect();
        assert_eq!(numbers, [(1, 512), (2, 512)]);
    }

    #[test]
    fn no_more_is_expanded_than_the_head_declares() {
        let segment = |declared: usize, content: &[u8]| {
            let mut bytes = head().begin(COMPRESSED);
            bytes.extend_from_slice(&(declared as u32).to_be_bytes());
            bytes.extend_from_slice(content);
            Segment::decode(&sealed(bytes).0)
        };
        let pack = |length: usize| zstd::bulk::compress(&vec![0; length], 3).unwrap();
        assert!(segment(2 * 516, &pack(2 * 516)).is_some());
        let bomb = pack(256 << 20);
        assert!(bomb.len() < 64 << 10);
        for declared in [0, 516, 2 * 516, CONTENT_LIMIT, CONTENT_LIMIT + 1, 256 << 20] {
            assert!(segment(declared, &bomb).is_none(), "{declared}");
        }
        // Less than declared, more in a second frame, and no frame at all.
        assert!(segment(3 * 516, &pack(2 * 516)).is_none());
        assert!(segment(516, &[pack(516), pack(516)].concat()).is_none());
        assert!(segment(516, b"not compressed").is_none());
        assert!(segment(516, b"").is_none());
    }

    #[test]
    fn every_changed_byte_and_every_length_is_noticed() {
        let (bytes, _) = head().encode(&pages()).unwrap();
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
            let length = SEGMENT_SIZE / size * (size + 4);
            assert!(length <= CONTENT_LIMIT, "{size}");
            let stored = HEAD + zstd::zstd_safe::compress_bound(length) + CHECKSUM;
            assert!(stored <= SEGMENT_LIMIT, "{size}");
        }
    }
}
