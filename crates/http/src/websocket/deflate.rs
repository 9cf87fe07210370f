//! `permessage-deflate`: compression of messages (RFC 7692).
//!
//! Neither side keeps its window between messages (`server_no_context_takeover`,
//! `client_no_context_takeover`): a connection holds no memory for compression between messages,
//! and one compressor serves all connections of a worker.

use super::fault::WebSocketFault;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use hyper::header::{HeaderMap, HeaderValue, SEC_WEBSOCKET_EXTENSIONS};
use std::cell::RefCell;

/// Bytes of a message that are compressed into one frame before yielding.
pub(crate) const PIECE: usize = 32 * 1024;
/// Shorter messages are sent uncompressed.
pub(crate) const LEAST: usize = 128;
/// The suffix that RFC 7692 section 7.2.1 removes.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// A compromise in favour of speed, as for responses.
const LEVEL: Compression = Compression::new(3);
/// Bytes that are decompressed before yielding.
const TURN: usize = 256 * 1024;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compress>> = const { RefCell::new(None) };
    /// The most recently used decompressor.
    static SPARE: RefCell<Option<Box<Decompress>>> = const { RefCell::new(None) };
}

/// The negotiated parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deflate {
    /// The size of the client's window.
    window_bits: u8,
}

impl Deflate {
    /// What a client offers: messages that stand for themselves.
    pub(crate) const OFFER: HeaderValue = HeaderValue::from_static(
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
    );

    /// What a server has agreed to of [`Deflate::OFFER`].
    ///
    /// # Errors
    /// It uses what was not offered.
    pub(crate) fn agreed(headers: &HeaderMap) -> Result<Option<Deflate>, ()> {
        let mut lines = headers.get_all(SEC_WEBSOCKET_EXTENSIONS).iter();
        let Some(line) = lines.next() else { return Ok(None) };
        let text = line.to_str().map_err(drop)?;
        let has = |name: &str| text.split(';').any(|part| part.trim() == name);
        let is_known = |part: &str| {
            let part = part.trim();
            let bits = part.strip_prefix("server_max_window_bits=");
            matches!(part, "server_no_context_takeover" | "client_no_context_takeover")
                || bits.is_some_and(|bits| window_bits(bits).is_some())
        };
        let is_ours = has("permessage-deflate")
            && has("server_no_context_takeover")
            && text.split(';').skip(1).all(is_known);
        match is_ours && lines.next().is_none() {
            true => Ok(Some(Deflate { window_bits: 15 })),
            false => Err(()),
        }
    }

    /// Accepts the first acceptable offer, and returns the response header.
    pub(crate) fn accept(headers: &HeaderMap) -> Option<(Deflate, HeaderValue)> {
        let offers = headers.get_all(SEC_WEBSOCKET_EXTENSIONS).iter();
        let mut offers = offers.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        let deflate = offers.find_map(Deflate::of_offer)?;
        let mut answer =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
                .to_string();
        if deflate.window_bits < 15 {
            answer.push_str(&format!("; server_max_window_bits={}", deflate.window_bits));
        }
        Some((deflate, HeaderValue::try_from(answer).ok()?))
    }

    /// `None` for another extension, and for unknown or invalid parameters: such an offer is
    /// declined (RFC 7692 section 7.1).
    fn of_offer(offer: &str) -> Option<Deflate> {
        let mut parts = offer.split(';').map(str::trim);
        if parts.next() != Some("permessage-deflate") {
            return None;
        }
        let (mut deflate, mut seen) = (Deflate { window_bits: 15 }, Vec::new());
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (part, None),
            };
            match (name, value) {
                ("server_no_context_takeover" | "client_no_context_takeover", None) => {}
                // Any client window is acceptable.
                ("client_max_window_bits", None) => {}
                ("client_max_window_bits", Some(value)) => drop(window_bits(value)?),
                ("server_max_window_bits", Some(value)) => {
                    deflate.window_bits = window_bits(value)?;
                }
                _ => return None,
            }
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
        }
        Some(deflate)
    }

    /// Compresses a piece of a message into a frame of its own.
    pub(crate) fn compress(self, piece: &[u8], is_last: bool) -> Vec<u8> {
        COMPRESSOR.with_borrow_mut(|compressor| {
            let compressor = compressor.get_or_insert_with(|| Compress::new(LEVEL, false));
            let mut out = Vec::with_capacity(piece.len() / 2 + 64);
            // Each message starts with an empty window.
            for window in piece.chunks(1 << self.window_bits) {
                compressor.reset();
                let mut taken = 0;
                loop {
                    out.reserve(64.max(window.len() / 4));
                    let before = compressor.total_in();
                    let rest = window.get(taken..).unwrap_or_default();
                    // It fails only for a finished stream, which this never is.
                    let _ = compressor.compress_vec(rest, &mut out, FlushCompress::Sync);
                    taken += (compressor.total_in() - before) as usize;
                    if taken >= window.len() && out.len() < out.capacity() {
                        break;
                    }
                }
            }
            if is_last && out.ends_with(&TAIL) {
                out.truncate(out.len() - TAIL.len());
            }
            out
        })
    }
}

/// A number from 8 to 15, perhaps quoted; zlib has no window of 8 bits.
fn window_bits(value: &str) -> Option<u8> {
    let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    let is_number = !value.starts_with('0') && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|bits| is_number && (8..=15).contains(bits))
}

/// The decompressor of one message.
pub(crate) struct Inflate(Option<Box<Decompress>>);

impl Inflate {
    pub(crate) fn new() -> Inflate {
        let spare = SPARE.with_borrow_mut(Option::take);
        Inflate(Some(spare.unwrap_or_else(|| Box::new(Decompress::new(false)))))
    }

    /// Decompresses input. Returns how much was consumed: all of it, or less in order to yield
    /// after much output. `grow` reserves output.
    ///
    /// # Errors
    /// The input is malformed, or memory is exhausted.
    pub(crate) fn add(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        mut grow: impl FnMut(&mut Vec<u8>) -> Result<(), WebSocketFault>,
    ) -> Result<usize, WebSocketFault> {
        let Some(inflate) = &mut self.0 else { return Err(WebSocketFault::Data) };
        let (mut taken, start) = (0, out.len());
        loop {
            if out.len() == out.capacity() {
                grow(out)?;
            }
            let rest = input.get(taken..).unwrap_or_default();
            let (before, had) = (inflate.total_in(), out.len());
            let status = inflate
                .decompress_vec(rest, out, FlushDecompress::Sync)
                .map_err(|_| WebSocketFault::Data)?;
            let count = (inflate.total_in() - before) as usize;
            taken += count;
            let is_full = out.len() == out.capacity();
            if status == Status::StreamEnd {
                // A sender may end a stream and start another (RFC 7692 section 7.2.3.4).
                inflate.reset(false);
            } else if count == 0 && out.len() == had && !is_full && taken < input.len() {
                return Err(WebSocketFault::Data);
            }
            if taken == input.len() && !is_full || out.len() - start >= TURN {
                return Ok(taken);
            }
        }
    }

    /// Decompresses the omitted suffix of the message, and the remaining output.
    ///
    /// # Errors
    /// As [`Inflate::add`].
    pub(crate) fn finish(
        &mut self,
        out: &mut Vec<u8>,
        mut grow: impl FnMut(&mut Vec<u8>) -> Result<(), WebSocketFault>,
    ) -> Result<(), WebSocketFault> {
        let mut rest = &TAIL[..];
        loop {
            let taken = self.add(rest, out, &mut grow)?;
            rest = rest.get(taken..).unwrap_or_default();
            if rest.is_empty() && out.len() < out.capacity() {
                return Ok(());
            }
        }
    }
}

impl Drop for Inflate {
    fn drop(&mut self) {
        if let Some(mut inflate) = self.0.take() {
            inflate.reset(false);
            SPARE.set(Some(inflate));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn accept(offer: &str) -> Option<(u8, String)> {
        let mut headers = HeaderMap::new();
        headers.insert(SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_str(offer).unwrap());
        let (deflate, answer) = Deflate::accept(&headers)?;
        Some((deflate.window_bits, answer.to_str().unwrap().to_string()))
    }

    fn inflate(input: &[u8]) -> Result<Vec<u8>, WebSocketFault> {
        let (mut inflate, mut out, mut at) = (Inflate::new(), Vec::new(), 0);
        let grow = |out: &mut Vec<u8>| {
            out.reserve(1000);
            Ok(())
        };
        while at < input.len() {
            at += inflate.add(&input[at..], &mut out, grow)?;
        }
        inflate.finish(&mut out, grow)?;
        Ok(out)
    }

    #[test]
    fn the_first_offer_that_can_be_kept_is_taken() {
        const PLAIN: &str =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        for (offer, bits) in [
            ("permessage-deflate", 15),
            ("permessage-deflate; client_max_window_bits", 15),
            ("x-webkit-deflate-frame, permessage-deflate;client_max_window_bits=\"9\"", 15),
            ("permessage-deflate; server_max_window_bits=10; client_no_context_takeover", 10),
            ("permessage-deflate; server_max_window_bits=7, permessage-deflate", 15),
        ] {
            let (taken, answer) = accept(offer).unwrap();
            assert_eq!(taken, bits, "{offer}");
            let more = answer.strip_prefix(PLAIN).unwrap();
            let expected = format!("; server_max_window_bits={bits}");
            assert_eq!(more, if bits == 15 { "" } else { &expected });
        }
        for declined in [
            "",
            "deflate",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=08",
            "permessage-deflate; server_max_window_bits=+9",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; unknown",
            "permessage-deflate; client_max_window_bits; client_max_window_bits",
        ] {
            assert_eq!(accept(declined), None, "{declined}");
        }
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let mut text = Vec::new();
        for number in 0..30_000_u32 {
            text.extend_from_slice(format!("{} ", number.wrapping_mul(2_654_435_761)).as_bytes());
        }
        for window_bits in [8, 9, 12, 15] {
            let deflate = Deflate { window_bits };
            for length in [0, 1, 255, 256, 257, 32 * 1024, text.len()] {
                let pieces: Vec<_> = text[..length].chunks(PIECE).collect();
                let last = pieces.len().saturating_sub(1);
                let packed = pieces.iter().enumerate();
                let packed = packed.flat_map(|(at, piece)| deflate.compress(piece, at == last));
                let packed: Vec<u8> = packed.collect();
                assert_eq!(inflate(&packed).unwrap(), text[..length], "{window_bits} {length}");
            }
        }
        let repeated = Deflate { window_bits: 15 }.compress(&[b'x'; 20_000], true);
        assert!(repeated.len() < 100, "{}", repeated.len());
    }

    #[test]
    fn the_examples_of_the_rfc_are_understood() {
        // RFC 7692 section 7.2.3: one block, two blocks, no compression, a final block.
        for packed in [
            &b"\xf2\x48\xcd\xc9\xc9\x07\0"[..],
            b"\xf2\x48\x05\0\0\0\xff\xff\xca\xc9\xc9\x07\0",
            b"\0\x05\0\xfa\xff\x48\x65\x6c\x6c\x6f\0",
            b"\xf3\x48\xcd\xc9\xc9\x07\0\0",
        ] {
            assert_eq!(inflate(packed).unwrap(), b"Hello", "{packed:?}");
        }
        assert_eq!(inflate(b"\xff\xff\xff"), Err(WebSocketFault::Data));
    }

    #[test]
    fn a_message_does_not_see_another() {
        let secret = Deflate { window_bits: 15 }.compress(&[b's'; 32 * 1024], true);
        assert_eq!(inflate(&secret).unwrap().len(), 32 * 1024);
        // Three bytes from 24,577 before the beginning.
        assert_eq!(inflate(b"\x02\x5e\0\0\0").unwrap(), [0; 3]);
    }
}
