//! The hashes of a body: its MD5, the SHA-256 that was signed, and a checksum.
//!
//! Hashing takes longer than anything else of an upload. Large pieces are therefore hashed in the
//! pool for long work, while the next ones are received and stored, so that other requests of the
//! worker do not wait.

use crate::server::payload::checksum::{Checksum, ChecksumHasher};
use bytes::Bytes;
use fast_md5::Md5;
use runnel_store::{AT_ONCE, DATA_POOL, Error, Kind, Result};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// Less than this many bytes are hashed at once: a visit to the pool costs more than they do.
const SMALL: usize = 64 << 10;

/// Pieces that wait to be hashed together. Large ones come from buffers of which each worker has
/// a bounded number.
const WAITING: usize = 16;

/// Hashes of content that arrives in pieces.
pub(crate) struct BodyHashes {
    hashers: Arc<Mutex<BodyHashers>>,
    /// Pieces that were not hashed yet, and their bytes.
    waiting: Vec<Bytes>,
    length: usize,
    /// The pieces that are being hashed.
    running: Option<RunningHash>,
}

/// What is calculated.
#[derive(Default)]
pub(crate) struct BodyHashers {
    pub(crate) md5: Option<Md5>,
    pub(crate) sha256: Option<Sha256>,
    pub(crate) checksum: Option<ChecksumHasher>,
}

/// What was calculated.
#[derive(Default)]
pub(crate) struct BodyDigests {
    pub(crate) md5: Option<[u8; 16]>,
    pub(crate) sha256: Option<[u8; 32]>,
    pub(crate) checksum: Option<Checksum>,
}

struct RunningHash {
    pieces: Arc<[Bytes]>,
    work: Pin<Box<dyn Future<Output = Result<()>>>>,
}

impl BodyHashers {
    fn update(&mut self, pieces: &[Bytes]) {
        for piece in pieces {
            if let Some(sha256) = &mut self.sha256 {
                sha256.update(piece);
            }
            if let Some(md5) = &mut self.md5 {
                md5.update(piece);
            }
            if let Some(checksum) = &mut self.checksum {
                checksum.update(piece);
            }
        }
    }

    fn finish(self) -> BodyDigests {
        BodyDigests {
            md5: self.md5.map(Md5::finalize),
            sha256: self.sha256.map(|sha256| sha256.finalize().into()),
            checksum: self.checksum.map(ChecksumHasher::finish),
        }
    }
}

impl BodyHashes {
    pub(crate) fn new(hashers: BodyHashers) -> Self {
        let hashers = Arc::new(Mutex::new(hashers));
        BodyHashes { hashers, waiting: Vec::new(), length: 0, running: None }
    }

    /// Adds the next piece, for which [`BodyHashes::poll_room`] was ready.
    pub(crate) fn add(&mut self, piece: Bytes, context: &mut Context<'_>) -> Result<()> {
        if piece.len() < SMALL && self.waiting.is_empty() && self.running.is_none() {
            self.hash(std::slice::from_ref(&piece));
            return Ok(());
        }
        self.length += piece.len();
        self.waiting.push(piece);
        match self.is_due() && self.running.is_none() {
            true => self.start(context),
            false => Ok(()),
        }
    }

    /// Waits until another piece may be added.
    pub(crate) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.is_due() {
            return Poll::Ready(Ok(()));
        }
        std::task::ready!(self.poll_running(context))?;
        Poll::Ready(self.start(context))
    }

    /// Waits for the hashes of everything that was added.
    pub(crate) fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<BodyDigests>> {
        while self.running.is_some() || !self.waiting.is_empty() {
            std::task::ready!(self.poll_running(context))?;
            self.start(context)?;
        }
        let mut hashers = self.hashers.lock().unwrap_or_else(PoisonError::into_inner);
        Poll::Ready(Ok(std::mem::take(&mut *hashers).finish()))
    }

    fn is_due(&self) -> bool {
        self.length >= AT_ONCE
            || self.waiting.len() >= WAITING
            || self.waiting.len() == 1 && self.length < SMALL
    }

    /// Hashes what waits: at once, or in the pool.
    fn start(&mut self, context: &mut Context<'_>) -> Result<()> {
        let pieces = std::mem::take(&mut self.waiting);
        if std::mem::take(&mut self.length) < SMALL {
            self.hash(&pieces);
            return Ok(());
        }
        let pieces: Arc<[Bytes]> = pieces.into();
        let (hashers, own) = (self.hashers.clone(), pieces.clone());
        let work = Box::pin(DATA_POOL.run(move || {
            hashers.lock().unwrap_or_else(PoisonError::into_inner).update(&own);
        }));
        self.running = Some(RunningHash { pieces, work });
        match self.poll_running(context) {
            Poll::Ready(hashed) => hashed,
            Poll::Pending => Ok(()),
        }
    }

    fn poll_running(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(running) = &mut self.running else { return Poll::Ready(Ok(())) };
        let hashed = std::task::ready!(running.work.as_mut().poll(context));
        let pieces = self.running.take().map(|running| running.pieces);
        Poll::Ready(match hashed {
            // The pool is full: then this worker has to do it.
            Err(Error { kind: Kind::Unavailable, .. }) => {
                self.hash(&pieces.unwrap_or_default());
                Ok(())
            }
            hashed => hashed,
        })
    }

    fn hash(&self, pieces: &[Bytes]) {
        self.hashers.lock().unwrap_or_else(PoisonError::into_inner).update(pieces);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::signature::digest::hex;
    use std::future::poll_fn;

    async fn digests(pieces: impl Iterator<Item = Bytes>) -> BodyDigests {
        let mut hashes = BodyHashes::new(BodyHashers {
            md5: Some(Md5::new()),
            sha256: Some(Sha256::new()),
            checksum: None,
        });
        for piece in pieces {
            poll_fn(|context| hashes.poll_room(context)).await.unwrap();
            poll_fn(|context| Poll::Ready(hashes.add(piece.clone(), context))).await.unwrap();
        }
        poll_fn(|context| hashes.poll_finish(context)).await.unwrap()
    }

    /// Cuts content into pieces of these sizes, again and again.
    fn cut(content: &Bytes, sizes: &[usize]) -> Vec<Bytes> {
        let (mut rest, mut pieces) = (content.clone(), Vec::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            pieces.push(rest.split_to((*size).min(rest.len())));
        }
        pieces
    }

    /// FIPS 180-4 has a million letters as an example, and RFC 1321 the algorithm.
    #[tokio::test]
    async fn a_million_letters_have_the_known_hashes() {
        let content = Bytes::from(vec![b'a'; 1_000_000]);
        for sizes in [&[1_000_000][..], &[1_000], &[SMALL, 1, SMALL - 1], &[300_000, 7]] {
            let found = digests(cut(&content, sizes).into_iter()).await;
            assert_eq!(hex(&found.md5.unwrap()), "7707d6ae4e027c70eea2a935c2296f21", "{sizes:?}");
            let sha256 = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
            assert_eq!(hex(&found.sha256.unwrap()), sha256, "{sizes:?}");
        }
    }

    #[tokio::test]
    async fn pieces_are_hashed_in_their_order() {
        let content: Bytes = (0..2_000_000_u32).map(|at| (at % 251) as u8).collect();
        let whole = fast_md5::digest(&content);
        for sizes in [&[AT_ONCE, 3][..], &[SMALL; 3], &[10, AT_ONCE * 2, SMALL + 1, 1_000]] {
            let found = digests(cut(&content, sizes).into_iter()).await;
            assert_eq!(found.md5, Some(whole), "{sizes:?}");
        }
    }

    #[tokio::test]
    async fn nothing_has_a_hash() {
        let found = digests(std::iter::empty()).await;
        assert_eq!(hex(&found.md5.unwrap()), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
