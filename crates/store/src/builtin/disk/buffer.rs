//! Memory for pieces of files, used again and again: large pieces are fetched from the system and
//! cleared by it each time otherwise, which costs more than reading them.

use bytes::Bytes;
use std::cell::RefCell;

/// How many bytes a piece has at most.
pub(super) const PIECE: usize = 64 << 10;

/// How many buffers wait on each thread for their next use.
const WAITING: usize = 32;

thread_local! {
    static FREE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer of [`PIECE`] bytes, of which some are content. Dropped, it waits for its next use.
struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        // A thread that ends has no such place any more.
        let _ = FREE.try_with(|free| {
            if let Ok(mut free) = free.try_borrow_mut()
                && free.len() < WAITING
            {
                free.push(bytes);
            }
        });
    }
}

/// Fills a buffer of `length` bytes, at most [`PIECE`]. `fill` must write every byte or fail,
/// because the buffer still holds bytes of an earlier read.
pub(super) fn filled<E>(
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Bytes, E> {
    let free = FREE.try_with(|free| free.try_borrow_mut().ok()?.pop()).ok().flatten();
    let bytes = free.unwrap_or_else(|| vec![0; PIECE]);
    let mut buffer = Buffer { bytes, length: length.min(PIECE) };
    let length = buffer.length;
    fill(&mut buffer.bytes[..length])?;
    Ok(Bytes::from_owner(buffer))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn letters(letter: u8, length: usize) -> Bytes {
        let fill = |bytes: &mut [u8]| {
            bytes.fill(letter);
            Ok::<(), ()>(())
        };
        filled(length, fill).unwrap()
    }

    #[test]
    fn what_is_held_is_never_used_again() {
        let held: Vec<_> = (0..100).map(|at| letters(at, 1000)).collect();
        let part = held[7].slice(10..20);
        drop(letters(200, PIECE));
        for (at, bytes) in held.iter().enumerate() {
            assert!(bytes.len() == 1000 && bytes.iter().all(|byte| *byte == at as u8));
        }
        drop(held);
        let again = letters(201, PIECE);
        assert!(part.iter().all(|byte| *byte == 7) && again.len() == PIECE);
        FREE.with(|free| assert!(free.borrow().len() <= WAITING));
    }

    #[test]
    fn a_buffer_that_was_not_filled_is_not_seen() {
        assert_eq!(filled(10, |_| Err("no")), Err("no"));
        assert_eq!(letters(1, PIECE + 1).len(), PIECE);
    }
}
