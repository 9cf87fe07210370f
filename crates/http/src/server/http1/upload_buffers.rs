//! Large buffers for request bodies that arrive faster than they are stored: fewer system calls,
//! wake-ups and visits to the blocking pool for each gigabyte, and no copy from socket to store.
//!
//! A buffer is used again when the last holder of its bytes drops them, on any thread: large memory
//! is otherwise fetched from the system and cleared by it each time.

use bytes::Bytes;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The size of a buffer, in bytes.
const SIZE: usize = 256 * 1024;
/// Bodies with less to come are read in smaller pieces.
const WORTH: u64 = 64 * 1024;
/// Fewer bytes are copied, so that a slow client does not hold a whole buffer.
const FILLED: usize = SIZE / 4;
/// The most buffers of a worker in use: 16 MiB. Other bodies are then read in smaller pieces.
const IN_USE: usize = 64;
/// The most buffers of a worker that wait for their next use: 4 MiB.
const KEPT: usize = 16;

/// The buffers of a worker.
#[derive(Default)]
pub(crate) struct UploadBuffers(Arc<Shelf>);

#[derive(Default)]
struct Shelf {
    free: Mutex<Vec<Box<[u8]>>>,
    in_use: AtomicUsize,
}

impl UploadBuffers {
    /// A buffer for a body of which this much is still to come; `None` where it is not worth one, or
    /// too many are in use.
    pub(crate) fn take(&self, left: u64) -> Option<UploadBuffer> {
        if left < WORTH {
            return None;
        }
        let shelf = self.0.clone();
        if shelf.in_use.fetch_add(1, Ordering::Relaxed) >= IN_USE {
            shelf.in_use.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let free = shelf.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = free.unwrap_or_else(|| vec![0; SIZE].into());
        let room = usize::try_from(left).map_or(SIZE, |left| left.min(SIZE));
        Some(UploadBuffer { bytes, filled: 0, room, shelf })
    }
}

/// A buffer being filled. Dropped, it waits for its next use.
pub(crate) struct UploadBuffer {
    bytes: Box<[u8]>,
    filled: usize,
    room: usize,
    shelf: Arc<Shelf>,
}

impl UploadBuffer {
    /// The free part.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..self.room]
    }

    /// Bytes were read into the free part.
    pub(crate) fn fill(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.room);
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// The bytes that were read.
    pub(crate) fn into_bytes(self) -> Bytes {
        match self.filled < FILLED {
            true => Bytes::copy_from_slice(&self.bytes[..self.filled]),
            false => Bytes::from_owner(self),
        }
    }
}

impl AsRef<[u8]> for UploadBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl Drop for UploadBuffer {
    fn drop(&mut self) {
        self.shelf.in_use.fetch_sub(1, Ordering::Relaxed);
        let mut free = self.shelf.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn filled(buffers: &UploadBuffers, letter: u8, count: usize) -> Bytes {
        let mut buffer = buffers.take(count as u64).unwrap();
        buffer.space()[..count].fill(letter);
        buffer.fill(count);
        buffer.into_bytes()
    }

    #[test]
    fn what_is_held_is_never_used_again() {
        let buffers = UploadBuffers::default();
        let held: Vec<_> = (0..10).map(|at| filled(&buffers, at, SIZE)).collect();
        let part = held[7].slice(10..20);
        drop(filled(&buffers, 200, SIZE));
        for (at, bytes) in held.iter().enumerate() {
            assert!(bytes.len() == SIZE && bytes.iter().all(|byte| *byte == at as u8));
        }
        drop(held);
        let again = filled(&buffers, 201, SIZE);
        assert!(part.iter().all(|byte| *byte == 7) && again.len() == SIZE);
    }

    #[test]
    fn buffers_in_use_and_kept_are_bounded() {
        let buffers = UploadBuffers::default();
        assert!(buffers.take(WORTH - 1).is_none());
        let held: Vec<_> = (0..IN_USE).map(|_| filled(&buffers, 1, SIZE)).collect();
        assert!(buffers.take(u64::MAX).is_none());
        drop(held);
        assert!(buffers.take(u64::MAX).is_some());
        assert_eq!(buffers.0.free.lock().unwrap().len(), KEPT);
    }

    #[test]
    fn a_buffer_with_little_in_it_is_free_at_once() {
        let buffers = UploadBuffers::default();
        let mut buffer = buffers.take(WORTH).unwrap();
        assert_eq!(buffer.space().len() as u64, WORTH);
        buffer.space()[0] = b'a';
        buffer.fill(1);
        let bytes = buffer.into_bytes();
        assert_eq!((&bytes[..], buffers.0.in_use.load(Ordering::Relaxed)), (&b"a"[..], 0));
    }
}
