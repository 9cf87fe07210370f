//! Decoding of response bodies: gzip, Brotli and Zstandard (RFC 9110 section 8.4), in steps and within a bound.

use bytes::Bytes;
use futures_util::Stream;
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_store::{ByteStream, Error, Kind, Result};
use std::cell::RefCell;
use std::io::{self, BufRead, Read};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The codings that requests accept.
pub(crate) const ACCEPTED: HeaderValue = HeaderValue::from_static("gzip, br, zstd");

/// Bytes that a body may always have after decoding.
const LARGEST_DECODED: u64 = 64 * 1024 * 1024;
/// Bytes of a larger body for each byte that arrived: text has less than 30.
const LARGEST_RATIO: u64 = 100;
/// Decoded bytes of a step.
const STEP: usize = 32 * 1024;
/// Decoded bytes after which other tasks get a turn.
const TURN: usize = 256 * 1024;
/// The largest window of Zstandard, in bytes: a power of two (RFC 9659).
const ZSTD_WINDOW: u32 = 8 * 1024 * 1024;

/// A coding of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of a response; `None` for none and for those that requests do not accept.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Coding> {
        let mut lines = headers.get_all(header::CONTENT_ENCODING).iter();
        let (line, None) = (lines.next()?, lines.next()) else { return None };
        match line.as_bytes().trim_ascii().to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Some(Coding::Gzip),
            b"br" => Some(Coding::Brotli),
            b"zstd" => Some(Coding::Zstd),
            _ => None,
        }
    }
}

/// The decoded bytes of a body.
pub(crate) fn decoded(source: ByteStream, coding: Coding) -> Result<ByteStream> {
    let input = SharedInput::default();
    let feed = InputReader { shared: input.clone(), window: Bytes::new() };
    let decoder: Box<dyn Read> = match coding {
        Coding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(feed)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(feed, STEP)),
        Coding::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(feed).map_err(|error| broken(&error))?;
            decoder.window_log_max(ZSTD_WINDOW.ilog2()).map_err(|error| broken(&error))?;
            Box::new(decoder)
        }
    };
    let decoder = Some(decoder);
    Ok(Box::pin(DecodedBody {
        source,
        input,
        decoder,
        arrived: 0,
        made: 0,
        turn: 0,
        is_decoded: false,
    }))
}

/// Input that has arrived and was not decoded.
#[derive(Clone, Default)]
struct SharedInput(Rc<RefCell<Input>>);

#[derive(Default)]
struct Input {
    bytes: Bytes,
    /// No more input follows.
    is_over: bool,
}

/// The decoder's end of the input. It would block where more input follows later.
#[derive(Default)]
struct InputReader {
    shared: SharedInput,
    /// What the decoder takes at present.
    window: Bytes,
}

impl BufRead for InputReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.window.is_empty() {
            let mut input = self.shared.0.borrow_mut();
            if input.bytes.is_empty() && !input.is_over {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.window = std::mem::take(&mut input.bytes);
        }
        Ok(&self.window)
    }

    fn consume(&mut self, count: usize) {
        let _ = self.window.split_to(count.min(self.window.len()));
    }
}

impl Read for InputReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = into.len().min(available.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

struct DecodedBody {
    source: ByteStream,
    input: SharedInput,
    /// Absent at the end.
    decoder: Option<Box<dyn Read>>,
    /// Bytes that arrived, and that were made of them.
    arrived: u64,
    made: u64,
    /// Bytes that were made since other tasks had a turn.
    turn: usize,
    /// All is decoded; the end of the source is still read, so that its connection can be reused.
    is_decoded: bool,
}

impl DecodedBody {
    /// The next decoded bytes, empty at the end; `None` where the decoder needs input.
    fn step(&mut self) -> Result<Option<Bytes>> {
        let Some(decoder) = &mut self.decoder else { return Ok(Some(Bytes::new())) };
        let mut output = vec![0; STEP];
        match decoder.read(&mut output) {
            Ok(count) => {
                output.truncate(count);
                self.made += count as u64;
                self.turn += count;
                let most = LARGEST_DECODED.max(self.arrived.saturating_mul(LARGEST_RATIO));
                match self.made > most {
                    true => Err(Error::new(Kind::TooLarge, bomb(most))),
                    false => Ok(Some(output.into())),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(broken(&error)),
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        loop {
            // A body without any byte is empty in each coding.
            if self.arrived > 0 && !self.is_decoded {
                if self.turn >= TURN {
                    self.turn = 0;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                match self.step()? {
                    Some(bytes) if bytes.is_empty() => {
                        if self.input.0.borrow().is_over {
                            return Poll::Ready(None);
                        }
                        self.is_decoded = true;
                    }
                    Some(bytes) => return Poll::Ready(Some(Ok(bytes))),
                    None => {}
                }
            }
            let piece = ready!(self.source.as_mut().poll_next(context)).transpose()?;
            let mut input = self.input.0.borrow_mut();
            match piece {
                Some(bytes) if self.is_decoded && !bytes.is_empty() => {
                    return Poll::Ready(Some(Err(broken(&io::ErrorKind::InvalidData.into()))));
                }
                None if self.is_decoded => return Poll::Ready(None),
                Some(bytes) => {
                    self.arrived += bytes.len() as u64;
                    input.bytes = bytes;
                }
                None if self.arrived == 0 => return Poll::Ready(None),
                None => input.is_over = true,
            }
        }
    }
}

impl Stream for DecodedBody {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.decoder.is_none() {
            return Poll::Ready(None);
        }
        let polled = self.poll_piece(context);
        if !matches!(polled, Poll::Pending | Poll::Ready(Some(Ok(_)))) {
            self.decoder = None;
        }
        polled
    }
}

fn bomb(most: u64) -> String {
    format!("the body of the answer has more than {most} bytes after it was decoded")
}

fn broken(error: &io::Error) -> Error {
    let message = "the body of the answer is not in the coding that it names";
    Error::new(Kind::Failed, message).with_detail(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::{StreamExt, stream};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(text: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        brotli::CompressorWriter::new(&mut packed, 4096, 5, 22).write_all(text).unwrap();
        packed
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(text, 3).unwrap()
    }

    async fn read(packed: &[u8], piece: usize, coding: Coding) -> Result<Vec<u8>> {
        let pieces: Vec<Result<Bytes>> =
            packed.chunks(piece).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let mut body = decoded(Box::pin(stream::iter(pieces)), coding)?;
        let mut all = Vec::new();
        while let Some(piece) = body.next().await {
            all.extend_from_slice(&piece?);
        }
        assert!(body.next().await.is_none());
        Ok(all)
    }

    #[tokio::test]
    async fn each_coding_is_decoded_in_pieces_of_any_length() {
        let text = "what is sent, sent again and sent once more. ".repeat(5000);
        for (coding, packed) in [
            (Coding::Gzip, gzip(text.as_bytes())),
            (Coding::Brotli, brotli(text.as_bytes())),
            (Coding::Zstd, zstd(text.as_bytes())),
        ] {
            for piece in [1, 7, 1 << 20] {
                let all = read(&packed, piece, coding).await.unwrap();
                assert!(all == text.as_bytes(), "{coding:?} in pieces of {piece}");
            }
            assert_eq!(read(b"", 1, coding).await.unwrap(), b"");
        }
        let members = [gzip(b"one"), gzip(b"two")].concat();
        assert_eq!(read(&members, 3, Coding::Gzip).await.unwrap(), b"onetwo");
    }

    #[tokio::test]
    async fn what_is_cut_off_or_no_coding_is_an_error() {
        let text = "a text of some length that is cut off before its end";
        for (coding, packed) in [
            (Coding::Gzip, gzip(text.as_bytes())),
            (Coding::Brotli, brotli(text.as_bytes())),
            (Coding::Zstd, zstd(text.as_bytes())),
        ] {
            let cut = read(&packed[..packed.len() - 2], 5, coding).await.unwrap_err();
            assert_eq!(cut.kind, Kind::Failed, "{coding:?}");
            let none = read(b"this is none of them", 5, coding).await.unwrap_err();
            assert_eq!(none.kind, Kind::Failed, "{coding:?}");
        }
    }

    #[tokio::test]
    async fn a_decompression_bomb_ends_at_the_limit() {
        let zeros = vec![0; LARGEST_DECODED as usize + 1];
        for (coding, packed) in [
            (Coding::Gzip, gzip(&zeros)),
            (Coding::Brotli, brotli(&zeros)),
            (Coding::Zstd, zstd(&zeros)),
        ] {
            assert!(packed.len() < 200_000, "{coding:?}");
            let error = read(&packed, 4096, coding).await.unwrap_err();
            assert_eq!(error.kind, Kind::TooLarge, "{coding:?}");
        }
    }

    #[tokio::test]
    async fn a_window_of_zstd_is_bounded() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(ZSTD_WINDOW.ilog2() + 2).unwrap();
        encoder.write_all(&[1; 4096]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(read(&packed, 64, Coding::Zstd).await.unwrap_err().kind, Kind::Failed);
    }

    #[test]
    fn codings_that_were_not_asked_for_stay() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(text));
            Coding::of(&headers)
        };
        assert_eq!(of("gzip"), Some(Coding::Gzip));
        assert_eq!(of("BR"), Some(Coding::Brotli));
        assert_eq!(of("zstd"), Some(Coding::Zstd));
        for other in ["identity", "deflate", "gzip, br", ""] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(Coding::of(&HeaderMap::new()), None);
    }
}
