//! Incremental parser of `multipart/form-data`: bytes in, heads and data of parts out. Data is never
//! copied but where a delimiter may begin at the end of a piece.
//!
//! ```text
//! Preamble ─ delimiter ─▶ Boundary ─ line end ─▶ Head ─ empty line ─▶ Data ─ delimiter ─▶ Boundary
//!                            │ `--`
//!                            ▼
//!                           End
//! ```

use super::limits::{LARGEST_HEAD, MOST_PARTS, malformed, too_large};
use super::part_head::read_head;
use bytes::{Bytes, BytesMut};
use memchr::memmem;
use runnel_store::{Error, PartHead, Result};

/// Blanks behind a boundary, at most.
const MOST_BLANKS: usize = 256;

/// What the decoder has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecoderStep {
    /// Nothing: it needs more bytes.
    More,
    /// A part begins, and the one before is complete.
    Head(PartHead),
    /// Data of the part, never empty.
    Data(Bytes),
    /// The last part is complete. What follows says nothing.
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum DecoderState {
    Preamble,
    Boundary,
    Head,
    Data,
    End,
}

/// The decoder of one body.
pub(crate) struct MultipartDecoder {
    /// A line break, two hyphens and the boundary.
    delimiter: Vec<u8>,
    finder: memmem::Finder<'static>,
    state: DecoderState,
    /// Bytes that are not parsed yet.
    pending: Bytes,
    /// Whether nothing of the body was dropped: the first delimiter needs no line break before it.
    at_start: bool,
    parts: usize,
}

impl MultipartDecoder {
    pub(crate) fn new(boundary: &str) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        MultipartDecoder {
            finder: memmem::Finder::new(&delimiter).into_owned(),
            delimiter,
            state: DecoderState::Preamble,
            pending: Bytes::new(),
            at_start: true,
            parts: 0,
        }
    }

    /// Adds bytes of the body.
    pub(crate) fn feed(&mut self, piece: Bytes) {
        if self.pending.is_empty() {
            self.pending = piece;
            return;
        }
        let mut joined = BytesMut::with_capacity(self.pending.len() + piece.len());
        joined.extend_from_slice(&self.pending);
        joined.extend_from_slice(&piece);
        self.pending = joined.freeze();
    }

    /// What comes next.
    ///
    /// # Errors
    /// [`runnel_store::Kind::Invalid`] for a malformed body, [`runnel_store::Kind::TooLarge`] for one
    /// beyond a limit. Nothing can be read behind an error.
    pub(crate) fn step(&mut self) -> Result<DecoderStep> {
        loop {
            let step = match self.state {
                DecoderState::Preamble => self.preamble(),
                DecoderState::Boundary => self.boundary()?,
                DecoderState::Head => return self.head(),
                DecoderState::Data => self.data(),
                DecoderState::End => return Ok(DecoderStep::End),
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    /// Why a body that ends here is malformed.
    pub(crate) fn unfinished(&self) -> Error {
        malformed(match self.state {
            DecoderState::Preamble => "it has no boundary",
            DecoderState::Boundary => "a boundary is not the end of its line",
            DecoderState::Head if self.pending.starts_with(b"\r\n") => {
                "a part has no header section"
            }
            _ => "it ends within a part",
        })
    }

    fn preamble(&mut self) -> Option<DecoderStep> {
        let first = &self.delimiter[2..];
        if self.at_start && self.pending.starts_with(first) {
            return self.enter(DecoderState::Boundary, first.len());
        }
        if self.at_start && first.starts_with(&self.pending) {
            return Some(DecoderStep::More);
        }
        match self.finder.find(&self.pending) {
            Some(at) => self.enter(DecoderState::Boundary, at + self.delimiter.len()),
            None => {
                let kept = self.delimiter_start();
                self.at_start = false;
                self.pending = self.pending.slice(self.pending.len() - kept..);
                Some(DecoderStep::More)
            }
        }
    }

    /// Behind a delimiter: the end of the form, or of the line.
    fn boundary(&mut self) -> Result<Option<DecoderStep>> {
        let rest = &self.pending[..];
        if rest.starts_with(b"--") {
            self.pending = Bytes::new();
            return Ok(self.enter(DecoderState::End, 0));
        }
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match &rest[blank..] {
            [] | [b'\r'] if blank <= MOST_BLANKS => Ok(Some(DecoderStep::More)),
            [b'-'] if blank == 0 => Ok(Some(DecoderStep::More)),
            [b'\r', b'\n', ..] => Ok(self.enter(DecoderState::Head, blank + 2)),
            _ => Err(malformed("a boundary is not the end of its line")),
        }
    }

    fn head(&mut self) -> Result<DecoderStep> {
        let end = memmem::find(&self.pending, b"\r\n\r\n");
        if end.unwrap_or(self.pending.len()) > LARGEST_HEAD {
            return Err(too_large(format!(
                "the headers of a part have at most {LARGEST_HEAD} bytes"
            )));
        }
        if self.pending.starts_with(b"\r\n") {
            return Err(malformed("a part has no header section"));
        }
        let Some(end) = end else { return Ok(DecoderStep::More) };
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Err(too_large(format!("a form has at most {MOST_PARTS} parts")));
        }
        let head = read_head(&self.pending[..end])?;
        self.enter(DecoderState::Data, end + 4);
        Ok(DecoderStep::Head(head))
    }

    fn data(&mut self) -> Option<DecoderStep> {
        match self.finder.find(&self.pending) {
            Some(0) => self.enter(DecoderState::Boundary, self.delimiter.len()),
            Some(at) => Some(DecoderStep::Data(self.pending.split_to(at))),
            None => {
                let at = self.pending.len() - self.delimiter_start();
                Some(match at {
                    0 => DecoderStep::More,
                    at => DecoderStep::Data(self.pending.split_to(at)),
                })
            }
        }
    }

    /// How many bytes at the end may be the beginning of a delimiter.
    fn delimiter_start(&self) -> usize {
        let most = self.pending.len().min(self.delimiter.len() - 1);
        (1..=most).rev().find(|size| self.pending.ends_with(&self.delimiter[..*size])).unwrap_or(0)
    }

    fn enter(&mut self, state: DecoderState, passed: usize) -> Option<DecoderStep> {
        self.state = state;
        self.pending = self.pending.slice(passed.min(self.pending.len())..);
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The parts of a body that comes in pieces, or why there are none.
    fn decoded(pieces: &[&[u8]]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut decoder = MultipartDecoder::new("x");
        let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
        let mut pieces = pieces.iter();
        loop {
            match decoder.step()? {
                DecoderStep::More => match pieces.next() {
                    Some(piece) => decoder.feed(Bytes::copy_from_slice(piece)),
                    None => return Err(decoder.unfinished()),
                },
                DecoderStep::Head(head) => parts.push((head.field, Vec::new())),
                DecoderStep::Data(data) => {
                    assert!(!data.is_empty());
                    parts.last_mut().unwrap().1.extend_from_slice(&data);
                }
                DecoderStep::End => return Ok(parts),
            }
        }
    }

    fn body(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut body = b"--x".to_vec();
        for (name, data) in parts {
            let head = format!("\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(data);
            body.extend_from_slice(b"\r\n--x");
        }
        body.extend_from_slice(b"--\r\n");
        body
    }

    #[test]
    fn a_large_part_is_not_copied() {
        let data = vec![7; 100_000];
        let whole = Bytes::from(body(&[("a".into(), data)]));
        let mut decoder = MultipartDecoder::new("x");
        decoder.feed(whole.clone());
        assert!(matches!(decoder.step().unwrap(), DecoderStep::Head(_)));
        let DecoderStep::Data(data) = decoder.step().unwrap() else { panic!("no data") };
        assert!(whole.as_ptr_range().contains(&data.as_ptr()) && data.len() == 100_000);
        assert_eq!(decoder.step().unwrap(), DecoderStep::End);
    }

    #[test]
    fn a_preamble_says_nothing() {
        let form = body(&[("a".into(), b"1".to_vec())]);
        let one = vec![("a".to_string(), b"1".to_vec())];
        assert_eq!(decoded(&[b"for people: --x is no line\r\n", &form]).unwrap(), one);
        assert_eq!(decoded(&[b"\r\n", &form]).unwrap(), one);
        // A delimiter that does not begin its line is none: only the last one is left.
        assert_eq!(decoded(&[b"for people", &form]).unwrap(), []);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            parts in prop::collection::vec(("[a-z]{1,5}", "[\r\n\\-x ab]{0,60}"), 0..6),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let parts: Vec<_> =
                parts.into_iter().map(|(name, data)| (name, data.into_bytes())).collect();
            prop_assume!(!parts.iter().any(|(_, data)| {
                memmem::find(data, b"\r\n--x").is_some() || data.starts_with(b"--x")
            }));
            let whole = body(&parts);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &whole[cut[0]..cut[1]]).collect();
            prop_assert_eq!(decoded(&pieces).unwrap(), parts.clone());
            let bytes: Vec<&[u8]> = whole.chunks(1).collect();
            prop_assert_eq!(decoded(&bytes).unwrap(), parts);
        }

        #[test]
        fn no_pieces_panic(pieces in prop::collection::vec("[\r\n\\-x:; a-d]{0,20}", 0..9)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            let _ = decoded(&pieces);
        }
    }
}
