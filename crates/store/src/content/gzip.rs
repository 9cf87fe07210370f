//! Packing content on its way out, RFC 1952.

use crate::{ByteStream, Error, Kind, Result};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{StreamExt, stream};
use std::io::Write;

/// The compression level: dynamic content is compressed often, and the lowest levels save most.
const LEVEL: Compression = Compression::new(3);

/// Input bytes per compression step, about a millisecond; the rest waits for the next poll.
const STEP: usize = 64 << 10;

/// Bytes as gzip, at once.
///
/// # Errors
/// None that memory does not make.
pub fn gzip(bytes: &[u8]) -> Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3 + 64), LEVEL);
    encoder.write_all(bytes).map_err(failed)?;
    Ok(encoder.finish().map_err(failed)?.into())
}

/// Compresses a stream as gzip. With `prompt`, each chunk is flushed so that the peer can read it
/// at once, at a cost of a few bytes.
pub fn gzip_stream(source: ByteStream, prompt: bool) -> ByteStream {
    let encoder = GzEncoder::new(Vec::new(), LEVEL);
    let packing = Packing { source, rest: Bytes::new(), encoder: Some(encoder), prompt, worked: 0 };
    Box::pin(stream::try_unfold(packing, |mut packing| async move {
        let piece = packing.next().await?;
        Ok(piece.map(|piece| (piece, packing)))
    }))
}

struct Packing {
    source: ByteStream,
    /// Input not compressed yet.
    rest: Bytes,
    /// Nothing once the end was written.
    encoder: Option<GzEncoder<Vec<u8>>>,
    prompt: bool,
    /// Bytes that were packed since others had their turn.
    worked: usize,
}

impl Packing {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Ok(None) };
            if self.rest.is_empty() {
                match self.source.next().await {
                    Some(piece) => self.rest = piece?,
                    None => {
                        let encoder = self.encoder.take();
                        let end = encoder.map(GzEncoder::finish).transpose().map_err(failed)?;
                        return Ok(end.map(Bytes::from));
                    }
                }
            }
            if self.worked >= STEP {
                // Yields to other tasks, even without output or with a fast reader.
                self.worked = 0;
                tokio::task::yield_now().await;
            }
            let step = self.rest.split_to(self.rest.len().min(STEP));
            self.worked += step.len();
            encoder.write_all(&step).map_err(failed)?;
            if self.prompt {
                encoder.flush().map_err(failed)?;
            }
            let out = std::mem::take(encoder.get_mut());
            if !out.is_empty() {
                return Ok(Some(out.into()));
            }
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Kind::Failed, "packing failed").with_detail(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::write::MultiGzDecoder;
    use futures_util::FutureExt;

    fn unpacked(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = MultiGzDecoder::new(Vec::new());
        decoder.write_all(bytes).unwrap();
        decoder.finish().unwrap()
    }

    #[tokio::test]
    async fn what_is_packed_is_what_comes_out() {
        for length in [0, 1, 1000, 300_000] {
            let text: Vec<u8> = (0..length).map(|at| b"abcdefg "[at % 8]).collect();
            let whole = gzip(&text).unwrap();
            assert_eq!(unpacked(&whole), text);
            for prompt in [false, true] {
                let pieces: Vec<_> =
                    text.chunks(100_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
                let stream = gzip_stream(Box::pin(stream::iter(pieces)), prompt);
                let packed: Vec<_> = stream.map(Result::unwrap).collect().await;
                assert_eq!(unpacked(&packed.concat()), text);
            }
        }
    }

    #[test]
    fn a_prompt_stream_can_be_read_before_its_end() {
        let first = stream::iter([Ok(Bytes::from_static(b"hello"))]);
        let mut packed = gzip_stream(Box::pin(first.chain(stream::pending())), true);
        let piece = packed.next().now_or_never().unwrap().unwrap().unwrap();
        let mut decoder = flate2::write::GzDecoder::new(Vec::new());
        decoder.write_all(&piece).unwrap();
        decoder.flush().unwrap();
        assert_eq!(decoder.get_ref(), b"hello");
        assert!(packed.next().now_or_never().is_none());
    }
}
