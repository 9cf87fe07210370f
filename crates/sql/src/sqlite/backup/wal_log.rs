//! The frames of a write-ahead log, read from its file (<https://sqlite.org/walformat.html>).

use crate::sqlite::fault::{SqlFault, SqlResult};
use runnel_store::Kind;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of the head of a log, and of the head of each of its frames.
const LOG_HEAD: u64 = 32;
const FRAME_HEAD: u64 = 24;

/// How a log begins; the last bit says in which order of bytes its checksums are computed.
const MAGIC: u32 = 0x377f_0682;

/// A state of a log: the last frame of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalPosition {
    /// Two numbers that differ each time the log begins anew.
    pub(crate) salts: [u32; 2],
    /// The frames up to here.
    pub(crate) frames: u32,
    /// Their checksum.
    pub(crate) checksum: [u32; 2],
}

/// The log of a database.
#[derive(Debug)]
pub(crate) struct WalLog {
    pub(crate) file: File,
    pub(crate) page_size: usize,
}

impl WalLog {
    /// Bytes of a log with this number of frames.
    pub(crate) fn size(&self, frames: u32) -> u64 {
        LOG_HEAD + u64::from(frames) * (FRAME_HEAD + self.page_size as u64)
    }

    /// The last frame of each page among those after `from` (from the beginning without it) and up
    /// to a position. Each frame is verified.
    pub(crate) fn frames(
        &self,
        from: Option<WalPosition>,
        to: WalPosition,
    ) -> SqlResult<FxHashMap<u32, u32>> {
        let mut head = [0; LOG_HEAD as usize];
        self.read(&mut head, 0)?;
        let is_big = word(&head, 0) == MAGIC | 1;
        let mut checksum = from.map_or([word(&head, 24), word(&head, 28)], |from| from.checksum);
        let mut frames = FxHashMap::default();
        let mut frame = vec![0; FRAME_HEAD as usize + self.page_size];
        for number in from.map_or(0, |from| from.frames) + 1..=to.frames {
            self.read(&mut frame, self.size(number - 1))?;
            checksum = add(checksum, &frame[..8], is_big);
            checksum = add(checksum, &frame[FRAME_HEAD as usize..], is_big);
            let salts = [8, 12].map(|at| u32::from_ne_bytes([0, 1, 2, 3].map(|i| frame[at + i])));
            if salts != to.salts || checksum != [word(&frame, 16), word(&frame, 20)] {
                return Err(unreadable("a frame of the write-ahead log is not whole"));
            }
            frames.insert(word(&frame, 0), number);
        }
        match checksum == to.checksum || to.frames == 0 {
            true => Ok(frames),
            false => Err(unreadable("the write-ahead log is another one")),
        }
    }

    /// Reads the page of a frame.
    pub(crate) fn page(&self, frame: u32, page: &mut [u8]) -> SqlResult<()> {
        self.read(page, self.size(frame - 1) + FRAME_HEAD)
    }

    fn read(&self, into: &mut [u8], at: u64) -> SqlResult<()> {
        self.file.read_exact_at(into, at).map_err(|error| unreadable(&error.to_string()))
    }
}

fn unreadable(detail: &str) -> SqlFault {
    let fault = SqlFault::new(Kind::Unavailable, "the write-ahead log cannot be followed");
    SqlFault { detail: Some(detail.to_string()), ..fault }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, 1, 2, 3].map(|i| bytes[at + i]))
}

/// The checksum of a log with more bytes (section 4.2 of the format).
fn add(mut sums: [u32; 2], bytes: &[u8], is_big: bool) -> [u32; 2] {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| {
            let bytes = [0, 1, 2, 3].map(|i| pair[at + i]);
            if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        sums[0] = sums[0].wrapping_add(word(0)).wrapping_add(sums[1]);
        sums[1] = sums[1].wrapping_add(word(4)).wrapping_add(sums[0]);
    }
    sums
}
