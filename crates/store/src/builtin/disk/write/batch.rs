//! Batches of a stream for the blocking pool: each visit to the pool costs two changes of thread, so
//! that a file is written in few large pieces.

use crate::builtin::disk::read::CHUNK;
use crate::{ByteStream, Error};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of a batch, in bytes, while memory for it is free.
const BATCH: usize = 512 << 10;
/// Smaller pieces are joined, larger ones are not copied.
const JOINED: usize = 16 << 10;
/// What all batches of the process hold, in bytes: beyond that a batch is [`CHUNK`] bytes, so that
/// many slow uploads hold little.
const MOST: usize = 64 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// Pieces of a stream, in order.
#[derive(Default)]
pub(super) struct Batch {
    pieces: Vec<Bytes>,
    /// Small pieces after the others.
    joined: BytesMut,
    length: usize,
}

impl Batch {
    fn add(&mut self, piece: Bytes) {
        self.length += piece.len();
        HELD.fetch_add(piece.len(), Ordering::Relaxed);
        if piece.len() < JOINED {
            self.joined.extend_from_slice(&piece);
        } else {
            self.join();
            self.pieces.push(piece);
        }
    }

    fn join(&mut self) {
        if !self.joined.is_empty() {
            self.pieces.push(self.joined.split().freeze());
        }
    }

    fn is_full(&self) -> bool {
        self.length >= BATCH
            || self.length >= CHUNK
                && HELD.load(Ordering::Relaxed).saturating_sub(self.length) > MOST
    }

    /// Appends all pieces to a file.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn write(mut self, file: &mut File) -> io::Result<()> {
        self.join();
        let mut slices: Vec<IoSlice<'_>> =
            self.pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut slices = &mut slices[..];
        while !slices.is_empty() {
            match file.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut slices, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        HELD.fetch_sub(self.length, Ordering::Relaxed);
    }
}

/// A stream in batches.
pub(super) struct Batches {
    stream: ByteStream,
    /// Whether the last batch was taken.
    pub(super) ended: bool,
}

impl Batches {
    pub(super) fn of(stream: ByteStream) -> Batches {
        Batches { stream, ended: false }
    }

    /// The next batch; the last one may be empty.
    ///
    /// # Errors
    /// Those of the stream.
    pub(super) async fn next(&mut self) -> Result<Batch, Error> {
        let mut batch = Batch::default();
        while !self.ended && !batch.is_full() {
            match self.stream.next().await.transpose()? {
                Some(piece) if piece.is_empty() => {}
                Some(piece) => batch.add(piece),
                None => self.ended = true,
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::stream;
    use std::io::Read;

    #[tokio::test]
    async fn pieces_of_any_size_are_written_in_order() {
        let sizes = [1, 0, 20_000, 3, 4, 300_000, 300_000, JOINED - 1, JOINED, 5];
        let pieces: Vec<Bytes> =
            sizes.iter().enumerate().map(|(at, size)| Bytes::from(vec![at as u8; *size])).collect();
        let whole = pieces.concat();
        let mut batches = Batches::of(Box::pin(stream::iter(pieces.into_iter().map(Ok))));
        let path = tempfile::NamedTempFile::new().unwrap();
        let mut file = path.reopen().unwrap();
        let mut count = 0;
        while !batches.ended {
            batches.next().await.unwrap().write(&mut file).unwrap();
            count += 1;
        }
        let mut written = Vec::new();
        path.reopen().unwrap().read_to_end(&mut written).unwrap();
        assert!(written == whole);
        assert_eq!(count, 2);
    }

    #[tokio::test]
    async fn an_error_of_the_stream_is_an_error_of_the_batch() {
        let pieces = [Ok("a".into()), Err(Error::new(crate::Kind::Timeout, "slow"))];
        let mut batches = Batches::of(Box::pin(stream::iter(pieces)));
        assert!(batches.next().await.is_err());
    }
}
