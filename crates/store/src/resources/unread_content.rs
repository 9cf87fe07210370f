//! A response in memory until its client has read it. The budget may take it back before.

use crate::resources::unread::UnreadEntry;
use crate::{Budget, ByteStream, ClientNetwork, Error, Kind, Result};
use bytes::Bytes;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// Content that is charged to the memory of requests until its client has read it, or the budget takes it
/// back because the client does not.
#[derive(Debug)]
pub struct UnreadContent {
    budget: &'static Budget,
    entry: Arc<UnreadEntry>,
    number: u64,
    position: usize,
    length: usize,
}

impl UnreadContent {
    /// Charges the budget for content of a client.
    ///
    /// # Errors
    /// As [`crate::Held::add`].
    pub fn hold(bytes: Bytes, client: ClientNetwork) -> Result<UnreadContent> {
        UnreadContent::hold_in(Budget::of_process(), bytes, client)
    }

    pub(crate) fn hold_in(
        budget: &'static Budget,
        bytes: Bytes,
        client: ClientNetwork,
    ) -> Result<UnreadContent> {
        let length = bytes.len();
        let (number, entry) = budget.hold_unread(bytes, client)?;
        Ok(UnreadContent { budget, entry, number, position: 0, length })
    }

    /// How many bytes are unread.
    pub fn left(&self) -> usize {
        self.length - self.position
    }

    /// Passes on the unread bytes; `None` where they were taken back.
    pub fn with_unread<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let state = self.entry.lock();
        state.bytes.as_ref().and_then(|bytes| bytes.get(self.position..)).map(read)
    }

    /// Counts bytes as read.
    pub fn advance(&mut self, bytes: usize) {
        if bytes > 0 {
            self.position = (self.position + bytes).min(self.length);
            self.entry.lock().progress = Instant::now();
        }
    }

    /// Copies at most this many of the unread bytes, which then count as read; `None` where they were taken back.
    pub fn copy_piece(&mut self, most: usize) -> Option<Bytes> {
        let piece =
            self.with_unread(|unread| Bytes::copy_from_slice(&unread[..unread.len().min(most)]))?;
        self.advance(piece.len());
        Some(piece)
    }

    /// Replaces the content, such as by its compressed form. The charge stays. Returns whether it did: not where
    /// the content was taken back, or `change` gives none.
    pub fn replace(&mut self, change: impl FnOnce(&Bytes) -> Option<Bytes>) -> bool {
        let mut state = self.entry.lock();
        let changed = state.bytes.as_ref().and_then(change);
        let Some(bytes) = changed else { return false };
        (self.position, self.length) = (0, bytes.len());
        state.bytes = Some(bytes);
        true
    }

    /// Wakes a task when the content is taken back.
    pub fn wake_when_taken(&self, waker: &Waker) {
        let mut state = self.entry.lock();
        match state.bytes {
            Some(_) => state.reader = Some(waker.clone()),
            None => waker.wake_by_ref(),
        }
    }

    /// The content as a stream of copied pieces.
    pub fn into_stream(self, piece: usize) -> ByteStream {
        Box::pin(futures_util::stream::unfold(Some(self), move |content| async move {
            let mut content = content?;
            match content.copy_piece(piece) {
                Some(bytes) if bytes.is_empty() => None,
                Some(bytes) => Some((Ok(bytes), Some(content))),
                None => Some((Err(taken_back()), None)),
            }
        }))
    }
}

impl Drop for UnreadContent {
    fn drop(&mut self) {
        self.budget.release_unread(self.number, &self.entry);
    }
}

fn taken_back() -> Error {
    Error::new(Kind::Unavailable, "memory was short, and the client did not read this response")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::resources::unread::STALLED;

    fn budget(limit: usize) -> &'static Budget {
        let budget = Box::leak(Box::new(Budget::new(limit)));
        budget.enforce();
        budget
    }

    fn hold(budget: &'static Budget, size: usize) -> Result<UnreadContent> {
        UnreadContent::hold_in(budget, Bytes::from(vec![7; size]), ClientNetwork::UNKNOWN)
    }

    #[test]
    fn content_counts_until_it_is_dropped_or_taken_back() {
        let budget = budget(100);
        let mut first = hold(budget, 40).unwrap();
        assert_eq!(first.copy_piece(10).unwrap(), vec![7; 10]);
        assert_eq!((first.left(), budget.held()), (30, 40));
        let second = hold(budget, 40).unwrap();
        assert_eq!(hold(budget, 60).unwrap_err().kind, Kind::TooLarge);
        // One client has more than its share: what it has not read for longest goes.
        first.advance(1);
        let third = hold(budget, 40).unwrap();
        assert!(second.with_unread(<[u8]>::len).is_none());
        assert_eq!((first.with_unread(<[u8]>::len), budget.held()), (Some(29), 80));
        drop(second);
        drop(first);
        assert_eq!(budget.held(), 40);
        drop(third);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn content_that_nobody_reads_makes_room_for_what_arrives() {
        let budget = budget(1000);
        let unread = hold(budget, 500).unwrap();
        let mut arriving = budget.hold();
        unread.entry.lock().progress = Instant::now().checked_sub(STALLED).unwrap();
        arriving.add_arriving(1).unwrap();
        assert!(unread.with_unread(<[u8]>::len).is_none());
    }
}
