//! Encodings of content on its way out: zstd (RFC 8878), Brotli (RFC 7932), gzip (RFC 1952).
//!
//! Dynamic content is compressed for each request, so each encoding has a cheap level. A response
//! that is compressed as a stream holds one encoder: its window and tables are small, and are
//! charged to the memory of requests.

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{StreamExt, stream};
use runnel_store::{ByteStream, Error, Held, Kind, Result, coding_quality};
use std::cell::RefCell;
use std::io::{self, Write};
use zstd::bulk::Compressor;
use zstd::stream::write::Encoder;

/// The level of gzip: the lowest ones save most for their time.
const GZIP_LEVEL: Compression = Compression::new(3);
/// The level of zstd for bodies that are compressed at once.
const ZSTD_LEVEL: i32 = 3;
/// The level of zstd for streams: its tables take 64 KiB, those of the next level 800 KiB.
const ZSTD_STREAM_LEVEL: i32 = 1;
/// The window of a stream of zstd, and of Brotli, in bytes: a power of two.
const WINDOW: u32 = 128 << 10;
/// The quality of Brotli for content that exists as a whole.
const BROTLI_QUALITY: u32 = 2;
/// The quality of Brotli for streams that a program produces: a sixth of the memory.
const BROTLI_STREAM_QUALITY: u32 = 1;
/// The buffer of Brotli's output, in bytes.
const BROTLI_OUTPUT: usize = 4 << 10;

/// Input bytes per compression step, at most a millisecond; the rest waits for the next poll.
const STEP: usize = 32 << 10;

/// The same for Brotli of streams that a program produces: its buffers are as large as a step.
const BROTLI_STREAM_STEP: usize = 16 << 10;

/// An encoding of content (RFC 9110 section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentEncoding {
    /// Zstandard.
    Zstd,
    /// Brotli.
    Brotli,
    /// gzip.
    Gzip,
}

impl ContentEncoding {
    /// All encodings, the preferred one first: a quarter of the time of gzip, then half of it.
    pub const ALL: [ContentEncoding; 3] =
        [ContentEncoding::Zstd, ContentEncoding::Brotli, ContentEncoding::Gzip];

    /// The name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            ContentEncoding::Zstd => "zstd",
            ContentEncoding::Brotli => "br",
            ContentEncoding::Gzip => "gzip",
        }
    }

    /// The encoding of a name.
    pub fn of_name(name: &str) -> Option<ContentEncoding> {
        ContentEncoding::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// The suffix of the strong tag of content in this encoding: other bytes, another tag.
    pub(crate) fn tag_suffix(self) -> &'static str {
        match self {
            ContentEncoding::Zstd => "--zstd",
            ContentEncoding::Brotli => "--br",
            ContentEncoding::Gzip => "--gzip",
        }
    }

    /// The encoding that a client prefers to plain content, out of some in the order of the server's
    /// preference. `accepted` is the value of `Accept-Encoding`.
    pub(crate) fn choose(offered: &[ContentEncoding], accepted: &str) -> Option<ContentEncoding> {
        let plain = coding_quality(accepted, "identity");
        let mut best = None;
        let mut best_quality = 0;
        for encoding in offered {
            let quality = coding_quality(accepted, encoding.name());
            if quality > best_quality && quality >= plain {
                (best, best_quality) = (Some(*encoding), quality);
            }
        }
        best
    }

    /// Compresses bytes at once.
    ///
    /// # Errors
    /// None but a lack of memory.
    pub(crate) fn compress(self, bytes: &[u8]) -> Result<Bytes> {
        let compressed = match self {
            ContentEncoding::Zstd => compress_zstd(bytes),
            ContentEncoding::Brotli => compress_brotli(bytes),
            ContentEncoding::Gzip => {
                let mut encoder = GzEncoder::new(room_for(bytes), GZIP_LEVEL);
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
        };
        compressed.map(Bytes::from).map_err(failed)
    }

    /// Compresses a stream. With `prompt`, each chunk is flushed so that the peer can read it at
    /// once, at a cost of a few bytes.
    ///
    /// # Errors
    /// The stream as it was, where the memory of requests does not suffice for an encoder.
    pub(crate) fn compress_stream(
        self,
        source: ByteStream,
        prompt: bool,
    ) -> std::result::Result<ByteStream, ByteStream> {
        let mut held = Held::default();
        if held.add(self.memory(prompt)).is_err() {
            return Err(source);
        }
        let Ok(encoder) = StreamEncoder::new(self, prompt) else { return Err(source) };
        let running = Compressing {
            source,
            rest: Bytes::new(),
            encoder: Some(encoder),
            prompt,
            step: if prompt && self == ContentEncoding::Brotli { BROTLI_STREAM_STEP } else { STEP },
            worked: 0,
            held,
        };
        Ok(Box::pin(stream::try_unfold(running, |mut running| async move {
            let piece = running.next().await?;
            Ok(piece.map(|piece| (piece, running)))
        })))
    }

    /// The memory of an encoder of a stream, in bytes.
    fn memory(self, prompt: bool) -> usize {
        match self {
            ContentEncoding::Zstd => ZSTD_MEMORY,
            ContentEncoding::Brotli if prompt => BROTLI_STREAM_MEMORY,
            ContentEncoding::Brotli => BROTLI_MEMORY,
            ContentEncoding::Gzip => GZIP_MEMORY,
        }
    }
}

/// The memory of a stream of zstd: window, tables, and a block with its sequences.
const ZSTD_MEMORY: usize = 320 << 10;
/// The memory of Brotli for content that exists as a whole.
const BROTLI_MEMORY: usize = 768 << 10;
/// The memory of Brotli for a stream that a program produces.
const BROTLI_STREAM_MEMORY: usize = 256 << 10;
/// The memory of a stream of gzip.
const GZIP_MEMORY: usize = 320 << 10;

thread_local! {
    /// The tables of zstd for bodies compressed at once: clearing them for each response would take
    /// longer than compressing it.
    static ZSTD: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

fn compress_zstd(bytes: &[u8]) -> io::Result<Vec<u8>> {
    ZSTD.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(ZSTD_LEVEL)?),
        };
        compressor.compress(bytes)
    })
}

fn compress_brotli(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut params = BrotliEncoderParams::default();
    (params.quality, params.lgwin) = (BROTLI_QUALITY as i32, WINDOW.ilog2() as i32);
    params.size_hint = bytes.len();
    let mut encoder = CompressorWriter::with_params(room_for(bytes), BROTLI_OUTPUT, &params);
    encoder.write_all(bytes)?;
    Ok(encoder.into_inner())
}

/// A buffer for the compressed form.
fn room_for(bytes: &[u8]) -> Vec<u8> {
    Vec::with_capacity(bytes.len() / 3 + 64)
}

fn failed(error: io::Error) -> Error {
    Error::new(Kind::Failed, "compression failed").with_detail(error.to_string())
}

/// The encoder of a stream.
enum StreamEncoder {
    Zstd(Encoder<'static, Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl StreamEncoder {
    fn new(encoding: ContentEncoding, prompt: bool) -> io::Result<StreamEncoder> {
        Ok(match encoding {
            ContentEncoding::Zstd => {
                let mut encoder = Encoder::new(Vec::new(), ZSTD_STREAM_LEVEL)?;
                encoder.window_log(WINDOW.ilog2())?;
                StreamEncoder::Zstd(encoder)
            }
            ContentEncoding::Brotli => {
                let quality = if prompt { BROTLI_STREAM_QUALITY } else { BROTLI_QUALITY };
                let encoder =
                    CompressorWriter::new(Vec::new(), BROTLI_OUTPUT, quality, WINDOW.ilog2());
                StreamEncoder::Brotli(Box::new(encoder))
            }
            ContentEncoding::Gzip => StreamEncoder::Gzip(GzEncoder::new(Vec::new(), GZIP_LEVEL)),
        })
    }

    /// Compresses a step. The output may lag behind without `prompt`.
    fn write(&mut self, step: &[u8], prompt: bool) -> io::Result<Vec<u8>> {
        let encoder: &mut dyn Write = match self {
            StreamEncoder::Zstd(encoder) => encoder,
            StreamEncoder::Brotli(encoder) => encoder,
            StreamEncoder::Gzip(encoder) => encoder,
        };
        encoder.write_all(step)?;
        if prompt {
            encoder.flush()?;
        }
        Ok(std::mem::take(match self {
            StreamEncoder::Zstd(encoder) => encoder.get_mut(),
            StreamEncoder::Brotli(encoder) => encoder.get_mut(),
            StreamEncoder::Gzip(encoder) => encoder.get_mut(),
        }))
    }

    /// The end of the output.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            StreamEncoder::Zstd(encoder) => encoder.finish(),
            StreamEncoder::Brotli(encoder) => Ok(encoder.into_inner()),
            StreamEncoder::Gzip(encoder) => encoder.finish(),
        }
    }
}

/// A stream that is being compressed.
struct Compressing {
    source: ByteStream,
    /// Input not compressed yet.
    rest: Bytes,
    /// Nothing once the end was written.
    encoder: Option<StreamEncoder>,
    prompt: bool,
    /// Input bytes per step.
    step: usize,
    /// Bytes compressed since the last yield.
    worked: usize,
    /// The memory of the encoder.
    held: Held,
}

impl Compressing {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Ok(None) };
            if self.rest.is_empty() {
                match self.source.next().await {
                    Some(piece) => self.rest = piece?,
                    None => {
                        let encoder = self.encoder.take();
                        let end = encoder.map(StreamEncoder::finish).transpose().map_err(failed)?;
                        self.held = Held::default();
                        return Ok(end.map(Bytes::from));
                    }
                }
            }
            if self.worked >= self.step {
                // Yields to other tasks, even without output or with a fast reader.
                self.worked = 0;
                tokio::task::yield_now().await;
            }
            let step = self.rest.split_to(self.rest.len().min(self.step));
            self.worked += step.len();
            let out = encoder.write(&step, self.prompt).map_err(failed)?;
            if !out.is_empty() {
                return Ok(Some(out.into()));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn expanded(encoding: ContentEncoding, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        match encoding {
            ContentEncoding::Zstd => plain = zstd::stream::decode_all(bytes).unwrap(),
            ContentEncoding::Brotli => {
                let mut reader = brotli::Decompressor::new(bytes, 4096);
                io::copy(&mut reader, &mut plain).unwrap();
            }
            ContentEncoding::Gzip => {
                io::copy(&mut flate2::read::MultiGzDecoder::new(bytes), &mut plain).unwrap();
            }
        }
        plain
    }

    /// What a reader has of an incomplete stream.
    fn readable(encoding: ContentEncoding, bytes: &[u8]) -> Vec<u8> {
        let mut decoder: Box<dyn io::Read> = match encoding {
            ContentEncoding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).unwrap()),
            ContentEncoding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
            ContentEncoding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        };
        let mut plain = Vec::new();
        let mut byte = [0];
        while matches!(io::Read::read(&mut decoder, &mut byte), Ok(1)) {
            plain.push(byte[0]);
        }
        plain
    }

    #[tokio::test]
    async fn compressed_content_comes_out_as_it_was() {
        for (encoding, length) in ContentEncoding::ALL
            .into_iter()
            .flat_map(|encoding| [0, 1, 1000, 300_000].map(|length| (encoding, length)))
        {
            let text: Vec<u8> = (0..length).map(|at| b"abcdefg "[at % 8]).collect();
            let whole = encoding.compress(&text).unwrap();
            assert_eq!(expanded(encoding, &whole), text, "{encoding:?} {length}");
            for prompt in [false, true] {
                let pieces: Vec<_> =
                    text.chunks(100_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
                let source: ByteStream = Box::pin(stream::iter(pieces));
                let compressed = encoding.compress_stream(source, prompt).ok().unwrap();
                let pieces: Vec<_> = compressed.map(Result::unwrap).collect().await;
                let plain = expanded(encoding, &pieces.concat());
                assert_eq!(plain, text, "{encoding:?} {length} {prompt}");
            }
        }
    }

    #[test]
    fn a_prompt_stream_can_be_read_before_its_end() {
        for encoding in ContentEncoding::ALL {
            let pieces = stream::iter(["hello ", "world"].map(|text| Ok(Bytes::from(text))));
            let source: ByteStream = Box::pin(pieces.chain(stream::pending()));
            let mut compressed = encoding.compress_stream(source, true).ok().unwrap();
            let mut arrived = Vec::new();
            for expected in ["hello ", "hello world"] {
                let piece = compressed.next().now_or_never().unwrap().unwrap().unwrap();
                arrived.extend_from_slice(&piece);
                assert_eq!(readable(encoding, &arrived), expected.as_bytes(), "{encoding:?}");
            }
            assert!(compressed.next().now_or_never().is_none(), "{encoding:?}");
        }
    }

    #[test]
    fn a_client_chooses_and_the_server_decides_between_equals() {
        let all = &ContentEncoding::ALL[..];
        for (offered, accepted, chosen) in [
            (all, "gzip, deflate, br, zstd", Some(ContentEncoding::Zstd)),
            (all, "gzip, deflate, br", Some(ContentEncoding::Brotli)),
            (all, "gzip;q=1.0, br;q=0.9, zstd;q=0.8", Some(ContentEncoding::Gzip)),
            (all, "*", Some(ContentEncoding::Zstd)),
            (all, "*, zstd;q=0", Some(ContentEncoding::Brotli)),
            (all, "deflate, identity", None),
            (all, "br;q=0.5, identity", None),
            (all, "br;q=0", None),
            (all, "", None),
            (
                &[ContentEncoding::Gzip, ContentEncoding::Zstd],
                "zstd, gzip",
                Some(ContentEncoding::Gzip),
            ),
            (&[ContentEncoding::Gzip], "zstd, br", None),
            (&[], "zstd, br, gzip", None),
        ] {
            assert_eq!(ContentEncoding::choose(offered, accepted), chosen, "{accepted}");
        }
    }
}
